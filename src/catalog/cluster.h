// cluster.yaml: what cluster is wanted. One document names an architecture, where it stands, its
// network, its groups of nodes and how their capacity is bought, its storage and its features.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/document.h"
#include "base/finding.h"
#include "base/result.h"
#include "base/schema.h"
#include "facts/facts.h"

namespace muster::catalog {

/// How the instances of a group are bought.
struct Capacity {
  std::string kind = "on-demand";  ///< on-demand, spot, odcr, capacity-block, training-plan
  std::string reservation;         ///< id of an ODCR or a Capacity Block; may be empty (open ODCR)
  std::string reservation_group;   ///< ARN of a resource group of reservations, instead of one
  std::string training_plan;       ///< ARN
  Position where;

  /// A reservation that says itself where its instances stand.
  bool is_reserved() const { return kind != "on-demand" && kind != "spot"; }
};

struct NodeGroup {
  std::string name, role;  ///< role: compute, controller, login
  std::string instance;    ///< as facts name it, without ml.
  int count = 0;
  std::optional<int> min_count;  ///< default: count
  Capacity capacity;
  std::string zone;     ///< one of the cluster's; default: its first
  int root_volume = 0;  ///< GiB
  std::optional<int> threads_per_core;
  Position where, instance_where, zone_where;

  bool computes() const { return role == "compute"; }
};

/// A network that is there already: a stack of ours by name, or its parts by id.
struct ExistingNetwork {
  std::string stack, vpc, security_group;
  std::vector<std::string> public_subnets, private_subnets;
  Position where;
};

struct NetworkWish {
  std::string cidr;                        ///< the VPC's first block
  std::vector<std::string> private_cidrs;  ///< blocks of the private subnets
  std::string nat;                         ///< none, single, per-zone
  bool public_subnets = true;
  std::vector<std::string> endpoints;  ///< services, e.g. s3, ecr.api
  bool flow_logs = true;
  std::optional<ExistingNetwork> existing;
  Position where, cidr_where, private_where, nat_where;
};

struct Lustre {
  std::string deployment, compression, version;
  int capacity = 0;    ///< GiB
  int throughput = 0;  ///< MB/s per TiB
  bool efa = false;
  Position where;
};

struct OpenZfs {
  std::string deployment;
  int capacity = 0;    ///< GiB
  int throughput = 0;  ///< MB/s
  Position where;
};

struct User {
  std::string name;
  int uid = 0;
};

struct ClusterSpec {
  std::string file;  ///< how messages name it
  std::string name, description, architecture, region;
  std::vector<std::string> zones;
  bool zone_ids = false;  ///< the zones are ids, use1-az4, rather than names
  NetworkWish network;
  std::vector<NodeGroup> groups;
  std::optional<Lustre> lustre;
  std::optional<OpenZfs> openzfs;
  std::string bucket;      ///< name of an S3 bucket that is there; may be empty
  std::string accounting;  ///< none, local, rds-mariadb, aurora, managed
  std::string directory;   ///< none, openldap
  std::string monitoring;  ///< none, prometheus
  std::vector<User> users;
  std::string domain;  ///< the directory's base, dc=cluster,dc=internal
  std::string key_pair, ssh_key_secret, image, kubernetes, slurm, os;
  std::string contact;     ///< e-mail address for notices
  std::string admin_cidr;  ///< from where people reach what is public
  bool node_repair = true;
  bool continuous = false;  ///< HyperPod: nodes are provisioned as they come
  std::vector<std::string> addons;
  Position where, architecture_where, region_where, zones_where;

  /// `aws`, `aws-cn` or `aws-us-gov`, by the Region.
  std::string partition() const;
};

const Schema& cluster_schema();

/// Reads a cluster. Findings "cluster-…" are located. Instance types are looked up in `known`.
Result<ClusterSpec> read_cluster(std::string_view text, const std::string& file,
                                 const facts::Facts& known);

/// The same findings of a document that is parsed.
Findings check_cluster(const Node& document, const std::string& expected_name,
                       const facts::Facts& known);

/// What a Region's zone ids start with: "us-east-1" is "use1", "ap-southeast-2" is "apse2". Empty
/// for a text that is no Region.
std::string zone_id_prefix(std::string_view region);

}  // namespace muster::catalog
