#include "catalog/lock_schema.h"

#include "catalog/manifest.h"

namespace muster::catalog {

const Schema& lock_schema() {
  static const TextForm kDigest = {"a digest", "sha256:[0-9a-f]{64}", "sha256:9f86d0…"};
  static const TextForm kSum = {"a SHA-256 sum", "[0-9a-f]{64}", "9f86d0…"};
  static const TextForm kCommit = {"a commit", "[0-9a-f]{40}", "2f4b1c…"};
  static const Schema kSchema = Schema::object(
      "What the pins of the catalog stand for, as muster lock found it",
      {{"apiVersion", Schema::text("Version of this form").one_of({kApiVersion}).required()},
       {"kind", Schema::text("Kind of this document").one_of({"Lock"}).required()},
       {"images", Schema::map("Digest of each image, by its name with its tag",
                              Schema::text("Digest").form(kDigest))},
       {"repositories", Schema::map("Commit of each repository's tag, by URL@TAG",
                                    Schema::text("Commit").form(kCommit))},
       {"packages",
        Schema::map("Files of each Python package, by NAME==VERSION",
                    Schema::map("SHA-256 of each file", Schema::text("Sum").form(kSum)))}});
  return kSchema;
}

}  // namespace muster::catalog
