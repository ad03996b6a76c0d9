// Facts, as list and show give them: instance types, data sets, models.
#pragma once

#include "cli/kinds.h"

namespace muster::cli {

std::vector<OutputColumn> instance_columns();
Result<nlohmann::ordered_json> list_instances(const Context& context);
Result<Shown> show_instance(const Context& context, const std::string& name);

std::vector<OutputColumn> dataset_columns();
Result<nlohmann::ordered_json> list_datasets(const Context& context);
Result<Shown> show_dataset(const Context& context, const std::string& name);

std::vector<OutputColumn> model_columns();
Result<nlohmann::ordered_json> list_models(const Context& context);
Result<Shown> show_model(const Context& context, const std::string& name);

}  // namespace muster::cli
