#include "catalog/secrets.h"

#include <gtest/gtest.h>

#include "fixture.h"

namespace muster::catalog {
namespace {

TEST(Secrets, KnownFormsAreFoundUnderAnyName) {
  const std::string a20(20, 'a');
  const std::vector<std::string> values = {"hf_" + a20,
                                           "ghp_" + a20,
                                           "github_pat_" + a20,
                                           "AKIA" + std::string(16, 'A'),
                                           "xoxb-1234567890",
                                           "nvapi-" + a20,
                                           "-----BEGIN RSA PRIVATE KEY-----",
                                           "https://user:pass@host/path"};
  for (const std::string& value : values) {
    EXPECT_TRUE(looks_like_secret("ANYTHING", value)) << value;
  }
}

TEST(Secrets, LiteralsUnderTellingNamesAreFound) {
  for (const char* name :
       {"HF_TOKEN", "DB_PASSWORD", "api_key", "AWS_SECRET_ACCESS_KEY", "client.secret", "token"}) {
    EXPECT_TRUE(looks_like_secret(name, "x")) << name;
    EXPECT_FALSE(looks_like_secret(name, "${VALUE}")) << name;
    EXPECT_FALSE(looks_like_secret(name, "")) << name;
  }
}

TEST(Secrets, OrdinaryValuesAreNone) {
  const std::pair<const char*, const char*> ordinary[] = {
      {"TOKENIZERS_PARALLELISM", "false"},
      {"tokenizer", "bpe:2048"},
      {"uri", "https://host:443/path"},
      {"description", "Reads the token from a file"},
      {"NCCL_DEBUG", "INFO"}};
  for (const auto& [name, value] : ordinary) EXPECT_FALSE(looks_like_secret(name, value)) << name;
}

TEST(Secrets, NamesOfSecretsAreNoSecrets) {
  const Node document =
      parsed("secrets:\n  - {env: HF_TOKEN, from: {secret: hf-token, key: token}}\n");
  EXPECT_TRUE(find_secrets(document, "r").empty());
  const Node written = parsed(
      "secrets:\n  - {env: HF_TOKEN, from: {secret: hf_aaaaaaaaaaaaaaaaaaaa, key: token}}\n");
  EXPECT_EQ(find_secrets(written, "r").size(), 1u);
}

}  // namespace
}  // namespace muster::catalog
