// libgit2's handles as values that free themselves, and its errors as findings: for git*.cpp only.
#pragma once

#include <cstring>
#include <filesystem>
#include <memory>
#include <string>

#include <git2.h>
#include <git2/sys/odb_backend.h>

#include "base/result.h"
#include "reorg/git.h"

namespace muster::reorg {

template <typename T, void (*Free)(T*)>
struct Freed {
  void operator()(T* handle) const { Free(handle); }
};
template <typename T, void (*Free)(T*)>
using Handle = std::unique_ptr<T, Freed<T, Free>>;

using CommitHandle = Handle<git_commit, git_commit_free>;
using ObjectHandle = Handle<git_object, git_object_free>;
using TreeHandle = Handle<git_tree, git_tree_free>;
using ReferenceHandle = Handle<git_reference, git_reference_free>;
using OdbHandle = Handle<git_odb, git_odb_free>;
using OdbObjectHandle = Handle<git_odb_object, git_odb_object_free>;

struct Repository::State {
  Handle<git_repository, git_repository_free> repository;
  OdbHandle odb;
  OdbHandle loose;                    ///< of objects in files of their own; it owns `writer`
  git_odb_backend* writer = nullptr;  ///< asks no pack whether it has an object: thousands are new
  std::filesystem::path path;
};

inline git_oid to_oid(const ObjectId& id) {
  git_oid oid;
  std::memcpy(oid.id, id.bytes.data(), id.bytes.size());
  return oid;
}

inline ObjectId from_oid(const git_oid& oid) {
  ObjectId id;
  std::memcpy(id.bytes.data(), oid.id, id.bytes.size());
  return id;
}

/// What libgit2 says of the call that just failed.
inline Failure git_failure(const std::string& what, const char* rule = "git") {
  const git_error* error = git_error_last();
  return failure(rule, what + (error && error->message ? ": " + std::string(error->message) : ""));
}

}  // namespace muster::reorg
