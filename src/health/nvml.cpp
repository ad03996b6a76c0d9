#include "health/nvml.h"

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <thread>

#include <fmt/format.h>

#include "health/nvml_gpu.h"
#include "health/nvml_library.h"

namespace muster::health {
namespace {

std::string library_file(std::string given) {
  if (!given.empty()) return given;
  const char* const named = std::getenv("MUSTER_NVML");
  return named != nullptr && *named != '\0' ? named : "libnvidia-ml.so.1";
}

/// What one thread alone does with the library.
class NvmlSession {
 public:
  NvmlSession(const std::string& file, nvml::Library::Current& current) : library_(file, current) {}
  ~NvmlSession() { library_.close(); }
  NvmlSession(const NvmlSession&) = delete;
  NvmlSession& operator=(const NvmlSession&) = delete;

  Result<NvmlReading> read() {
    if (const auto opened = library_.open(); !opened) return opened.error();
    NvmlReading reading;
    reading.driver = text_of("nvmlSystemGetDriverVersion");
    reading.library = text_of("nvmlSystemGetNVMLVersion");
    unsigned int count = 0;
    if (const auto result = library_.call("nvmlDeviceGetCount_v2", &count);
        result != nvml::kSuccess) {
      const std::string why = library_.error_text(result);
      library_.close();
      return failure("nvml-failed", fmt::format("nvmlDeviceGetCount_v2: {}", why));
    }
    watch(count);
    for (unsigned int i = 0; i < count; ++i) {
      nvml::Device device = nullptr;
      const auto result = library_.call("nvmlDeviceGetHandleByIndex_v2", i, &device);
      const int index = static_cast<int>(i);
      if (result == nvml::kSuccess) {
        reading.gpus.push_back(nvml::read_gpu(library_, device, index, samples_[index]));
        continue;
      }
      NvmlGpu gpu;
      gpu.index = index;
      gpu.errors = 1;
      gpu.lost = result == nvml::kGpuIsLost;
      gpu.reset_required = result == nvml::kResetRequired;
      gpu.error = fmt::format("nvmlDeviceGetHandleByIndex_v2: {}", library_.error_text(result));
      reading.gpus.push_back(std::move(gpu));
    }
    reading.xids = events();
    return reading;
  }

 private:
  std::string text_of(const char* function) {
    std::array<char, 96> buffer{};
    const auto result =
        library_.call(function, buffer.data(), static_cast<unsigned int>(buffer.size()));
    return result == nvml::kSuccess ? buffer.data() : std::string();
  }

  /// Registers for Xids, once. A library without events tells of none.
  void watch(unsigned int count) {
    if (watching_) return;
    watching_ = true;
    if (library_.call("nvmlEventSetCreate", &events_) != nvml::kSuccess) {
      events_ = nullptr;
      return;
    }
    for (unsigned int i = 0; i < count; ++i) {
      nvml::Device device = nullptr;
      if (library_.call("nvmlDeviceGetHandleByIndex_v2", i, &device) != nvml::kSuccess) continue;
      library_.call("nvmlDeviceRegisterEvents", device, nvml::kEventXid, events_);
      devices_[device] = static_cast<int>(i);
    }
  }

  std::vector<NvmlXid> events() {
    std::vector<NvmlXid> xids;
    constexpr std::size_t kMost = 4096;  // a GPU that reports without end does not hold us up
    while (events_ != nullptr && xids.size() < kMost) {
      nvml::EventData event{};
      if (library_.call("nvmlEventSetWait_v2", events_, &event, 0U) != nvml::kSuccess) break;
      const auto device = devices_.find(event.device);
      if (event.type == nvml::kEventXid && device != devices_.end())
        xids.push_back({device->second, event.data});
    }
    return xids;
  }

  nvml::Library library_;
  bool watching_ = false;
  nvml::EventSet events_ = nullptr;
  std::map<nvml::Device, int> devices_;
  std::map<int, nvml::GpmSamples> samples_;
};

}  // namespace

struct NvmlReader::Shared {
  std::mutex mutex;
  std::condition_variable changed;
  std::string file;
  nvml::Library::Current current{nullptr};
  bool started = false, wanted = false, busy = false, ending = false, ended = false;
  std::optional<Result<NvmlReading>> answer;
};

NvmlReader::NvmlReader(std::string library) : shared_(std::make_shared<Shared>()) {
  shared_->file = library_file(std::move(library));
}

NvmlReader::~NvmlReader() {
  std::unique_lock lock(shared_->mutex);
  shared_->ending = true;
  shared_->changed.notify_all();
  // The session ends before the program does, unless the driver hangs.
  if (shared_->started && !shared_->busy)
    shared_->changed.wait_for(lock, std::chrono::seconds(5), [&] { return shared_->ended; });
}

Result<NvmlReading> NvmlReader::read(std::chrono::milliseconds limit) {
  std::unique_lock lock(shared_->mutex);
  if (!shared_->started) {
    shared_->started = true;
    // Not joined: a call that hangs in the driver can't be ended. It owns what it uses.
    std::thread([shared = shared_] {
      std::optional<NvmlSession> session(std::in_place, shared->file, shared->current);
      std::unique_lock inside(shared->mutex);
      while (true) {
        shared->changed.wait(inside, [&] { return shared->wanted || shared->ending; });
        if (shared->ending) break;
        shared->wanted = false;
        inside.unlock();
        auto reading = session->read();
        inside.lock();
        shared->busy = false;
        shared->answer = std::move(reading);
        shared->changed.notify_all();
      }
      inside.unlock();
      session.reset();
      inside.lock();
      shared->ended = true;
      shared->changed.notify_all();
    }).detach();
  }
  if (!shared_->busy) {  // else the call that hung is still waited for
    shared_->answer.reset();
    shared_->busy = shared_->wanted = true;
    shared_->changed.notify_all();
  }
  if (!shared_->changed.wait_for(lock, limit, [&] { return shared_->answer.has_value(); })) {
    const char* const call = shared_->current;
    return failure("nvml-timeout",
                   fmt::format("NVML did not answer within {:.1f} s{}",
                               std::chrono::duration<double>(limit).count(),
                               call != nullptr ? fmt::format(": {} hangs", call) : std::string()),
                   "the driver hangs: the kernel's log says more");
  }
  Result<NvmlReading> answer = std::move(*shared_->answer);
  shared_->answer.reset();
  return answer;
}

const std::vector<std::string>& clock_reason_names() {
  static const std::vector<std::string> kNames = {
      "gpu_idle",   "clocks_setting", "power_cap",      "hw_slowdown",   "sync_boost",
      "sw_thermal", "hw_thermal",     "hw_power_brake", "display_clocks"};
  return kNames;
}

std::vector<std::string> clock_reason_names(std::uint64_t bits) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < clock_reason_names().size(); ++i) {
    if ((bits >> i & 1U) != 0) names.push_back(clock_reason_names()[i]);
  }
  return names;
}

}  // namespace muster::health
