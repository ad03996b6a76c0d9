#include "catalog/identities.h"

#include <algorithm>
#include <array>
#include <cctype>

#include <fmt/format.h>

#include "base/text.h"

namespace muster::catalog {
namespace {

bool is_digit(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) != 0;
}

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
}

bool is_hex(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'f');
}

// Characters of a path's part or a host's name.
bool is_path_character(char c) {
  return is_word(c) || c == '-' || c == '.' || c == '/' || c == '~';
}

std::size_t count_while(std::string_view text, std::size_t at, bool (*holds)(char)) {
  std::size_t end = at;
  while (end < text.size() && holds(text[end])) ++end;
  return end - at;
}

// Ids that documentation uses: all digits alike, or counting up.
bool is_placeholder_id(std::string_view id) {
  static constexpr std::array<std::string_view, 6> kExamples = {"123456789012", "111122223333",
                                                                "444455556666", "777788889999",
                                                                "012345678901", "210987654321"};
  if (std::find(kExamples.begin(), kExamples.end(), id) != kExamples.end()) return true;
  if (std::all_of(id.begin(), id.end(), [&](char c) { return c == id[0]; })) return true;
  return std::string_view("0123456789abcdef0123456789abcdef").find(id) != std::string_view::npos ||
         std::string_view("1234567890abcdef01234567890abcdef0").find(id) != std::string_view::npos;
}

class Finder {
 public:
  Finder(std::string_view text, const facts::PublicAccounts& known) : text_(text), known_(known) {}

  std::vector<BoundText> find() {
    for (std::size_t at = 0; at < text_.size(); ++at) {
      const char c = text_[at];
      const bool starts_word = at == 0 || !is_word(text_[at - 1]);
      if (starts_word && is_digit(c)) account(at);
      if (starts_word && c >= 'a' && c <= 'z') resource(at);
      if (c == 's' && starts("s3://", at)) bucket(at);
      if (c == '.' && starts(".dkr.ecr.", at)) region(at);
      if (c == '.' && starts(".elb.", at)) load_balancer(at);
      if (c == '/') path(at);
      if (starts_word && is_digit(c)) numbered(at);
    }
    return std::move(found_);
  }

 private:
  bool starts(std::string_view what, std::size_t at) const {
    return text_.substr(at, what.size()) == what;
  }

  void add(const char* rule, std::size_t at, std::size_t length, std::string message,
           std::string hint) {
    found_.push_back(
        {rule, at, std::string(text_.substr(at, length)), std::move(message), std::move(hint)});
  }

  void account(std::size_t at) {
    const std::size_t length = count_while(text_, at, is_digit);
    if (length != 12 || (at + 12 < text_.size() && is_word(text_[at + 12]))) return;
    const std::string_view id = text_.substr(at, 12);
    // Twelve digits by themselves may be any number: only where an account stands.
    const bool in_place = starts(".dkr.ecr.", at + 12) || (at > 0 && text_[at - 1] == ':') ||
                          starts(":", at + 12) || mentions_account(at);
    if (!in_place || is_placeholder_id(id) || known_.count(id) != 0) return;
    add("identity", at, 12, fmt::format("account id {} is written down", id),
        "a variable, e.g. ${ACCOUNT}, or the placeholder 123456789012");
  }

