// Web configurations and headers of clients: never a crash, and a refusal says why.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/basic_auth.h"
#include "base/web_config.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace server = muster::server;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto config = server::parse_web_config(text, "web.yml");
  if (!config && config.findings().empty()) std::abort();
  if (config) {
    for (const auto& [user, hash] : config->users) {
      if (hash.size() != 60) std::abort();
    }
  }
  const std::string credentials = server::basic_credentials(text);
  if (!credentials.empty() && credentials.find(':') == std::string::npos) std::abort();
  const auto address = server::parse_address(text);
  if (address && (address->second < 0 || address->second > 65535)) std::abort();
  return 0;
}
