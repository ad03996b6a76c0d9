#include "engine/bench/roll_call.h"

#include <pmix.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <thread>

namespace muster::measure {
namespace {

constexpr const char* kKey = "muster.present";
constexpr int kTurnsBetweenQuestions = 250;

bool launched_with_pmix() {
  return std::getenv("PMIX_NAMESPACE") != nullptr || std::getenv("PMIX_RANK") != nullptr;
}

std::uint32_t job_size(const std::string& name) {
  pmix_proc_t job;
  PMIX_LOAD_PROCID(&job, name.c_str(), PMIX_RANK_WILDCARD);
  pmix_value_t* value = nullptr;
  if (PMIx_Get(&job, PMIX_JOB_SIZE, nullptr, 0, &value) != PMIX_SUCCESS) return 0;
  const std::uint32_t size = value->data.uint32;
  PMIX_VALUE_RELEASE(value);
  return size;
}

void say_present() {
  pmix_value_t value;
  char text[] = "here";
  PMIX_VALUE_LOAD(&value, text, PMIX_STRING);
  PMIx_Put(PMIX_GLOBAL, kKey, &value);
  PMIX_VALUE_DESTRUCT(&value);
  PMIx_Commit();
}

/// What an answer to PMIx_Get_nb leaves; it may come after the wait for it was given up.
struct Answers {
  explicit Answers(std::size_t size) : came(size) {}
  std::vector<std::atomic<bool>> came;
};

struct Question {
  std::shared_ptr<Answers> answers;
  std::size_t rank;
};

void answered(pmix_status_t status, pmix_value_t*, void* data) {
  const std::unique_ptr<Question> question(static_cast<Question*>(data));
  if (status == PMIX_SUCCESS) question->answers->came[question->rank] = true;
}

std::vector<int> absent(const Answers& answers) {
  std::vector<int> ranks;
  for (std::size_t r = 0; r < answers.came.size(); ++r) {
    if (!answers.came[r]) ranks.push_back(static_cast<int>(r));
  }
  return ranks;
}

void ask(const std::string& job, int rank, const std::shared_ptr<Answers>& answers) {
  pmix_proc_t other;
  PMIX_LOAD_PROCID(&other, job.c_str(), static_cast<pmix_rank_t>(rank));
  auto question = std::make_unique<Question>(Question{answers, static_cast<std::size_t>(rank)});
  // Taken over by the call that answers.
  if (PMIx_Get_nb(&other, kKey, nullptr, 0, &answered, question.get()) == PMIX_SUCCESS)
    (void)question.release();
}

}  // namespace

RollCall::RollCall() {
  pmix_proc_t me;
  if (!launched_with_pmix() || PMIx_Init(&me, nullptr, 0) != PMIX_SUCCESS) return;
  launched_ = true;
  job_ = me.nspace;
  rank_ = me.rank;
  say_present();
}

RollCall::~RollCall() {
  if (launched_) PMIx_Finalize(nullptr, 0);
}

std::vector<int> RollCall::missing(std::chrono::milliseconds limit) const {
  const std::uint32_t size = launched_ && rank_ == 0 ? job_size(job_) : 0;
  if (size < 2) return {};
  const auto answers = std::make_shared<Answers>(size);
  answers->came[0] = true;
  const auto deadline = std::chrono::steady_clock::now() + limit;
  std::vector<int> ranks = absent(*answers);
  for (int turn = 0; !ranks.empty() && std::chrono::steady_clock::now() < deadline; ++turn) {
    // Open MPI's server may lose a question about a rank that has not spoken yet: asked anew.
    if (turn % kTurnsBetweenQuestions == 0) {
      for (const int rank : ranks) ask(job_, rank, answers);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    ranks = absent(*answers);
  }
  return ranks;
}

}  // namespace muster::measure
