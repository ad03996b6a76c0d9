// The lines that `muster top` draws.
#include <algorithm>
#include <functional>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/display.h"
#include "base/table.h"
#include "metrics/top.h"

namespace muster::metrics {
namespace {

constexpr const char* kMissing = "-";

std::string or_missing(const std::string& text) {
  return text.empty() ? kMissing : text;
}
std::string plain(const Figure& value, const char* form = "{:.0f}") {
  return value ? fmt::format(fmt::runtime(form), *value) : kMissing;
}
std::string share(const Figure& value) {
  return value ? fmt::format("{:.0f}%", *value * 100) : kMissing;
}
std::string bits(const Figure& bytes) {
  if (!bytes) return kMissing;
  double value = *bytes * 8;
  const char* const units[] = {"b/s", "kb/s", "Mb/s", "Gb/s", "Tb/s"};
  std::size_t unit = 0;
  while (value >= 1000 && unit < 4) {
    value /= 1000;
    ++unit;
  }
  return fmt::format("{:.{}f} {}", value, value < 10 && unit > 0 ? 1 : 0, units[unit]);
}
std::string answers(const Figure& up) {
  if (!up) return kMissing;
  return *up > 0 ? "up" : "down";
}

/// Missing figures go last, whatever the order.
template <typename Row>
void sort_by(std::vector<Row>& rows, const std::function<Figure(const Row&)>& figure) {
  std::stable_sort(rows.begin(), rows.end(), [&](const Row& a, const Row& b) {
    return figure(a).value_or(-1) > figure(b).value_or(-1);
  });
}

/// A table's lines, under a title that says how many rows there are.
void add_table(std::vector<std::string>& lines, const char* title, std::size_t rows,
               const Table& table, bool color) {
  if (!lines.empty()) lines.emplace_back();
  lines.push_back(fmt::format("{} ({})", title, rows));
  if (rows == 0) return;
  std::ostringstream text;
  table.write(text, color);
  std::string line;
  for (std::istringstream read(text.str()); std::getline(read, line);) lines.push_back(line);
}

void add_nodes(std::vector<std::string>& lines, std::vector<TopNode> nodes, const TopLook& look) {
  if (look.sort == TopSort::kLoad)
    sort_by<TopNode>(nodes, [](const TopNode& node) { return node.utilisation; });
  if (look.sort == TopSort::kHeat)
    sort_by<TopNode>(nodes, [](const TopNode& node) { return node.temperature; });
  Table table({{"NODE"},
               {"TARGET"},
               {"SLURM"},
               {"HEALTH"},
               {"LOAD", true},
               {"MEM", true},
               {"GPUS", true},
               {"UTIL", true},
               {"W", true},
               {"MAX C", true},
               {"EFA SENT", true},
               {"RECEIVED", true},
               {"JOBS", true},
               {"TYPE"}});
  for (const TopNode& node : nodes)
    table.add({node.name, answers(node.up), or_missing(node.state), or_missing(node.health),
               plain(node.load, "{:.1f}"), share(node.memory), plain(node.gpus),
               share(node.utilisation), plain(node.power), plain(node.temperature), bits(node.sent),
               bits(node.received), plain(node.jobs), or_missing(node.type)});
  add_table(lines, "NODES", nodes.size(), table, look.color);
}

void add_jobs(std::vector<std::string>& lines, std::vector<TopJob> jobs, const TopLook& look) {
  if (look.sort != TopSort::kName)
    sort_by<TopJob>(jobs, [](const TopJob& job) { return job.power; });
  Table table({{"JOB"},
               {"USER"},
               {"PARTITION"},
               {"NODES", true},
               {"GPUS", true},
               {"UTIL", true},
               {"W", true}});
  for (const TopJob& job : jobs)
    table.add({job.id, or_missing(job.user), or_missing(job.partition), plain(job.nodes),
               plain(job.gpus), share(job.utilisation), plain(job.power)});
  add_table(lines, "JOBS", jobs.size(), table, look.color);
}

void add_gpus(std::vector<std::string>& lines, std::vector<TopGpu> gpus, const TopLook& look) {
  if (look.sort == TopSort::kLoad)
    sort_by<TopGpu>(gpus, [](const TopGpu& gpu) { return gpu.utilisation; });
  if (look.sort == TopSort::kHeat)
    sort_by<TopGpu>(gpus, [](const TopGpu& gpu) { return gpu.temperature; });
  Table table({{"NODE"},
               {"GPU"},
               {"UTIL", true},
               {"MEM", true},
               {"C", true},
               {"W", true},
               {"MHZ", true},
               {"XID", true},
               {"ECC", true},
               {"JOB"},
               {"MODEL"}});
  for (const TopGpu& gpu : gpus)
    table.add({gpu.node, gpu.gpu, share(gpu.utilisation), share(gpu.memory), plain(gpu.temperature),
               plain(gpu.power), plain(gpu.clock), plain(gpu.xid), plain(gpu.uncorrected),
               or_missing(gpu.jobs), or_missing(gpu.model)});
  add_table(lines, "GPUS", gpus.size(), table, look.color);
}

void add_links(std::vector<std::string>& lines, std::vector<TopLink> links, const TopLook& look) {
  if (look.sort == TopSort::kLoad)
    sort_by<TopLink>(links, [](const TopLink& link) { return link.sent; });
  if (look.sort == TopSort::kHeat)
    sort_by<TopLink>(links, [](const TopLink& link) { return link.resent; });
  Table table({{"NODE"},
               {"LINK"},
               {"SENT", true},
               {"RECEIVED", true},
               {"RESENT/S", true},
               {"DROPPED/S", true}});
  for (const TopLink& link : links)
    table.add({link.node, link.device, bits(link.sent), bits(link.received),
               plain(link.resent, "{:.1f}"), plain(link.dropped, "{:.1f}")});
  add_table(lines, "LINKS", links.size(), table, look.color);
}

/// Cut to the columns of the screen; escapes of color take none.
std::string fitted(const std::string& line, std::size_t width) {
  if (width == 0 || display_width(line) <= width) return line;
  std::string cut;
  std::size_t columns = 0;
  for (std::size_t at = 0; at < line.size();) {
    if (line[at] == '\x1b') {
      const std::size_t end = std::min(line.find('m', at), line.size() - 1);
      cut += line.substr(at, end + 1 - at);
      at = end + 1;
      continue;
    }
    std::size_t length = 1;
    while (at + length < line.size() &&
           (static_cast<unsigned char>(line[at + length]) & 0xC0) == 0x80)
      ++length;
    const std::string character = line.substr(at, length);
    columns += display_width(character);
    if (columns > width) {
      // What comes after is cut; colors have to end all the same.
      if (cut.find('\x1b') != std::string::npos) cut += "\x1b[0m";
      break;
    }
    cut += character;
    at += length;
  }
  return cut;
}

std::string sort_name(TopSort sort) {
  if (sort == TopSort::kLoad) return "busiest first";
  return sort == TopSort::kHeat ? "hottest first" : "by name";
}

std::string heading(const TopView& view, const TopLook& look) {
  std::string text = fmt::format("muster top  {}  {} of {} sources answer", look.time,
                                 view.answered, view.sources);
  if (view.slurm.empty()) return text;
  const auto figure = [&](const char* name) {
    const auto found = view.slurm.find(name);
    return found == view.slurm.end() ? std::string(kMissing) : fmt::format("{:.0f}", found->second);
  };
  return text + fmt::format("  Slurm: {} running, {} pending; nodes: {} idle, {} down, {} drained",
                            figure("slurm_jobs_running"), figure("slurm_jobs_pending"),
                            figure("slurm_nodes_idle"), figure("slurm_nodes_down"),
                            figure("slurm_nodes_drain"));
}

}  // namespace

std::vector<std::string> top_frame(const TopView& view, const TopLook& look, std::size_t* lines) {
  std::vector<std::string> head = {heading(view, look)};
  for (const std::string& wrong : view.wrong) head.push_back("! " + terminal_safe(wrong));
  std::vector<std::string> body;
  const auto shows = [&](TopPart part) { return look.part == part || look.part == TopPart::kAll; };
  if (shows(TopPart::kNodes)) add_nodes(body, view.nodes, look);
  if (shows(TopPart::kJobs)) add_jobs(body, view.jobs, look);
  if (shows(TopPart::kGpus)) add_gpus(body, view.gpus, look);
  if (shows(TopPart::kLinks)) add_links(body, view.links, look);
  if (lines != nullptr) *lines = body.size();

  // The head keeps at most half of the screen.
  if (look.height > 0)
    head.resize(std::min(head.size(), std::max<std::size_t>(look.height / 2, 1)));
  const std::size_t taken = head.size() + 1 + (look.keys ? 1 : 0);
  std::size_t room = body.size();
  if (look.height > 0) room = look.height > taken ? look.height - taken : 0;
  const std::size_t first = std::min(look.first, body.size());
  const std::size_t last = std::min(first + room, body.size());
  std::vector<std::string> frame = head;
  frame.emplace_back();
  frame.insert(frame.end(), body.begin() + static_cast<std::ptrdiff_t>(first),
               body.begin() + static_cast<std::ptrdiff_t>(last));
  if (look.keys)
    frame.push_back(
        fmt::format("q quit  up/down scroll ({}-{} of {})  left/right part  s sort ({})", first + 1,
                    last, body.size(), sort_name(look.sort)));
  if (look.height > 0) frame.resize(std::min(frame.size(), look.height));
  for (std::string& line : frame) line = fitted(line, look.width);
  return frame;
}

}  // namespace muster::metrics
