#include "base/junit.h"

#include <cstdint>
#include <ostream>
#include <string_view>

#include "base/text.h"

namespace muster {
namespace {

/// Text for XML 1.0; what it can't hold is replaced by U+FFFD.
std::string xml(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size();) {
    const char c = text[i];
    const auto byte = static_cast<unsigned char>(c);
    const std::size_t length = utf8_length(text, i);
    const bool noncharacter =
        length == 3 && (text.substr(i, 3) == "\xEF\xBF\xBE" || text.substr(i, 3) == "\xEF\xBF\xBF");
    if (length == 0 || noncharacter || byte == 0x7F ||
        (byte < 0x20 && c != '\t' && c != '\n' && c != '\r')) {
      result += "\xEF\xBF\xBD";
    } else if (c == '&') {
      result += "&amp;";
    } else if (c == '<') {
      result += "&lt;";
    } else if (c == '>') {
      result += "&gt;";
    } else if (c == '"') {
      result += "&quot;";
    } else if (c == '\n' || c == '\r' || c == '\t') {
      result += "&#" + std::to_string(static_cast<int>(c)) + ";";
    } else {
      result.append(text, i, length);
    }
    i += length == 0 ? 1 : length;
  }
  return result;
}

struct Case {
  std::string name;
  const char* element = nullptr;  // failure, error, or none
  std::string message;
};

}  // namespace

void write_junit(std::ostream& out, const std::string& suite, const std::vector<Check>& checks,
                 const Findings& findings) {
  std::vector<Case> cases;
  for (const Check& check : checks) {
    const char* element = check.outcome == Outcome::kPass   ? nullptr
                          : check.outcome == Outcome::kFail ? "failure"
                                                            : "error";
    cases.push_back({check.name, element, check.evidence});
  }
  for (const Finding& finding : findings) {
    const std::string place = to_string(finding.where);
    cases.push_back({place.empty() ? finding.rule : finding.rule + " " + place,
                     finding.severity == Severity::kError ? "failure" : nullptr,
                     to_string(finding)});
  }
  if (cases.empty()) cases.push_back({suite, "error", "nothing was checked"});

  int failures = 0;
  int errors = 0;
  for (const Case& one : cases) {
    failures += one.element != nullptr && std::string_view(one.element) == "failure" ? 1 : 0;
    errors += one.element != nullptr && std::string_view(one.element) == "error" ? 1 : 0;
  }
  const std::string counts = "tests=\"" + std::to_string(cases.size()) + "\" failures=\"" +
                             std::to_string(failures) + "\" errors=\"" + std::to_string(errors) +
                             "\"";
  out << "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites " << counts
      << ">\n  <testsuite name=\"" << xml(suite) << "\" " << counts << ">\n";
  for (const Case& one : cases) {
    out << "    <testcase classname=\"" << xml(suite) << "\" name=\"" << xml(one.name) << "\">";
    if (one.element != nullptr) {
      out << "<" << one.element << " message=\"" << xml(one.message) << "\"/>";
    } else if (!one.message.empty()) {
      out << "<system-out>" << xml(one.message) << "</system-out>";
    }
    out << "</testcase>\n";
  }
  out << "  </testsuite>\n</testsuites>\n";
}

}  // namespace muster
