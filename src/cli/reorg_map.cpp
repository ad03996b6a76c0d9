// muster reorg map: where something went, by the map that is committed.
#include <algorithm>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "cli/reorg.h"
#include "reorg/compat.h"
#include "reorg/map_script.h"
#include "reorg/paths.h"
#include "reorg/url.h"

namespace muster::cli {
namespace {

constexpr const char* kCompatThere = "map-compat-there";

struct MapOptions {
  std::vector<std::string> old;
  std::string repository = ".";
  std::string map = ".reorg-map.tsv";
  std::string from;  ///< the merged repository that the paths are of
  std::string script;
  std::string compat, out;
  std::vector<std::string> names, branches;
};

struct Known {
  reorg::Tree tree;  ///< of HEAD
  reorg::MoveMap map;
  std::vector<std::string> kept;  ///< files at HEAD that no line moved
  reorg::MapNames names;
};

Result<Known> load(const Context& context, const MapOptions& options) {
  auto repository = reorg::Repository::open(context.directory / options.repository);
  if (!repository) return repository.error();
  const auto commit = repository->commit_of("");
  if (!commit) return commit.error();
  auto tree = repository->tree_of(*commit);
  if (!tree) return tree.error();
  const reorg::File* file = tree->file(options.map);
  if (!file)
    return failure("map-missing", fmt::format("HEAD holds no map at {}", options.map),
                   "`muster reorg apply` commits one");
  const auto text = repository->blob(file->id);
  if (!text) return text.error();
  auto map = reorg::read_map(*text, options.map);
  if (!map) return map.error();
  Known known;
  known.map = std::move(*map);
  known.names = {options.names, options.branches};
  if (known.names.names.empty() && !repository->origin_name().empty())
    known.names.names.push_back(repository->origin_name());
  if (known.names.branches.empty()) {
    const std::string head = repository->head_reference().value_or("");
    constexpr std::string_view kHeads = "refs/heads/";
    if (head.rfind(kHeads, 0) == 0) known.names.branches.push_back(head.substr(kHeads.size()));
    for (const char* usual : {"main", "master"}) known.names.branches.emplace_back(usual);
  }
  std::vector<std::string> places;
  for (const reorg::MapLine& line : known.map.lines) {
    if (line.to) places.push_back(*line.to);
  }
  std::sort(places.begin(), places.end());
  for (const reorg::File& each : tree->files()) {
    if (!std::binary_search(places.begin(), places.end(), each.path))
      known.kept.push_back(each.path);
  }
  known.tree = std::move(*tree);
  return known;
}

/// The rules for the paths of one repository.
std::vector<reorg::MapRule> rules_of(const Known& known, const std::string& repository) {
  std::vector<reorg::MapLine> lines;
  for (const reorg::MapLine& line : known.map.lines) {
    if (line.repository == repository) lines.push_back(line);
  }
  return reorg::shortest_rules(lines, repository.empty() ? known.kept : std::vector<std::string>());
}

/// The new form of a path or URL; nothing: dropped. `path`: where that lies now; empty: elsewhere.
std::optional<std::string> answer(const Known& known, const std::vector<reorg::MapRule>& rules,
                                  const std::string& old, std::string& path) {
  if (old.find("://") == std::string::npos) {
    path = old;
    const bool slash = path.size() > 1 && path.back() == '/';
    if (slash) path.pop_back();
    auto to = reorg::map_path(rules, path);
    path = to.value_or("");
    if (to && slash) *to += '/';
    return to;
  }
  const auto url = reorg::parse_github_url(old, {0, old.size()});
  if (!url || !url->in_tree) return old;
  const std::string name = reorg::lower(reorg::slice(old, url->repository));
  const bool own = std::any_of(known.names.names.begin(), known.names.names.end(),
                               [&](const std::string& each) { return reorg::lower(each) == name; });
  if (!own) return old;
  const std::string_view rest = reorg::slice(old, url->ref_and_path);
  if (url->contents) return old;
  const std::size_t heads = rest.rfind("refs/heads/", 0) == 0 ? 11 : 0;
  std::size_t slash = std::string_view::npos;
  for (const std::string& branch : known.names.branches) {
    if (rest.size() > heads + branch.size() && reorg::is_under(rest.substr(heads), branch))
      slash = heads + branch.size();
  }
  if (slash == std::string_view::npos) return old;  // a tag, a commit, another branch
  path = reorg::percent_decoded(rest.substr(slash + 1));
  const auto to = reorg::map_path(rules, path);
  if (!to) return std::nullopt;
  path = *to;
  const std::size_t at = url->ref_and_path.begin + slash + 1;
  return old.substr(0, at) + reorg::percent_encoded(*to) + old.substr(url->end);
}

/// What they will hold, by file; read before the first is written. Failure also: one is there.
Result<std::vector<std::string>> compat_contents(const FileSystem& files,
                                                 const std::filesystem::path& root,
                                                 const std::vector<reorg::CompatFile>& list) {
  std::vector<std::string> contents;
  for (const reorg::CompatFile& file : list) {
    if (files.exists(root / file.path))
      return Failure(error_at({(root / file.path).string(), 0, 0}, kCompatThere,
                              "something is at this old path", "remove it first"));
    auto content =
        file.copy_of.empty() ? Result<std::string>(file.content) : files.read(root / file.copy_of);
    if (!content) return content.error();
    contents.push_back(std::move(*content));
  }
  return contents;
}

Result<void> write_compat(FileSystem& files, const std::filesystem::path& root,
                          const std::vector<reorg::CompatFile>& list,
                          const std::vector<std::string>& contents) {
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::filesystem::path place = root / list[i].path;
    if (!list[i].symlink) {
      const auto original =
          list[i].copy_of.empty() ? std::nullopt : files.info(root / list[i].copy_of);
      auto done = files.write(place, contents[i], original && original->executable);
      if (!done) return done;
      continue;
    }
    std::error_code error;
    std::filesystem::create_directories(place.parent_path(), error);
    if (!error) std::filesystem::create_symlink(contents[i], place, error);
    if (error)
      return Failure(
          error_at({place.string(), 0, 0}, "map-compat", "can't be made: " + error.message()));
  }
  return {};
}

/// Prints what would keep old paths going; with --out writes it there.
void compat(const MapOptions& options, const Known& known, Context& context) {
  const reorg::CompatForm form = *reorg::parse_compat(options.compat);
  const auto files = reorg::compat_files(known.map.lines, known.tree, form);
  Output output;
  output.name = "reorg map";
  output.data["form"] = options.compat;
  output.data["label"] = reorg::serves(form);
  output.data["files"] = nlohmann::ordered_json::array();
  std::string text = fmt::format("{}: {}\n", options.compat, reorg::serves(form));
  for (const reorg::CompatFile& file : files) {
    const std::string& leads = file.symlink ? file.content : file.copy_of;
    output.data["files"].push_back({{"path", file.path}, {"leads", leads}});
    text += reorg::quoted_path(file.path) + (leads.empty() ? "" : " -> " + leads) + "\n";
  }
  output.text = text;
  if (!options.out.empty()) {
    for (const reorg::MapLine& line : known.map.lines) {
      for (const std::string& path : {line.from, line.to.value_or(line.from)}) {
        if (reorg::git_can_hold(path)) continue;
        return context.fail(
            {error_at({options.map, 0, 0}, "map-path",
                      fmt::format("git can hold no path \"{}\"", reorg::quoted_path(path)),
                      "a path from the root, without '.', '..' or '.git'")},
            kExitBadInput);
      }
    }
    const std::filesystem::path root = context.directory / options.out;
    const auto contents = compat_contents(context.files, root, files);
    if (!contents)
      return context.fail(contents.findings(), contents.findings().front().rule == kCompatThere
                                                   ? kExitFailed
                                                   : kExitBadInput);
    if (const auto done = write_compat(context.files, root, files, *contents); !done)
      return context.fail(done.findings(), kExitInternal);
  }
  context.print(output);
}

void map(const MapOptions& options, Context& context) {
  const auto known = load(context, options);
  if (!known) return context.fail(known.findings(), kExitBadInput);
  if (!options.compat.empty()) return compat(options, *known, context);
  const auto& lines = known->map.lines;
  if (!options.from.empty() && std::none_of(lines.begin(), lines.end(), [&](const auto& line) {
        return line.repository == options.from;
      })) {
    return context.fail({error_at({options.map, 0, 0}, "map-repository",
                                  fmt::format("no path of a repository \"{}\"", options.from),
                                  "owner/name, as the plan calls it")},
                        kExitBadInput);
  }
  const auto rules = rules_of(*known, options.from);
  Output output;
  output.name = "reorg map";
  if (!options.script.empty()) {
    output.text = options.script == "bash" ? reorg::bash_script(rules, known->names)
                                           : reorg::python_script(rules, known->names);
    output.data["script"] = *output.text;
    return context.print(output);
  }
  std::string text;
  Findings unknown;
  output.data["answers"] = nlohmann::ordered_json::array();
  for (const std::string& old : options.old) {
    std::string place;
    const auto to = answer(*known, rules, old, place);
    nlohmann::ordered_json item{{"from", old}};
    if (to) item["to"] = *to;
    item["dropped"] = !to.has_value();
    const bool exists = place.empty() || known->tree.has(place);
    if (to && !place.empty()) item["exists"] = exists;
    if (!exists)
      unknown.push_back(
          warning_at({}, "map-unknown",
                     fmt::format("{}: HEAD holds nothing at {}", reorg::quoted_path(old),
                                 reorg::quoted_path(place)),
                     "it was gone before the move, was removed since, or is misspelt"));
    output.data["answers"].push_back(item);
    text += (to ? *to : "(dropped) " + old) + "\n";
  }
  if (options.old.empty()) {
    output.data["rules"] = nlohmann::ordered_json::array();
    for (const reorg::MapRule& rule : rules) {
      const char* slash = rule.directory ? "/" : "";
      output.data["rules"].push_back({{"from", rule.from},
                                      {"to", rule.to ? nlohmann::ordered_json(*rule.to) : nullptr},
                                      {"directory", rule.directory}});
      text += fmt::format("{}{} -> {}\n", reorg::quoted_path(rule.from), slash,
                          rule.to ? reorg::quoted_path(*rule.to) + slash : "(dropped)");
    }
  }
  output.text = text;
  context.print(output);
  if (!unknown.empty()) context.fail(unknown, kExitUnverified);
}

}  // namespace

