#include "facts/describe.h"

#include <fmt/format.h>

namespace muster::facts {
namespace {

using Json = nlohmann::ordered_json;

template <typename T>
void put(Json& object, const char* key, const std::optional<T>& value) {
  if (value) object[key] = *value;
}

void put_size(Json& object, const std::optional<std::int64_t>& bytes) {
  if (!bytes) return;
  object["memory"] = size_text(*bytes);
  object["memory_bytes"] = *bytes;
}

void put_object(Json& object, const char* key, Json member) {
  if (!member.empty()) object[key] = std::move(member);
}

Json accelerators_json(const Accelerators& accelerators) {
  Json json = {{"kind", accelerators.kind}, {"model", accelerators.model}};
  put(json, "count", accelerators.count);
  put(json, "cores", accelerators.cores);
  put_size(json, accelerators.memory_bytes);
  return json;
}

Json network_json(const Network& network) {
  Json json = Json::object();
  put(json, "cards", network.cards);
  if (network.gbps) {
    const auto whole = static_cast<std::int64_t>(*network.gbps);
    json["gbps"] = static_cast<double>(whole) == *network.gbps ? Json(whole) : Json(*network.gbps);
  }
  Json efa = Json::object();
  put(efa, "count", network.efa_count);
  for (const Interface& interface : network.interfaces) {
    efa["interfaces"].push_back(
        {{"card", interface.card}, {"device", interface.device}, {"type", interface.type}});
  }
  put_object(json, "efa", std::move(efa));
  Json rdma = Json::object();
  put(rdma, "read", network.rdma_read);
  put(rdma, "write", network.rdma_write);
  put_object(json, "rdma", std::move(rdma));
  return json;
}

class Lines {
 public:
  void add(const char* title, const std::string& text) {
    if (!text.empty()) text_ += fmt::format("{:<14}{}\n", title, text);
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

std::string with_comma(std::string text, const std::string& more) {
  if (more.empty()) return text;
  return text.empty() ? more : text + ", " + more;
}

std::string accelerators_text(const Accelerators& accelerators) {
  std::string text = accelerators.count
                         ? fmt::format("{} × {}", *accelerators.count, accelerators.model)
                         : accelerators.model;
  if (accelerators.cores) text += fmt::format(", {} cores each", *accelerators.cores);
  if (accelerators.memory_bytes)
    text += fmt::format(", {} each", size_text(*accelerators.memory_bytes));
  return text;
}

std::string network_text(const Network& network) {
  std::string text;
  if (network.gbps) text = fmt::format("{:g} Gb/s", *network.gbps);
  if (network.cards)
    text =
        with_comma(text, fmt::format("{} card{}", *network.cards, *network.cards == 1 ? "" : "s"));
  return text;
}

std::string efa_text(const Network& network) {
  std::string text;
  if (network.efa_count)
    text = *network.efa_count == 0
               ? "none"
               : fmt::format("{} device{}", *network.efa_count, *network.efa_count == 1 ? "" : "s");
  if (network.rdma_read) text = with_comma(text, *network.rdma_read ? "RDMA read" : "no RDMA read");
  if (network.rdma_write)
    text = with_comma(text, *network.rdma_write ? "RDMA write" : "no RDMA write");
  return text;
}

std::string layout_text(const std::vector<Interface>& interfaces) {
  std::string text;
  for (std::size_t i = 0; i < interfaces.size();) {
    std::size_t last = i;
    const auto continues = [&](const Interface& next) {
      return next.card == interfaces[last].card + 1 && next.device == interfaces[i].device &&
             next.type == interfaces[i].type;
    };
    while (last + 1 < interfaces.size() && continues(interfaces[last + 1])) ++last;
    const std::string cards =
        last == i ? fmt::format("card {}", interfaces[i].card)
                  : fmt::format("cards {}-{}", interfaces[i].card, interfaces[last].card);
    text = with_comma(
        text, fmt::format("{} device {} {}", cards, interfaces[i].device, interfaces[i].type));
    i = last + 1;
  }
  return text;
}

std::string cpu_text(const Cpu& cpu) {
  std::string text = with_comma(cpu.vendor.value_or(""), cpu.arch.value_or(""));
  if (cpu.vcpus) text = with_comma(text, fmt::format("{} vCPUs", *cpu.vcpus));
  if (cpu.cores) text = with_comma(text, fmt::format("{} cores", *cpu.cores));
  if (cpu.sockets && cpu.cores_per_socket)
    text =
        with_comma(text, fmt::format("{} sockets × {} cores", *cpu.sockets, *cpu.cores_per_socket));
  return text;
}

std::string nvlink_text(const Nvlink& nvlink, const std::optional<bool>& nvswitch) {
  if (nvlink.links && *nvlink.links == 0) return "none";
  std::string text;
  if (nvlink.links) text = fmt::format("{} links of each GPU", *nvlink.links);
  if (nvlink.generation) text = with_comma(text, fmt::format("generation {}", *nvlink.generation));
  if (nvswitch && *nvswitch) text = with_comma(text, "NVSwitch");
  return text;
}

}  // namespace

std::string size_text(std::int64_t bytes) {
  static const char* const kUnits[] = {"B", "KiB", "MiB", "GiB"};
  std::size_t unit = 0;
  while (unit + 1 < std::size(kUnits) && bytes != 0 && bytes % 1024 == 0) {
    bytes /= 1024;
    ++unit;
  }
  return fmt::format("{} {}", bytes, kUnits[unit]);
}

Json to_json(const Instance& instance) {
  Json json = {{"name", instance.name}};
  if (instance.accelerators) json["accelerators"] = accelerators_json(*instance.accelerators);
  put_size(json, instance.memory_bytes);
  put_object(json, "network", network_json(instance.network));
  Json cpu = Json::object();
  put(cpu, "arch", instance.cpu.arch);
  put(cpu, "vendor", instance.cpu.vendor);
  put(cpu, "vcpus", instance.cpu.vcpus);
  put(cpu, "cores", instance.cpu.cores);
  put(cpu, "sockets", instance.cpu.sockets);
  put(cpu, "cores_per_socket", instance.cpu.cores_per_socket);
  put_object(json, "cpu", std::move(cpu));
  if (instance.nvlink) {
    Json nvlink = Json::object();
    put(nvlink, "links", instance.nvlink->links);
    put(nvlink, "generation", instance.nvlink->generation);
    json["nvlink"] = std::move(nvlink);
  }
  put(json, "nvswitch", instance.nvswitch);
  put(json, "ml", instance.ml);
  if (!instance.notes.empty()) json["notes"] = instance.notes;
  json["sources"] = instance.sources;
  json["date"] = instance.date;
  return json;
}

Json to_json(const Dataset& dataset) {
  Json json = {
      {"name", dataset.name}, {"description", dataset.description}, {"package", dataset.package}};
  if (dataset.directory.empty()) {
    json["command"] = dataset.command;
    json["bytes"] = dataset.bytes;
    json["sha256"] = dataset.sha256;
  } else {
    json["directory"] = dataset.directory;
    std::uint64_t bytes = 0;
    auto files = Json::array();
    for (const DatasetFile& file : dataset.files) {
      bytes += file.bytes;
      files.push_back({{"name", file.name}, {"bytes", file.bytes}, {"sha256", file.sha256}});
    }
    json["bytes"] = bytes;
    json["files"] = std::move(files);
  }
  put(json, "words", dataset.words);
  json["licence"] = dataset.licence;
  json["source"] = dataset.source;
  json["date"] = dataset.date;
  return json;
}

Json to_json(const Model& model) {
  Json json = {{"name", model.name},
               {"parameters", model.parameters},
               {"layers", model.layers},
               {"hidden", model.hidden},
               {"heads", model.heads},
               {"kv_heads", model.kv_heads},
               {"head_size", model.head_size},
               {"ffn", model.ffn},
               {"vocabulary", model.vocabulary},
               {"tied", model.tied},
               {"context", model.context},
               {"rope_theta", model.rope_theta}};
  put(json, "rope_factor", model.rope_factor);
  json["source"] = model.source;
  json["date"] = model.date;
  return json;
}

std::string describe(const Instance& instance) {
  Lines lines;
  lines.add("name", instance.name);
  lines.add("accelerators", instance.accelerators ? accelerators_text(*instance.accelerators) : "");
  lines.add("memory", instance.memory_bytes ? size_text(*instance.memory_bytes) : "");
  lines.add("cpu", cpu_text(instance.cpu));
  lines.add("network", network_text(instance.network));
  lines.add("EFA", efa_text(instance.network));
  lines.add("interfaces", layout_text(instance.network.interfaces));
  lines.add("NVLink", instance.nvlink ? nvlink_text(*instance.nvlink, instance.nvswitch) : "");
  if (instance.ml) lines.add("SageMaker", *instance.ml ? "ml." + instance.name : "not offered");
  for (const std::string& note : instance.notes) lines.add("note", note);
  for (const std::string& source : instance.sources) lines.add("source", source);
  lines.add("date", instance.date);
  return lines.take();
}

}  // namespace muster::facts
