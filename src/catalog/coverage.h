// How far a case can be taken: the targets that its launch files are rendered for, those whose jobs
// `muster run` submits and follows, the profile that runs on this machine's CPUs, what it needs
// otherwise.
#pragma once

#include <string>
#include <vector>

#include "base/document.h"

namespace muster::catalog {

struct Coverage {
  std::vector<std::string> renders;  ///< targets, in the order of the schema
  std::vector<std::string> submits;  ///< all of these; of what Ray starts only those with Ray's
                                     ///< operator; none for a server
  std::vector<std::string>
      runs_here;            ///< profiles on CPUs of one machine; "none" is the case itself
  std::string accelerator;  ///< of the case itself: cpu, gpu, neuron
  std::string needs;        ///< of the case itself: "2 × 8 gpu (p5.48xlarge)"

  /// "runs here", "needs a GPU: not run", "needs Neuron: not run", or "renders and validates".
  std::string state() const;
};

/// Of a manifest as parsed, profiles included. Pure.
Coverage coverage_of(const Node& manifest);

}  // namespace muster::catalog
