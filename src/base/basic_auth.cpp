#include "base/basic_auth.h"

#include <crypt.h>
#include <sys/random.h>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>

#include "base/hash.h"
#include "base/words.h"

namespace muster::server {
namespace {

// A user that is none takes as long as one that is: the hash of nobody's password.
constexpr const char* kNobody = "$2y$10$nobodynobodynobodynobOoRLVnV0/5yX3Vw5Ux0N4a2tD1rSc9F6";

int digit_of(char c) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const auto at = kDigits.find(c);
  return at == std::string_view::npos ? -1 : static_cast<int>(at);
}

bool same_text(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned char different = 0;
  for (std::size_t i = 0; i < a.size(); ++i) different |= static_cast<unsigned char>(a[i] ^ b[i]);
  return different == 0;
}

bool fits_hash(const std::string& password, const std::string& hash) {
  const auto work = std::make_unique<crypt_data>();
  const char* const made = crypt_r(password.c_str(), hash.c_str(), work.get());
  return made != nullptr && same_text(made, hash);
}

}  // namespace

std::string basic_credentials(std::string_view authorization) {
  constexpr std::string_view kScheme = "basic ";
  if (lower_case(authorization.substr(0, kScheme.size())) != kScheme) return {};
  std::string text;
  unsigned int bits = 0;
  int held = 0;
  for (const char c : trimmed(authorization.substr(kScheme.size()))) {
    if (c == '=') break;
    const int digit = digit_of(c);
    if (digit < 0) return {};
    bits = bits << 6 | static_cast<unsigned int>(digit);
    held += 6;
    if (held >= 8) {
      held -= 8;
      text += static_cast<char>(bits >> held & 0xFF);
    }
  }
  return text.find(':') == std::string::npos || text.find('\0') != std::string::npos ? std::string()
                                                                                     : text;
}

struct BasicAuth::Judge {
  struct Case {
    std::string credentials, key;
    std::function<void(Access)> done;
  };

  std::map<std::string, std::string> users;
  std::string salt;
  std::mutex mutex;
  std::condition_variable wake;
  std::deque<Case> waiting;
  std::map<std::string, bool> known;
  bool ending = false;
  std::thread thread;

  explicit Judge(std::map<std::string, std::string> of) : users(std::move(of)), salt(32, '\0') {
    if (getrandom(salt.data(), salt.size(), 0) != static_cast<ssize_t>(salt.size()))
      salt += std::to_string(reinterpret_cast<std::uintptr_t>(this));
    thread = std::thread([this] { work(); });
  }

  ~Judge() {
    {
      const std::lock_guard lock(mutex);
      ending = true;
      wake.notify_all();
    }
    thread.join();
  }
  Judge(const Judge&) = delete;
  Judge& operator=(const Judge&) = delete;

  /// What is known without a hash; nothing: it has to be made.
  std::optional<Access> known_or_busy(const std::string& key) {
    const std::lock_guard lock(mutex);
    const auto found = known.find(key);
    if (found != known.end()) return found->second ? Access::kGranted : Access::kDenied;
    constexpr std::size_t kMostWaiting = 4096;
    return waiting.size() >= kMostWaiting ? std::optional(Access::kBusy) : std::nullopt;
  }

  void add(Case one) {
    const std::lock_guard lock(mutex);
    waiting.push_back(std::move(one));
    wake.notify_one();
  }

  bool right(const std::string& credentials) const {
    const auto colon = credentials.find(':');
    const auto user = users.find(credentials.substr(0, colon));
    const bool fits =
        fits_hash(credentials.substr(colon + 1), user != users.end() ? user->second : kNobody);
    return fits && user != users.end();
  }

  void work() {
    std::unique_lock lock(mutex);
    while (true) {
      wake.wait(lock, [&] { return ending || !waiting.empty(); });
      if (ending) break;
      const Case one = std::move(waiting.front());
      waiting.pop_front();
      // A thousand that come at once with the same password cost one hash.
      const auto before = known.find(one.key);
      bool granted = before != known.end() && before->second;
      const bool judged = before != known.end();
      lock.unlock();
      if (!judged) {
        granted = right(one.credentials);
        lock.lock();
        constexpr std::size_t kMostKnown = 256;
        if (known.size() >= kMostKnown) known.clear();
        known[one.key] = granted;
        lock.unlock();
      }
      one.done(granted ? Access::kGranted : Access::kDenied);
      lock.lock();
    }
    for (const Case& one : waiting) one.done(Access::kBusy);
  }
};

BasicAuth::BasicAuth(std::map<std::string, std::string> users) {
  if (!users.empty()) judge_ = std::make_unique<Judge>(std::move(users));
}

BasicAuth::~BasicAuth() = default;

void BasicAuth::check(const std::string& authorization, std::function<void(Access)> done) {
  if (judge_ == nullptr) return done(Access::kGranted);
  std::string credentials = basic_credentials(authorization);
  if (credentials.empty()) return done(Access::kDenied);
  std::string key = sha256(judge_->salt + credentials);
  if (const auto known = judge_->known_or_busy(key)) return done(*known);
  judge_->add({std::move(credentials), std::move(key), std::move(done)});
}

}  // namespace muster::server
