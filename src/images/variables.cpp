#include "images/variables.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace muster::images {
namespace {

// Without the suffix, or nothing when the name does not end so.
std::optional<std::string> stem(const std::string& name, const std::string& suffix) {
  if (name.size() <= suffix.size() || !name.ends_with(suffix)) return std::nullopt;
  return name.substr(0, name.size() - suffix.size());
}

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos;
       at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

}  // namespace

std::string Versions::version_of(const facts::Component& component) const {
  const auto own = image_.versions.find(component.name);
  return own == image_.versions.end() ? component.version : own->second;
}

std::string Versions::gencode() const {
  std::set<int> capabilities;  // 90, 100, 103: in the order of the hardware
  for (const std::string& model : image_.gpus) {
    const facts::Gpu* gpu = catalog_.find_gpu(model);
    if (!gpu) continue;
    std::string digits = gpu->compute;
    digits.erase(std::remove(digits.begin(), digits.end(), '.'), digits.end());
    capabilities.insert(std::stoi(digits));
  }
  std::vector<std::string> flags;
  flags.reserve(capabilities.size());
  for (const int capability : capabilities)
    flags.push_back(fmt::format("-gencode=arch=compute_{0},code=sm_{0}", capability));
  return fmt::format("{}", fmt::join(flags, " "));
}

const facts::Component* Versions::component(const std::string& name, const char* suffix) {
  const auto of = stem(name, suffix);
  const facts::Component* row = of ? catalog_.find(*of) : nullptr;
  if (row && !version_of(*row).empty()) used_[row->name] = version_of(*row);
  return row;
}

std::optional<std::string> Versions::value(const std::string& name) {
  if (const auto own = image_.variables.find(name); own != image_.variables.end())
    return own->second;
  if (stem(name, "_accelerator")) return image_.accelerator;
  if (stem(name, "_gencode")) {
    const std::string flags = gencode();
    return flags.empty() ? std::nullopt : std::optional(flags);
  }
  const auto known = [](std::string text) {
    return text.empty() ? std::nullopt : std::optional(std::move(text));
  };
  if (const auto* row = component(name, "_version")) return known(version_of(*row));
  if (const auto* row = component(name, "_repository")) return known(row->repository);
  if (const auto* row = component(name, "_tag")) {
    std::string tag = row->tag;
    replace_all(tag, row->version, version_of(*row));
    return known(tag);
  }
  if (const auto* row = component(name, "_url")) {
    std::string url = row->url;
    replace_all(url, "${version}", version_of(*row));
    replace_all(url, "${arch}", image_.architecture);
    replace_all(url, "${goarch}", image_.architecture == "aarch64" ? "arm64" : "amd64");
    return known(url);
  }
  if (const auto* row = component(name, "_sha256")) {
    // A checksum is of the catalog's own version.
    const auto sum = row->sha256.find(image_.architecture);
    const bool holds = sum != row->sha256.end() && version_of(*row) == row->version;
    return holds ? sum->second : std::string();
  }
  return std::nullopt;
}

std::optional<std::string> Versions::fill(const std::string& text) {
  std::string filled;
  std::size_t at = 0;
  while (true) {
    const std::size_t begin = text.find("${", at);
    if (begin == std::string::npos) return filled + text.substr(at);
    const std::size_t end = text.find('}', begin);
    if (end == std::string::npos) return std::nullopt;
    const facts::Component* row = catalog_.find(text.substr(begin + 2, end - begin - 2));
    if (!row || version_of(*row).empty()) return std::nullopt;
    used_[row->name] = version_of(*row);
    filled += text.substr(at, begin - at) + version_of(*row);
    at = end + 1;
  }
}

}  // namespace muster::images
