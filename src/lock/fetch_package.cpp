// The simple index of Python packages, as JSON (PEP 691) or as HTML (PEP 503).
#include <algorithm>
#include <cctype>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "lock/fetch.h"

namespace muster::lock {
namespace {

constexpr const char* kIndexTypes =
    "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.2, "
    "text/html;q=0.1";

using Files = std::map<std::string, std::string>;

std::string decoded(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() &&
        std::isxdigit(static_cast<unsigned char>(text[i + 1])) &&
        std::isxdigit(static_cast<unsigned char>(text[i + 2]))) {
      plain += static_cast<char>(std::stoi(std::string(text.substr(i + 1, 2)), nullptr, 16));
      i += 2;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

/// The version in the name of a file: behind the package's name, before the next dash or the
/// ending. A local version ("+cu130") is what the same pin takes as well.
std::string version_in(const std::string& file, const std::string& package) {
  // The name has as many parts as the package's, whatever stands between them.
  std::size_t at = 0,
              parts = 1 + static_cast<std::size_t>(std::count(package.begin(), package.end(), '-'));
  for (; at < file.size(); ++at) {
    const bool between = file[at] == '-' || file[at] == '_' || file[at] == '.';
    if (between && --parts == 0) break;
  }
  if (at >= file.size()) return {};
  std::string rest = file.substr(at + 1);
  if (file.ends_with(".whl")) {
    rest = rest.substr(0, rest.find('-'));
  } else {
    for (const char* ending : {".tar.gz", ".tar.bz2", ".zip"}) {
      if (rest.ends_with(ending)) rest.resize(rest.size() - std::string_view(ending).size());
    }
  }
  return rest.substr(0, rest.find('+'));
}

/// As wheels and sources are named (PEP 427, PEP 625): what stands in the lock file unescaped.
bool is_plain_name(const std::string& file) {
  return std::all_of(file.begin(), file.end(), [](unsigned char c) {
    return std::isalnum(c) ||
           std::string_view("._-+!").find(static_cast<char>(c)) != std::string_view::npos;
  });
}

/// What a Linux machine with a current CPython may install.
bool is_of_interest(const std::string& file) {
  if (file.ends_with(".tar.gz") || file.ends_with(".zip") || file.ends_with("-any.whl"))
    return true;
  return file.ends_with(".whl") && file.find("linux") != std::string::npos &&
         file.find("musllinux") == std::string::npos &&
         (file.find("x86_64") != std::string::npos || file.find("aarch64") != std::string::npos);
}

bool read_json(const std::string& body, Files& files) {
  const auto document = nlohmann::json::parse(body, nullptr, false);
  if (!document.is_object() || !document.contains("files") || !document["files"].is_array())
    return false;
  for (const auto& file : document["files"]) {
    if (!file.is_object() || !file.contains("filename") || !file["filename"].is_string()) continue;
    const auto hashes = file.find("hashes");
    std::string hash;
    if (hashes != file.end() && hashes->is_object() && hashes->contains("sha256") &&
        (*hashes)["sha256"].is_string())
      hash = (*hashes)["sha256"].get<std::string>();
    files[file["filename"].get<std::string>()] = hash;
  }
  return true;
}

/// `<a href="…/name-1.0.whl#sha256=…">`.
bool read_html(const std::string& body, Files& files) {
  bool any = false;
  for (auto at = body.find("href=\""); at != std::string::npos; at = body.find("href=\"", at + 1)) {
    const auto end = body.find('"', at + 6);
    if (end == std::string::npos) break;
    any = true;
    std::string link = body.substr(at + 6, end - at - 6);
    std::string hash;
    const auto fragment = link.find('#');
    if (fragment != std::string::npos) {
      const auto sha = link.find("sha256=", fragment);
      if (sha != std::string::npos) hash = link.substr(sha + 7, link.find('&', sha) - sha - 7);
      link.resize(fragment);
    }
    files[decoded(link.substr(link.rfind('/') + 1))] = hash;
  }
  return any || body.find("<html") != std::string::npos || body.find("<!DOCTYPE") == 0;
}

Answer ask_index(const std::string& name, const std::string& version, const std::string& index,
                 Fetcher& fetcher) {
  HttpRequest request;
  request.url = fmt::format("{}{}{}/", index, index.ends_with('/') ? "" : "/", name);
  request.headers = {{"Accept", kIndexTypes}};
  const auto response = fetcher.ask(request);
  if (!response) return Answer::unreached(response.findings().front().message);
  if (response->status == 404) return Answer::absent(fmt::format("{} does not have it", index));
  if (response->status != 200)
    return Answer::unreached(fmt::format("{} answered with status {}", index, response->status));
  Files all;
  const bool is_json = header(*response, "content-type").find("json") != std::string::npos;
  if (!(is_json ? read_json(response->body, all) : read_html(response->body, all)))
    return Answer::unreached(fmt::format("the answer of {} is no index of packages", index));
  Answer answer;
  bool unusable = false;
  for (const auto& [file, hash] : all) {
    if (version_in(file, name) != version || !is_of_interest(file)) continue;
    if (!is_hexadecimal(hash, 64) || !is_plain_name(file)) {
      unusable = true;
    } else {
      answer.files[file] = hash;
    }
  }
  if (!answer.files.empty()) {
    answer.state = Answer::State::kFound;
    return answer;
  }
  if (unusable) return Answer::unreached(fmt::format("{} gives no checksums of it", index));
  return Answer::absent(fmt::format("{} does not have this version", index));
}

}  // namespace

Answer ask_package(const std::string& name, const std::string& version,
                   const std::vector<std::string>& indexes, Fetcher& fetcher) {
  Answer all = Answer::absent("no index was asked");
  bool any_unreached = false;
  for (const std::string& index : indexes) {
    Answer answer = ask_index(name, version, index, fetcher);
    if (answer.state == Answer::State::kFound) return answer;
    // Whether it is anywhere is known only when every index has said no.
    if (any_unreached) continue;
    any_unreached = answer.state == Answer::State::kUnreached;
    all = std::move(answer);
  }
  return all;
}

}  // namespace muster::lock
