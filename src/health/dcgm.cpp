// What `dcgmi diag` says: JSON of 3.x and 4.x, and the table for people.
#include <algorithm>

#include <fmt/format.h>

#include "base/document.h"
#include "base/words.h"
#include "health/json_text.h"
#include "health/readers.h"

namespace muster::health {
namespace {

/// dcgmErrorSeverity_t since 3.1.
Health of_severity(int severity) {
  switch (severity) {
    case 1:  // monitor
    case 5:  // config
      return Health::kFlag;
    case 2:
      return Health::kReplace;  // isolate
    case 6:
      return Health::kReset;
    default:
      return Health::kInvestigate;  // 3 unknown, 4 triage, and what nobody knows yet
  }
}

const char* severity_name(int severity) {
  constexpr const char* kNames[] = {"none",   "monitor", "isolate", "unknown",
                                    "triage", "config",  "reset"};
  return severity >= 0 && severity < 7 ? kNames[severity] : "unknown to us";
}

int severity_number(const std::string& name) {
  for (int i = 0; i < 7; ++i) {
    if (name == severity_name(i)) return i;
  }
  return 3;
}

/// What a warning of a result comes to.
struct DcgmSaid {
  Health health = Health::kInvestigate;
  std::string text;
};

class DcgmReader {
 public:
  DcgmReader(const Text& text, const Host& host, CheckResult& check)
      : text_(text), host_(host), check_(check) {}

  void read_document(const JsonText& json) {
    if (!json.whole) {
      add(Health::kError, "dcgm-truncated", json.source, "the JSON breaks off: the run did not end",
          json.line);
      return;
    }
    const auto document = parse_json(json.text, text_.file);
    if (!document) {
      const Finding& wrong = document.findings().front();
      add(Health::kError, "dcgm-json", json.source, "not JSON: " + wrong.message,
          json.line + std::max(0, wrong.where.line - 1));
      return;
    }
    start_ = json.line - 1;
    source_ = json.source;
    const Node* root = nullptr;
    for (const char* name : {"DCGM Diagnostic", "DCGM GPU Diagnostic"}) {
      if (root == nullptr) root = document->find(name);
    }
    if (root == nullptr && document->is_mapping()) root = &*document;
    if (root == nullptr) return;
    bool known = false;
    for (const char* error : {"runtime_error", "error", "fatal_error"}) {
      if (const Node* said = root->find(error); said != nullptr && !said->is_null()) {
        add(Health::kError, "dcgm-runtime", source_, "dcgmi says: " + all_text(*said),
            said->where());
        known = true;
      }
    }
    for (const char* list : {"test_categories", "categories"}) {
      const Node* categories = root->find(list);
      if (categories == nullptr || !categories->is_sequence()) continue;
      known = true;
      for (const Node& category : categories->items()) read_tests(category.find("tests"));
    }
    if (const Node* tests = root->find("tests")) {
      known = true;
      read_tests(tests);
    }
    if (!known && json.text.find("DCGM") != std::string::npos) {
      add(Health::kUnknown, "dcgm-form", source_, "a diagnosis of a form that is not known",
          json.line);
    }
  }

  /// A row of the table for people: "| memory | Pass |", "| | GPU0: Fail |", "| Warning | … |".
  void read_row(const Line& line) {
    const std::size_t bar = line.text.find('|', 1);
    if (!line.text.starts_with('|') || bar == std::string::npos || line.text[1] == '-' ||
        line.text[1] == '=') {
      return;
    }
    const std::string name(trimmed(line.text.substr(1, bar - 1)));
    std::size_t end = line.text.rfind('|');
    if (end == bar) end = line.text.size();
    const std::string value(trimmed(line.text.substr(bar + 1, end - bar - 1)));
    if (name == "Diagnostic" || name == "DCGM Version" ||
        name.find("Detected") != std::string::npos)
      return;
    source_ = line.source;
    if (name.starts_with("Warning") || name.starts_with("Error") || name.starts_with("Info")) {
      if (!name.starts_with("Info") && !pending_.empty()) pending_.back().text += " " + value;
      return;
    }
    std::string subject = name, status = value;
    if (const std::size_t colon = value.find(": "); name.empty() && colon != std::string::npos) {
      subject = row_name_ + " " + value.substr(0, colon);
      status = value.substr(colon + 2);
    } else if (name.empty()) {
      // The rest of a long warning, on lines of their own.
      if (!pending_.empty() && !value.empty()) pending_.back().text += " " + value;
      return;
    } else {
      row_name_ = name;
    }
    const std::string word = lower_case(status.substr(0, status.find_first_of(" -")));
    if (word != "pass" && word != "fail" && word != "warn" && word != "skip" && word != "run") {
      if (!name.empty() && status != "") unread_rows_.push_back(line.number);
      return;
    }
    pending_.push_back({word, subject, status, line.number});
  }

