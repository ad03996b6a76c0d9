#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/kernel_log.h"

namespace muster {
namespace {

/// All records of /dev/kmsg, or nothing when it can't be read.
std::optional<std::string> read_device() {
  const int device = ::open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (device < 0) return std::nullopt;
  std::string text;
  std::array<char, 8192> record;  // the kernel's own limit of a record
  bool complete = false;
  while (!complete) {
    const ssize_t got = ::read(device, record.data(), record.size());
    if (got > 0) {
      text.append(record.data(), static_cast<std::size_t>(got));
    } else if (got == 0 || errno == EAGAIN) {
      complete = true;
    } else if (errno != EPIPE &&
               errno != EINTR) {  // EPIPE: records were overwritten meanwhile; go on with the next
      break;
    }
  }
  ::close(device);
  if (!complete) return std::nullopt;
  return text;
}

}  // namespace

Result<KernelMessages> SystemKernelLog::read() {
  if (const auto text = read_device()) return parse_kernel_log(*text);
  Command command;
  command.argv = {"dmesg", "--raw"};
  command.time_limit = std::chrono::seconds(10);
  const auto result = processes_.run(command);
  if (!result) return result.error();
  if (result->exit_code != 0) {
    return failure("kernel-log",
                   "the kernel log can't be read: " + result->err.substr(0, result->err.find('\n')),
                   "run as root, or set kernel.dmesg_restrict to 0");
  }
  return parse_kernel_log(result->out);
}

}  // namespace muster
