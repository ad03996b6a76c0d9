#include "reorg/git.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "reorg/git_objects.h"
#include "reorg/paths.h"

namespace muster::reorg {
namespace {

Signature from_git(const git_signature& signature) {
  return {signature.name, signature.email, signature.when.time, signature.when.offset};
}

/// Appends the entries of a tree object and of those in it. Failure: an object can't be read.
Result<void> walk(git_odb* odb, const git_oid& id, const std::string& prefix, int depth,
                  std::vector<File>& files) {
  constexpr int kMaxDepth = 4096;
  if (depth > kMaxDepth) return failure("git-tree", "directories lie too deep");
  git_odb_object* raw = nullptr;
  if (git_odb_read(&raw, odb, &id) != 0)
    return git_failure("tree " + from_oid(id).hex() + " can't be read", "git-object");
  const OdbObjectHandle object(raw);
  const std::string_view data(static_cast<const char*>(git_odb_object_data(raw)),
                              git_odb_object_size(raw));
  auto entries = read_tree_object(data);
  if (!entries) return failure("git-object", "tree " + from_oid(id).hex() + " is damaged");
  for (File& entry : *entries) {
    entry.path = joined(prefix, entry.path);
    if (entry.mode == GIT_FILEMODE_TREE) {
      const git_oid below_id = to_oid(entry.id);
      if (auto below = walk(odb, below_id, entry.path, depth + 1, files); !below) return below;
    } else {
      files.push_back(std::move(entry));
    }
  }
  return {};
}

}  // namespace

Repository::Repository(std::unique_ptr<State> state) : state_(std::move(state)) {}
Repository::Repository(Repository&&) noexcept = default;
Repository& Repository::operator=(Repository&&) noexcept = default;
Repository::~Repository() = default;

Result<Repository> Repository::open(const std::filesystem::path& path) {
  static const int kStarted = git_libgit2_init();
  if (kStarted < 0) return git_failure("libgit2 does not start");
  auto state = std::make_unique<State>();
  git_repository* repository = nullptr;
  if (git_repository_open_ext(&repository, path.c_str(), 0, nullptr) != 0) {
    Failure error = git_failure("no git repository", "git-repository");
    error.findings.front().where.file = path.string();
    return error;
  }
  state->repository.reset(repository);
  git_odb* odb = nullptr;
  if (git_repository_odb(&odb, repository) != 0)
    return git_failure(path.string() + ": its objects can't be read");
  state->odb.reset(odb);
  git_odb* loose = nullptr;
  const std::string objects = std::string(git_repository_commondir(repository)) + "objects";
  const bool opened = git_odb_new(&loose) == 0;
  state->loose.reset(loose);
  if (!opened || git_odb_backend_loose(&state->writer, objects.c_str(), -1, 0, 0, 0) != 0 ||
      git_odb_add_backend(loose, state->writer, 1) != 0) {
    return git_failure(path.string() + ": objects can't be written");
  }
  state->path = git_repository_path(repository);
  return Repository(std::move(state));
}

std::filesystem::path Repository::objects() const {
  return std::filesystem::path(git_repository_commondir(state_->repository.get())) / "objects";
}

Result<void> Repository::refresh() const {
  if (git_odb_refresh(state_->odb.get()) != 0) return git_failure("its objects can't be read");
  return {};
}

const std::filesystem::path& Repository::path() const {
  return state_->path;
}

std::optional<std::filesystem::path> Repository::work_directory() const {
  const char* directory = git_repository_workdir(state_->repository.get());
  if (!directory) return std::nullopt;
  return std::filesystem::path(directory);
}

Result<ObjectId> Repository::commit_of(const std::string& revision) const {
  const std::string spec = revision.empty() ? "HEAD" : revision;
  git_object* object = nullptr;
  if (git_revparse_single(&object, state_->repository.get(), spec.c_str()) != 0)
    return git_failure(fmt::format("{}: no revision \"{}\"", state_->path.string(), spec),
                       "git-revision");
  const ObjectHandle held(object);
  git_object* commit = nullptr;
  if (git_object_peel(&commit, object, GIT_OBJECT_COMMIT) != 0)
    return git_failure(fmt::format("\"{}\" is no commit", spec), "git-revision");
  const ObjectHandle held_commit(commit);
  return from_oid(*git_object_id(commit));
}

Result<Commit> Repository::commit(const ObjectId& id) const {
  const git_oid oid = to_oid(id);
  git_commit* raw = nullptr;
  if (git_commit_lookup(&raw, state_->repository.get(), &oid) != 0)
    return git_failure("commit " + id.hex() + " can't be read", "git-object");
  const CommitHandle held(raw);
  Commit commit;
  commit.id = id;
  commit.tree = from_oid(*git_commit_tree_id(raw));
  for (unsigned int i = 0; i < git_commit_parentcount(raw); ++i)
    commit.parents.push_back(from_oid(*git_commit_parent_id(raw, i)));
  commit.author = from_git(*git_commit_author(raw));
  commit.committer = from_git(*git_commit_committer(raw));
  commit.message = git_commit_message_raw(raw);
  return commit;
}

Result<Tree> Repository::tree_of(const ObjectId& id) const {
  const auto at = commit(id);
  if (!at) return at.error();
  std::vector<File> files;
  const git_oid tree = to_oid(at->tree);
  if (auto walked = walk(state_->odb.get(), tree, "", 0, files); !walked) return walked.error();
  return Tree(std::move(files));
}

Result<std::string> Repository::blob(const ObjectId& id) const {
  const git_oid oid = to_oid(id);
  git_odb_object* raw = nullptr;
  if (git_odb_read(&raw, state_->odb.get(), &oid) != 0)
    return git_failure("blob " + id.hex() + " can't be read", "git-object");
  const OdbObjectHandle object(raw);
  return std::string(static_cast<const char*>(git_odb_object_data(raw)), git_odb_object_size(raw));
}

bool Repository::has(const ObjectId& id) const {
  const git_oid oid = to_oid(id);
  return git_odb_exists(state_->odb.get(), &oid) == 1;
}

std::optional<std::string> Repository::head_reference() const {
  git_reference* raw = nullptr;
  if (git_reference_lookup(&raw, state_->repository.get(), "HEAD") != 0) return std::nullopt;
  const ReferenceHandle head(raw);
  const char* target = git_reference_symbolic_target(raw);
  if (!target) return std::nullopt;
  return std::string(target);
}

std::optional<ObjectId> Repository::reference(const std::string& name) const {
  git_oid oid;
  if (git_reference_name_to_id(&oid, state_->repository.get(), name.c_str()) != 0)
    return std::nullopt;
  return from_oid(oid);
}

std::vector<std::string> Repository::references(const std::string& prefix) const {
  std::vector<std::string> names;
  git_strarray list{};
  if (git_reference_list(&list, state_->repository.get()) != 0) return names;
  for (std::size_t i = 0; i < list.count; ++i) {
    const std::string name = list.strings[i];
    if (name.rfind(prefix, 0) == 0) names.push_back(name.substr(prefix.size()));
  }
  git_strarray_dispose(&list);
  std::sort(names.begin(), names.end());
  return names;
}

std::string Repository::origin_name() const {
  git_remote* raw = nullptr;
  if (git_remote_lookup(&raw, state_->repository.get(), "origin") != 0) return {};
  const Handle<git_remote, git_remote_free> remote(raw);
  std::string url = git_remote_url(raw);
  const std::size_t host = url.find("github.com");
  if (host == std::string::npos || host + 11 >= url.size()) return {};
  url = url.substr(host + 11);
  if (url.size() > 4 && url.compare(url.size() - 4, 4, ".git") == 0) url.resize(url.size() - 4);
  return url;
}

Result<std::vector<ObjectId>> Repository::history(const std::vector<ObjectId>& tips,
                                                  const std::vector<ObjectId>& hidden) const {
  git_revwalk* raw = nullptr;
  if (git_revwalk_new(&raw, state_->repository.get()) != 0)
    return git_failure("the history can't be walked");
  const Handle<git_revwalk, git_revwalk_free> walk(raw);
  git_revwalk_sorting(raw, GIT_SORT_TOPOLOGICAL | GIT_SORT_REVERSE);
  for (const ObjectId& tip : tips) {
    const git_oid oid = to_oid(tip);
    if (git_revwalk_push(raw, &oid) != 0) return git_failure("the history can't be walked");
  }
  for (const ObjectId& tip : hidden) {
    const git_oid oid = to_oid(tip);
    if (git_revwalk_hide(raw, &oid) != 0) return git_failure("the history can't be walked");
  }
  std::vector<ObjectId> ids;
  git_oid oid;
  int code = 0;
  while ((code = git_revwalk_next(&oid, raw)) == 0) ids.push_back(from_oid(oid));
  if (code != GIT_ITEROVER) return git_failure("the history can't be walked", "git-object");
  return ids;
}

std::optional<ObjectId> Repository::merge_base(const ObjectId& a, const ObjectId& b) const {
  const git_oid left = to_oid(a), right = to_oid(b);
  git_oid base;
  if (git_merge_base(&base, state_->repository.get(), &left, &right) != 0) return std::nullopt;
  return from_oid(base);
}

Result<bool> Repository::clean() const {
  if (!work_directory()) return true;
  git_status_options options;
  git_status_options_init(&options, GIT_STATUS_OPTIONS_VERSION);
  options.show = GIT_STATUS_SHOW_INDEX_AND_WORKDIR;
  options.flags = GIT_STATUS_OPT_EXCLUDE_SUBMODULES;
  git_status_list* raw = nullptr;
  if (git_status_list_new(&raw, state_->repository.get(), &options) != 0)
    return git_failure("the work tree can't be read");
  const Handle<git_status_list, git_status_list_free> list(raw);
  return git_status_list_entrycount(raw) == 0;
}

}  // namespace muster::reorg