  void finish_table() {
    for (const Row& row : pending_) {
      const std::string evidence = fmt::format("{}: {}", row.status, trimmed(row.text));
      const std::string said = row.text.empty() ? row.status : evidence;
      if (row.word == "pass") {
        add(Health::kOk, "dcgm", row.subject, said, row.line);
      } else if (row.word == "skip") {
        add(Health::kSkipped, "dcgm", row.subject, said, row.line);
      } else {
        DcgmSaid worst{row.word == "warn" ? Health::kFlag : Health::kInvestigate, {}};
        if (const auto named = by_name(row.text)) worst = *named;
        add(worst.health, "dcgm", row.subject, said, row.line);
      }
    }
    for (const int line : unread_rows_) {
      add(Health::kUnknown, "dcgm-form", {}, "a row of a form that is not known", line);
    }
  }

 private:
  struct Row {
    std::string word, subject, status;
    int line = 0;
    std::string text{};
  };

  void read_tests(const Node* tests) {
    if (tests == nullptr || !tests->is_sequence()) return;
    for (const Node& test : tests->items()) {
      const std::string name = text_at(test, "name");
      const Node* results = test.find("results");
      std::size_t read = 0;
      if (results != nullptr && results->is_sequence()) {
        for (const Node& result : results->items()) {
          read_result(name, result);
          ++read;
        }
      }
      const Node* summary = test.find("test_summary");
      if (summary != nullptr && summary->is_mapping() && (read == 0 || is_worse(*summary)))
        read_result(name, *summary);
      else if (read == 0)
        add(Health::kUnknown, "dcgm-form", name, "a test without a result", test.where());
    }
  }

  static std::string text_at(const Node& node, const char* key) {
    const Node* value = node.is_mapping() ? node.find(key) : nullptr;
    return value != nullptr && value->is_scalar() ? value->text() : std::string();
  }

  /// A summary that fails where no single result does.
  bool is_worse(const Node& summary) const {
    const std::string status = lower_case(text_at(summary, "status"));
    return (status == "fail" || status == "warn") && !told_bad_;
  }

  static std::string who(const std::string& test, const Node& result) {
    for (const char* key : {"gpu_ids", "gpu_id"}) {
      if (const std::string id = text_at(result, key); !id.empty())
        return fmt::format("{} GPU {}", test, id);
    }
    if (const std::string id = text_at(result, "entity_id"); !id.empty()) {
      const std::string group = text_at(result, "entity_group");
      return fmt::format("{} {} {}", test, group.empty() ? "entity" : group, id);
    }
    return test;
  }

  void read_result(const std::string& test, const Node& result) {
    const std::string status = lower_case(text_at(result, "status"));
    const std::string subject = who(test, result);
    std::vector<DcgmSaid> warnings;
    for (const char* key : {"warnings", "warning"}) {
      const Node* said = result.is_mapping() ? result.find(key) : nullptr;
      if (said == nullptr || said->is_null()) continue;
      if (said->is_sequence()) {
        for (const Node& one : said->items()) warnings.push_back(read_warning(one, result, status));
      } else {
        warnings.push_back(read_warning(*said, result, status));
      }
    }
    DcgmSaid worst{Health::kOk, {}};
    for (const DcgmSaid& said : warnings) {
      if (worst.text.empty() || said.health > worst.health) worst.health = said.health;
      worst.text += (worst.text.empty() ? "" : "; ") + said.text;
    }
    if (status == "pass") {
      // DCGM 4.5 records an error and passes all the same.
      const Health health = warnings.empty() ? Health::kOk : std::max(Health::kFlag, worst.health);
      add(health, "dcgm", subject, warnings.empty() ? "Pass" : "Pass, yet: " + worst.text,
          result.where());
    } else if (status == "skip" || status == "skipped" || status == "not run" ||
               status == "not_run") {
      add(Health::kSkipped, "dcgm", subject, "Skip" + (worst.text.empty() ? "" : ": " + worst.text),
          result.where());
    } else if (status == "fail" || status == "warn") {
      told_bad_ = true;
      const bool fail = status == "fail";
      Health health = warnings.empty() ? (fail ? Health::kInvestigate : Health::kFlag)
                                       : std::max(Health::kFlag, worst.health);
      add(health, "dcgm", subject,
          fmt::format("{}{}", fail ? "Fail" : "Warn",
                      worst.text.empty() ? ", with no reason given" : ": " + worst.text),
          result.where());
    } else {
      add(Health::kUnknown, "dcgm-status", subject,
          status.empty() ? std::string("a result without a status")
                         : fmt::format("a status that is not known: {}", text_at(result, "status")),
          result.where());
    }
  }

