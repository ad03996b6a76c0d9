// Reads cluster.yaml, and says what its schema can't.
#include <algorithm>
#include <regex>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/ipv4.h"
#include "catalog/cluster.h"

namespace muster::catalog {
namespace {

class ClusterReader {
 public:
  ClusterReader(const Node& written, const facts::Facts& known)
      : written_(written), root_(cluster_schema().with_defaults(written)), known_(known) {}

  ClusterSpec read() {
    read_head();
    read_zones();
    read_network();
    read_groups();
    read_storage();
    read_features();
    return std::move(spec_);
  }

  Findings take() { return std::move(findings_); }

 private:
  void wrong(const Position& where, const char* rule, std::string message, std::string hint = {}) {
    findings_.push_back(error_at(where, rule, std::move(message), std::move(hint)));
  }

  std::string text(const char* key) const { return text_at(root_, key); }
  bool flag(const char* key) const { return boolean_at(root_, key).value_or(false); }
  int number(const char* key) const { return static_cast<int>(integer_at(root_, key).value_or(0)); }

  /// Where a key is written, or what holds it.
  Position place(const char* key) const {
    const Node* node = node_at(written_, key);
    return node != nullptr ? node->where() : written_.where();
  }

  void read_head() {
    spec_.file = written_.where().file;
    spec_.where = written_.where();
    spec_.name = text("name");
    spec_.description = text("description");
    spec_.architecture = text("architecture");
    spec_.architecture_where = place("architecture");
    spec_.region = text("region");
    spec_.region_where = place("region");
    spec_.key_pair = text("key_pair");
    spec_.ssh_key_secret = text("ssh_key_secret");
    spec_.image = text("image");
    spec_.os = text("os");
    spec_.kubernetes = text("kubernetes");
    spec_.slurm = text("slurm");
    spec_.contact = text("contact");
    spec_.admin_cidr = text("admin_cidr");
    if (!spec_.admin_cidr.empty()) block_at(spec_.admin_cidr, place("admin_cidr"));
    constexpr std::size_t kLongest = 40;  // "-" and a stack's part behind it stay under 64
    if (spec_.name.size() > kLongest) {
      wrong(place("name"), "cluster-name",
            fmt::format("the name has {} characters", spec_.name.size()),
            fmt::format("at most {}: stacks and roles add to it", kLongest));
    }
  }

  void read_zones() {
    spec_.zones = texts_at(root_, "zones");
    spec_.zones_where = place("zones");
    const std::string prefix = zone_id_prefix(spec_.region);
    std::set<std::string> seen;
    std::size_t ids = 0;
    for (const Node& zone : node_at(written_, "zones")->items()) {
      const std::string& name = zone.text();
      const bool id = name.find("-az") != std::string::npos && name.find('-') == name.rfind('-');
      ids += id ? 1 : 0;
      const bool here = id ? name.starts_with(prefix + "-az")
                           : name.starts_with(spec_.region) && name.size() > spec_.region.size() &&
                                 !is_digit(name[spec_.region.size()]);
      if (!here) {
        wrong(zone.where(), "cluster-zone", fmt::format("{} is no zone of {}", name, spec_.region),
              fmt::format("{0}a, {0}b, … or {1}-az1, {1}-az2, …", spec_.region, prefix));
      }
      if (!seen.insert(name).second)
        wrong(zone.where(), "cluster-zone-twice", fmt::format("{} is named twice", name));
    }
    spec_.zone_ids = ids == spec_.zones.size();
    if (ids != 0 && !spec_.zone_ids) {
      wrong(spec_.zones_where, "cluster-zone-kinds",
            "some zones are names, others ids: a name is another zone in every account",
            "all by name, or all by id");
    }
  }

  static bool is_digit(char c) { return c >= '0' && c <= '9'; }

