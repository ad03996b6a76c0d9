// The folder into which other programs write metrics: `muster check --textfile`, `muster report
// --textfile`, `muster bench read --as prometheus`, NCCL's inspector. As node_exporter's textfile
// collector.
#pragma once

#include "metrics/bounded.h"

namespace muster::metrics {

/// All *.prom files of the folder. One that is not in the format is left out and told.
CollectorState collect_textfiles(const FileView& view, const std::filesystem::path& folder,
                                 Exposition& to);

}  // namespace muster::metrics
