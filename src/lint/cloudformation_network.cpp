// Addresses, routes, flow logs: whether subnets fit their network and each other, and whether what
// is private gets out.
#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include <fmt/format.h>

#include "base/words.h"
#include "lint/cloudformation_conditions.h"
#include "lint/cloudformation_rules.h"

namespace muster::lint {
namespace {

/// An IPv4 block.
struct CfnBlock {
  std::uint32_t first = 0;
  int bits = 0;

  std::uint64_t size() const { return 1ULL << (32 - bits); }
  std::uint64_t end() const { return first + size(); }
  bool overlaps(const CfnBlock& other) const { return first < other.end() && other.first < end(); }
  bool holds(const CfnBlock& other) const { return first <= other.first && other.end() <= end(); }
};

std::optional<CfnBlock> block_of(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const auto bits = whole(text.substr(slash + 1));
  if (!bits || *bits > 32) return std::nullopt;
  std::uint32_t address = 0;
  std::string_view rest = text.substr(0, slash);
  for (int i = 0; i < 4; ++i) {
    const std::size_t dot = std::min(rest.find('.'), rest.size());
    const auto part = whole(rest.substr(0, dot));
    if (!part || *part > 255 || (i < 3 && dot == rest.size())) return std::nullopt;
    address = (address << 8) | static_cast<std::uint32_t>(*part);
    rest.remove_prefix(std::min(dot + 1, rest.size()));
  }
  if (!rest.empty()) return std::nullopt;
  return CfnBlock{address, static_cast<int>(*bits)};
}

struct PlacedBlock {
  std::string owner;
  std::string network;  // the VPC it belongs to
  CfnBlock block;
  const Node* node = nullptr;
  const Node::Entry* entry = nullptr;
};

class NetworkCheck {
 public:
  explicit NetworkCheck(CfnCheck& check)
      : check_(check), tree_(check.tree), conditions_(check.tree) {}

  void run() {
    std::vector<PlacedBlock> networks, subnets;
    for (const Node::Entry* entry : tree_.resources_of("AWS::EC2::VPC"))
      place(*entry, entry->key, 28, networks);
    for (const Node::Entry* entry : tree_.resources_of("AWS::EC2::VPCCidrBlock"))
      place(*entry, network_of(*entry), 28, networks);
    for (const Node::Entry* entry : tree_.resources_of("AWS::EC2::Subnet"))
      place(*entry, network_of(*entry), 28, subnets);
    for (const PlacedBlock& subnet : subnets) inside(subnet, networks);
    for (std::size_t i = 0; i < subnets.size(); ++i) {
      for (std::size_t j = i + 1; j < subnets.size(); ++j) apart(subnets[i], subnets[j]);
    }
    room();
    routes();
    flow_logs();
  }

 private:
  std::string network_of(const Node::Entry& entry) const {
    const Node* network = CfnTemplate::properties(entry.value).find("VpcId");
    return network != nullptr ? tree_.resource_of(*network) : std::string();
  }

  void place(const Node::Entry& entry, const std::string& network, int longest,
             std::vector<PlacedBlock>& all) {
    const Node* node = CfnTemplate::properties(entry.value).find("CidrBlock");
    if (node == nullptr) return;
    const auto texts = tree_.texts(*node);
    if (texts.size() != 1) return;
    const auto block = block_of(texts[0]);
    if (!block) {
      if (!cfn_call(*node))
        check_.wrong(node->where(), "cfn-addresses",
                     fmt::format("no block of IPv4 addresses: \"{}\"", texts[0]), "10.0.0.0/16");
      return;
    }
    if (block->bits < 16 || block->bits > longest) {
      check_.wrong(
          node->where(), "cfn-addresses",
          fmt::format("{} is a /{}: networks and subnets are /16 to /28", texts[0], block->bits));
    } else if (block->first % block->size() != 0) {
      check_.wrong(node->where(), "cfn-addresses",
                   fmt::format("{} does not start on a /{}", texts[0], block->bits));
    } else {
      all.push_back({entry.key, network, *block, node, &entry});
    }
  }