  /// By the severity that the output gives, else by the code, else by the status.
  DcgmSaid read_warning(const Node& warning, const Node& result, const std::string& status) const {
    const bool object = warning.is_mapping();
    DcgmSaid said;
    said.text = object ? text_at(warning, "warning") : warning.text();
    const auto number = [&](const char* key) -> std::optional<int> {
      for (const Node* node : {object ? &warning : nullptr, &result}) {
        const Node* value = node == nullptr ? nullptr : node->find(key);
        if (value == nullptr || !value->is_scalar()) continue;
        const auto whole_number = whole(value->text());
        if (whole_number && *whole_number < 100000) return static_cast<int>(*whole_number);
      }
      return std::nullopt;
    };
    const auto id = number("error_id");
    const auto severity = number("error_severity");
    const facts::DcgmError* known = id ? facts::find_dcgm_error(*host_.dcgm, *id) : nullptr;
    if (severity && *severity > 0) {
      said.health = of_severity(*severity);
      said.text += fmt::format(" [{}{}]",
                               known != nullptr ? "DCGM_FR_" + known->name + ", "
                               : id             ? fmt::format("error {}, ", *id)
                                                : std::string(),
                               severity_name(*severity));
    } else if (known != nullptr && *id > 0) {
      said.health = of_severity(severity_number(known->severity));
      said.text += fmt::format(" [DCGM_FR_{}, {}]", known->name, known->severity);
    } else if (const auto named = by_name(said.text)) {
      said.health = named->health;
    } else {
      said.health = status == "fail" ? Health::kInvestigate : Health::kFlag;
    }
    // The one isolation that is mended by a reboot.
    if ((known != nullptr && known->name == "GPU_RECOVERY_REBOOT") ||
        said.text.find("GPU_RECOVERY_REBOOT") != std::string::npos) {
      said.health = Health::kReboot;
    }
    return said;
  }

  /// A text that names a code.
  std::optional<DcgmSaid> by_name(const std::string& text) const {
    static thread_local const Regex& name = pattern(R"(\bDCGM_FR_([A-Z0-9_]+))");
    Regex::Match match;
    if (!finds(name, text, match)) return std::nullopt;
    const facts::DcgmError* known = facts::find_dcgm_error(*host_.dcgm, group(match, 1));
    if (known == nullptr) return std::nullopt;
    return DcgmSaid{of_severity(severity_number(known->severity)), text};
  }

  static std::string all_text(const Node& node) {
    if (node.is_scalar()) return node.text();
    std::string text;
    for (const Node& item : node.items()) text += (text.empty() ? "" : "; ") + all_text(item);
    for (const Node::Entry& entry : node.entries())
      text += (text.empty() ? "" : "; ") + all_text(entry.value);
    return text;
  }

  void add(Health health, const char* rule, const std::string& subject, const std::string& evidence,
           int line) {
    check_.add(health, rule, source_.empty() ? subject : source_ + " " + subject, evidence,
               {text_.file, line, 0});
  }
  void add(Health health, const char* rule, const std::string& subject, const std::string& evidence,
           const Position& where) {
    add(health, rule, subject, evidence, where.line + start_);
  }

  const Text& text_;
  const Host& host_;
  CheckResult& check_;
  int start_ = 0;  ///< lines before the document
  std::string source_;
  bool told_bad_ = false;
  std::string row_name_;
  std::vector<Row> pending_;
  std::vector<int> unread_rows_;
};

}  // namespace

void read_dcgm(const Text& text, const Host& host, CheckResult& check) {
  const std::size_t before = check.observations().size();
  for (const std::vector<Line>& stream : streams_of(text.content)) {
    DcgmReader reader(text, host, check);
    const auto documents = json_texts(stream);
    for (const JsonText& json : documents) reader.read_document(json);
    if (documents.empty()) {
      for (const Line& line : stream) reader.read_row(line);
      reader.finish_table();
    }
    for (const Line& line : stream) {
      if (line.text.starts_with("Error") ||
          line.text.find("Unable to connect") != std::string::npos)
        check.add(Health::kError, "dcgm-runtime", line.source, std::string(trimmed(line.text)),
                  {text.file, line.number, 0});
    }
  }
  if (check.observations().size() == before) {
    check.add(Health::kUnknown, "dcgm-empty", {}, "nothing was understood as a diagnosis by DCGM",
              {text.file, 0, 0});
  }
}

}  // namespace muster::health
