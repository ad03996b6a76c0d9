// The safetensors format: a length, a JSON header that names tensors with dtype, shape and byte
// range, then the bytes. Own reader and writer, free of libtorch; a damaged file ends in a located
// finding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace muster::model {

/// One tensor of a file. `begin` and `end` are byte offsets into the data that follow the header.
struct TensorEntry {
  std::string dtype;  ///< "F32", "BF16", "F16", "I64", …
  std::vector<std::int64_t> shape;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

struct SafetensorsHeader {
  std::map<std::string, TensorEntry> tensors;
  std::map<std::string, std::string> metadata;
  std::uint64_t data_start = 0;  ///< byte offset in the file at which the data begins
};

/// Bytes of one element of a dtype, or 0 for one that the format does not know.
std::size_t element_size(std::string_view dtype);

/// Reads and checks the header: `head` holds at least the length field and the header (it may be
/// the whole file), `file_size` is the file's. Errors: too short for a header, a header length
/// beyond the file or 100 MB, not JSON, a duplicate name, an unknown dtype, a shape that is not
/// made of sizes or whose bytes differ from the range, and ranges that overlap, leave a hole or do
/// not end with the file.
Result<SafetensorsHeader> parse_safetensors(std::string_view head, std::uint64_t file_size,
                                            const std::string& file);

/// A tensor's bytes as they lie in the file, row-major, little-endian.
struct TensorView {
  std::string dtype;
  std::vector<std::int64_t> shape;
  std::span<const std::byte> bytes;
};

/// A file mapped into memory. Views stay valid as long as any copy of it lives.
class SafetensorsFile {
 public:
  static Result<SafetensorsFile> open(const std::filesystem::path& path);

  const SafetensorsHeader& header() const { return header_; }
  const std::string& name() const { return name_; }
  /// The tensor's view; asking for one that the header does not name is a bug of the caller.
  TensorView view(const std::string& tensor) const;

 private:
  class Mapping;
  std::string name_;
  SafetensorsHeader header_;
  std::shared_ptr<const Mapping> mapping_;
};

/// The weights in a model's folder: model.safetensors, or the files that
/// model.safetensors.index.json lists.
class WeightFiles {
 public:
  /// Errors: neither file is there, the index is damaged, names a file outside the folder or one
  /// that is missing, or disagrees with a file about what that holds; a tensor in two files.
  static Result<WeightFiles> open(const std::filesystem::path& folder);

  struct Place {
    const SafetensorsFile* file = nullptr;
    TensorView view;
  };

  /// Where a tensor is, or nothing.
  std::optional<Place> find(const std::string& tensor) const;
  std::vector<std::string> names() const;
  /// The file that says which tensors there are: for messages.
  const std::string& name() const { return name_; }

 private:
  std::string name_;
  std::vector<SafetensorsFile> files_;
  std::map<std::string, std::size_t> file_of_;
};

/// A tensor to write. `bytes` must be the shape's size.
struct NamedTensor {
  std::string name;
  TensorView view;
};

/// Writes a file whole or not at all: beside the target, flushed to disk, renamed over it. Tensors
/// are laid out by falling element size, then by name, at 8-byte alignment of the data's start, as
/// other writers of the format do.
Result<void> write_safetensors(const std::filesystem::path& path, std::vector<NamedTensor> tensors,
                               const std::map<std::string, std::string>& metadata = {
                                   {"format", "pt"}});

}  // namespace muster::model