  std::optional<Ipv4Block> block_at(const std::string& text, const Position& where) {
    const auto block = parse_ipv4_block(text);
    if (!block)
      wrong(where, "cluster-cidr", fmt::format("{} is no IPv4 block", text),
            "four numbers up to 255, a prefix up to 32, and no bit set behind it");
    return block;
  }

  void read_network() {
    NetworkWish& network = spec_.network;
    network.where = place("network");
    network.cidr_where = place("network.cidr");
    network.private_where = place("network.private_cidrs");
    network.nat_where = place("network.nat");
    network.cidr = text("network.cidr");
    network.private_cidrs = texts_at(root_, "network.private_cidrs");
    if (network.private_cidrs.empty()) network.private_cidrs = {"10.1.0.0/16"};
    network.nat = text("network.nat");
    network.public_subnets = flag("network.public_subnets");
    network.flow_logs = flag("network.flow_logs");
    network.endpoints = node_at(written_, "network.endpoints") != nullptr
                            ? texts_at(root_, "network.endpoints")
                            : std::vector<std::string>{"s3"};
    block_at(network.cidr, network.cidr_where);
    for (const std::string& cidr : network.private_cidrs) block_at(cidr, network.private_where);
    if (network.nat != "none" && !network.public_subnets) {
      wrong(network.nat_where, "cluster-nat",
            fmt::format("NAT {} needs public subnets, and there are none", network.nat),
            "nat: none, or public_subnets: true");
    }
    if (node_at(written_, "network.existing") != nullptr) read_existing();
  }

  void read_existing() {
    ExistingNetwork existing;
    existing.where = place("network.existing");
    existing.stack = text("network.existing.stack");
    existing.vpc = text("network.existing.vpc");
    existing.security_group = text("network.existing.security_group");
    existing.public_subnets = texts_at(root_, "network.existing.public_subnets");
    existing.private_subnets = texts_at(root_, "network.existing.private_subnets");
    const bool parts = !existing.vpc.empty() || !existing.private_subnets.empty() ||
                       !existing.security_group.empty();
    if (existing.stack.empty() == !parts) {
      wrong(existing.where, "cluster-network",
            parts ? "both a stack and ids are named" : "neither a stack nor ids are named",
            "stack: NAME, or vpc, private_subnets and security_group");
    } else if (parts && (existing.vpc.empty() || existing.private_subnets.empty() ||
                         existing.security_group.empty())) {
      wrong(existing.where, "cluster-network", "not all of the network is named",
            "vpc, private_subnets and security_group");
    } else if (parts && existing.private_subnets.size() != spec_.zones.size()) {
      wrong(existing.where, "cluster-network",
            fmt::format("{} private subnets for {} zones", existing.private_subnets.size(),
                        spec_.zones.size()),
            "one a zone, in the order of the zones");
    }
    for (const char* key :
         {"cidr", "private_cidrs", "nat", "public_subnets", "endpoints", "flow_logs"}) {
      const std::string path = std::string("network.") + key;
      if (node_at(written_, path) != nullptr)
        wrong(place(path.c_str()), "cluster-network",
              fmt::format("{} says nothing of a network that is there", key), "remove it");
    }
    spec_.network.existing = std::move(existing);
  }

  void read_groups() {
    const Node* list = node_at(root_, "node_groups");
    const Node* written = node_at(written_, "node_groups");
    std::set<std::string> seen;
    for (std::size_t i = 0; list != nullptr && i < list->items().size(); ++i) {
      NodeGroup group = read_group(list->items()[i], written->items()[i]);
      if (!seen.insert(group.name).second)
        wrong(group.where, "cluster-group-twice",
              fmt::format("there are two groups \"{}\"", group.name));
      spec_.groups.push_back(std::move(group));
    }
  }

