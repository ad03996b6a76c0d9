// What the parts of the scanner share while they read one file: for scan*.cpp only.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reorg/file_kind.h"
#include "reorg/markdown.h"
#include "reorg/references.h"
#include "reorg/url.h"
#include "reorg/world.h"

namespace muster::reorg {

/// How a text resolved under one base.
struct Found {
  Base base;
  Target target;
  std::size_t length = 0;  ///< how much of the text names the target; the rest only exists later
};

/// A directory that a script or a page calls by a name: a variable, or the place of a clone.
struct Clone {
  std::size_t side = 0;
  bool pinned = false;  ///< of another ref: its paths stay
};

/// A name that hardly anything else is called: it starts with a number and a separator.
bool distinctive(std::string_view name);

class Scan {
 public:
  Scan(const World& world, const Source& file, std::string_view content);
  References run();

 private:
  // scan_links.cpp
  void link(Span span, const char* kind);
  void url(Span span, const char* kind);
  void tree_url(const GithubUrl& url, std::size_t side, Span span, const char* kind);
  void html_attributes(Span span);
  void markdown_links(const Markdown& page);
  void label(const MarkdownLink& link);
  void symlink();

  // scan_patterns.cpp
  void pattern_lines();
  void pattern(Span span, bool owners);
  void module_lines();

  // scan_diagram.cpp
  void diagrams();

  // scan_python.cpp
  void imports();
  void imported(Span span);
  void levels(Span line);

  // scan_tokens.cpp
  void tokens(const Markdown& page);
  void line(std::size_t begin, std::size_t end);
  std::size_t extended(std::size_t begin, std::size_t end, std::size_t limit) const;

  // scan_token.cpp
  void token(Span span);
  void glob(Span span, std::string_view text);
  void bare(Span span, std::string_view text);

  // scan_clones.cpp
  bool cloned(Span span, std::string_view text);
  void after_variable(Span span);

  // scan_resolve.cpp
  std::optional<Found> resolve_under(const Base& base, std::string_view text) const;
  std::optional<Found> resolve_partly(const Base& base, std::string_view text, bool trusted) const;
  void resolved(Span span, std::string_view text, const Found& found, Confidence confidence);
  struct Bases {
    std::array<const Base*, 4> list{};
    std::size_t count = 0;
    auto begin() const { return list.begin(); }
    auto end() const { return list.begin() + static_cast<std::ptrdiff_t>(count); }
  };
  Bases bases() const;
  bool may_hold(const Base& base, std::string_view text) const;
  bool quoted(Span span) const;
  const char* kind_here(std::size_t offset) const;

  // scan_shell.cpp
  void variables(std::size_t begin, std::size_t end);
  std::optional<Base> variable_place(std::string_view value) const;
  void command_word(std::string_view word);
  void working_directory(const std::optional<Base>& place);
  void working_directories();
  bool from_working_directory(Span span, std::string_view text);
  void settle_clones();

  std::string_view line_around(std::size_t offset) const;
  bool taken(Span span) const;
  Reference& add(Span span, const char* kind, std::size_t side, std::string target);

  const World& world_;
  Source file_;
  std::string_view content_;
  FileKind kind_;
  Base directory_, root_, first_root_;  ///< of the file, of its side, of the first side
  References out_;
  std::vector<Span> taken_;  ///< by place, while the running text is read
  std::vector<MarkdownRegion> regions_;
  mutable std::size_t region_ = 0;

  bool mentions_ = false;  ///< a consumer's file that names the repository

  // The state of scripts and pages that clone, change directory and name places.
  bool scripted_ = false;
  enum class Word { kNone, kGit, kClone, kCloned, kCd, kBranch };
  Word word_ = Word::kNone;
  std::map<std::string, Base, std::less<>> variables_;
  std::map<std::string, Clone, std::less<>> clones_;
  std::optional<Base> cwd_;
  std::vector<Base> working_directories_;  ///< that a workflow names for its commands
  std::optional<std::size_t> cloning_;
  bool pinned_line_ = false;
  std::vector<std::size_t> clone_edits_;  ///< into out_: stand or fall together
  bool clone_lost_ = false;
};

}  // namespace muster::reorg
