// What CloudFormation resources may hold. The data is facts/cloudformation/types.txt, made by
// scripts/cloudformation-types, which describes the format. facts/cluster-configs/*.txt say in the
// same format what the configurations of eksctl and ParallelCluster may hold.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_system.h"
#include "base/result.h"

namespace muster::lint {

/// A property: its name and the expression of its type, e.g. "[string]".
struct CfnField {
  std::string_view name, type;
  bool required = false;
};

/// The properties of a resource or of a type nested in it, sorted by name.
struct CfnFields {
  std::vector<CfnField> fields;

  const CfnField* find(std::string_view name) const;
  std::vector<std::string> names() const;
};

struct CfnResourceType {
  std::string_view name;
  std::map<std::string_view, std::string_view> attributes;  ///< of Fn::GetAtt: name, type
  CfnFields properties;
  std::map<std::string_view, CfnFields> nested;
};

/// All types. Reading them finds where each starts; a type is parsed when it is first asked for.
class CfnTypes {
 public:
  /// Reads a file of facts of the project or of the installation. Failure: a file that is not
  /// there or holds something else; located.
  static Result<std::shared_ptr<const CfnTypes>> load(
      const FileSystem& files, const std::filesystem::path& root,
      const std::string& name = "cloudformation/types.txt");
  /// The same, read once for a project and file.
  static Result<std::shared_ptr<const CfnTypes>> load_once(
      const FileSystem* files, const std::filesystem::path& root,
      const std::string& name = "cloudformation/types.txt");

  /// Null when it is not known. Stays in place; may be called from several threads.
  const CfnResourceType* find(std::string_view type) const;
  std::vector<std::string> names() const;
  /// The day of the data: what AWS added later is unknown to it.
  const std::string& date() const { return date_; }

 private:
  std::string text_, date_;
  std::map<std::string_view, std::string_view> blocks_;  ///< name, lines below it
  mutable std::mutex mutex_;
  mutable std::map<std::string_view, std::unique_ptr<CfnResourceType>> parsed_;
};

}  // namespace muster::lint
