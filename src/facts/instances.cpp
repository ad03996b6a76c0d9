#include "facts/instances.h"

#include <fmt/format.h>

#include "facts/facts.h"
#include "facts/reading.h"

namespace muster::facts {
namespace {

const TextForm kCards{"a network card or a range of them", "[0-9]{1,3}(-[0-9]{1,3})?", "1-31"};
const TextForm kBandwidth{"a bandwidth", R"([0-9]+(\.[0-9]+)? Gb/s)", "3200 Gb/s"};
const TextForm kDate{"a date", "[0-9]{4}-[0-9]{2}-[0-9]{2}", "2026-11-30"};

Schema accelerators() {
  return Schema::object(
      "Accelerators of the node",
      {{"kind", Schema::text("Kind").one_of({"gpu", "neuron"}).required()},
       {"model", Schema::text("Model").required()},
       {"count", Schema::integer("How many").at_least(1).at_most(1024)},
       {"cores",
        Schema::integer("Cores of one, where programs address cores").at_least(1).at_most(1024)},
       {"memory", Schema::text("Memory of one").form(kSize)}});
}

Schema network() {
  const Schema interface = Schema::object(
      "One interface, or one on each card of a range",
      {{"cards", Schema::text("Network card index, or a range").form(kCards).required()},
       {"device", Schema::integer("Device index").at_least(0).at_most(255).required()},
       {"type",
        Schema::text("As EC2 spells it").one_of({"efa", "efa-only", "interface"}).required()}});
  const Schema efa = Schema::object(
      "Elastic Fabric Adapter",
      {{"count", Schema::integer("EFA devices; 0 when the type has none")
                     .at_least(0)
                     .at_most(255)
                     .required()},
       {"interfaces", Schema::list("What a launch attaches, primary first", interface)}});
  const Schema rdma = Schema::object(
      "What EFA does in hardware",
      {{"read", Schema::boolean("RDMA read")}, {"write", Schema::boolean("RDMA write")}});
  return Schema::object("Network",
                        {{"cards", Schema::integer("Network cards").at_least(1).at_most(255)},
                         {"bandwidth", Schema::text("Of the whole node").form(kBandwidth)},
                         {"efa", efa},
                         {"rdma", rdma}});
}

Schema row() {
  const auto count = [](const char* doc) {
    return Schema::integer(doc).at_least(1).at_most(65536);
  };
  return Schema::object(
      "One instance type",
      {{"name", Schema::text("As EC2 spells it").required()},
       {"accelerators", accelerators()},
       {"memory", Schema::text("Memory of the node").form(kSize)},
       {"network", network()},
       {"cpu", Schema::object("Processors",
                              {{"arch", Schema::text("Architecture").one_of({"x86_64", "arm64"})},
                               {"vendor", Schema::text("Maker")},
                               {"vcpus", count("vCPUs")},
                               {"cores", count("Cores")},
                               {"sockets", count("Sockets")},
                               {"cores_per_socket", count("Cores of a socket")}})},
       {"nvlink",
        Schema::object(
            "NVLink between the node's GPUs",
            {{"links",
              Schema::integer("Links of one GPU; 0 when there are none").at_least(0).at_most(64)},
             {"generation", count("Generation")}})},
       {"nvswitch", Schema::boolean("GPUs meet in NVSwitch")},
       {"ml", Schema::boolean("SageMaker clusters offer it as ml.<name>")},
       {"notes", Schema::list("Worth knowing", Schema::text("Note"))},
       {"sources", Schema::list("Where the row's facts come from; names of the sources above",
                                Schema::text("Source"))
                       .at_least(1)
                       .required()},
       {"date", Schema::text("When they were read").form(kDate).required()}});
}

std::pair<int, int> card_range(const std::string& text) {
  const auto dash = text.find('-');
  const int first = std::stoi(text.substr(0, dash));
  return {first, dash == std::string::npos ? first : std::stoi(text.substr(dash + 1))};
}

std::vector<Interface> interfaces_of(const Node& row) {
  std::vector<Interface> interfaces;
  if (const Node* rules = node_at(row, "network.efa.interfaces")) {
    for (const Node& rule : rules->items()) {
      const auto [first, last] = card_range(text_at(rule, "cards"));
      const int device = static_cast<int>(*integer_at(rule, "device"));
      for (int card = first; card <= last; ++card)
        interfaces.push_back({card, device, text_at(rule, "type")});
    }
  }
  return interfaces;
}

Findings check_layout(const Node& row) {
  const Node* rules = node_at(row, "network.efa.interfaces");
  if (!rules) return {};
  Findings findings;
  const auto wrong = [&](std::string message) {
    findings.push_back(
        error_at(rules->where(), "facts-layout", text_at(row, "name") + ": " + std::move(message)));
  };
  const auto interfaces = interfaces_of(row);
  if (interfaces.empty() || interfaces[0].card != 0 || interfaces[0].device != 0) {
    wrong("the first interface is not card 0, device 0");
  }
  int efa = 0;
  for (std::size_t i = 0; i < interfaces.size(); ++i) {
    efa += interfaces[i].type != "interface";
    if (const auto cards = integer_at(row, "network.cards");
        cards && interfaces[i].card >= *cards) {
      wrong(fmt::format("card {} of {} cards", interfaces[i].card, *cards));
    }
    for (std::size_t j = 0; j < i; ++j) {
      if (interfaces[i].card == interfaces[j].card &&
          interfaces[i].device == interfaces[j].device) {
        wrong(fmt::format("card {}, device {} twice", interfaces[i].card, interfaces[i].device));
      }
    }
  }
  if (efa != *integer_at(row, "network.efa.count")) {
    wrong(fmt::format("{} EFA interfaces for {} EFA devices", efa,
                      *integer_at(row, "network.efa.count")));
  }
  return findings;
}

std::optional<std::int64_t> bytes_at(const Node& row, const char* key) {
  const auto size = parse_size(text_at(row, key));
  return size ? std::optional<std::int64_t>(static_cast<std::int64_t>(*size)) : std::nullopt;
}

std::optional<int> count_at(const Node& row, const char* key) {
  const auto value = integer_at(row, key);
  return value ? std::optional<int>(static_cast<int>(*value)) : std::nullopt;
}

std::optional<std::string> word_at(const Node& row, const char* key) {
  const std::string text = text_at(row, key);
  return text.empty() ? std::nullopt : std::optional<std::string>(text);
}

Instance read_row(const Node& row, const Node& sources) {
  Instance instance;
  instance.name = text_at(row, "name");
  if (node_at(row, "accelerators")) {
    instance.accelerators =
        Accelerators{text_at(row, "accelerators.kind"), text_at(row, "accelerators.model"),
                     count_at(row, "accelerators.count"), count_at(row, "accelerators.cores"),
                     bytes_at(row, "accelerators.memory")};
  }
  instance.memory_bytes = bytes_at(row, "memory");
  instance.network.cards = count_at(row, "network.cards");
  if (const std::string bandwidth = text_at(row, "network.bandwidth"); !bandwidth.empty()) {
    instance.network.gbps =
        Node::scalar(bandwidth.substr(0, bandwidth.find(' ')), false, {}).as_double();
  }
  instance.network.efa_count = count_at(row, "network.efa.count");
  instance.network.interfaces = interfaces_of(row);
  instance.network.rdma_read = boolean_at(row, "network.rdma.read");
  instance.network.rdma_write = boolean_at(row, "network.rdma.write");
  instance.cpu = {word_at(row, "cpu.arch"),     word_at(row, "cpu.vendor"),
                  count_at(row, "cpu.vcpus"),   count_at(row, "cpu.cores"),
                  count_at(row, "cpu.sockets"), count_at(row, "cpu.cores_per_socket")};
  if (node_at(row, "nvlink"))
    instance.nvlink = Nvlink{count_at(row, "nvlink.links"), count_at(row, "nvlink.generation")};
  instance.nvswitch = boolean_at(row, "nvswitch");
  instance.ml = boolean_at(row, "ml");
  instance.notes = texts_at(row, "notes");
  for (const std::string& key : texts_at(row, "sources"))
    instance.sources.push_back(text_at(sources, key));
  instance.date = text_at(row, "date");
  instance.where = row.find("name")->where();
  return instance;
}

}  // namespace

const Schema& instances_schema() {
  static const Schema kSchema = [] {
    auto fields = envelope("Instances");
    fields.push_back(
        {"sources",
         Schema::map("Where facts come from, by short name", Schema::text("Source")).required()});
    fields.push_back({"instances", Schema::list("Rows", row()).required()});
    return Schema::object("Instance types and their hardware", std::move(fields));
  }();
  return kSchema;
}

Findings check_instances(const Node& document) {
  Findings findings = repeated_names(*document.find("instances"));
  for (const Node& row : document.find("instances")->items()) {
    const Findings layout = check_layout(row);
    findings.insert(findings.end(), layout.begin(), layout.end());
    for (const Node& source : row.find("sources")->items()) {
      if (document.find("sources")->find(source.text())) continue;
      findings.push_back(error_at(source.where(), "facts-source",
                                  fmt::format("unknown source \"{}\"", source.text()),
                                  "list it under sources"));
    }
    const auto sockets = integer_at(row, "cpu.sockets");
    const auto per_socket = integer_at(row, "cpu.cores_per_socket");
    const auto cores = integer_at(row, "cpu.cores");
    if (sockets && per_socket && cores && *sockets * *per_socket != *cores) {
      findings.push_back(
          error_at(row.find("cpu")->where(), "facts-cpu",
                   fmt::format("{}: {} sockets of {} cores are not {} cores", text_at(row, "name"),
                               *sockets, *per_socket, *cores)));
    }
  }
  return findings;
}

Result<std::vector<Instance>> parse_instances(const std::string& text, const std::string& file) {
  const auto document = parse_facts(text, file, instances_schema(), check_instances);
  if (!document) return document.error();
  std::vector<Instance> instances;
  for (const Node& row : document->find("instances")->items()) {
    instances.push_back(read_row(row, *document->find("sources")));
  }
  return instances;
}

Result<std::vector<Instance>> load_instances(const FileSystem& files,
                                             const std::filesystem::path& root) {
  const auto path = facts_file(files, root, "instances.yaml");
  const auto text = files.read(path);
  if (!text) return text.error();
  return parse_instances(*text, path.string());
}

Result<Instance> find_instance(const std::vector<Instance>& instances, const std::string& name) {
  const std::string plain = name.rfind("ml.", 0) == 0 ? name.substr(3) : name;
  std::vector<std::string> known;
  for (const Instance& instance : instances) {
    if (instance.name == plain) return instance;
    known.push_back(instance.name);
  }
  return unknown_name("instance type", name, known);
}

}  // namespace muster::facts
