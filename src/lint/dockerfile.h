// A Dockerfile as BuildKit reads it: parser directives, continuations, here-documents, stages,
// arguments and variables.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/finding.h"

namespace muster::lint {

/// A here-document of RUN, COPY or ADD. Offsets are into the file.
struct DockerHeredoc {
  std::string name;
  bool expands = true;  ///< its name is not quoted
  std::string text;
  std::size_t at = 0;  ///< where the text starts
};

struct DockerInstruction {
  std::string name;  ///< in capitals: FROM, RUN, …
  std::size_t at = 0;
  std::map<std::string, std::string> flags;  ///< --from, --mount, --platform, …; the last of a name
  /// What follows the flags. As long as in the file: continuations and comments within it are
  /// blanks, so that offsets stay.
  std::string body;
  std::size_t body_at = 0;
  std::optional<std::vector<std::string>> list;  ///< of the JSON form: RUN ["a", "b"]
  std::vector<DockerHeredoc> heredocs;
  std::string parent;  ///< ONBUILD, when that is what it stands behind
  int stage = -1;      ///< index into stages; -1 before the first FROM
};

struct DockerVariable {
  std::string name;
  std::optional<std::string> value;  ///< expanded; nothing: an ARG without default
  std::size_t at = 0;
  bool is_arg = false;
  int stage = -1;
};

struct DockerStage {
  std::string written;             ///< the image as it is written
  std::string image;               ///< expanded
  std::string name;                ///< behind AS, in small letters
  std::size_t at = 0;              ///< of the image
  std::vector<std::string> unset;  ///< arguments in it that have no default
};

struct Dockerfile {
  std::vector<DockerInstruction> instructions;
  std::vector<DockerStage> stages;
  std::vector<DockerVariable> variables;  ///< ARG and ENV, in order
  Findings findings;                      ///< docker-syntax

  /// What a name stands for at an instruction; nothing when it is not known.
  std::optional<std::string> value_of(const std::string& name, const DockerInstruction& at) const;
  /// `$NAME`, `${NAME}`, `${NAME:-default}` and `${NAME:+other}` filled in; what is not known
  /// stays.
  std::string expand(std::string_view text, const DockerInstruction& at) const;
  /// The earlier stage that a stage is built from; -1: none.
  int parent_of(int stage) const;
  /// A stage's own name, or the number of an earlier one.
  bool is_stage(const std::string& image, std::size_t before) const;
};

/// `file` names it in findings.
Dockerfile parse_dockerfile(std::string_view text, const std::string& file);

/// A word of an instruction's body, without its quotes.
struct DockerWord {
  std::string text;
  std::size_t at = 0;  ///< in the file
};

/// The words of the body of COPY, ADD, ENV, ARG, …; of the JSON form its items.
std::vector<DockerWord> words_of(const DockerInstruction& instruction);

}  // namespace muster::lint
