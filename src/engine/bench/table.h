// The output of a measurement: nccl-tests' text and JSON, so that what reads theirs reads ours.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "engine/bench/fabric.h"
#include "engine/bench/settings.h"

namespace muster::measure {

/// One half of a row: out of place, or in place.
struct Half {
  double microseconds = 0;  ///< of one operation
  double algbw = 0;         ///< GB/s
  double busbw = 0;
  std::optional<std::size_t> wrong;  ///< elements; empty: not checked
};

struct Row {
  std::size_t bytes = 0, count = 0;
  DataType type = DataType::kFloat;
  std::optional<Reduction> reduction;
  int root = -1;  ///< -1: not rooted
  Half out_of_place, in_place;
  std::string time;  ///< when it was done, in UTC; empty: not asked
};

struct Summary {
  std::size_t out_of_bounds = 0;
  bool checked = false;
  double average_busbw = 0;  ///< GB/s: the mean of both halves of all rows
};

/// The lines before the rows.
std::string header(const Sweep& sweep, const std::vector<Seat>& seats, const std::string& fabric,
                   const std::string& processor);
std::string line(const Row& row);
std::string footer(const Sweep& sweep, const Summary& summary);

Summary summarise(const std::vector<Row>& rows);

/// nccl-tests' JSON, schema version 3, without the environment, which may hold secrets.
std::string to_json(const Sweep& sweep, const std::vector<std::string>& arguments,
                    const std::vector<Seat>& seats, const std::string& fabric,
                    const std::string& processor, const std::vector<Row>& rows,
                    const std::string& start, const std::string& end);

/// 7 characters, two decimals, fewer for large numbers, as nccl-tests prints a time.
std::string time_text(double microseconds);

}  // namespace muster::measure
