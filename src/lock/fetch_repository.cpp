// git's smart protocol: the list of references that a server sends first.
#include <charconv>
#include <string_view>

#include <fmt/format.h>

#include "lock/fetch.h"

namespace muster::lock {
namespace {

/// Lines of the pkt-line format: four hexadecimal digits of length, themselves included. `whole`:
/// the text is read to its end, which is a flush.
bool next_line(std::string_view& text, std::string_view& line, bool& whole) {
  whole = false;
  while (text.size() >= 4) {
    std::size_t length = 0;
    const auto read = std::from_chars(text.data(), text.data() + 4, length, 16);
    if (read.ec != std::errc() || read.ptr != text.data() + 4) return false;
    if (length < 4) {  // a flush
      text.remove_prefix(4);
      whole = text.empty();
      continue;
    }
    if (length > text.size()) return false;
    line = text.substr(4, length - 4);
    text.remove_prefix(length);
    return true;
  }
  return false;
}

}  // namespace

Answer ask_repository(const std::string& url, const std::string& ref, Fetcher& fetcher) {
  HttpRequest request;
  request.url = url + "/info/refs?service=git-upload-pack";
  const auto response = fetcher.ask(request);
  if (!response) return Answer::unreached(response.findings().front().message);
  if (response->status == 404) return Answer::absent("there is no such repository");
  if (response->status != 200)
    return Answer::unreached(fmt::format("the server answered with status {}", response->status));
  std::string_view text = response->body;
  std::string_view line;
  std::string tag, peeled, branch;
  int references = 0;
  bool whole = false;
  while (next_line(text, line, whole)) {
    line = line.substr(0, line.find_first_of(std::string_view("\0\n", 2)));
    constexpr std::size_t kHash = 40;
    if (line.size() <= kHash + 1 || line[kHash] != ' ') continue;
    const std::string hash(line.substr(0, kHash));
    if (!is_hexadecimal(hash, kHash)) continue;
    ++references;
    const std::string_view name = line.substr(kHash + 1);
    if (name == "refs/tags/" + ref) tag = hash;
    if (name == "refs/tags/" + ref + "^{}") peeled = hash;
    if (name == "refs/heads/" + ref) branch = hash;
  }
  if (references == 0 || !whole)
    return Answer::unreached("the answer is no whole list of git references");
  Answer answer;
  answer.digest = !peeled.empty() ? peeled : !tag.empty() ? tag : branch;
  if (answer.digest.empty()) return Answer::absent(fmt::format("it has no tag or branch {}", ref));
  answer.state = Answer::State::kFound;
  return answer;
}

}  // namespace muster::lock
