// HTTP's basic authentication against bcrypt hashes. A hash takes a tenth of a second on purpose,
// which no event loop can wait for: it is done on a thread of its own, and remembered.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace muster::server {

enum class Access {
  kGranted,
  kDenied,
  kBusy,  ///< too many wait to be judged: guesses do not hold up everyone
};

class BasicAuth {
 public:
  /// `users`: their hashes. Without users everyone may.
  explicit BasicAuth(std::map<std::string, std::string> users);
  ~BasicAuth();
  BasicAuth(const BasicAuth&) = delete;
  BasicAuth& operator=(const BasicAuth&) = delete;

  /// Judges an Authorization header; `done` is called once: here when the answer is known, else
  /// from the thread.
  void check(const std::string& authorization, std::function<void(Access)> done);

 private:
  struct Judge;
  std::unique_ptr<Judge> judge_;  ///< null: no users
};

/// User and password of a header, parted by a colon; empty when it is none.
std::string basic_credentials(std::string_view authorization);

}  // namespace muster::server
