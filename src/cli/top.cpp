// muster top: nodes, jobs, GPUs and links, live.
#include <algorithm>
#include <future>
#include <ostream>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "base/output.h"
#include "base/schema.h"
#include "cli/terminal.h"
#include "cli/top_sources.h"

namespace muster::cli {
namespace {

using metrics::Scraped;
using metrics::TopLook;
using metrics::TopView;
using std::chrono::milliseconds;

constexpr milliseconds kShortest{100};  // between two rounds
constexpr milliseconds kKeyWait{100};

struct TopRequest {
  std::vector<std::string> from, prometheus;
  std::string interval = "2s", limit = "3s", sort = "name", part = "all";
  bool once = false;
};

struct Plan {
  std::vector<TopSource> sources;
  milliseconds interval{0}, limit{0};
  TopLook look;
};

Result<milliseconds> duration_of(const std::string& text, const char* option) {
  const auto seconds = parse_duration(text);
  if (!seconds)
    return failure("top-duration", fmt::format("{} \"{}\" is no duration", option, text),
                   "e.g. 2s");
  return std::max(kShortest, milliseconds(static_cast<std::int64_t>(*seconds * 1000)));
}

constexpr const char* kParts[] = {"all", "nodes", "jobs", "gpus", "links"};
constexpr const char* kSorts[] = {"name", "load", "heat"};

template <typename Names>
int place_in(const Names& names, const std::string& name) {
  return static_cast<int>(std::find(std::begin(names), std::end(names), name) - std::begin(names));
}

Result<Plan> plan_of(const TopRequest& request) {
  Plan plan;
  for (const auto& [texts, server] :
       {std::pair(request.from, false), std::pair(request.prometheus, true)}) {
    for (const std::string& text : texts) {
      auto source = top_source(text, server);
      if (!source) return source.error();
      plan.sources.push_back(std::move(*source));
    }
  }
  if (plan.sources.empty())
    plan.sources.push_back({TopSource::Kind::kHost, "this host", {}, "localhost"});
  const auto interval = duration_of(request.interval, "--interval");
  if (!interval) return interval.error();
  const auto limit = duration_of(request.limit, "--limit");
  if (!limit) return limit.error();
  plan.interval = *interval;
  plan.limit = *limit;
  plan.look.part = static_cast<metrics::TopPart>(place_in(kParts, request.part));
  plan.look.sort = static_cast<metrics::TopSort>(place_in(kSorts, request.sort));
  return plan;
}

std::string time_now(const Context& context) {
  return to_rfc3339(context.clock.now()).substr(0, 19) + "Z";
}

bool counts(const Plan& plan) {
  return std::any_of(plan.sources.begin(), plan.sources.end(),
                     [](const TopSource& source) { return source.kind != TopSource::Kind::kFile; });
}

// One frame for pipes. Rates take two rounds; of what was saved there is one.
void print_once(Context& context, Plan& plan) {
  std::vector<Scraped> before;
  auto now = scrape_sources(context, real_http_client(), plan.sources, plan.limit);
  if (counts(plan) && !interrupted()) {
    before = std::move(now);
    context.clock.sleep_for(plan.interval);
    now = scrape_sources(context, real_http_client(), plan.sources, plan.limit);
  }
  const TopView view = metrics::top_view(now, before);
  plan.look.time = time_now(context);
  plan.look.color = context.color_out();
  for (const std::string& line : metrics::top_frame(view, plan.look)) context.out << line << '\n';
  // Nobody answered: nothing was seen.
  context.exit_code = interrupted()        ? kExitInterrupted
                      : view.answered == 0 ? kExitUnverified
                                           : kExitOk;
}

/// Moves the look as the key asks; false: to end.
bool apply_key(Key key, TopLook& look, std::size_t lines, std::size_t page) {
  const std::size_t last = lines > page ? lines - page : 0;
  const auto turn = [](auto value, int by, int of) {
    return static_cast<decltype(value)>((static_cast<int>(value) + by + of) % of);
  };
  switch (key) {
    case Key::kQuit:
      return false;
    case Key::kUp:
      look.first -= look.first > 0 ? 1 : 0;
      break;
    case Key::kDown:
      look.first = std::min(look.first + 1, last);
      break;
    case Key::kPageUp:
      look.first -= std::min(look.first, page);
      break;
    case Key::kPageDown:
      look.first = std::min(look.first + page, last);
      break;
    case Key::kLeft:
      look.part = turn(look.part, -1, std::size(kParts));
      break;
    case Key::kRight:
      look.part = turn(look.part, 1, std::size(kParts));
      break;
    case Key::kSort:
      look.sort = turn(look.sort, 1, std::size(kSorts));
      break;
    case Key::kNone:
    case Key::kOther:
      break;
  }
  if (key == Key::kLeft || key == Key::kRight) look.first = 0;
  return true;
}

// Rounds run beside the keys, so that a source that does not answer holds up no key.
void show_live(Context& context, Plan& plan, Screen& screen) {
  TopView view;
  std::vector<Scraped> now, before;
  std::future<std::vector<Scraped>> round;
  auto next = context.clock.steady();
  plan.look.keys = true;
  plan.look.color = context.color_out();
  bool first = true, changed = true;
  ScreenSize drawn;
  while (!interrupted()) {
    if (!round.valid() && context.clock.steady() >= next) {
      round = std::async(std::launch::async, [&context, &plan] {
        return scrape_sources(context, real_http_client(), plan.sources, plan.limit);
      });
    }
    if (round.valid() && round.wait_for(milliseconds(0)) == std::future_status::ready) {
      before = std::move(now);
      now = round.get();
      view = metrics::top_view(now, before);
      plan.look.time = time_now(context);
      next = context.clock.steady() + plan.interval;
      first = false;
      changed = true;
    }
    const ScreenSize size = Screen::size();
    std::size_t lines = 0;
    plan.look.width = size.width;
    plan.look.height = size.height;
    changed |= size.width != drawn.width || size.height != drawn.height;
    const auto frame = metrics::top_frame(view, plan.look, &lines);
    if (changed) screen.draw(first ? std::vector<std::string>{"asking …"} : frame);
    drawn = size;
    const Key key = screen.wait(kKeyWait);
    changed = key != Key::kNone;
    const std::size_t page = size.height > 4 ? size.height - 4 : 1;
    if (!apply_key(key, plan.look, lines, page)) return;
  }
  context.exit_code = kExitInterrupted;
}

void show_top(Context& context, const TopRequest& request) {
  auto plan = plan_of(request);
  if (!plan) return context.fail(plan.findings(), kExitBadInput);
  if (request.once) return print_once(context, *plan);
  Screen screen;
  if (!screen.taken())
    return context.fail(
        {error_at({}, "top-terminal", "this is no terminal", "--once prints one frame")},
        kExitInternal);
  show_live(context, *plan, screen);
}

}  // namespace

void add_top(CLI::App& root, Context& context) {
  CLI::App* sub =
      root.add_subcommand("top", "Nodes, jobs, GPUs and links, live; without a source this host");
  sub->group("Look");
  auto request = std::make_shared<TopRequest>();
  sub->add_option("--from", request->from,
                  "An exporter, http://HOST:PORT, or a file of metrics that was saved; repeatable")
      ->type_name("URL|FILE")
      ->allow_extra_args(false);
  sub->add_option("--prometheus", request->prometheus,
                  "A Prometheus that scrapes the cluster; repeatable")
      ->type_name("URL")
      ->allow_extra_args(false);
  sub->add_flag("--once", request->once, "Print one frame, without keys; for pipes");
  sub->add_option("--interval", request->interval, "Between two rounds")
      ->capture_default_str()
      ->type_name("DURATION");
  sub->add_option("--limit", request->limit, "For a source to answer")
      ->capture_default_str()
      ->type_name("DURATION");
  sub->add_option("--part", request->part, "What is shown first")
      ->check(CLI::IsMember(std::vector<std::string>(std::begin(kParts), std::end(kParts))))
      ->capture_default_str()
      ->type_name("PART");
  sub->add_option("--sort", request->sort, "Order of the rows")
      ->check(CLI::IsMember(std::vector<std::string>(std::begin(kSorts), std::end(kSorts))))
      ->capture_default_str()
      ->type_name("ORDER");
  sub->footer(
      "Keys: q ends, arrows move, s sorts.\n"
      "Examples:\n  muster top --prometheus http://head:9090\n"
      "  muster top --from http://n1:9401 --from http://n2:9401 --once");
  sub->callback([&context, request] { show_top(context, *request); });
}

}  // namespace muster::cli
