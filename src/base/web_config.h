// The web configuration that Prometheus' exporters share (--web.config.file): TLS and users.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/file_system.h"
#include "base/http_server.h"
#include "base/result.h"

namespace muster::server {

struct WebConfig {
  struct TlsFiles {
    std::string certificate, key, client_ca;  ///< as written
    Position where_certificate, where_key, where_client_ca;
    bool require_client = false, verify_client = false;
    std::string priorities;  ///< GnuTLS' words for the versions that are allowed
  };
  std::optional<TlsFiles> tls;
  std::map<std::string, std::string> users;  ///< hashes of their passwords, by bcrypt
  std::vector<std::pair<std::string, std::string>> headers;  ///< sent with every answer
};

/// Reads the file's text. Unknown keys, wrong values and what this server can't do are errors with
/// their places: nothing that somebody asked for in the name of security is ignored.
Result<WebConfig> parse_web_config(std::string_view text, const std::string& file);

/// The certificates and keys themselves; relative paths start at `directory`, the file's own.
Result<Tls> load_tls(const FileSystem& files, const WebConfig::TlsFiles& tls,
                     const std::filesystem::path& directory);

}  // namespace muster::server