  void inside(const PlacedBlock& subnet, const std::vector<PlacedBlock>& networks) {
    bool any = false;
    for (const PlacedBlock& network : networks) {
      if (network.network != subnet.network || subnet.network.empty()) continue;
      any = true;
      if (!network.block.holds(subnet.block)) continue;
      needs_association(subnet, network);
      return;
    }
    // A network may have blocks that are only known when the stack is made.
    const bool all_known = networks_known(subnet.network, networks);
    if (any && all_known)
      check_.wrong(subnet.node->where(), "cfn-addresses",
                   fmt::format("{} is in no address block of {}", subnet.owner, subnet.network));
  }

  bool networks_known(const std::string& network, const std::vector<PlacedBlock>& known) const {
    std::size_t count = 0, seen = 0;
    for (const Node::Entry& entry : tree_.resources()) {
      const std::string& type = tree_.type_of(entry.key);
      count += type == "AWS::EC2::VPC" && entry.key == network ? 1 : 0;
      count += type == "AWS::EC2::VPCCidrBlock" && network_of(entry) == network ? 1 : 0;
    }
    for (const PlacedBlock& one : known) seen += one.network == network ? 1 : 0;
    return count == seen;
  }

  // A subnet in a secondary block can be made only after that block is there.
  void needs_association(const PlacedBlock& subnet, const PlacedBlock& network) {
    if (tree_.type_of(network.owner) != "AWS::EC2::VPCCidrBlock") return;
    for (const CfnUse& use : tree_.uses()) {
      if (use.owner == subnet.owner && use.name == network.owner) return;
    }
    check_.wrong(subnet.entry->where, "cfn-addresses",
                 fmt::format("{} is in the block of {}, and does not wait for it", subnet.owner,
                             network.owner),
                 "DependsOn: " + network.owner);
  }

  void apart(const PlacedBlock& a, const PlacedBlock& b) {
    if (a.network != b.network || !a.block.overlaps(b.block) || exclude_each_other(a, b)) return;
    check_.wrong(b.node->where(), "cfn-addresses", fmt::format("{} overlaps {}", b.owner, a.owner),
                 fmt::format("the other block is at {}", to_string(a.node->where())));
  }

  bool exclude_each_other(const PlacedBlock& a, const PlacedBlock& b) const {
    CfnGiven both;
    for (const PlacedBlock* one : {&a, &b}) {
      const Node* condition = one->entry->value.find("Condition");
      if (condition != nullptr) both.emplace_back(condition->text(), true);
    }
    return !both.empty() && conditions_.possible(both) == std::optional<bool>(false);
  }

  // Each interface takes an address of its subnet; five of a subnet are AWS's.
  void room() {
    for (const Node::Entry* group : tree_.resources_of("AWS::AutoScaling::AutoScalingGroup"))
      room_of(*group, "VPCZoneIdentifier", "MaxSize");
    for (const Node::Entry* group : tree_.resources_of("AWS::PCS::ComputeNodeGroup"))
      room_of(*group, "SubnetIds", "");
    for (const Node::Entry* group : tree_.resources_of("AWS::EKS::Nodegroup"))
      room_of(*group, "Subnets", "");
  }

  void room_of(const Node::Entry& group, const char* subnets_key, const char* count_key) {
    const Node& properties = CfnTemplate::properties(group.value);
    const Node* count = *count_key != 0 ? properties.find(count_key) : nullptr;
    for (const char* scaling : {"ScalingConfiguration", "ScalingConfig"}) {
      if (const Node* found = properties.find(scaling)) {
        for (const char* key : {"MaxInstanceCount", "MaxSize"}) {
          if (found->find(key) != nullptr) count = found->find(key);
        }
      }
    }
    if (count == nullptr) return;
    const auto texts = tree_.texts(*count);
    const auto nodes = texts.size() == 1 ? whole(texts[0]) : std::nullopt;
    if (!nodes) return;
    std::uint64_t each = 1;
    for (const CfnUse& use : tree_.uses()) {
      if (use.owner != group.key || tree_.type_of(use.name) != "AWS::EC2::LaunchTemplate") continue;
      const Node& launch = CfnTemplate::properties(tree_.find("Resources", use.name)->value);
      for (const Node* data : tree_.at(launch, "LaunchTemplateData")) {
        for (const Node* list : tree_.at(*data, "NetworkInterfaces"))
          each = std::max<std::uint64_t>(each, list->items().size());
      }
    }
    std::uint64_t room = 0;
    for (const Node* list : tree_.at(properties, subnets_key)) {
      for (const Node& item : list->items()) {
        const Node::Entry* subnet = tree_.find("Resources", tree_.resource_of(item));
        const Node* cidr =
            subnet != nullptr ? CfnTemplate::properties(subnet->value).find("CidrBlock") : nullptr;
        const auto blocks = cidr != nullptr ? tree_.texts(*cidr) : std::vector<std::string>();
        const auto block = blocks.size() == 1 ? block_of(blocks[0]) : std::nullopt;
        if (!block) return;
        room += block->size() > 5 ? block->size() - 5 : 0;
      }
    }
    if (room == 0 || *nodes * each <= room) return;
    check_.wrong(count->where(), "cfn-addresses",
                 fmt::format("{} nodes of {} interface{} need {} addresses; the subnets have {}",
                             *nodes, each, each == 1 ? "" : "s", *nodes * each, room));
  }

