// Instance types: what hardware a node has. The data is facts/instances.yaml.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/file_system.h"
#include "base/result.h"

namespace muster::facts {

struct Accelerators {
  std::string kind;   ///< gpu, neuron
  std::string model;  ///< H100, Trainium2, …
  std::optional<int> count;
  std::optional<int> cores;  ///< of one accelerator, where programs address cores (Neuron)
  std::optional<std::int64_t> memory_bytes;  ///< of one accelerator
};

/// One network interface of a launch, as EC2 numbers them.
struct Interface {
  int card = 0;
  int device = 0;
  std::string type;  ///< efa, interface (plain ENA), efa-only

  bool operator==(const Interface&) const = default;
};

struct Network {
  std::optional<int> cards;
  std::optional<double> gbps;         ///< of the whole node
  std::optional<int> efa_count;       ///< EFA devices; 0: the type has none
  std::vector<Interface> interfaces;  ///< primary first; empty: no layout is known
  std::optional<bool> rdma_read, rdma_write;
};

struct Cpu {
  std::optional<std::string> arch, vendor;
  std::optional<int> vcpus, cores, sockets, cores_per_socket;
};

struct Nvlink {
  std::optional<int> links;  ///< of one GPU
  std::optional<int> generation;
};

/// One row. Whatever is not known is absent, never zero.
struct Instance {
  std::string name;  ///< p5.48xlarge
  std::optional<Accelerators> accelerators;
  std::optional<std::int64_t> memory_bytes;
  Network network;
  Cpu cpu;
  std::optional<Nvlink> nvlink;
  std::optional<bool> nvswitch;
  std::optional<bool> ml;  ///< offered to SageMaker clusters as ml.<name>
  std::vector<std::string> notes;
  std::vector<std::string> sources;
  std::string date;
  Position where;
};

/// Reads ROOT/facts/instances.yaml strictly: unknown keys, wrong types, layouts that contradict the
/// counts.
Result<std::vector<Instance>> load_instances(const FileSystem& files,
                                             const std::filesystem::path& root);

/// As load_instances, from a text.
Result<std::vector<Instance>> parse_instances(const std::string& text, const std::string& file);

/// By name, with or without `ml.`; failure with "did you mean".
Result<Instance> find_instance(const std::vector<Instance>& instances, const std::string& name);

}  // namespace muster::facts
