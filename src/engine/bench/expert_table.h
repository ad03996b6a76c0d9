// What an expert-parallel measurement says: a table, and the records that the judge reads.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/record.h"
#include "engine/bench/expert_shape.h"
#include "engine/bench/fabric.h"

namespace muster::measure {

struct ExpertRow {
  std::string operation;  ///< dispatch, combine, alltoallv
  std::string type;       ///< bfloat16, f8e4m3; uint8 of a bare alltoallv
  /// local ("NVL": rows received), across ("RDMA": a token once a node), slots (low-latency),
  /// raw:dispatch, raw:combine (a bare alltoallv of the same bytes), rank:N
  std::string variant;
  double bytes = 0;                 ///< of a rank, the mean over ranks
  double rows = 0;                  ///< the same
  double time = 0;                  ///< microseconds: the mean over ranks of their median iteration
  double fastest = 0, slowest = 0;  ///< ranks' medians
  int slowest_rank = 0;
  std::optional<std::size_t> wrong;  ///< values, over all ranks; empty: not checked
};

std::string expert_header(const ExpertPlan& plan, const std::vector<Seat>& seats,
                          const std::string& fabric, const std::string& processor);
std::string line(const ExpertRow& row);
std::string expert_footer(const std::vector<ExpertRow>& rows);

/// The same as a log of records, as `muster bench read` makes of the text.
std::string expert_json(const ExpertPlan& plan, const std::vector<Seat>& seats,
                        const std::vector<ExpertRow>& rows);

}  // namespace muster::measure
