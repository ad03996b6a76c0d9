#include "base/web_config.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/document.h"
#include "base/schema.h"

namespace muster::server {
namespace {

/// $2y$10$ and 53 characters of salt and hash.
bool is_bcrypt(std::string_view text) {
  constexpr std::string_view kLetters =
      "./ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
  return text.size() == 60 && text.starts_with("$2") &&
         std::string_view("abxy").find(text[2]) != std::string_view::npos && text[3] == '$' &&
         text[4] >= '0' && text[4] <= '9' && text[5] >= '0' && text[5] <= '9' && text[6] == '$' &&
         text.substr(7).find_first_not_of(kLetters) == std::string_view::npos;
}

constexpr const char* kVersions[] = {"TLS10", "TLS11", "TLS12", "TLS13"};

Schema version_schema(const char* doc) {
  return Schema::text(doc).one_of({std::begin(kVersions), std::end(kVersions)});
}

const Schema& web_schema() {
  static const Schema kSchema = Schema::object(
      "Web configuration",
      {{"tls_server_config",
        Schema::object(
            "TLS",
            {{"cert_file", Schema::text("Certificate and its chain, PEM").required()},
             {"key_file", Schema::text("Its key, PEM").required()},
             {"client_auth_type",
              Schema::text("What clients have to show")
                  .one_of({"NoClientCert", "RequestClientCert", "RequireAnyClientCert",
                           "VerifyClientCertIfGiven", "RequireAndVerifyClientCert"})},
             {"client_ca_file", Schema::text("Who signs the clients' certificates, PEM")},
             {"min_version", version_schema("Oldest version")},
             {"max_version", version_schema("Newest version")},
             {"prefer_server_cipher_suites", Schema::boolean("The server chooses the cipher")}})
            .optional_group()},
       {"http_server_config",
        Schema::object("HTTP",
                       {{"http2", Schema::boolean("Taken, and not offered")},
                        {"headers", Schema::map("Sent with every answer", Schema::text("Value"))}})
            .optional_group()},
       {"basic_auth_users", Schema::map("Users", Schema::text("The password's hash by bcrypt"))}});
  return kSchema;
}

/// Keys of the format that would be ignored: refused, with what to do instead.
Findings refused(const Node& root) {
  constexpr struct {
    const char *key, *hint;
  } kKeys[] = {
      {"tls_server_config.cipher_suites", "leave it out: min_version decides what is offered"},
      {"tls_server_config.curve_preferences", "leave it out: GnuTLS chooses the curve"},
      {"tls_server_config.client_allowed_sans", "a CA of its own for those clients"},
      {"tls_server_config.cert", "cert_file, with the text in a file"},
      {"tls_server_config.key", "key_file, with the text in a file"},
      {"tls_server_config.client_ca", "client_ca_file, with the text in a file"},
      {"rate_limit", "leave it out: connections are limited without it"},
  };
  Findings findings;
  for (const auto& [key, hint] : kKeys) {
    if (const Node* node = node_at(root, key)) {
      findings.push_back(error_at(node->where(), "web-unsupported",
                                  fmt::format("\"{}\" is not done by this server", key), hint));
    }
  }
  return findings;
}

Position where_of(const Node& root, const char* key) {
  const Node* node = node_at(root, key);
  return node != nullptr ? node->where() : root.where();
}

int version_number(const std::string& name, int usual) {
  for (int i = 0; i < 4; ++i) {
    if (name == kVersions[i]) return i;
  }
  return usual;
}

Result<WebConfig::TlsFiles> tls_of(const Node& root) {
  WebConfig::TlsFiles tls;
  tls.certificate = text_at(root, "tls_server_config.cert_file");
  tls.key = text_at(root, "tls_server_config.key_file");
  tls.client_ca = text_at(root, "tls_server_config.client_ca_file");
  tls.where_certificate = where_of(root, "tls_server_config.cert_file");
  tls.where_key = where_of(root, "tls_server_config.key_file");
  tls.where_client_ca = where_of(root, "tls_server_config.client_ca_file");
  const std::string ask = text_at(root, "tls_server_config.client_auth_type");
  tls.require_client = ask.starts_with("Require");
  tls.verify_client = ask.find("Verify") != std::string::npos;
  const bool asks = !ask.empty() && ask != "NoClientCert";
  if (asks && tls.client_ca.empty()) {
    return Failure(error_at(where_of(root, "tls_server_config.client_auth_type"), "web-client-ca",
                            fmt::format("{} without a client_ca_file", ask),
                            "client_ca_file says whose certificates clients show"));
  }
  if (!asks && !tls.client_ca.empty()) {
    return Failure(error_at(tls.where_client_ca, "web-client-ca",
                            "client_ca_file without a client_auth_type that asks for certificates",
                            "client_auth_type: RequireAndVerifyClientCert"));
  }
  constexpr int kTls12 = 2, kTls13 = 3;
  const int least = version_number(text_at(root, "tls_server_config.min_version"), kTls12);
  const int most = version_number(text_at(root, "tls_server_config.max_version"), kTls13);
  if (least > most) {
    return Failure(
        error_at(where_of(root, "tls_server_config.max_version"), "web-versions",
                 fmt::format("no version from {} to {}", kVersions[least], kVersions[most]),
                 "a max_version that is not below the min_version, which is TLS12"));
  }
  tls.priorities = "NORMAL:-VERS-ALL";
  for (int i = least; i <= most; ++i) tls.priorities += fmt::format(":+VERS-TLS1.{}", i);
  if (boolean_at(root, "tls_server_config.prefer_server_cipher_suites").value_or(true))
    tls.priorities += ":%SERVER_PRECEDENCE";
  return tls;
}

}  // namespace

Result<WebConfig> parse_web_config(std::string_view text, const std::string& file) {
  const auto root = parse_yaml(text, file);
  if (!root) return root.error();
  WebConfig config;
  if (root->is_null()) return config;
  if (Findings findings = refused(*root); !findings.empty()) return Failure(std::move(findings));
  if (Findings findings = web_schema().check(*root, "web"); !findings.empty())
    return Failure(std::move(findings));
  if (const Node* tls = root->find("tls_server_config"); tls != nullptr && !tls->is_null()) {
    auto read = tls_of(*root);
    if (!read) return read.error();
    config.tls = std::move(*read);
  }
  if (const Node* headers = node_at(*root, "http_server_config.headers")) {
    for (const Node::Entry& entry : headers->entries())
      config.headers.emplace_back(entry.key, entry.value.text());
  }
  if (const Node* users = node_at(*root, "basic_auth_users")) {
    constexpr int kMostRounds = 14;  // 2^14: about a second for every new client
    for (const Node::Entry& entry : users->entries()) {
      if (!is_bcrypt(entry.value.text())) {  // not quoted: it may be the password itself
        return Failure(error_at(entry.value.where(), "web-password",
                                fmt::format("what stands for {} is no bcrypt hash", entry.key),
                                "what `htpasswd -nBC 10 \"\"` prints after the colon"));
      }
      if (std::stoi(entry.value.text().substr(4, 2)) > kMostRounds) {
        return Failure(error_at(entry.value.where(), "web-cost",
                                "a cost above 14 takes seconds for each new client",
                                "a hash of cost 10 to 14"));
      }
      config.users[entry.key] = entry.value.text();
    }
  }
  return config;
}

Result<Tls> load_tls(const FileSystem& files, const WebConfig::TlsFiles& tls,
                     const std::filesystem::path& directory) {
  Tls loaded;
  loaded.require_client = tls.require_client;
  loaded.verify_client = tls.verify_client;
  loaded.priorities = tls.priorities;
  const auto load = [&](const std::string& name, const Position& where, const char* what,
                        std::string& to) -> Result<void> {
    if (name.empty()) return {};
    auto text = files.read(directory / name);
    if (!text) {
      return Failure(
          error_at(where, "web-file",
                   fmt::format("the {} can't be read: {}", what, text.findings().front().message),
                   "a file that this user may read"));
    }
    if (text->find("-----BEGIN ") == std::string::npos) {
      return Failure(error_at(where, "web-file", fmt::format("{} is no {}, PEM", name, what),
                              "a file with -----BEGIN …-----"));
    }
    to = std::move(*text);
    return {};
  };
  if (auto read = load(tls.certificate, tls.where_certificate, "certificate", loaded.certificate);
      !read)
    return Failure(read.findings());
  if (auto read = load(tls.key, tls.where_key, "key", loaded.key); !read)
    return Failure(read.findings());
  if (auto read = load(tls.client_ca, tls.where_client_ca, "certificate", loaded.client_ca); !read)
    return Failure(read.findings());
  return loaded;
}

}  // namespace muster::server
