// The report as a browser shows it: in headless Chromium, at the width of a phone and of a desk.
#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/process.h"
#include "runs/report_fixture.h"
#include "testing.h"

namespace muster::runs {
namespace {

using nlohmann::json;

/// Runs first: keeps what goes wrong.
constexpr const char* kWatch = R"(<script>
window.wrong = [];
addEventListener("error", (event) => wrong.push(String(event.message)));
addEventListener("securitypolicyviolation", (event) => wrong.push("blocked " + event.blockedURI));
console.error = console.warn = (...words) => wrong.push(words.join(" "));
</script>)";

/// Runs last: tells the page around it what is to be seen. A chart is drawn when a good part of its
/// pixels are not transparent.
constexpr const char* kProbe = R"(<script>
addEventListener("load", () => {
  const root = document.scrollingElement;
  const drawn = [...document.querySelectorAll(".chart canvas")].filter((canvas) => {
    const pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
    let inked = 0;
    for (let i = 3; i < pixels.length; i += 4) inked += pixels[i] > 0;
    return inked > 500;
  });
  const wide = [...document.querySelectorAll("body *")].filter((element) =>
    !element.closest(".scroll, pre") && element.getBoundingClientRect().right > innerWidth + 1);
  const probe = {
    width: innerWidth, scroll: root.scrollWidth, charts: document.querySelectorAll(".chart").length, drawn: drawn.length,
    wide: wide.slice(0, 3).map((element) => element.outerHTML.slice(0, 200)), wrong,
    verdict: document.querySelector(".verdict .badge").innerText, top: document.querySelector(".verdict .badge").getBoundingClientRect().top,
    small: [...document.querySelectorAll("body *")].filter((element) => element.children.length === 0 && element.innerText &&
      parseFloat(getComputedStyle(element).fontSize) < 11.5).length,
    unnamed: [...document.querySelectorAll(".chart")].filter((element) => !element.getAttribute("aria-label")).length,
  };
  parent.postMessage(JSON.stringify(probe), "*");
});
</script>)";

/// The page around it: a frame of the wanted width (a window of Chromium is never narrower than
/// 500), and what it tells.
constexpr const char* kFrame =
    R"(<!doctype html><body><iframe src="report.html" width="WIDTH" height="844" style="border:0"></iframe>
<pre id="probe"></pre><script>addEventListener("message", (event) => { document.getElementById("probe").textContent = event.data; });
</script></body>)";

class ReportInBrowser : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    ASSERT_TRUE(real_process_runner().find("chromium"))
        << "chromium is missing; it is in the Debian package chromium";
  }

  json look(std::string page) {
    page.insert(page.find("<title>"), kWatch);
    page.insert(page.rfind("</body>"), kProbe);
    std::string frame = kFrame;
    frame.replace(frame.find("WIDTH"), 5, std::to_string(GetParam()));
    std::ofstream(directory_.path() / "report.html") << page;
    const auto file = directory_.path() / "frame.html";
    std::ofstream(file) << frame;

    Command command;
    command.argv = {"chromium",
                    "--headless",
                    "--no-sandbox",
                    "--disable-gpu",
                    "--disable-quic",
                    "--no-first-run",
                    "--disable-background-networking",
                    "--disable-component-update",
                    "--disable-sync",
                    "--user-data-dir=" + (directory_.path() / "profile").string(),
                    "--hide-scrollbars",
                    "--window-size=1400,900",
                    "--virtual-time-budget=5000",
                    "--dump-dom",
                    "file://" + file.string()};
    command.time_limit = std::chrono::seconds(100);
    const auto result = real_process_runner().run(command);
    if (!result || result->exit_code != 0) {
      ADD_FAILURE() << (result ? result->err : to_string(result.findings().front()));
      return json::object();
    }
    const std::string open = "<pre id=\"probe\">";
    const auto begin = result->out.find(open);
    if (begin == std::string::npos) {
      ADD_FAILURE() << "the page did not come to its end: " << result->out.substr(0, 2000)
                    << result->err;
      return json::object();
    }
    std::string text = result->out.substr(begin + open.size());
    text.resize(text.find("</pre>"));
    for (const auto& [entity, plain] : {std::pair{"&lt;", "<"}, {"&gt;", ">"}, {"&amp;", "&"}}) {
      for (auto at = text.find(entity); at != std::string::npos; at = text.find(entity, at + 1)) {
        text.replace(at, std::string(entity).size(), plain);
      }
    }
    return json::parse(text);
  }

  muster::testing::TemporaryDirectory directory_;
};

TEST_P(ReportInBrowser, ShowsVerdictAndChartsWithoutOverflowOrError) {
  const json seen = look(render_report({testing::sample_run()}));
  ASSERT_FALSE(seen.empty());
  EXPECT_EQ(seen["width"], GetParam());
  EXPECT_LE(seen["scroll"], seen["width"]) << seen["wide"].dump(2);
  EXPECT_EQ(seen["wide"].size(), 0U) << seen["wide"].dump(2);
  EXPECT_EQ(seen["wrong"].size(), 0U) << seen["wrong"].dump(2);
  EXPECT_EQ(seen["charts"], 5);
  EXPECT_EQ(seen["drawn"], 5);
  EXPECT_EQ(seen["verdict"], "✗ fail");
  EXPECT_LT(seen["top"], 200) << "the verdict is the first thing that is seen";
  EXPECT_EQ(seen["small"], 0) << "texts too small to read";
  EXPECT_EQ(seen["unnamed"], 0);
}

TEST_P(ReportInBrowser, ComparesSeveralRuns) {
  const json seen =
      look(render_report({testing::sample_run("20261130-101500-llama-tiny-a1f3"),
                          testing::sample_run("20261130-111500-llama-tiny-0002", 2),
                          testing::sample_run("20261130-121500-llama-tiny-0003", 12)}));
  ASSERT_FALSE(seen.empty());
  EXPECT_LE(seen["scroll"], seen["width"]) << seen["wide"].dump(2);
  EXPECT_EQ(seen["wrong"].size(), 0U) << seen["wrong"].dump(2);
  EXPECT_EQ(seen["charts"], 17);
  EXPECT_EQ(seen["drawn"], 17);
}

INSTANTIATE_TEST_SUITE_P(Widths, ReportInBrowser, ::testing::Values(390, 1280));

}  // namespace
}  // namespace muster::runs
