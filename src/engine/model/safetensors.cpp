#include "engine/model/safetensors.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/document.h"
#include "base/file_system.h"

namespace muster::model {
namespace {

constexpr const char* kSingleFile = "model.safetensors";
constexpr const char* kIndexFile = "model.safetensors.index.json";

Failure fault(Position where, std::string message, std::string hint = {}) {
  return Failure(error_at(where, "safetensors", std::move(message), std::move(hint)));
}

Failure system_fault(const std::string& file, const char* what) {
  return fault({file}, fmt::format("{}: {}", what, std::strerror(errno)));
}

}  // namespace

class SafetensorsFile::Mapping {
 public:
  Mapping(void* address, std::size_t size) : address_(address), size_(size) {}
  ~Mapping() { ::munmap(address_, size_); }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  std::string_view bytes() const { return {static_cast<const char*>(address_), size_}; }

 private:
  void* address_;
  std::size_t size_;
};

Result<SafetensorsFile> SafetensorsFile::open(const std::filesystem::path& path) {
  SafetensorsFile file;
  file.name_ = path.string();
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return system_fault(file.name_, "cannot be opened");
  struct stat info {};
  if (::fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
    ::close(fd);
    return fault({file.name_}, "is not a regular file");
  }
  const auto size = static_cast<std::size_t>(info.st_size);
  if (size == 0) {
    ::close(fd);
    return fault({file.name_}, "the file is empty", "the file is truncated");
  }
  void* address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  ::close(fd);
  if (address == MAP_FAILED) return system_fault(file.name_, "cannot be mapped");
  file.mapping_ = std::make_shared<const Mapping>(address, size);
  auto header = parse_safetensors(file.mapping_->bytes(), size, file.name_);
  if (!header) return header.error();
  file.header_ = std::move(header).value();
  return file;
}

TensorView SafetensorsFile::view(const std::string& tensor) const {
  const TensorEntry& entry = header_.tensors.at(tensor);
  const auto bytes =
      mapping_->bytes().substr(header_.data_start + entry.begin, entry.end - entry.begin);
  return {entry.dtype, entry.shape, std::as_bytes(std::span(bytes.data(), bytes.size()))};
}

Result<WeightFiles> WeightFiles::open(const std::filesystem::path& folder) {
  WeightFiles weights;
  const auto single = folder / kSingleFile;
  const auto index = folder / kIndexFile;
  const FileSystem& disk = real_file_system();
  if (disk.exists(single)) {
    auto file = SafetensorsFile::open(single);
    if (!file) return file.error();
    weights.name_ = single.string();
    for (const auto& [name, entry] : file->header().tensors) weights.file_of_[name] = 0;
    weights.files_.push_back(std::move(file).value());
    return weights;
  }
  if (!disk.exists(index))
    return fault({folder.string()}, "holds no weights",
                 fmt::format("{} or {}", kSingleFile, kIndexFile));

  weights.name_ = index.string();
  auto text = disk.read(index);
  if (!text) return text.error();
  auto document = parse_json(*text, weights.name_);
  if (!document) return document.error();
  const Node* map = document->find("weight_map");
  if (map == nullptr || !map->is_mapping())
    return fault(document->where(), "the index has no weight_map", "an object from tensor to file");
  std::map<std::string, std::size_t> number_of;
  for (const auto& item : map->entries()) {
    const std::string& file_name = item.value.text();
    if (!item.value.quoted() || file_name.empty() || file_name.find('/') != std::string::npos ||
        file_name == "..")
      return fault(item.value.where(),
                   fmt::format("'{}' is not the name of a file in this folder", file_name));
    if (!number_of.contains(file_name)) {
      auto file = SafetensorsFile::open(folder / file_name);
      if (!file) {
        Findings findings = file.findings();
        findings.front().hint = fmt::format("it is named at {}", to_string(item.value.where()));
        return Failure(std::move(findings));
      }
      number_of[file_name] = weights.files_.size();
      weights.files_.push_back(std::move(file).value());
    }
    const auto number = number_of.at(file_name);
    if (!weights.files_[number].header().tensors.contains(item.key))
      return fault(item.where, fmt::format("tensor '{}' is not in {}", item.key, file_name),
                   "the index and the files do not belong together");
    weights.file_of_[item.key] = number;
  }
  for (std::size_t number = 0; number < weights.files_.size(); ++number) {
    for (const auto& [name, entry] : weights.files_[number].header().tensors) {
      const auto known = weights.file_of_.find(name);
      if (known == weights.file_of_.end() || known->second != number)
        return fault({weights.files_[number].name()},
                     fmt::format("tensor '{}' is here, but the index does not say so", name),
                     "the index and the files do not belong together");
    }
  }
  return weights;
}

std::optional<WeightFiles::Place> WeightFiles::find(const std::string& tensor) const {
  const auto known = file_of_.find(tensor);
  if (known == file_of_.end()) return std::nullopt;
  const SafetensorsFile& file = files_[known->second];
  return Place{&file, file.view(tensor)};
}

std::vector<std::string> WeightFiles::names() const {
  std::vector<std::string> names;
  for (const auto& item : file_of_) names.push_back(item.first);
  return names;
}

namespace {

/// Writes all of it; false with errno set when that fails.
bool write_all(int fd, const char* data, std::size_t size) {
  while (size > 0) {
    const auto written = ::write(fd, data, std::min<std::size_t>(size, 1U << 30U));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    data += written;
    size -= static_cast<std::size_t>(written);
  }
  return true;
}

std::string render_header(const std::vector<NamedTensor>& tensors,
                          const std::map<std::string, std::string>& metadata) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  if (!metadata.empty()) json["__metadata__"] = metadata;
  std::uint64_t offset = 0;
  for (const NamedTensor& tensor : tensors) {
    const auto end = offset + tensor.view.bytes.size();
    json[tensor.name] = {{"dtype", tensor.view.dtype},
                         {"shape", tensor.view.shape},
                         {"data_offsets", {offset, end}}};
    offset = end;
  }
  std::string text = json.dump();
  text.append((8 - text.size() % 8) % 8, ' ');
  return text;
}

}  // namespace

Result<void> write_safetensors(const std::filesystem::path& path, std::vector<NamedTensor> tensors,
                               const std::map<std::string, std::string>& metadata) {
  std::sort(tensors.begin(), tensors.end(), [](const NamedTensor& a, const NamedTensor& b) {
    const auto width_a = element_size(a.view.dtype);
    const auto width_b = element_size(b.view.dtype);
    return width_a != width_b ? width_a > width_b : a.name < b.name;
  });
  const std::string header = render_header(tensors, metadata);
  std::string length(8, '\0');
  for (std::size_t i = 0; i < 8; ++i)
    length[i] = static_cast<char>((header.size() >> (8 * i)) & 0xff);

  const std::string beside = path.string() + ".partial";
  const int fd = ::open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) return system_fault(beside, "cannot be written");
  bool good =
      write_all(fd, length.data(), length.size()) && write_all(fd, header.data(), header.size());
  for (const NamedTensor& tensor : tensors)
    good = good && write_all(fd, reinterpret_cast<const char*>(tensor.view.bytes.data()),
                             tensor.view.bytes.size());
  good = good && ::fsync(fd) == 0;
  int reason = errno;
  if (::close(fd) != 0 && good) {
    good = false;
    reason = errno;
  }
  if (good && ::rename(beside.c_str(), path.c_str()) != 0) {
    good = false;
    reason = errno;
  }
  if (good) return {};
  ::unlink(beside.c_str());
  errno = reason;
  return system_fault(path.string(), "cannot be written");
}

}  // namespace muster::model
