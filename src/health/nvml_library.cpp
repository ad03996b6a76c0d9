#include "health/nvml_library.h"

#include <dlfcn.h>

#include <fmt/format.h>

namespace muster::health::nvml {

void* Library::find(const char* name) {
  const auto known = functions_.find(name);
  if (known != functions_.end()) return known->second;
  return functions_[name] = handle_ == nullptr ? nullptr : dlsym(handle_, name);
}

std::string Library::error_text(Return code) {
  // Returns text and no code: not one for call().
  void* const function = find("nvmlErrorString");
  if (function == nullptr) return fmt::format("error {}", code);
  const char* const text = reinterpret_cast<const char* (*)(Return)>(function)(code);
  return text != nullptr ? text : fmt::format("error {}", code);
}

Result<void> Library::open() {
  if (initialised_) return {};
  if (handle_ == nullptr) {
    current_ = "dlopen";
    handle_ = dlopen(file_.c_str(), RTLD_NOW | RTLD_LOCAL);
    current_ = nullptr;
    if (handle_ == nullptr) {
      const char* const why = dlerror();
      return failure("nvml-missing",
                     fmt::format("NVML can't be loaded: {}", why != nullptr ? why : file_),
                     "the NVIDIA driver brings it; MUSTER_NVML names another file");
    }
    functions_.clear();
  }
  const Return result = call("nvmlInit_v2");
  if (result != kSuccess) {
    return failure("nvml-failed", fmt::format("nvmlInit_v2: {}", error_text(result)),
                   "nvidia-smi says more; the driver's module may not be loaded, or be of another "
                   "version than the library");
  }
  initialised_ = true;
  return {};
}

void Library::close() {
  if (initialised_) call("nvmlShutdown");
  initialised_ = false;
}

}  // namespace muster::health::nvml
