// What `muster top` makes of samples: what nobody told is missing and no 0, rates take two rounds,
// and a frame is never larger than the screen.
#include "metrics/top.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/display.h"

namespace muster::metrics {
namespace {

Scraped told(const std::string& host, double seconds, const std::string& text) {
  Scraped scraped;
  scraped.source = "http://" + host;
  scraped.host = host;
  scraped.seconds = seconds;
  SampleText read = read_samples(text);
  scraped.samples = std::move(read.samples);
  scraped.refused = read.refused;
  return scraped;
}

std::string shown(const TopView& view, const TopLook& look = {}) {
  return fmt::format("{}\n", fmt::join(top_frame(view, look), "\n"));
}

TEST(Samples, ReadsTheFormatAndCountsWhatIsNone) {
  const SampleText read = read_samples(
      "# TYPE a counter\na 1\na{b=\"c\\\"d\\\\e\\n\", f=\"\",} 2.5e3 1700000000000\n"
      "g NaN\nh +Inf\n\nbad\nbad{a=\"b} 1\nbad{a=b} 1\n{x=\"y\"} 1\nz one\n");
  ASSERT_EQ(read.samples.size(), 4U);
  EXPECT_EQ(read.samples[1].label("b"), "c\"d\\e\n");
  EXPECT_EQ(read.samples[1].value, 2500);
  EXPECT_EQ(read.samples[1].label("none"), "");
  EXPECT_EQ(read.refused, 5);
}

RC_GTEST_PROP(Samples, AnyTextIsReadOrCounted, (const std::string& text)) {
  const SampleText read = read_samples(text);
  RC_ASSERT(read.samples.size() + static_cast<std::size_t>(read.refused) <= text.size());
}

TEST(Top, WhatNobodyToldIsMissing) {
  const TopView view = top_view({told("n1", 1, "DCGM_FI_DEV_GPU_TEMP{gpu=\"0\"} 50\n")}, {});
  ASSERT_EQ(view.gpus.size(), 1U);
  EXPECT_EQ(view.gpus[0].temperature, 50);
  EXPECT_FALSE(view.gpus[0].utilisation.has_value());
  EXPECT_FALSE(view.gpus[0].power.has_value());
  ASSERT_EQ(view.nodes.size(), 1U);
  EXPECT_FALSE(view.nodes[0].power.has_value());
  EXPECT_FALSE(view.nodes[0].up.has_value());  // no server said so
  EXPECT_FALSE(view.nodes[0].memory.has_value());
  EXPECT_NE(shown(view).find("n1    0       -    -  50  -    -    -    -  -    -"),
            std::string::npos)
      << shown(view);
}

TEST(Top, NotANumberIsMissing) {
  const TopView view =
      top_view({told("n1", 1, "DCGM_FI_DEV_GPU_UTIL{gpu=\"0\"} NaN\nnode_load1 +Inf\n")}, {});
  EXPECT_TRUE(view.gpus.empty());
  EXPECT_FALSE(view.nodes.at(0).load.has_value());
}

TEST(Top, RatesTakeTwoRoundsAndACounterThatRises) {
  const std::string first = "node_amazonefa_tx_bytes{device=\"d\",port=\"1\"} 1000\n";
  const std::string then = "node_amazonefa_tx_bytes{device=\"d\",port=\"1\"} 3000\n";
  const auto sent = [](const TopView& view) { return view.links.at(0).sent; };
  EXPECT_FALSE(sent(top_view({told("n1", 10, first)}, {})).has_value());
  EXPECT_EQ(sent(top_view({told("n1", 12, then)}, {told("n1", 10, first)})), 1000);
  EXPECT_EQ(sent(top_view({told("n1", 12, first)}, {told("n1", 10, first)})), 0);  // measured
  EXPECT_FALSE(sent(top_view({told("n1", 12, first)}, {told("n1", 10, then)})).has_value());
  EXPECT_FALSE(sent(top_view({told("n1", 10, then)}, {told("n1", 10, first)})).has_value());
  EXPECT_FALSE(sent(top_view({told("n2", 12, then)}, {told("n1", 10, first)})).has_value());
}

TEST(Top, ASourceThatDoesNotAnswerIsNamedAndItsHostDown) {
  Scraped silent = told("n2", 1, "");
  silent.wrong = "no answer within 3 s";
  const TopView view = top_view({told("n1", 1, "node_load1 2\nrubbish\n"), silent}, {});
  EXPECT_EQ(view.answered, 1U);
  EXPECT_EQ(view.sources, 2U);
  EXPECT_EQ(view.wrong, (std::vector<std::string>{"http://n1: 1 lines not understood",
                                                  "http://n2: no answer within 3 s"}));
  EXPECT_EQ(view.nodes.at(1).up, 0);
  EXPECT_FALSE(view.nodes.at(1).load.has_value());
}

TEST(Top, JobsThatShareAHostAreKeptApart) {
  const TopView view =
      top_view({told("n1", 1,
                     "DCGM_FI_DEV_GPU_UTIL{gpu=\"0\",Hostname=\"h1\"} "
                     "80\nDCGM_FI_DEV_GPU_UTIL{gpu=\"1\",Hostname=\"h1\"} 20\n"
                     "DCGM_FI_DEV_POWER_USAGE{gpu=\"0\"} 600\n"
                     "muster_job_info{slurm_job_id=\"7\",user=\"ada\",partition=\"p\"} 1\n"
                     "muster_job_info{slurm_job_id=\"8\",user=\"bob\",partition=\"p\"} 1\n"
                     "muster_job_gpu_info{slurm_job_id=\"7\",gpu=\"0\"} 1\n"
                     "muster_job_gpu_info{slurm_job_id=\"8\",gpu=\"1\"} 1\n")},
               {});
  ASSERT_EQ(view.jobs.size(), 2U);
  EXPECT_EQ(view.jobs[0].user, "ada");
  EXPECT_EQ(view.jobs[0].utilisation, 0.8);
  EXPECT_EQ(view.jobs[0].power, 600);
  EXPECT_EQ(view.jobs[1].utilisation, 0.2);
  EXPECT_FALSE(view.jobs[1].power.has_value());
  ASSERT_EQ(view.nodes.size(), 1U);  // the GPU's own name of the host, once
  EXPECT_EQ(view.nodes[0].name, "h1");
  EXPECT_EQ(view.nodes[0].jobs, 2);
  EXPECT_EQ(view.nodes[0].gpus, 2);
}

TEST(Top, TheWorstOutcomeOfANodeIsShown) {
  const TopView view =
      top_view({told("s", 1,
                     "muster_health{instance=\"n1\",check=\"a\",outcome=\"replace\"} 1\n"
                     "muster_health{instance=\"n1\",check=\"b\",outcome=\"ok\"} 1\n"
                     "muster_health{instance=\"n1\",check=\"b\",outcome=\"reboot\"} 0\n"
                     "up{instance=\"n1\",job=\"node\"} 1\nup{instance=\"n1\",job=\"dcgm\"} 0\n"
                     "up{instance=\"n2\",job=\"node\"} 0\n")},
               {});
  EXPECT_EQ(view.nodes.at(0).health, "replace");
  EXPECT_EQ(view.nodes.at(0).up, 1);
  EXPECT_EQ(view.nodes.at(1).up, 0);
}

RC_GTEST_PROP(Top, AFrameFitsItsScreen, ()) {
  std::string text;
  const int gpus = *rc::gen::inRange(0, 40);
  for (int i = 0; i < gpus; ++i)
    text += fmt::format("DCGM_FI_DEV_GPU_TEMP{{gpu=\"{}\",modelName=\"{}\"}} 5{}\n", i,
                        *rc::gen::element("H100", "H\x1b[31m", "語語語"), i % 10);
  TopLook look;
  look.width = static_cast<std::size_t>(*rc::gen::inRange(1, 130));
  look.height = static_cast<std::size_t>(*rc::gen::inRange(1, 60));
  look.first = static_cast<std::size_t>(*rc::gen::inRange(0, 80));
  look.part = static_cast<TopPart>(*rc::gen::inRange(0, 5));
  look.sort = static_cast<TopSort>(*rc::gen::inRange(0, 3));
  look.keys = *rc::gen::arbitrary<bool>();
  const auto frame = top_frame(top_view({told("n1", 1, text)}, {}), look);
  RC_ASSERT(frame.size() <= look.height);
  for (const std::string& line : frame) {
    RC_ASSERT(display_width(line) <= look.width);
    RC_ASSERT(line.find('\x1b') == std::string::npos);  // no color was asked for
  }
}

TEST(Top, SortsByWhatIsAskedWithTheMissingLast) {
  const TopView view =
      top_view({told("n1", 1,
                     "DCGM_FI_DEV_GPU_TEMP{gpu=\"0\"} 40\nDCGM_FI_DEV_GPU_TEMP{gpu=\"1\"} 80\n"
                     "DCGM_FI_DEV_GPU_UTIL{gpu=\"0\"} 9\nDCGM_FI_DEV_SM_CLOCK{gpu=\"2\"} 1\n")},
               {});
  TopLook look;
  look.part = TopPart::kGpus;
  const auto order = [&] {
    std::string gpus;
    const auto frame = top_frame(view, look);
    for (std::size_t i = 4; i < frame.size(); ++i) gpus += frame[i].substr(6, 1);
    return gpus;
  };
  EXPECT_EQ(order(), "012");
  look.sort = TopSort::kHeat;
  EXPECT_EQ(order(), "102");
  look.sort = TopSort::kLoad;
  EXPECT_EQ(order(), "012");
}

}  // namespace
}  // namespace muster::metrics
