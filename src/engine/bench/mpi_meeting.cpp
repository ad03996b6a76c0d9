// Ranks that an MPI launcher started meet by MPI, whatever carries the operations later.
#include <mpi.h>

#include "engine/bench/fabric.h"
#include "engine/bench/mpi_support.h"

namespace muster::measure {
namespace {

class MpiMeeting : public Meeting {
 public:
  explicit MpiMeeting(std::unique_ptr<Fabric> base) : base_(std::move(base)) {}

  int rank() const override { return base_->rank(); }
  int size() const override { return base_->size(); }
  std::string name() const override { return base_->name(); }

  std::vector<std::string> all_gather(const std::string& own) override {
    const auto ranks = static_cast<std::size_t>(size());
    const int length = static_cast<int>(own.size());
    std::vector<int> lengths(ranks), places(ranks);
    check_mpi(MPI_Allgather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, MPI_COMM_WORLD),
              "MPI_Allgather");
    int all = 0;
    for (std::size_t i = 0; i < ranks; ++i) {
      places[i] = all;
      all += lengths[i];
    }
    std::string text(static_cast<std::size_t>(all), '\0');
    check_mpi(MPI_Allgatherv(own.data(), length, MPI_CHAR, text.data(), lengths.data(),
                             places.data(), MPI_CHAR, MPI_COMM_WORLD),
              "MPI_Allgatherv");
    std::vector<std::string> texts;
    for (std::size_t i = 0; i < ranks; ++i)
      texts.push_back(
          text.substr(static_cast<std::size_t>(places[i]), static_cast<std::size_t>(lengths[i])));
    return texts;
  }

 private:
  std::unique_ptr<Fabric> base_;
};

}  // namespace

std::unique_ptr<Meeting> meet_by_mpi(std::unique_ptr<Fabric> base) {
  return std::make_unique<MpiMeeting>(std::move(base));
}

}  // namespace muster::measure