  NodeGroup read_group(const Node& node, const Node& written) {
    NodeGroup group;
    const auto at = [&](const char* key) {
      const Node* found = node_at(written, key);
      return found != nullptr ? found->where() : written.where();
    };
    group.where = at("name");
    group.instance_where = at("instance");
    group.zone_where = at("zone");
    group.name = text_at(node, "name");
    group.role = text_at(node, "role");
    group.count = static_cast<int>(integer_at(node, "count").value_or(0));
    if (const auto least = integer_at(node, "min_count")) {
      group.min_count = static_cast<int>(*least);
      if (*least > group.count)
        wrong(at("min_count"), "cluster-count",
              fmt::format("at least {} of {} nodes", *least, group.count));
    }
    group.root_volume = static_cast<int>(integer_at(node, "root_volume").value_or(0));
    if (const auto threads = integer_at(node, "threads_per_core"))
      group.threads_per_core = static_cast<int>(*threads);
    group.instance = text_at(node, "instance");
    if (group.instance.starts_with("ml.")) group.instance.erase(0, 3);
    check_instance(group);
    group.zone = text_at(node, "zone");
    if (group.zone.empty() && !spec_.zones.empty()) group.zone = spec_.zones.front();
    if (std::find(spec_.zones.begin(), spec_.zones.end(), group.zone) == spec_.zones.end())
      wrong(group.zone_where, "cluster-zone",
            fmt::format("{} is none of the cluster's zones", group.zone),
            fmt::format("one of {}", fmt::join(spec_.zones, ", ")));
    read_capacity(group, node, at("capacity"));
    return group;
  }

  /// A type that the table does not have is taken where it can be one: of another family, and of a
  /// size that there is.
  void check_instance(const NodeGroup& group) {
    const auto known = facts::find_instance(known_.instances, group.instance);
    if (known) return;
    const std::string family = group.instance.substr(0, group.instance.find('.') + 1);
    static const std::regex kSize(
        "[a-z0-9-]+\\.(nano|micro|small|medium|large|([0-9]+)?xlarge|metal(-[0-9]+xl)?)");
    const bool of_table =
        std::any_of(known_.instances.begin(), known_.instances.end(),
                    [&](const facts::Instance& one) { return one.name.starts_with(family); });
    if (!of_table && std::regex_match(group.instance, kSize)) return;
    const Finding& why = known.findings().front();
    wrong(group.instance_where, "cluster-instance", why.message, why.hint);
  }

  void read_capacity(NodeGroup& group, const Node& node, const Position& where) {
    Capacity& capacity = group.capacity;
    capacity.where = where;
    capacity.kind = text_at(node, "capacity.kind");
    capacity.reservation = text_at(node, "capacity.reservation");
    capacity.reservation_group = text_at(node, "capacity.reservation_group");
    capacity.training_plan = text_at(node, "capacity.training_plan");
    const bool reserves = capacity.kind == "odcr" || capacity.kind == "capacity-block";
    const bool named = !capacity.reservation.empty() || !capacity.reservation_group.empty();
    if (!capacity.reservation.empty() && !capacity.reservation_group.empty())
      wrong(where, "cluster-capacity", "both a reservation and a group of them are named",
            "keep one");
    if (named && !reserves)
      wrong(where, "cluster-capacity",
            fmt::format("a reservation is named, and the capacity is {}", capacity.kind),
            "kind: odcr, or kind: capacity-block");
    if (capacity.kind == "capacity-block" && capacity.reservation.empty())
      wrong(where, "cluster-capacity", "the Capacity Block has no id", "reservation: cr-…");
    if ((capacity.kind == "training-plan") == capacity.training_plan.empty())
      wrong(where, "cluster-capacity",
            capacity.training_plan.empty()
                ? "the training plan has no ARN"
                : "a training plan is named, and the capacity is " + capacity.kind,
            "kind: training-plan with training_plan: arn:…");
  }

  void read_storage();
  void read_features();

