#include "catalog/image.h"
#include "catalog/manifest.h"

namespace muster::catalog {
namespace {

using Fields = std::vector<Schema::Field>;

Schema named_list(const char* doc, const char* item) {
  return Schema::list(doc, Schema::text(item).form(kVariable)).at_least(1).required();
}

Fields shared_fields(const char* kind) {
  return {{"apiVersion", Schema::text("Version of this format").one_of({kApiVersion}).required()},
          {"kind", Schema::text("Kind of the manifest").one_of({kind}).required()},
          {"name", Schema::text("Name, as the folder's").form(kDnsLabel).required()},
          {"description", Schema::text("What it is, in a sentence").required()},
          {"architecture", Schema::text("Architecture of the processor")
                               .one_of({"x86_64", "aarch64"})
                               .defaults_to("x86_64")},
          {"accelerator",
           Schema::text("What it computes on").one_of({"cpu", "gpu", "neuron"}).defaults_to("cpu")},
          {"gpus", Schema::list("Models that it is for; what is compiled is compiled for these",
                                Schema::text("Model, as facts/versions.yaml names it"))},
          {"versions",
           Schema::map("Component -> version, instead of the catalog's", Schema::text("Version"))}};
}

Schema source_schema() {
  return Schema::object(
      "One system",
      {{"system", Schema::text("Operating system")
                      .one_of({"ubuntu-24.04", "ubuntu-22.04", "amazon-linux-2023"})
                      .required()},
       {"parameter",
        Schema::text("Public parameter of Systems Manager that names the image of "
                     "each Region; ${kubernetes} and the like are the catalog's versions")},
       {"name", Schema::text("Pattern of the image's name, of which the newest counts; "
                             "${parallelcluster} and the like are the catalog's versions")},
       {"owner", Schema::text("Owner of that image: an alias, not an account")
                     .one_of({"amazon", "aws-marketplace"})}});
}

Schema volume_schema() {
  return Schema::object(
      "Root volume, gp3",
      {{"size", Schema::integer("GiB").at_least(8).at_most(16384).defaults_to("100")},
       {"iops",
        Schema::integer("Operations per second").at_least(3000).at_most(16000).defaults_to("3000")},
       {"throughput", Schema::integer("MiB/s").at_least(125).at_most(1000).defaults_to("125")}});
}

}  // namespace

const Schema& machine_image_schema() {
  static const Schema kSchema = [] {
    Fields fields = shared_fields("MachineImage");
    fields.insert(
        fields.end(),
        {{"platform",
          Schema::text("What starts it").one_of({"parallelcluster", "eks", "ec2"}).required()},
         {"instance_type", Schema::text("Instance type that it is built on").required()},
         {"sources", Schema::list("What it is made from, on each system", source_schema())
                         .at_least(1)
                         .required()},
         {"root_volume", volume_schema()},
         {"users", Schema::list("Users who may use containers, beside who ssh logs in as",
                                Schema::text("User"))},
         {"roles", named_list("Roles of ami_and_containers/roles, in order", "Role")},
         {"variables", Schema::map("Variables of the roles", Schema::text("Value"))}});
    return Schema::object("Machine image", std::move(fields));
  }();
  return kSchema;
}

const Schema& container_image_schema() {
  static const Schema kSchema = [] {
    Fields fields = shared_fields("ContainerImage");
    fields.insert(
        fields.end(),
        {{"base", Schema::text("Image that it is made from, with a fixed tag").required()},
         {"steps", named_list("Steps of ami_and_containers/containers/steps, in order", "Step")},
         {"variables", Schema::map("Variables of the steps", Schema::text("Value"))},
         {"environment", Schema::map("Variables that the image sets", Schema::text("Value"))}});
    return Schema::object("Container image", std::move(fields));
  }();
  return kSchema;
}

}  // namespace muster::catalog