  // In a template that makes route tables every subnet has one, and every NAT gateway is a target.
  void routes() {
    if (tree_.resources_of("AWS::EC2::RouteTable").empty()) return;
    std::set<std::string> routed, targets;
    for (const Node::Entry* entry : tree_.resources_of("AWS::EC2::SubnetRouteTableAssociation")) {
      const Node* subnet = CfnTemplate::properties(entry->value).find("SubnetId");
      if (subnet == nullptr) continue;
      for (const Node* branch : tree_.branches(*subnet)) {
        routed.insert(tree_.resource_of(*branch));
        // Fn::Select of a list of subnets: any of them.
        if (cfn_call(*branch) && tree_.resource_of(*branch).empty()) any_routed_ = true;
      }
    }
    for (const Node::Entry* subnet : tree_.resources_of("AWS::EC2::Subnet")) {
      if (routed.count(subnet->key) > 0 || any_routed_) continue;
      check_.wrong(subnet->where, "cfn-route",
                   fmt::format("{} has no route table: it takes the network's main one, which "
                               "leads nowhere",
                               subnet->key),
                   "AWS::EC2::SubnetRouteTableAssociation");
    }
    for (const Node::Entry* table : tree_.resources_of("AWS::EC2::RouteTable")) {
      bool used = false;
      for (const CfnUse& use : tree_.uses()) used |= use.name == table->key;
      if (!used)
        check_.warn(table->where, "cfn-route",
                    fmt::format("nothing uses the route table {}", table->key));
    }
    for (const Node::Entry* gateway : tree_.resources_of("AWS::EC2::NatGateway")) {
      bool used = false;
      for (const CfnUse& use : tree_.uses()) {
        used |= use.name == gateway->key && use.kind != CfnUse::Kind::kDependsOn;
      }
      if (!used)
        check_.warn(gateway->where, "cfn-route",
                    fmt::format("no route leads to {}, which costs by the hour", gateway->key));
    }
  }

  // A literal name beside a log group that the template makes: the flow log writes elsewhere.
  void flow_logs() {
    const auto groups = tree_.resources_of("AWS::Logs::LogGroup");
    for (const Node::Entry* entry : tree_.resources_of("AWS::EC2::FlowLog")) {
      const Node* name = CfnTemplate::properties(entry->value).find("LogGroupName");
      if (name == nullptr || groups.empty() || !name->is_scalar() || cfn_call(*name)) continue;
      const bool same = std::any_of(groups.begin(), groups.end(), [&](const Node::Entry* group) {
        const Node* own = CfnTemplate::properties(group->value).find("LogGroupName");
        return own != nullptr && own->text() == name->text() && !cfn_call(*own);
      });
      if (same) continue;
      check_.wrong(
          name->where(), "cfn-flow-log",
          fmt::format("the log group \"{}\" is none that the template makes", name->text()),
          fmt::format("!Ref {}", groups.front()->key));
    }
  }

  CfnCheck& check_;
  const CfnTemplate& tree_;
  CfnConditions conditions_;
  bool any_routed_ = false;
};

}  // namespace

void check_cfn_network(CfnCheck& check) {
  NetworkCheck(check).run();
}

}  // namespace muster::lint
