#include <algorithm>
#include <chrono>
#include <map>

#include <fmt/format.h>

#include "reorg/git.h"
#include "reorg/git_objects.h"
#include "reorg/pack_writer.h"
#include "reorg/paths.h"

namespace muster::reorg {
namespace {

using SignatureHandle = Handle<git_signature, git_signature_free>;

std::string identity(const Signature& who) {
  const int offset = who.offset_minutes < 0 ? -who.offset_minutes : who.offset_minutes;
  return fmt::format("{} <{}> {} {}{:02}{:02}", who.name, who.email, who.seconds,
                     who.offset_minutes < 0 ? '-' : '+', offset / 60, offset % 60);
}

/// What is there already is not written again.
Result<ObjectId> write_object(const Repository::State& state, std::string_view data,
                              git_object_t type) {
  git_oid id;
  if (git_odb_hash(&id, data.data(), data.size(), type) != 0)
    return git_failure("an object can't be named");
  if (git_odb_exists_ext(state.odb.get(), &id, GIT_ODB_LOOKUP_NO_REFRESH) == 1) return from_oid(id);
  if (state.writer->write(state.writer, &id, data.data(), data.size(), type) != 0)
    return git_failure("an object can't be written");
  return from_oid(id);
}

struct TreeEntry {
  std::string name;
  std::uint32_t mode;
  ObjectId id;
};

/// git's order: a directory sorts as if its name ended with a slash.
bool git_less(const TreeEntry& a, const TreeEntry& b) {
  const auto key = [](const TreeEntry& entry) {
    return entry.mode == GIT_FILEMODE_TREE ? entry.name + '/' : entry.name;
  };
  return key(a) < key(b);
}

/// The tree objects of the files from `first` to `last`, whose paths share `prefix` bytes; into the
/// pack, when there is one.
Result<ObjectId> write_level(const Repository::State& state, PackWriter* pack,
                             const std::vector<const File*>& files, std::size_t first,
                             std::size_t last, std::size_t prefix) {
  std::vector<TreeEntry> entries;
  for (std::size_t i = first; i < last;) {
    const std::string_view rest = std::string_view(files[i]->path).substr(prefix);
    const std::size_t slash = rest.find('/');
    if (slash == std::string_view::npos) {
      entries.push_back({std::string(rest), files[i]->mode, files[i]->id});
      ++i;
      continue;
    }
    const std::string_view directory = std::string_view(files[i]->path).substr(0, prefix + slash);
    std::size_t end = i;
    while (end < last && is_under(files[end]->path, directory)) ++end;
    auto below = write_level(state, pack, files, i, end, prefix + slash + 1);
    if (!below) return below;
    entries.push_back({std::string(rest.substr(0, slash)), GIT_FILEMODE_TREE, *below});
    i = end;
  }
  std::sort(entries.begin(), entries.end(), git_less);
  std::string data;
  for (const TreeEntry& entry : entries) {
    data += fmt::format("{:o} ", entry.mode) + entry.name;
    data += '\0';
    data.append(reinterpret_cast<const char*>(entry.id.bytes.data()), entry.id.bytes.size());
  }
  if (pack == nullptr) return write_object(state, data, GIT_OBJECT_TREE);
  git_oid id;
  if (git_odb_hash(&id, data.data(), data.size(), GIT_OBJECT_TREE) != 0)
    return git_failure("an object can't be named");
  if (git_odb_exists_ext(state.odb.get(), &id, GIT_ODB_LOOKUP_NO_REFRESH) == 1) return from_oid(id);
  return pack->add(PackedType::kTree, data);
}

}  // namespace

Result<ObjectId> Repository::write_blob(std::string_view content) {
  return write_object(*state_, content, GIT_OBJECT_BLOB);
}

Result<ObjectId> Repository::write_tree(const std::vector<File>& files, bool packed) {
  std::vector<const File*> sorted;
  sorted.reserve(files.size());
  for (const File& file : files) sorted.push_back(&file);
  std::sort(sorted.begin(), sorted.end(),
            [](const File* a, const File* b) { return path_less(a->path, b->path); });
  std::unique_ptr<PackWriter> pack;
  if (packed && files.size() >= kManyObjects) {
    auto made = PackWriter::create(objects());
    if (!made) return made.error();
    pack = std::move(*made);
  }
  auto tree = write_level(*state_, pack.get(), sorted, 0, sorted.size(), 0);
  if (!tree || !pack) return tree;
  if (auto done = pack->finish(); !done) return done.error();
  if (auto done = refresh(); !done) return done.error();
  return tree;
}

Result<ObjectId> Repository::write_commit(const Commit& commit) {
  std::string data = "tree " + commit.tree.hex() + "\n";
  for (const ObjectId& parent : commit.parents) data += "parent " + parent.hex() + "\n";
  data += "author " + identity(commit.author) + "\n";
  data += "committer " + identity(commit.committer) + "\n\n" + commit.message;
  return write_object(*state_, data, GIT_OBJECT_COMMIT);
}

Result<void> Repository::copy_blobs(const Repository& from, const std::vector<ObjectId>& ids) {
  for (const ObjectId& id : ids) {
    if (has(id)) continue;
    if (!from.has(id)) continue;  // a partial clone: its tree names the blob all the same
    const auto content = from.blob(id);
    if (!content) return content.error();
    if (auto written = write_blob(*content); !written) return written.error();
  }
  return {};
}

Signature Repository::signature() const {
  git_signature* raw = nullptr;
  if (git_signature_default(&raw, state_->repository.get()) != 0) {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return {"muster", "muster@localhost",
            std::chrono::duration_cast<std::chrono::seconds>(now).count(), 0};
  }
  const SignatureHandle held(raw);
  return {raw->name, raw->email, raw->when.time, raw->when.offset};
}

Result<void> Repository::change_references(const std::vector<ReferenceChange>& changes,
                                           const std::string& message) {
  git_repository* repository = state_->repository.get();
  git_transaction* raw = nullptr;
  if (git_transaction_new(&raw, repository) != 0) return git_failure("references can't be locked");
  const Handle<git_transaction, git_transaction_free> transaction(raw);
  for (const ReferenceChange& change : changes) {
    if (git_transaction_lock_ref(raw, change.name.c_str()) != 0)
      return git_failure(change.name + " can't be locked", "git-reference");
  }
  const Signature who = signature();
  git_signature* by = nullptr;
  if (git_signature_new(&by, who.name.c_str(), who.email.c_str(), who.seconds,
                        who.offset_minutes) != 0) {
    return git_failure("no name to sign with");
  }
  const SignatureHandle held(by);
  for (const ReferenceChange& change : changes) {
    if (reference(change.name) != change.from)
      return failure("git-reference", change.name + " has changed meanwhile", "run again");
    if (change.to) {
      const git_oid to = to_oid(*change.to);
      if (git_transaction_set_target(raw, change.name.c_str(), &to, by, message.c_str()) != 0)
        return git_failure(change.name + " can't be set", "git-reference");
    } else if (git_transaction_remove(raw, change.name.c_str()) != 0) {
      return git_failure(change.name + " can't be removed", "git-reference");
    }
  }
  if (git_transaction_commit(raw) != 0) return git_failure("references can't be set");
  return {};
}

Result<void> Repository::check_out_head(const ObjectId& from) {
  if (!work_directory()) return {};
  git_repository* repository = state_->repository.get();
  const git_oid baseline_id = to_oid(from);
  git_tree* raw = nullptr;
  if (git_tree_lookup(&raw, repository, &baseline_id) != 0)
    return git_failure("the old tree can't be read");
  const TreeHandle baseline(raw);
  git_checkout_options options;
  git_checkout_options_init(&options, GIT_CHECKOUT_OPTIONS_VERSION);
  options.checkout_strategy = GIT_CHECKOUT_SAFE;
  options.baseline = raw;
  if (const int code = git_checkout_head(repository, &options); code != 0) {
    return git_failure("the work tree can't be changed",
                       code == GIT_ECONFLICT ? kCheckOutConflict : "git-checkout");
  }
  return {};
}

}  // namespace muster::reorg
