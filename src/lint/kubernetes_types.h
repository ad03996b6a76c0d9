// What Kubernetes objects may hold: types of fields, by name. The data is facts/kubernetes/*.json,
// made by scripts/kube-schemas, which describes the format.
#pragma once

#include <deque>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_system.h"
#include "base/result.h"

namespace muster::lint {

struct KubeObjectType;

/// The type of one value.
struct KubeType {
  enum class Form {
    kString,
    kInteger,
    kNumber,
    kBoolean,
    kQuantity,
    kIntOrString,
    kAny,
    kList,
    kMap,
    kObject
  };
  Form form = Form::kAny;
  std::vector<std::string> choices;        ///< of a string; empty: any
  const KubeType* item = nullptr;          ///< of a list or map
  const KubeObjectType* object = nullptr;  ///< of an object
};

struct KubeField {
  std::string name;
  KubeType type;
  bool required = false;
};

struct KubeObjectType {
  std::string name;
  std::vector<KubeField> fields;  ///< sorted by name

  const KubeField* find(std::string_view field) const;
  std::vector<std::string> names() const;
};

/// All types of all files.
class KubeTypes {
 public:
  /// Reads facts/kubernetes/*.json of the project or of the installation. Failure: a file that is
  /// not there or holds something else; located.
  static Result<std::shared_ptr<const KubeTypes>> load(const FileSystem& files,
                                                       const std::filesystem::path& root);

  /// The type of an object, or null when it is not known.
  const KubeObjectType* object(const std::string& api_version, const std::string& kind) const;
  /// The apiVersions under which a kind is known.
  std::vector<std::string> versions_of(const std::string& kind) const;
  /// Kinds known under an apiVersion.
  std::vector<std::string> kinds_of(const std::string& api_version) const;

 private:
  friend class KubeTypesReader;
  std::map<std::string, KubeObjectType, std::less<>> types_;
  std::map<std::string, std::string> objects_;  ///< "apiVersion kind" -> type
  std::deque<KubeType> items_;                  ///< of lists and maps; stays in place
};

}  // namespace muster::lint
