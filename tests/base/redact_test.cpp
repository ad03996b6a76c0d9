#include "base/redact.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/document.h"

namespace muster {
namespace {

TEST(SecretNameTest, KnowsThemApart) {
  for (const char* name : {"HF_TOKEN", "token", "db.password", "DB_PASSWD", "awsSecretAccessKey",
                           "AWS_SECRET_ACCESS_KEY", "AWS_ACCESS_KEY_ID", "WANDB_API_KEY", "apiKey",
                           "api-key", "ssh_private_key", "GITHUB_TOKEN", "client_secret",
                           "credentials", "Authorization", "DB_PASS", "MYSQL_PWD", "TLS_KEY_PEM"}) {
    EXPECT_TRUE(is_secret_name(name)) << name;
  }
  for (const char* name : {"",
                           "tokens_per_second",
                           "tokens",
                           "tokenizer",
                           "TOKENIZERS_PARALLELISM",
                           "num_key_value_heads",
                           "key",
                           "PWD",
                           "OLDPWD",
                           "PUBLIC_KEY",
                           "AWS_WEB_IDENTITY_TOKEN_FILE",
                           "keyboard",
                           "MONKEY",
                           "pass",
                           "smoke_pass",
                           "bypass",
                           "PATH",
                           "secret_name",
                           "max_new_tokens",
                           "XDG_RUNTIME_DIR",
                           "SSH_AUTH_SOCK"}) {
    EXPECT_FALSE(is_secret_name(name)) << name;
  }
}

struct Line {
  const char* text;
  const char* redacted;
};

class ShapeTest : public ::testing::TestWithParam<Line> {};

TEST_P(ShapeTest, IsRecognised) {
  EXPECT_EQ(Redactor().redact(GetParam().text), GetParam().redacted);
}

// The tokens are made up, and put together so that no scanner takes them for real ones.
INSTANTIATE_TEST_SUITE_P(
    All, ShapeTest,
    ::testing::Values(
        Line{"using hf_"
             "abcdefghijklmnopqrstuvwxyzABCDEFGH now",
             "using REDACTED now"},
        Line{"id AKIA"
             "ABCDEFGHIJKLMNOP.",
             "id REDACTED."},  //
        Line{"ghp_"
             "0123456789abcdefghijABCDEFGHIJ012345",
             "REDACTED"},
        Line{"Authorization: Bearer abcdefgh.ijklmnop", "Authorization: Bearer REDACTED"},
        Line{"postgres://user:hunter22@db:5432/x", "postgres://user:REDACTED@db:5432/x"},
        Line{"https://0123456789abcdefABCDEF@host/x", "https://REDACTED@host/x"},
        Line{"ssh://git@host/x", "ssh://git@host/x"},
        Line{"ASIA"
             "ABCDEFGHIJKLMNOP\nand aBcDeFgHiJkLmNoPqRsTuVwXyZ0123456789+/ab",
             "REDACTED\nand REDACTED"},
        Line{"commit 0123456789abcdef0123456789abcdef01234567",
             "commit 0123456789abcdef0123456789abcdef01234567"},
        Line{"wandb: login 0123456789abcdef0123456789abcdef01234567 ok",
             "wandb: login REDACTED ok"},
        Line{"github_pat_"
             "11ABCDEFG0abcdefghijkl_mnopqrstuvwxyz",
             "REDACTED"},
        Line{"nvapi-"
             "abcdefghijklmnopqrstuvwxyz-0123",
             "REDACTED"},
        Line{"eyJ"
             "hbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abcdefghijklmnop",
             "REDACTED"},
        Line{"https://host/path?a=1", "https://host/path?a=1"},
        Line{"-----BEGIN RSA "
             "PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\nafter",
             "REDACTED\nafter"},
        Line{"-----BEGIN CERTIFICATE-----\nMIIE\n-----END CERTIFICATE-----",
             "-----BEGIN CERTIFICATE-----\nMIIE\n-----END CERTIFICATE-----"},
        Line{"export MY_API_KEY=s3cr3t; run", "export MY_API_KEY=REDACTED; run"},
        Line{"{\"db_password\": \"a\\\"b\", \"x\": 1}",
             "{\"db_password\": \"REDACTED\", \"x\": 1}"},
        Line{"  password: hunter2\n  user: me", "  password: REDACTED\n  user: me"},
        Line{"HF_TOKEN=$HF_TOKEN python", "HF_TOKEN=$HF_TOKEN python"},
        Line{"tokens_per_second=123 key: nvidia.com/gpu",
             "tokens_per_second=123 key: nvidia.com/gpu"},
        Line{"step 5 token 17: loss 2.0", "step 5 token 17: loss 2.0"},
        Line{"shelf_life hf_short AKIA1 sk-1", "shelf_life hf_short AKIA1 sk-1"}));

TEST(RedactorTest, ScrubsValuesInEverySpelling) {
  Redactor redactor;
  redactor.add_named("MY_SECRET", "p\"ss w&rd/9");
  redactor.add_named("HARMLESS", "not-a-secret");
  EXPECT_EQ(redactor.redact("x p\"ss w&rd/9 y"), "x REDACTED y");
  EXPECT_EQ(redactor.redact(R"({"v": "p\"ss w&rd/9"})"), R"({"v": "REDACTED"})");
  EXPECT_EQ(redactor.redact("?q=p%22ss%20w%26rd%2F9"), "?q=REDACTED");
  EXPECT_EQ(redactor.redact("data: cCJzcyB3JnJkLzk="), "data: REDACTED=");
  EXPECT_EQ(redactor.redact("not-a-secret"), "not-a-secret");
}

TEST(RedactorTest, LongerSecretsGoFirst) {
  Redactor redactor;
  redactor.add_secret("abcdef");
  redactor.add_secret("abcdefghij");
  EXPECT_EQ(redactor.redact("abcdefghij abcdef"), "REDACTED REDACTED");
}

TEST(RedactorTest, JsonAndEnvironment) {
  Redactor redactor;
  redactor.add_environment({{"HF_TOKEN", "abc-token-abc"}, {"HOME", "/home/me"}});
  const nlohmann::ordered_json value = {
      {"env", {{"HF_TOKEN", "abc-token-abc"}, {"note", "uses abc-token-abc"}}},
      {"tokens", 5},
      {"api_key", 12345},
      {"home", "/home/me"}};
  const auto redacted = redactor.redact(value);
  EXPECT_EQ(redacted["env"]["HF_TOKEN"], "REDACTED");
  EXPECT_EQ(redacted["env"]["note"], "uses REDACTED");
  EXPECT_EQ(redacted["tokens"], 5);
  EXPECT_EQ(redacted["api_key"], "REDACTED");
  EXPECT_EQ(redacted["home"], "/home/me");
  const auto environment = redactor.redact(
      std::map<std::string, std::string>{{"A_TOKEN", "x"}, {"B", "abc-token-abc!"}});
  EXPECT_EQ(environment.at("A_TOKEN"), "REDACTED");
  EXPECT_EQ(environment.at("B"), "REDACTED!");
}

RC_GTEST_PROP(RedactorProperty, NoAddedSecretSurvives, ()) {
  const std::string secret = *rc::gen::suchThat(
      rc::gen::container<std::string>(rc::gen::element('a', 'b', '"', '\\', ' ', '\n', '=', '7')),
      [](const std::string& text) { return text.size() >= 6; });
  Redactor redactor;
  redactor.add_secret(secret);
  const std::string before =
      *rc::gen::container<std::string>(rc::gen::element('x', ' ', '\n', '"'));
  const std::string redacted = redactor.redact(before + secret + before);
  RC_ASSERT(redacted.find(secret) == std::string::npos);
  RC_ASSERT(redactor.redact(redacted) == redacted);
}

}  // namespace
}  // namespace muster
