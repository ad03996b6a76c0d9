// The library, loaded: one function to call any of its by name.
#pragma once

#include <atomic>
#include <map>
#include <mutex>
#include <string>

#include "base/result.h"
#include "health/nvml_abi.h"

namespace muster::health::nvml {

class Library {
 public:
  /// Which call is under way, for who gives up waiting for it; null: none.
  using Current = std::atomic<const char*>;

  Library(std::string file, Current& current) : file_(std::move(file)), current_(current) {}

  /// Loads and initialises it; again after a failure.
  Result<void> open();
  /// Ends its session, so that the next open() begins anew.
  void close();

  /// Calls a function; kFunctionNotFound when the library has none of that name.
  template <typename... Arguments>
  Return call(const char* name, Arguments... arguments) {
    void* const function = find(name);
    if (function == nullptr) return kFunctionNotFound;
    current_ = name;
    const Return result = reinterpret_cast<Return (*)(Arguments...)>(function)(arguments...);
    current_ = nullptr;
    return result;
  }

  /// "GPU is lost".
  std::string error_text(Return code);

 private:
  void* find(const char* name);

  std::string file_;
  Current& current_;
  void* handle_ = nullptr;
  bool initialised_ = false;
  std::map<std::string, void*, std::less<>> functions_;
};

}  // namespace muster::health::nvml