  const Node& written_;
  const Node root_;
  const facts::Facts& known_;
  ClusterSpec spec_;
  Findings findings_;
};

void ClusterReader::read_storage() {
  if (node_at(written_, "storage.lustre") != nullptr) {
    Lustre lustre;
    lustre.where = place("storage.lustre");
    lustre.deployment = text("storage.lustre.deployment");
    lustre.compression = text("storage.lustre.compression");
    lustre.version = text("storage.lustre.version");
    lustre.capacity = number("storage.lustre.capacity");
    lustre.throughput = number("storage.lustre.throughput");
    lustre.efa = flag("storage.lustre.efa");
    spec_.lustre = std::move(lustre);
  }
  if (node_at(written_, "storage.openzfs") != nullptr) {
    OpenZfs openzfs;
    openzfs.where = place("storage.openzfs");
    openzfs.deployment = text("storage.openzfs.deployment");
    openzfs.capacity = number("storage.openzfs.capacity");
    openzfs.throughput = number("storage.openzfs.throughput");
    spec_.openzfs = std::move(openzfs);
  }
  spec_.bucket = text("storage.s3.bucket");
}

void ClusterReader::read_features() {
  spec_.accounting = text("features.accounting");
  spec_.directory = text("features.directory");
  spec_.domain = text("features.domain");
  spec_.monitoring = text("features.monitoring");
  spec_.node_repair = flag("features.node_repair");
  spec_.continuous = flag("features.continuous");
  spec_.addons = texts_at(root_, "features.addons");
  const Node* users = node_at(root_, "features.users");
  std::set<std::string> names;
  std::set<int> uids;
  for (std::size_t i = 0; users != nullptr && i < users->items().size(); ++i) {
    const Node& item = users->items()[i];
    User user{text_at(item, "name"), static_cast<int>(integer_at(item, "uid").value_or(0))};
    if (!names.insert(user.name).second || !uids.insert(user.uid).second)
      wrong(item.where(), "cluster-user-twice",
            fmt::format("the name or number of {} ({}) is another's too", user.name, user.uid));
    spec_.users.push_back(std::move(user));
  }
}

Result<ClusterSpec> cluster_from(const Node& document, const facts::Facts& known) {
  Findings findings = cluster_schema().check(document, "cluster");
  if (has_errors(findings)) return Failure(std::move(findings));
  ClusterReader reader(document, known);
  ClusterSpec spec = reader.read();
  findings = reader.take();
  if (has_errors(findings)) return Failure(std::move(findings));
  return spec;
}

}  // namespace

std::string ClusterSpec::partition() const {
  if (region.starts_with("cn-")) return "aws-cn";
  if (region.starts_with("us-gov-")) return "aws-us-gov";
  return "aws";
}

Result<ClusterSpec> read_cluster(std::string_view text, const std::string& file,
                                 const facts::Facts& known) {
  const auto document = parse_yaml(text, file);
  if (!document) return document.error();
  return cluster_from(*document, known);
}

Findings check_cluster(const Node& document, const std::string&, const facts::Facts& known) {
  const auto spec = cluster_from(document, known);
  return spec ? Findings() : spec.findings();
}

std::string zone_id_prefix(std::string_view region) {
  static constexpr std::pair<std::string_view, std::string_view> kDirections[] = {
      {"north", "n"},      {"south", "s"},      {"east", "e"},       {"west", "w"},
      {"central", "c"},    {"northeast", "ne"}, {"northwest", "nw"}, {"southeast", "se"},
      {"southwest", "sw"}, {"gov", "g"}};
  std::string prefix;
  std::size_t begin = 0;
  for (int part = 0;; ++part) {
    const std::size_t end = std::min(region.find('-', begin), region.size());
    const std::string_view word = region.substr(begin, end - begin);
    if (part == 0) {
      prefix = word;
    } else if (end == region.size()) {
      return part < 2 ? std::string() : prefix + std::string(word);
    } else {
      const auto found = std::find_if(std::begin(kDirections), std::end(kDirections),
                                      [&](const auto& known) { return known.first == word; });
      if (found == std::end(kDirections)) return {};
      prefix += found->second;
    }
    if (end == region.size()) return {};
    begin = end + 1;
  }
}

}  // namespace muster::catalog
