// What a cluster.yaml may hold.
#include "catalog/cluster.h"
#include "catalog/manifest.h"

namespace muster::catalog {
namespace {

const TextForm kRegionForm = {"a Region", "[a-z]{2,3}(-[a-z]+)+-[0-9]", "us-east-1"};
const TextForm kZoneForm = {"an Availability Zone's name or id",
                            "[a-z]{2,3}(-[a-z]+)+-[0-9](-[a-z]+-[0-9])?[a-z]|[a-z]+[0-9]-az[0-9]+",
                            "us-east-1a or use1-az4"};
const TextForm kCidrForm = {"an IPv4 block", "[0-9]+(\\.[0-9]+){3}/[0-9]+", "10.0.0.0/16"};
const TextForm kVpcForm = {"the id of a VPC", "vpc-([0-9a-f]{8}|[0-9a-f]{17})",
                           "vpc-0123456789abcdef0"};
const TextForm kSubnetForm = {"the id of a subnet", "subnet-([0-9a-f]{8}|[0-9a-f]{17})",
                              "subnet-0123456789abcdef0"};
const TextForm kGroupForm = {"the id of a security group", "sg-([0-9a-f]{8}|[0-9a-f]{17})",
                             "sg-0123456789abcdef0"};
const TextForm kReservationForm = {"the id of a capacity reservation", "cr-[0-9a-f]{17}",
                                   "cr-0123456789abcdef0"};
const TextForm kImageForm = {"the id of a machine image", "ami-([0-9a-f]{8}|[0-9a-f]{17})",
                             "ami-0123456789abcdef0"};
const TextForm kResourceGroupForm = {
    "the ARN of a resource group", "arn:aws(-[a-z]+)*:resource-groups:[^:]*:[0-9]{12}:group/.+",
    "arn:aws:resource-groups:us-east-1:111122223333:group/reservations"};
const TextForm kTrainingPlanForm = {"the ARN of a training plan",
                                    "arn:aws(-[a-z]+)*:sagemaker:[^:]*:[0-9]{12}:training-plan/.+",
                                    "arn:aws:sagemaker:us-east-1:111122223333:training-plan/plan"};
const TextForm kSecretForm = {
    "the ARN of a secret", "arn:aws(-[a-z]+)*:secretsmanager:[^:]*:[0-9]{12}:secret:.+",
    "arn:aws:secretsmanager:us-east-1:111122223333:secret:ssh-key-AbCdEf"};
const TextForm kMailForm = {"an e-mail address", "[^@ <>]+@[^@ <>]+\\.[^@ <>]+", "ops@example.com"};
const TextForm kLinuxUserForm = {"a user's name", "[a-z_][a-z0-9_-]{0,31}", "alice"};
const TextForm kBaseForm = {"a directory's base", "dc=[a-z0-9-]+(,dc=[a-z0-9-]+)+",
                            "dc=cluster,dc=internal"};
const TextForm kBucketForm = {"the name of a bucket", "[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]",
                              "training-data"};
const TextForm kVersionForm = {"a version", "[0-9]+(\\.[0-9]+)+", "1.33"};

Schema cluster_network_schema() {
  return Schema::object(
      "The network; a new one unless `existing` names one",
      {{"cidr",
        Schema::text("The VPC's first block: public subnets, NAT gateways, the control plane")
            .form(kCidrForm)
            .defaults_to("10.0.0.0/16")},
       {"private_cidrs",
        Schema::list("Blocks of the private subnets, where nodes stand; default: 10.1.0.0/16",
                     Schema::text("A block").form(kCidrForm))
            .at_least(1)
            .at_most(2)},
       {"nat", Schema::text("NAT gateways; none: no way out but endpoints")
                   .one_of({"none", "single", "per-zone"})
                   .defaults_to("single")},
       {"public_subnets",
        Schema::boolean("Whether each zone has a public subnet").defaults_to("true")},
       {"endpoints",
        Schema::list("VPC endpoints: s3, dynamodb (gateways), services (interfaces of what nodes "
                     "call: EC2, ECR, STS, logs, SSM, EKS); default: s3",
                     Schema::text("Which").one_of({"s3", "dynamodb", "services"}))},
       {"flow_logs", Schema::boolean("Whether rejected and accepted traffic is logged for 7 days")
                         .defaults_to("true")},
       {"existing",
        Schema::object(
            "A network that is there already",
            {{"stack", Schema::text("A network stack of Muster's, by name")},
             {"vpc", Schema::text("Its VPC").form(kVpcForm)},
             {"public_subnets", Schema::list("One a zone, in the order of the zones",
                                             Schema::text("A subnet").form(kSubnetForm))},
             {"private_subnets", Schema::list("One a zone, in the order of the zones",
                                              Schema::text("A subnet").form(kSubnetForm))},
             {"security_group",
              Schema::text("The group of the nodes, open to itself in and out").form(kGroupForm)}})
            .optional_group()}});
}

Schema group_capacity_schema() {
  return Schema::object(
      "How its instances are bought",
      {{"kind",
        Schema::text("on-demand, spot, a reservation of one's own (odcr), a Capacity Block, "
                     "a SageMaker training plan")
            .one_of({"on-demand", "spot", "odcr", "capacity-block", "training-plan"})
            .defaults_to("on-demand")},
       {"reservation",
        Schema::text("Id of the reservation or Capacity Block").form(kReservationForm)},
       {"reservation_group",
        Schema::text("A resource group of reservations, instead of one").form(kResourceGroupForm)},
       {"training_plan", Schema::text("The training plan").form(kTrainingPlanForm)}});
}

Schema node_groups_schema() {
  return Schema::list(
      "Groups of like nodes",
      Schema::object(
          "A group",
          {{"name", Schema::text("Its name").form(kDnsLabel).required()},
           {"role", Schema::text("What its nodes are for")
                        .one_of({"compute", "controller", "login"})
                        .defaults_to("compute")},
           {"instance", Schema::text("Instance type").required()},
           {"count", Schema::integer("How many nodes").at_least(0).at_most(10000).required()},
           {"min_count", Schema::integer("How many there are at least; default: all").at_least(0)},
           {"capacity", group_capacity_schema()},
           {"zone", Schema::text("Where it stands; default: the first zone").form(kZoneForm)},
           {"root_volume", Schema::integer("GiB of a node's root volume")
                               .at_least(30)
                               .at_most(16384)
                               .defaults_to("500")},
           {"threads_per_core",
            Schema::integer("Hardware threads that are used of a core").at_least(1).at_most(2)}}));
}

Schema cluster_storage_schema() {
  return Schema::object(
      "Shared storage",
      {{"lustre",
        Schema::object(
            "FSx for Lustre, mounted at /fsx",
            {{"deployment", Schema::text("Deployment type")
                                .one_of({"PERSISTENT_1", "PERSISTENT_2"})
                                .defaults_to("PERSISTENT_2")},
             {"capacity", Schema::integer("GiB").at_least(1200).defaults_to("1200")},
             {"throughput", Schema::integer("MB/s for each TiB").defaults_to("250")},
             {"compression",
              Schema::text("Of what is stored").one_of({"LZ4", "NONE"}).defaults_to("LZ4")},
             {"version", Schema::text("Of Lustre").one_of({"2.12", "2.15"}).defaults_to("2.15")},
             {"efa", Schema::boolean("Clients reach it over EFA").defaults_to("false")}})
            .optional_group()},
       {"openzfs",
        Schema::object(
            "FSx for OpenZFS, mounted at /home",
            {{"deployment", Schema::text("Deployment type")
                                .one_of({"SINGLE_AZ_1", "SINGLE_AZ_2", "SINGLE_AZ_HA_1",
                                         "SINGLE_AZ_HA_2", "MULTI_AZ_1"})
                                .defaults_to("SINGLE_AZ_HA_2")},
             {"capacity", Schema::integer("GiB").at_least(64).at_most(524288).defaults_to("512")},
             {"throughput", Schema::integer("MB/s").defaults_to("320")}})
            .optional_group()},
       {"s3", Schema::object("A bucket for data that is there already",
                             {{"bucket", Schema::text("Its name").form(kBucketForm).required()}})
                  .optional_group()}});
}

Schema cluster_features_schema() {
  return Schema::object(
      "What the cluster has beside nodes",
      {{"accounting", Schema::text("Where Slurm's accounts are kept")
                          .one_of({"none", "local", "rds-mariadb", "aurora", "managed"})
                          .defaults_to("none")},
       {"directory",
        Schema::text("Where users are kept").one_of({"none", "openldap"}).defaults_to("none")},
       {"domain",
        Schema::text("The directory's base").form(kBaseForm).defaults_to("dc=cluster,dc=internal")},
       {"monitoring", Schema::text("Who watches the nodes")
                          .one_of({"none", "prometheus", "cloudwatch"})
                          .defaults_to("none")},
       {"users",
        Schema::list(
            "Users that every node knows",
            Schema::object(
                "A user",
                {{"name", Schema::text("Name").form(kLinuxUserForm).required()},
                 {"uid", Schema::integer("Number").at_least(1000).at_most(60000).required()}}))},
       {"addons", Schema::list("Add-ons of a Kubernetes cluster beside the needed ones",
                               Schema::text("Name"))},
       {"node_repair",
        Schema::boolean("Whether nodes that are found bad are replaced").defaults_to("true")},
       {"continuous", Schema::boolean("HyperPod: nodes join as they come, not all at once")
                          .defaults_to("false")}});
}

}  // namespace

const Schema& cluster_schema() {
  static const Schema kSchema = Schema::object(
      "A cluster",
      {{"apiVersion", Schema::text("Version of this form").one_of({kApiVersion}).required()},
       {"kind", Schema::text("What this is").one_of({"Cluster"}).required()},
       {"name", Schema::text("Its name; stacks are named after it").form(kDnsLabel).required()},
       {"description", Schema::text("What it is for")},
       {"architecture", Schema::text("A folder of architectures/").required()},
       {"region", Schema::text("The Region").form(kRegionForm).required()},
       {"zones", Schema::list("Availability Zones, all by name or all by id; the nodes' first",
                              Schema::text("A zone").form(kZoneForm))
                     .at_least(1)
                     .at_most(6)
                     .required()},
       {"network", cluster_network_schema()},
       {"node_groups", node_groups_schema()},
       {"storage", cluster_storage_schema()},
       {"features", cluster_features_schema()},
       {"key_pair", Schema::text("An EC2 key pair, where people log in by SSH")},
       {"ssh_key_secret",
        Schema::text("A secret with a private SSH key, by which nodes of a Batch job reach each "
                     "other")
            .form(kSecretForm)},
       {"image", Schema::text("Machine image of the nodes; default: the current one of the service")
                     .form(kImageForm)},
       {"os", Schema::text("Operating system of the nodes")
                  .one_of({"ubuntu2204", "ubuntu2404", "alinux2023"})
                  .defaults_to("ubuntu2404")},
       {"kubernetes", Schema::text("Version of Kubernetes").form(kVersionForm)},
       {"slurm", Schema::text("Version of Slurm").form(kVersionForm)},
       {"contact", Schema::text("Who gets notices").form(kMailForm)},
       {"admin_cidr", Schema::text("From where people reach what is public").form(kCidrForm)}});
  return kSchema;
}

}  // namespace muster::catalog
