// The kernel's log: where Xid errors, out-of-memory kills and link failures are told.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/process.h"
#include "base/result.h"

namespace muster {

struct KernelMessage {
  std::optional<double> seconds;  ///< since boot
  std::string time;               ///< wall clock as written, when the log gives that instead
  std::string level;  ///< emerg, alert, crit, err, warn, notice, info, debug; empty when the log
                      ///< does not say
  std::string text;

  bool operator==(const KernelMessage&) const = default;
};

/// A log as read: what was understood, and the lines that were not.
struct KernelMessages {
  std::vector<KernelMessage> messages;
  std::vector<std::string> not_understood;
};

/// Lines of /dev/kmsg ("6,1234,5678901,-;text", with \xNN escapes and continuation lines) and of
/// dmesg, plain, with raw levels ("<6>[ 12.345678] text"), decoded (-x) and with wall-clock times
/// (-T, --time-format iso), also mixed.
KernelMessages parse_kernel_log(std::string_view text);

class KernelLog {
 public:
  virtual ~KernelLog() = default;
  /// All that the kernel still holds. Failure: not permitted, no such device.
  virtual Result<KernelMessages> read() = 0;
};

/// /dev/kmsg of this machine, else what `dmesg` prints.
class SystemKernelLog : public KernelLog {
 public:
  explicit SystemKernelLog(ProcessRunner& processes) : processes_(processes) {}
  Result<KernelMessages> read() override;

 private:
  ProcessRunner& processes_;
};

/// A log given as text, for tests and saved files.
class TextKernelLog : public KernelLog {
 public:
  explicit TextKernelLog(std::string text) : text_(std::move(text)) {}
  Result<KernelMessages> read() override { return parse_kernel_log(text_); }

 private:
  std::string text_;
};

}  // namespace muster
