// What `muster top` shows: nodes, jobs, GPUs and links, put together from what exporters tell.
// Pure: from samples to a view, from a view to a frame. What nobody told is missing, never 0.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "metrics/samples.h"

namespace muster::metrics {

/// What one source told at one time.
struct Scraped {
  std::string source;  ///< as the user named it
  std::string host;    ///< whose series these are where no label says so
  double seconds = 0;  ///< when, by a clock that only goes forward
  std::vector<Sample> samples;
  std::string wrong;  ///< why there are none; empty: it answered
  int refused = 0;    ///< lines that were not understood
};

using Figure = std::optional<double>;

struct TopNode {
  std::string name, type, state, health;
  Figure up, load, memory, gpus, utilisation, power, temperature, sent, received, jobs;
};
struct TopJob {
  std::string id, user, partition;
  Figure nodes, gpus, utilisation, power;
};
struct TopGpu {
  std::string node, gpu, model, jobs;
  Figure utilisation, memory, temperature, power, clock, xid, uncorrected;
};
struct TopLink {
  std::string node, device;
  Figure sent, received, resent, dropped;
};

struct TopView {
  std::vector<TopNode> nodes;
  std::vector<TopJob> jobs;
  std::vector<TopGpu> gpus;
  std::vector<TopLink> links;
  std::map<std::string, double> slurm;  ///< jobs running, pending, nodes idle, down, drain
  std::size_t answered = 0, sources = 0;
  std::vector<std::string> wrong;  ///< "SOURCE: why"
};

/// `before`: the scrape before, for rates; without it, or when a counter was set back, there are
/// none.
TopView top_view(const std::vector<Scraped>& now, const std::vector<Scraped>& before);

enum class TopPart { kAll, kNodes, kJobs, kGpus, kLinks };
enum class TopSort { kName, kLoad, kHeat };  ///< by name; busiest first; hottest or worst first

struct TopLook {
  TopPart part = TopPart::kAll;
  TopSort sort = TopSort::kName;
  std::size_t first = 0;   ///< lines of the body that are above the screen
  std::size_t width = 0;   ///< columns; 0: no limit
  std::size_t height = 0;  ///< lines; 0: no limit
  bool color = false;
  bool keys = false;  ///< the last line tells the keys
  std::string time;   ///< shown at the top
};

/// The lines of a frame, no longer and no more than the screen takes. `lines`: how many the body
/// would have.
std::vector<std::string> top_frame(const TopView& view, const TopLook& look,
                                   std::size_t* lines = nullptr);

/// Names of all metrics that the view is made of, for a server's federation.
const std::vector<std::string>& top_metrics();

}  // namespace muster::metrics