  bool mentions_account(std::size_t at) const {
    const std::size_t from = at < 24 ? 0 : at - 24;
    std::string before(text_.substr(from, at - from));
    std::transform(before.begin(), before.end(), before.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return before.find("account") != std::string::npos && before.find('\n') == std::string::npos;
  }

  // vpc-…, subnet-…, ami-… with 8 or 17 hexadecimal digits.
  void resource(std::size_t at) {
    static constexpr std::array<std::pair<std::string_view, const char*>, 10> kKinds = {{
        {"vpc-", "VPC"},
        {"subnet-", "subnet"},
        {"sg-", "security group"},
        {"fs-", "file system"},
        {"fsap-", "access point"},
        {"cr-", "capacity reservation"},
        {"ami-", "AMI"},
        {"vol-", "volume"},
        {"snap-", "snapshot"},
        {"i-", "instance"},
    }};
    for (const auto& [prefix, kind] : kKinds) {
      if (!starts(prefix, at)) continue;
      const std::size_t length = count_while(text_, at + prefix.size(), is_hex);
      const std::size_t end = at + prefix.size() + length;
      if ((length != 8 && length != 17) || (end < text_.size() && is_word(text_[end]))) return;
      const std::string_view id = text_.substr(at + prefix.size(), length);
      if (is_placeholder_id(id) || std::none_of(id.begin(), id.end(), is_digit)) return;
      add("identity", at, prefix.size() + length,
          fmt::format("{} {} is written down", kind, text_.substr(at, prefix.size() + length)),
          "a variable that the user sets");
      return;
    }
  }

  void bucket(std::size_t at) {
    const auto is_bucket = [](char c) { return is_word(c) || c == '-' || c == '.'; };
    const std::size_t length = count_while(text_, at + 5, is_bucket);
    const std::string_view name = text_.substr(at + 5, length);
    if (length < 3 || at + 5 + length >= text_.size() + 1) return;
    const std::size_t end = at + 5 + length;
    if (end < text_.size() && (text_[end] == '$' || text_[end] == '{' || text_[end] == '<')) return;
    for (const std::string_view example :
         {"amzn-s3-demo-bucket", "example", "my-", "your-", "bucket"})
      if (name.substr(0, example.size()) == example) return;
    add("identity", at, 5 + length, fmt::format("bucket {} is written down", name),
        "a variable, e.g. s3://${BUCKET}");
  }

  void region(std::size_t at) {
    const std::size_t from = at + 9;
    const auto is_region = [](char c) { return is_word(c) || c == '-'; };
    const std::size_t length = count_while(text_, from, is_region);
    if (length == 0 || !starts(".amazonaws.com", from + length)) return;
    add("region", from, length,
        fmt::format("Region {} is part of the image's address", text_.substr(from, length)),
        "${AWS_REGION}, so that the image is pulled from the Region that runs it");
  }

  void load_balancer(std::size_t at) {
    std::size_t from = at;
    while (from > 0 &&
           (is_word(text_[from - 1]) || text_[from - 1] == '-' || text_[from - 1] == '.'))
      --from;
    const auto end = text_.find(".amazonaws.com", at);
    if (end == std::string_view::npos || end - at > 40 || from == at) return;
    add("identity", from, end + 14 - from, "the host name of a load balancer is written down",
        "a variable, or the name of the service");
  }

  // At a "/" that starts an absolute path.
  void path(std::size_t at) {
    if (at > 0 &&
        (is_path_character(text_[at - 1]) || text_[at - 1] == '}' || text_[at - 1] == ')'))
      return;
    const std::size_t length = count_while(text_, at, is_path_character);
    const std::string_view whole = text_.substr(at, length);
    const bool more = at + length < text_.size() && text_[at + length] == '$';
    const auto below = [&](std::string_view folder) {
      return whole == folder || whole.substr(0, folder.size() + 1) == std::string(folder) + "/";
    };
    if (below("/fsx/ubuntu") || below("/fsx/ec2-user") || below("/apps") || below("/fsxl") ||
        below("/home/ubuntu") || below("/home/ec2-user") || below("/admin") || below("/fsx/apps") ||
        (below("/home") && (length > 6 || more)) ||
        (whole == "/fsx/" && (starts("$USER", at + length) || starts("${USER", at + length)))) {
      add("site-path", at, length, fmt::format("{} is a folder of one site", whole),
          "a path relative to the case, or a mount that the user names");
    }
  }

  // "3.test_cases/", "18.deepspeed/": a number, a dot and a name as a folder.
  void numbered(std::size_t at) {
    if (at > 0 && text_[at - 1] != '/' && text_[at - 1] != ' ' && text_[at - 1] != '"' &&
        text_[at - 1] != '\'' && text_[at - 1] != '=' && text_[at - 1] != '\n' &&
        text_[at - 1] != ':')
      return;
    const std::size_t digits = count_while(text_, at, is_digit);
    const std::size_t name = at + digits + 1;
    if (digits > 2 || name >= text_.size() || text_[name - 1] != '.') return;
    if (!std::isalpha(static_cast<unsigned char>(text_[name]))) return;
    const auto is_part = [](char c) { return is_word(c) || c == '-' || c == '.'; };
    const std::size_t length = digits + 1 + count_while(text_, name, is_part);
    if (length < digits + 3) return;  // a version such as "3.x"
    const bool is_folder = at + length < text_.size() && text_[at + length] == '/';
    const bool is_last =
        at > 0 && text_[at - 1] == '/' &&
        text_.substr(name, length - digits - 1).find('.') == std::string_view::npos;
    if (!is_folder && !is_last) return;
    add("numbered-path", at, length,
        fmt::format("{} has an old numbered prefix", text_.substr(at, length)),
        "the folder's name without its number");
  }

  std::string_view text_;
  const facts::PublicAccounts& known_;
  std::vector<BoundText> found_;
};

}  // namespace

std::vector<BoundText> find_identities(std::string_view text, const facts::PublicAccounts& known) {
  return Finder(text, known).find();
}

Findings identity_findings(std::string_view text, const std::string& file,
                           const std::string& prefix, const facts::PublicAccounts& known) {
  Findings findings;
  for (BoundText& found : find_identities(text, known)) {
    findings.push_back(error_at(position_at(text, found.at, file), prefix + "-" + found.rule,
                                std::move(found.message), std::move(found.hint)));
  }
  return findings;
}

}  // namespace muster::catalog
