// What `kubectl logs` prints of a run's pods, parted into the files of RUN/logs: rank-N.log for
// lines that a rank wrote, POD.log for what the launcher, the init containers and the operator's
// own containers wrote. Pure.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace muster::launch {

/// Options that give the form which KubeLogs reads.
const std::vector<std::string>& kube_log_options();

class KubeLogs {
 public:
  /// Takes one answer and returns what is new in it, by file name. Answers overlap: lines that an
  /// earlier one had are left out. Lines of another form (kubectl's own errors) are skipped.
  std::map<std::string, std::string> take(std::string_view answer);

 private:
  /// How far a container was read: the time of its last line, and how many lines have that time.
  struct Place {
    std::string time;
    std::size_t lines = 0;
  };
  std::map<std::string, Place> places_;  ///< by pod/container
};

}  // namespace muster::launch
