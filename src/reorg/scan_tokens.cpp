// Paths in running text: commands, code, configuration, prose. A text counts when it resolves from
// the place that its surroundings give: the working directory of a script, a variable, the file's
// directory, the root, a clone.
#include <algorithm>

#include "reorg/characters.h"
#include "reorg/paths.h"
#include "reorg/scan_state.h"

namespace muster::reorg {

std::size_t Scan::extended(std::size_t begin, std::size_t end, std::size_t limit) const {
  // Names that hold spaces or brackets: the token goes on where such a name goes on.
  const auto& odd = world_.odd_names();
  if (odd.empty()) return end;
  for (;;) {
    std::size_t name = end;
    while (name > begin && content_[name - 1] != '/') --name;
    const auto names = odd.find(std::string(content_.substr(name, end - name)));
    if (names == odd.end()) return end;
    std::size_t longer = 0;
    for (const std::string& each : names->second) {
      const std::size_t stop = name + each.size();
      if (stop > limit || content_.compare(name, each.size(), each) != 0) continue;
      if (stop < limit && is_path_character(content_[stop]) && content_[stop] != '/' &&
          content_[stop] != '.')
        continue;
      longer = stop;
      break;
    }
    if (longer == 0) return end;
    end = longer;
    while (end < limit && is_path_character(content_[end])) ++end;
  }
}

void Scan::line(std::size_t begin, std::size_t end) {
  word_ = Word::kNone;
  cloning_.reset();
  pinned_line_ = false;
  if (scripted_) variables(begin, end);
  const bool json = kind_ == FileKind::kJson || kind_ == FileKind::kNotebook;
  std::size_t i = begin;
  while (i < end) {
    const char c = content_[i];
    if (!is_path_character(c)) {
      if (scripted_ && (c == ';' || c == '&' || c == '|')) {
        if (word_ == Word::kCd && (i == begin || content_[i - 1] != '2')) word_ = Word::kNone;
        if (word_ != Word::kNone) command_word("");
      }
      if (json && c == '\\') {
        if (i + 1 < end && content_[i + 1] == 'n' && scripted_) command_word("");
        i += i + 1 < end && content_[i + 1] == 'u' ? 6 : 2;
        continue;
      }
      // A name may begin with such a character: it continues a path or stands in quotes.
      const bool starts_name = !world_.odd_names().empty() && i > begin &&
                               (content_[i - 1] == '/' || content_[i - 1] == '"' ||
                                content_[i - 1] == '\'' || content_[i - 1] == '`');
      const std::size_t odd_end = starts_name ? extended(i, i, end) : i;
      if (odd_end > i && !taken({i, odd_end})) {
        token({i, odd_end});
        i = odd_end;
        continue;
      }
      ++i;
      continue;
    }
    const std::size_t from = i;
    bool slash = false;
    while (i < end) {
      const char at = content_[i];
      if (is_path_character(at)) {
        slash = slash || at == '/';
        ++i;
      } else if (at == '\\' && !json && i + 1 < end && content_[i + 1] == ' ') {
        i += 2;
      } else {
        break;
      }
    }
    const std::size_t plain = i;
    i = extended(from, i, end);
    slash = slash ||
            (i > plain && content_.substr(plain, i - plain).find('/') != std::string_view::npos);
    const Span span{from, i};
    const std::string_view text = slice(content_, span);
    const char after = i < content_.size() ? content_[i] : '\n';
    if (after == ':' && content_.substr(i, 3) == "://") {
      if (text == "file") {
        i += 3;
        continue;
      }
      const std::size_t stop = std::min(url_end(content_, from), end);
      if (!taken({from, stop})) url({from, stop}, "url");
      if (scripted_ && word_ == Word::kClone) command_word(content_.substr(from, stop - from));
      i = std::max(stop, i + 3);
      continue;
    }
    const bool host =
        slash && ((text.front() == 'g' && text.rfind("github.com/", 0) == 0) ||
                  (text.front() == 'r' && text.rfind("raw.githubusercontent.com/", 0) == 0));
    const bool by_ssh = after == ':' && text == "git@github.com";
    if (host || by_ssh) {
      const std::size_t stop = std::min(url_end(content_, from), end);
      if (!taken({from, stop})) url({from, stop}, "url");
      if (scripted_ && word_ == Word::kClone) command_word(content_.substr(from, stop - from));
      i = std::max(stop, i);
      continue;
    }
    const bool in_braces = from > 1 && content_[from - 1] == '{' && content_[from - 2] == '$';
    const bool variable = in_braces || (from > 0 && content_[from - 1] == '$' && !slash);
    if (variable) {
      if (word_ == Word::kCd && content_.substr(i, 2) != "}/") {
        const auto known = variables_.find(text);
        working_directory(known == variables_.end() ? std::nullopt
                                                    : std::optional<Base>(known->second));
        word_ = Word::kNone;
      }
      continue;
    }
    const char first = text.front();
    const bool candidate = slash || (first >= '0' && first <= '9') || word_ == Word::kCd ||
                           word_ == Word::kCloned || i > plain || text == "..";
    if (word_ == Word::kCloned && text.front() != '-') {
      command_word(text);
      continue;
    }
    if (candidate && !taken(span)) {
      token(span);
      if (word_ == Word::kCd) word_ = Word::kNone;
    }
    if (scripted_) command_word(text);
  }
  if (scripted_ && (word_ == Word::kCloned || word_ == Word::kClone)) command_word("");
}

void Scan::tokens(const Markdown& page) {
  regions_ = page.regions;
  // The owner, name, ref and path of a URL may be parameters of their own.
  mentions_ = world_.is_foreign(file_.side) &&
              std::any_of(world_.names(0).names.begin(), world_.names(0).names.end(),
                          [&](const std::string& name) {
                            return content_.find(name_of(name)) != std::string_view::npos;
                          });
  // Reading commands costs time: only where there are any.
  scripted_ = content_.find("cd ") != std::string_view::npos ||
              content_.find("clone ") != std::string_view::npos ||
              content_.find("dirname") != std::string_view::npos ||
              content_.find("--show-toplevel") != std::string_view::npos;
  if (kind_ == FileKind::kWorkflow) working_directories();
  for (std::size_t begin = 0; begin < content_.size();) {
    const std::size_t end = std::min(content_.find('\n', begin), content_.size());
    line(begin, end);
    begin = end + 1;
  }
}

}  // namespace muster::reorg