void add_reorg_map(CLI::App& reorg, Context& context) {
  CLI::App* sub = reorg.add_subcommand("map", "Where a file, directory or URL went");
  auto options = std::make_shared<MapOptions>();
  sub->add_option("old", options->old, "Old paths or URLs; without any, the map in short form")
      ->type_name("OLD");
  add_repository_option(*sub, options->repository);
  sub->add_option("--map", options->map, "Where the map lies in the repository")
      ->type_name("PATH")
      ->capture_default_str();
  sub->add_option("--from", options->from, "The merged repository that the paths are of")
      ->type_name("OWNER/NAME");
  sub->add_option("--name", options->names,
                  "Names of the repository whose URLs are answered; default: that of origin")
      ->allow_extra_args(false)
      ->type_name("OWNER/NAME");
  sub->add_option("--branch", options->branches,
                  "Branches that have moved; default: the one at hand, main and master")
      ->allow_extra_args(false)
      ->type_name("NAME");
  sub->add_option("--script", options->script,
                  "Print a script that answers the same and needs nothing else")
      ->check(CLI::IsMember(std::vector<std::string>{"bash", "python"}))
      ->type_name("LANGUAGE");
  CLI::Option* compat_form =
      sub->add_option("--compat", options->compat,
                      "What would keep old paths going, with the accesses that it serves")
          ->check(CLI::IsMember(std::vector<std::string>{"symlinks", "stubs", "copies"}))
          ->type_name("FORM");
  sub->add_option("--out", options->out, "With --compat: the work tree that it is written to")
      ->needs(compat_form)
      ->type_name("DIR");
  sub->footer(
      "URLs by a tag or a commit lead where they did, and are printed as they are.\n"
      "Exit code: 0, 2 there is no map, 3 with --out: something is at an old path, 4 an answer "
      "leads "
      "nowhere.\n"
      "Examples:\n  muster reorg map 1.architectures/README.md\n  muster reorg map --script bash > "
      "map.sh");
  sub->callback([options, &context] { map(*options, context); });
}

}  // namespace muster::cli
