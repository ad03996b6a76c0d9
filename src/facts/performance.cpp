#include "facts/performance.h"

#include <fmt/format.h>

#include "base/schema.h"
#include "facts/facts.h"
#include "facts/reading.h"

namespace muster::facts {

const Schema& performance_schema() {
  static const Schema kSchema = [] {
    const Schema point = Schema::object(
        "A figure at one size",
        {{"size", Schema::text("Bytes, as nccl-tests counts them").form(kSize)},
         {"busbw", Schema::number("Bus bandwidth in GB/s of 10^9 bytes").at_least(0)},
         {"algbw", Schema::number("Size over time in GB/s of 10^9 bytes").at_least(0)}});
    const Schema row = Schema::object(
        "One measured configuration",
        {{"name", Schema::text("Name, for messages").required()},
         {"instance", Schema::text("Instance type").required()},
         {"nodes", Schema::integer("Nodes that took part").at_least(1).at_most(65536).required()},
         {"ranks", Schema::integer("Ranks, when not one for each accelerator").at_least(1)},
         {"operation", Schema::text("Operation, as nccl-tests names it").required()},
         {"type", Schema::text("Type of the elements; absent: any")},
         {"variant", Schema::text("What else tells the figures apart, e.g. rdma; absent: any")},
         {"nccl",
          Schema::text("NCCL that it was measured with; holds for logs of this minor release")},
         {"tolerance", Schema::number("Share below the figure that still passes")
                           .at_least(0)
                           .at_most(1)
                           .defaults_to("0.1")},
         {"points", Schema::list("Figures by size, smallest first", point).at_least(1).required()},
         {"source", Schema::text("Who published it").required()},
         {"date", Schema::text("When it was read").required()}});
    auto fields = envelope("PerformanceFloors");
    fields.push_back({"performance", Schema::list("Rows", row).required()});
    return Schema::object("What healthy clusters were measured to reach", std::move(fields));
  }();
  return kSchema;
}

Findings check_performance(const Node& document) {
  const Node& rows = *document.find("performance");
  Findings findings = repeated_names(rows);
  for (const Node& row : rows.items()) {
    double before = -1;
    for (const Node& point : row.find("points")->items()) {
      if (point.find("busbw") == nullptr && point.find("algbw") == nullptr) {
        findings.push_back(error_at(point.where(), "facts-performance",
                                    "the point has neither busbw nor algbw", "one of the two"));
      }
      const double size = parse_size(text_at(point, "size")).value_or(0);
      if (size <= before) {
        findings.push_back(error_at(point.where(), "facts-performance", "the sizes do not rise",
                                    "smallest first, each once"));
      }
      before = size;
    }
  }
  return findings;
}

Result<std::vector<PerformanceFloor>> parse_performance(const std::string& text,
                                                        const std::string& file) {
  const auto document = parse_facts(text, file, performance_schema(), check_performance);
  if (!document) return document.error();
  std::vector<PerformanceFloor> floors;
  for (const Node& row : document->find("performance")->items()) {
    PerformanceFloor floor;
    floor.name = text_at(row, "name");
    floor.instance = text_at(row, "instance");
    floor.nodes = static_cast<int>(integer_at(row, "nodes").value_or(1));
    if (const auto ranks = integer_at(row, "ranks")) floor.ranks = static_cast<int>(*ranks);
    floor.operation = text_at(row, "operation");
    floor.type = text_at(row, "type");
    floor.variant = text_at(row, "variant");
    floor.nccl = text_at(row, "nccl");
    floor.tolerance = number_at(row, "tolerance").value_or(0.1);
    for (const Node& node : row.find("points")->items()) {
      PerformancePoint point;
      if (const auto size = parse_size(text_at(node, "size")))
        point.size = static_cast<std::uint64_t>(*size);
      point.busbw = number_at(node, "busbw");
      point.algbw = number_at(node, "algbw");
      floor.points.push_back(point);
    }
    floor.source = text_at(row, "source");
    floor.date = text_at(row, "date");
    floor.where = row.where();
    floors.push_back(std::move(floor));
  }
  return floors;
}

Result<std::vector<PerformanceFloor>> load_performance(const FileSystem& files,
                                                       const std::filesystem::path& root) {
  const auto path = facts_file(files, root, "floors.yaml");
  const auto text = files.read(path);
  if (!text) return text.error();
  return parse_performance(*text, path.string());
}

}  // namespace muster::facts
