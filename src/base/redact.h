// Secrets out of every record: by the names that hold them, by their values, and by the shapes of
// known tokens.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace muster {

/// What stands in a secret's place. A plain word, so that YAML, JSON and shell texts stay what they
/// are.
inline constexpr std::string_view kRedacted = "REDACTED";

/// Whether a variable or key of this name holds a secret: HF_TOKEN, db.password,
/// awsSecretAccessKey, WANDB_API_KEY. Not: tokens_per_second, num_key_value_heads, PWD, PUBLIC_KEY,
/// AWS_WEB_IDENTITY_TOKEN_FILE.
bool is_secret_name(std::string_view name);

class Redactor {
 public:
  /// From now on this value is replaced wherever it occurs, also JSON-escaped, percent-encoded and
  /// in base64. Values under six characters are left alone: they would occur by chance.
  void add_secret(std::string_view value);

  /// Adds the value when the name says that it is a secret.
  void add_named(std::string_view name, std::string_view value);

  /// Adds the values of all secret names.
  void add_environment(const std::map<std::string, std::string>& environment);

  /// The text without the secrets added, without known tokens (hf_…, AKIA…, ghp_…, Bearer …,
  /// private keys, passwords and tokens in URLs, AWS secret keys beside their ids, wandb's keys),
  /// and without what is assigned to a secret name (NAME=value, "name": "value", name: value).
  std::string redact(std::string_view text) const;
  std::string redact(const std::string& text) const { return redact(std::string_view(text)); }
  std::string redact(const char* text) const { return redact(std::string_view(text)); }

  /// Member values of secret names are replaced whole, all other texts scrubbed.
  nlohmann::ordered_json redact(const nlohmann::ordered_json& value) const;
  nlohmann::json redact(const nlohmann::json& value) const;

  /// The environment with the values of secret names replaced whole, all other values scrubbed.
  std::map<std::string, std::string> redact(
      const std::map<std::string, std::string>& environment) const;

 private:
  std::vector<std::string> values_;  // longest first
};

}  // namespace muster
