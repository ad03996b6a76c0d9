// Variables that texts of a manifest name: ${HF_HOME}, in upper case.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace muster::launch {

/// Length of "${NAME}" at `at`; 0 when there is none.
std::size_t variable_length(const std::string& text, std::size_t at);

/// Names of the variables in a text, in order.
std::vector<std::string> variables_of(const std::string& text);

/// The text with the values of those that `values` has; the others stay as they are.
std::string with_variables(const std::string& text,
                           const std::map<std::string, std::string>& values);

}  // namespace muster::launch
