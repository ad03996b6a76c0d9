#include "launch/launcher_errors.h"

#include <algorithm>
#include <cstring>
#include <regex>
#include <vector>

#include <fmt/format.h>

namespace muster::launch {
namespace {

/// A message of a launcher: what it looks like and how to say it. `$1`… are the groups.
struct Message {
  std::regex pattern;
  const char* words;
};

const std::vector<Message>& messages() {
  using std::regex;
  // Open MPI 4 wraps its messages over lines; the text is matched with runs of blanks made one.
  static const std::vector<Message> kMessages = {
      {regex(R"(process rank (\d+) with PID \d+ on node (\S+) exited on signal (\d+) \(([^)]+)\))"),
       "rank $1 on $2 was ended by signal $3 ($4)"},
      {regex(R"(Process name: \[\[\d+,\d+\],(\d+)\] Exit code: (\d+))"),
       "rank $1 exited with code $2"},
      {regex(
           R"(srun: error: (\S+): tasks? (\S+): (Killed|Terminated|Segmentation fault|Aborted|Bus error)( \(core dumped\))?)"),
       "rank $2 on $1 was ended: $3"},
      {regex(R"(srun: error: (\S+): tasks? (\S+): Out Of Memory)"),
       "rank $2 on $1 ran out of memory"},
      {regex(R"(srun: error: (\S+): tasks? (\S+): Exited with exit code (\d+))"),
       "rank $2 on $1 exited with code $3"},
      // torchrun's summary; its exit code is negative for a signal.
      {regex(
           R"(Root Cause \(first observed failure\): \[\d+\]: time : \S+ host : (\S+) rank : (\d+) \(local_rank: \d+\) exitcode : -(\d+))"),
       "rank $2 on $1 was ended by signal $3"},
      {regex(
           R"(Root Cause \(first observed failure\): \[\d+\]: time : \S+ host : (\S+) rank : (\d+) \(local_rank: \d+\) exitcode : (\d+))"),
       "rank $2 on $1 exited with code $3"},
      {regex(R"(DUE TO NODE FAILURE)"), "a node failed"},
      {regex(R"(srun: error: Node failure on (\S+))"), "node $1 failed"},
      // What is said around Ray (launcher_command.cpp).
      {regex(R"((no Ray head on \S+ within \d+ s))"), "$1"},
      {regex(R"((\d+ of \d+ Ray nodes within \d+ s))"), "$1"},
      {regex(R"((Ray has (?:not started|ended on node \d+)))"), "$1"},
      {regex(R"(There are not enough slots available)"), "mpirun has fewer slots than ranks"},
      {regex(R"((mpirun was unable to (?:find|launch) the specified[^.]*)\.)"), "$1"},
      {regex(R"((srun: error: (?:Unable to|Invalid|Couldn't|Task launch)[^:]*))"), "$1"},
  };
  return kMessages;
}

std::string one_blank_each(std::string_view text) {
  std::string result;
  for (const char c : text) {
    const bool blank = c == ' ' || c == '\n' || c == '\t' || c == '\r';
    if (!blank) {
      result += c;
    } else if (!result.empty() && result.back() != ' ') {
      result += ' ';
    }
  }
  return result;
}

/// What a batch script of ours says on its way out: "muster: within 60 s these nodes did not come:
/// n2".
std::string own_words(std::string_view text) {
  constexpr std::string_view kOurs = "muster: within ";
  const auto at = text.rfind(kOurs);
  if (at == std::string_view::npos || (at > 0 && text[at - 1] != '\n')) return {};
  const auto start = at + std::string_view("muster: ").size();
  return std::string(text.substr(start, text.find('\n', start) - start));
}

std::string last_line(std::string_view text) {
  const auto end = text.find_last_not_of(" \t\r\n");
  if (end == std::string_view::npos) return {};
  const auto start = text.find_last_of('\n', end);
  std::string line(text.substr(start == std::string_view::npos ? 0 : start + 1, end + 1));
  line.resize(std::min(line.find_last_not_of(" \t\r\n") + 1, std::size_t{300}));
  return line.find_first_not_of("-=* ") == std::string::npos ? std::string() : line;
}

}  // namespace

std::string explain_launcher(std::string_view standard_error) {
  // A launcher's own messages are at the end; the beginning of a long text is the ranks' talk.
  constexpr std::size_t kLooked = 65536;
  if (standard_error.size() > kLooked)
    standard_error.remove_prefix(standard_error.size() - kLooked);
  const std::string text = one_blank_each(standard_error);
  std::vector<std::string> said;
  if (std::string own = own_words(standard_error); !own.empty()) said.push_back(std::move(own));
  for (const Message& message : messages()) {
    for (std::sregex_iterator it(text.begin(), text.end(), message.pattern), end; it != end; ++it) {
      const std::string words = it->format(message.words);
      if (said.size() < 4 && std::find(said.begin(), said.end(), words) == said.end())
        said.push_back(words);
    }
  }
  if (said.empty()) return last_line(standard_error);
  return fmt::format("{}", fmt::join(said, "; "));
}

std::string signal_words(int signal) {
  return fmt::format("signal {} ({})", signal, strsignal(signal));
}

}  // namespace muster::launch
