// What a check can look at: the files of a host and the output of its commands. The host is this
// machine, or a tree that was saved from one.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "base/file_system.h"
#include "base/process.h"
#include "base/result.h"

namespace muster::health {

class HostView {
 public:
  virtual ~HostView() = default;

  /// Contents of a file by its absolute path on the host.
  virtual Result<std::string> file(const std::filesystem::path& path) const = 0;
  /// Names in a directory, sorted.
  virtual Result<std::vector<std::string>> list(const std::filesystem::path& path) const = 0;
  virtual bool exists(const std::filesystem::path& path) const = 0;
  /// What a command prints. Failure: there is no such command (rule "no-command"), or its output
  /// was not saved. Two are no programs: "nvml" is what the driver's library tells, in the form of
  /// `nvidia-smi -q -x`, and "adjtimex --print" the kernel's own state of its clock.
  virtual Result<ProcessResult> run(const std::vector<std::string>& argv,
                                    std::chrono::milliseconds limit) const = 0;
  /// How places name the host: empty for this machine, else the tree.
  virtual std::string name() const = 0;
};

/// This machine.
class LiveView : public HostView {
 public:
  /// `nvml`: the driver's library; empty: as NvmlReader finds it.
  LiveView(const FileSystem& files, ProcessRunner& processes, std::string nvml = {})
      : files_(files), processes_(processes), nvml_(std::move(nvml)) {}
  Result<std::string> file(const std::filesystem::path& path) const override;
  Result<std::vector<std::string>> list(const std::filesystem::path& path) const override;
  bool exists(const std::filesystem::path& path) const override;
  Result<ProcessResult> run(const std::vector<std::string>& argv,
                            std::chrono::milliseconds limit) const override;
  std::string name() const override { return {}; }

 private:
  const FileSystem& files_;
  ProcessRunner& processes_;
  std::string nvml_;
};

/// A tree: files under their paths, the output of `nvidia-smi -q -x` in commands/nvidia-smi_-q_-x,
/// or where sosreport puts it (sos_commands/*/nvidia-smi_-q_-x).
class TreeView : public HostView {
 public:
  TreeView(const FileSystem& files, std::filesystem::path root)
      : files_(files), root_(std::move(root)) {}
  Result<std::string> file(const std::filesystem::path& path) const override;
  Result<std::vector<std::string>> list(const std::filesystem::path& path) const override;
  bool exists(const std::filesystem::path& path) const override;
  Result<ProcessResult> run(const std::vector<std::string>& argv,
                            std::chrono::milliseconds limit) const override;
  std::string name() const override { return root_.string(); }

 private:
  const FileSystem& files_;
  std::filesystem::path root_;
};

/// "nvidia-smi_-q_-x": the name of a saved output.
std::string saved_name(const std::vector<std::string>& argv);

}  // namespace muster::health
