#include "base/hash.h"

#include <openssl/evp.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <system_error>

namespace muster {
namespace {

class Sha256 {
 public:
  Sha256() : context_(EVP_MD_CTX_new(), EVP_MD_CTX_free) {
    if (!context_ || EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) != 1) {
      throw std::runtime_error("libcrypto has no SHA-256");
    }
  }

  void update(const void* data, std::size_t size) { EVP_DigestUpdate(context_.get(), data, size); }

  std::string hex() {
    static constexpr std::string_view kDigits = "0123456789abcdef";
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned length = 0;
    EVP_DigestFinal_ex(context_.get(), digest.data(), &length);
    std::string text;
    for (unsigned i = 0; i < length; ++i)
      text += {kDigits[digest[i] >> 4], kDigits[digest[i] & 15]};
    return text;
  }

 private:
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context_;
};

}  // namespace

std::string sha256(std::string_view content) {
  Sha256 hash;
  hash.update(content.data(), content.size());
  return hash.hex();
}

Result<std::string> sha256_of_file(const std::filesystem::path& path) {
  const auto fail = [&path](int error) {
    return Failure(error_at({path.string(), 0, 0}, "file-unreadable",
                            "can't be read: " + std::generic_category().message(error)));
  };
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rbe"),
                                                             std::fclose);
  if (!file) return fail(errno);
  Sha256 hash;
  std::array<char, 65536> buffer;
  while (const std::size_t got = std::fread(buffer.data(), 1, buffer.size(), file.get())) {
    hash.update(buffer.data(), got);
  }
  if (std::ferror(file.get()) != 0) return fail(errno);
  return hash.hex();
}

}  // namespace muster
