#include "load/drive.h"

#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <memory>
#include <queue>
#include <unordered_map>

#include <fmt/format.h>

#include "base/curl_library.h"
#include "load/processor.h"

namespace muster::load {
namespace {

using Nanoseconds = std::int64_t;

constexpr Nanoseconds kTick = 250'000'000;             // between two calls of `watch`
constexpr Nanoseconds kPauseAfterError = 100'000'000;  // of a user in a closed loop
constexpr std::size_t kMostErrorText = 65536;

/// A conversation on its way.
struct Talk {
  Conversation conversation;
  std::size_t turn = 0;
  std::vector<std::string> answers;
};

/// What is due at a time: the next turn of a conversation, or (empty) a user's next conversation.
struct Due {
  Nanoseconds at = 0;
  std::uint64_t order = 0;  ///< of equal times the first comes first
  std::shared_ptr<Talk> talk;
  bool operator>(const Due& other) const {
    return at != other.at ? at > other.at : order > other.order;
  }
};

class Driver;

/// A request in flight.
struct Flight {
  Driver* driver = nullptr;
  CURL* handle = nullptr;
  std::shared_ptr<Talk> talk;
  Sample sample;
  std::unique_ptr<AnswerReader> reader;
  std::string body, error_body;
};

class Driver {
 public:
  Driver(const CurlLibrary& curl, const DriveOptions& options) : curl_(curl), options_(options) {}
  ~Driver();
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;

  Result<void> set_up();
  DriveResult run();

 private:
  Nanoseconds now() const {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() -
                                                                start_)
        .count();
  }

  bool more_conversations() const {
    return options_.most_conversations == 0 || begun_ < options_.most_conversations;
  }
  std::shared_ptr<Talk> new_talk(const Arrival& arrival);
  void schedule(Nanoseconds at, std::shared_ptr<Talk> talk);
  void begin(std::shared_ptr<Talk> talk, Nanoseconds due);
  void begin_due();
  Nanoseconds next_due() const;
  bool over() const;
  void wait();
  void collect();
  void finish(Flight& flight, CURLcode code);
  void judge(Flight& flight, CURLcode code);
  void interrupt();
  CURL* take_handle();
  void act(int socket, int events);

  static std::size_t take_body(char* data, std::size_t, std::size_t size, void* user);
  static int watch_socket(CURL*, curl_socket_t socket, int what, void* user, void* known);
  static int set_timer(CURLM*, long milliseconds, void* user);

  const CurlLibrary& curl_;
  const DriveOptions& options_;
  CURLM* multi_ = nullptr;
  int epoll_ = -1;
  curl_slist* headers_ = nullptr;
  std::string url_;
  std::chrono::steady_clock::time_point start_;
  Nanoseconds curl_timer_ = -1;  ///< -1: none
  std::vector<CURL*> idle_;
  std::unordered_map<CURL*, std::unique_ptr<Flight>> open_;
  std::priority_queue<Due, std::vector<Due>, std::greater<>> due_;
  std::uint64_t order_ = 0, begun_ = 0, done_ = 0, failed_ = 0, unreachable_ = 0;
  std::size_t next_arrival_ = 0;
  bool stopped_ = false;
  DriveResult result_;
};

Driver::~Driver() {
  for (const auto& [handle, flight] : open_) {
    curl_.multi_remove(multi_, handle);
    curl_.easy_cleanup(handle);
  }
  for (CURL* handle : idle_) curl_.easy_cleanup(handle);
  if (multi_ != nullptr) curl_.multi_cleanup(multi_);
  if (headers_ != nullptr) curl_.list_free(headers_);
  if (epoll_ >= 0) close(epoll_);
}

std::size_t Driver::take_body(char* data, std::size_t, std::size_t size, void* user) {
  auto& flight = *static_cast<Flight*>(user);
  Driver& driver = *flight.driver;
  const Nanoseconds at = driver.now();
  Sample& sample = flight.sample;
  if (sample.status == 0) {
    long status = 0;
    driver.curl_.get(flight.handle, CURLINFO_RESPONSE_CODE, &status);
    sample.status = static_cast<int>(status);
  }
  if (sample.status != 200) {
    flight.error_body.append(data, std::min(size, kMostErrorText - flight.error_body.size()));
    return size;
  }
  const int pieces = flight.reader->feed({data, size});
  for (int i = 0; i < pieces; ++i) sample.pieces.push_back(at);
  // What can't be understood is not read to its end.
  return flight.reader->answer().error_kind.empty() ? size : 0;
}

int Driver::watch_socket(CURL*, curl_socket_t socket, int what, void* user, void* known) {
  auto& driver = *static_cast<Driver*>(user);
  if (what == CURL_POLL_REMOVE) {
    epoll_ctl(driver.epoll_, EPOLL_CTL_DEL, socket, nullptr);
    return 0;
  }
  epoll_event event{};
  event.data.fd = socket;
  if (what != CURL_POLL_OUT) event.events |= EPOLLIN;
  if (what != CURL_POLL_IN) event.events |= EPOLLOUT;
  if (epoll_ctl(driver.epoll_, known != nullptr ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, socket, &event) !=
      0) {
    // A socket that was closed and opened again under the same number.
    if (epoll_ctl(driver.epoll_, errno == EEXIST ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, socket, &event) !=
        0)
      return -1;
  }
  return 0;
}

int Driver::set_timer(CURLM*, long milliseconds, void* user) {
  auto& driver = *static_cast<Driver*>(user);
  driver.curl_timer_ = milliseconds < 0 ? -1 : driver.now() + milliseconds * Nanoseconds{1'000'000};
  return 0;
}

Result<void> Driver::set_up() {
  epoll_ = epoll_create1(EPOLL_CLOEXEC);
  if (epoll_ < 0) return failure("load-failed", std::string("epoll: ") + std::strerror(errno));
  multi_ = curl_.multi_init();
  if (multi_ == nullptr) return failure("load-failed", "libcurl can't be set up");
  curl_.multi_set(multi_, CURLMOPT_SOCKETFUNCTION, watch_socket);
  curl_.multi_set(multi_, CURLMOPT_SOCKETDATA, this);
  curl_.multi_set(multi_, CURLMOPT_TIMERFUNCTION, set_timer);
  curl_.multi_set(multi_, CURLMOPT_TIMERDATA, this);
  // Connections are kept for the next request of whoever needs one.
  curl_.multi_set(multi_, CURLMOPT_MAXCONNECTS, 65536L);
  for (const auto& [name, value] : options_.headers)
    headers_ = curl_.list_append(headers_, fmt::format("{}: {}", name, value).c_str());
  headers_ = curl_.list_append(headers_, "Content-Type: application/json");
  headers_ = curl_.list_append(headers_, "Expect:");  // no pause before a large body
  url_ = options_.server + (options_.path.empty() ? path_of(options_.dialect) : options_.path);
  return {};
}

CURL* Driver::take_handle() {
  if (!idle_.empty()) {
    CURL* const handle = idle_.back();
    idle_.pop_back();
    return handle;
  }
  CURL* const handle = curl_.easy_init();
  if (handle == nullptr) throw std::bad_alloc();
  curl_.set(handle, CURLOPT_URL, url_.c_str());
  curl_.set(handle, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_.set(handle, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  curl_.set(handle, CURLOPT_NOSIGNAL, 1L);
  curl_.set(handle, CURLOPT_HTTPHEADER, headers_);
  curl_.set(handle, CURLOPT_POST, 1L);
  curl_.set(handle, CURLOPT_TIMEOUT_MS, static_cast<long>(options_.request_limit.count()));
  curl_.set(handle, CURLOPT_WRITEFUNCTION, take_body);
  return handle;
}

std::shared_ptr<Talk> Driver::new_talk(const Arrival& arrival) {
  auto talk = std::make_shared<Talk>();
  talk->conversation =
      options_.workload.conversation(options_.first_conversation + begun_, arrival);
  ++begun_;
  return talk;
}

void Driver::schedule(Nanoseconds at, std::shared_ptr<Talk> talk) {
  due_.push({at, order_++, std::move(talk)});
}

void Driver::begin(std::shared_ptr<Talk> talk, Nanoseconds due) {
  auto flight = std::make_unique<Flight>();
  flight->driver = this;
  flight->handle = take_handle();
  const bool more_turns = talk->conversation.turns.size() > 1;
  flight->reader = std::make_unique<AnswerReader>(options_.dialect, more_turns);
  flight->body = body_of(options_.dialect, talk->conversation, talk->turn, talk->answers);
  Sample& sample = flight->sample;
  sample.conversation = talk->conversation.number;
  sample.turn = static_cast<int>(talk->turn);
  sample.asked_tokens = talk->conversation.turns[talk->turn].output;
  sample.scheduled = due;
  sample.pieces.reserve(
      options_.dialect.stream ? static_cast<std::size_t>(std::min(sample.asked_tokens, 4096)) : 1);
  flight->talk = std::move(talk);
  curl_.set(flight->handle, CURLOPT_POSTFIELDSIZE_LARGE,
            static_cast<curl_off_t>(flight->body.size()));
  curl_.set(flight->handle, CURLOPT_POSTFIELDS, flight->body.data());
  curl_.set(flight->handle, CURLOPT_WRITEDATA, flight.get());
  sample.sent = now();
  result_.send_delay.record(sample.sent - due);
  CURL* const handle = flight->handle;
  open_.emplace(handle, std::move(flight));
  result_.most_open = std::max(result_.most_open, static_cast<int>(open_.size()));
  curl_.multi_add(multi_, handle);
}

void Driver::begin_due() {
  const Nanoseconds end = options_.duration.count();
  while (!stopped_) {
    const Nanoseconds at = now();
    if (next_arrival_ < options_.arrivals.size() && options_.arrivals[next_arrival_].at <= at &&
        (due_.empty() || options_.arrivals[next_arrival_].at <= due_.top().at)) {
      const Arrival& arrival = options_.arrivals[next_arrival_++];
      if (arrival.at < end && more_conversations()) begin(new_talk(arrival), arrival.at);
      continue;
    }
    if (due_.empty() || due_.top().at > at) return;
    Due next = due_.top();
    due_.pop();
    if (next.at >= end) continue;
    if (!next.talk) {
      if (!more_conversations()) continue;
      next.talk = new_talk({});
    }
    begin(std::move(next.talk), next.at);
  }
}

Nanoseconds Driver::next_due() const {
  Nanoseconds at = due_.empty() ? -1 : due_.top().at;
  if (next_arrival_ < options_.arrivals.size()) {
    const Nanoseconds arrival = options_.arrivals[next_arrival_].at;
    at = at < 0 ? arrival : std::min(at, arrival);
  }
  return at;
}

bool Driver::over() const {
  if (!open_.empty()) return false;
  const Nanoseconds due = next_due();
  return stopped_ || due < 0 || due >= options_.duration.count();
}

void Driver::act(int socket, int events) {
  int running = 0;
  curl_.multi_socket_action(multi_, socket, events, &running);
}

void Driver::wait() {
  const Nanoseconds at = now();
  Nanoseconds until = at + kTick;
  if (const Nanoseconds due = next_due(); !stopped_ && due >= 0) until = std::min(until, due);
  if (curl_timer_ >= 0) until = std::min(until, curl_timer_);
  const Nanoseconds left = std::max<Nanoseconds>(0, until - at);
  const timespec pause{static_cast<time_t>(left / 1'000'000'000),
                       static_cast<long>(left % 1'000'000'000)};
  std::array<epoll_event, 256> events{};
  const int ready =
      epoll_pwait2(epoll_, events.data(), static_cast<int>(events.size()), &pause, nullptr);
  const Nanoseconds awake = now();
  for (int i = 0; i < ready; ++i) {
    const epoll_event& event = events[static_cast<std::size_t>(i)];
    int what = 0;
    if ((event.events & EPOLLIN) != 0) what |= CURL_CSELECT_IN;
    if ((event.events & EPOLLOUT) != 0) what |= CURL_CSELECT_OUT;
    if ((event.events & (EPOLLERR | EPOLLHUP)) != 0) what |= CURL_CSELECT_ERR | CURL_CSELECT_IN;
    act(event.data.fd, what);
  }
  if (curl_timer_ >= 0 && now() >= curl_timer_) {
    curl_timer_ = -1;
    act(CURL_SOCKET_TIMEOUT, 0);
  }
  collect();
  begin_due();
  result_.loop.record(now() - awake);
}

void Driver::collect() {
  int left = 0;
  while (CURLMsg* const message = curl_.multi_info_read(multi_, &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    const CURLcode code = message->data.result;
    CURL* const handle = message->easy_handle;
    const auto found = open_.find(handle);
    if (found == open_.end()) continue;
    const std::unique_ptr<Flight> flight = std::move(found->second);
    open_.erase(found);
    curl_.multi_remove(multi_, handle);
    finish(*flight, code);
    idle_.push_back(handle);
  }
}

void Driver::judge(Flight& flight, CURLcode code) {
  Sample& sample = flight.sample;
  sample.end = now();
  if (sample.status == 0) {
    long status = 0;
    curl_.get(flight.handle, CURLINFO_RESPONSE_CODE, &status);
    sample.status = static_cast<int>(status);
  }
  if (code == CURLE_OK && sample.status == 200) flight.reader->end();
  const Answer& answer = flight.reader->answer();
  sample.prompt_tokens = answer.prompt_tokens.value_or(-1);
  sample.output_tokens = answer.output_tokens.value_or(-1);
  sample.finish = answer.finish;
  if (!options_.dialect.stream && answer.pieces > 0) sample.pieces.push_back(sample.end);
  if (!sample.pieces.empty()) {
    sample.first = sample.pieces.front();
    sample.last = sample.pieces.back();
  }
  if (!answer.error_kind.empty()) {
    sample.error = answer.error_kind;
    sample.detail = answer.error;
  } else if (code == CURLE_OPERATION_TIMEDOUT) {
    sample.error = "time-limit";
    sample.detail = fmt::format("no whole answer within {} ms", options_.request_limit.count());
  } else if (code != CURLE_OK) {
    const bool nobody = code == CURLE_COULDNT_CONNECT || code == CURLE_COULDNT_RESOLVE_HOST;
    sample.error = nobody ? "unreachable" : "connection";
    sample.detail = curl_.describe(code);
  } else if (sample.status != 200) {
    sample.error = fmt::format("status-{}", sample.status);
    sample.detail = error_message(flight.error_body);
  } else if (answer.pieces == 0 && sample.output_tokens <= 0) {
    sample.error = "empty";
    sample.detail = "the answer holds no text";
  }
}

void Driver::finish(Flight& flight, CURLcode code) {
  judge(flight, code);
  const Sample& sample = flight.sample;
  ++(sample.error.empty() ? done_ : failed_);
  if (sample.error == "unreachable") ++unreachable_;
  // Nobody is there: a load that runs on would only count the same answer again.
  const auto patience = static_cast<std::uint64_t>(std::max(10, options_.concurrency));
  if (done_ == 0 && unreachable_ == failed_ && failed_ >= patience) stopped_ = true;

  Talk& talk = *flight.talk;
  const bool goes_on = sample.error.empty() && talk.turn + 1 < talk.conversation.turns.size();
  if (goes_on) {
    talk.answers.push_back(flight.reader->answer().text);
    ++talk.turn;
    schedule(sample.end + options_.think.count(), flight.talk);
  } else if (!options_.open_loop) {
    schedule(sample.error.empty() ? sample.end : sample.end + kPauseAfterError, nullptr);
  }
  result_.samples.push_back(std::move(flight.sample));
}

void Driver::interrupt() {
  stopped_ = true;
  result_.interrupted = true;
  for (auto& [handle, flight] : open_) {
    curl_.multi_remove(multi_, handle);
    idle_.push_back(handle);
    flight->sample.end = now();
    flight->sample.error = "interrupted";
    flight->sample.detail = "the load was ended";
    result_.samples.push_back(std::move(flight->sample));
  }
  open_.clear();
}

DriveResult Driver::run() {
  const ProcessorTime before = processor_time();
  start_ = std::chrono::steady_clock::now();
  if (!options_.open_loop) {
    for (int i = 0; i < options_.concurrency; ++i) schedule(0, nullptr);
  }
  begin_due();
  Nanoseconds next_tick = kTick;
  while (!over()) {
    wait();
    if (const Nanoseconds at = now(); at >= next_tick) {
      next_tick = at + kTick;
      if (options_.watch && !options_.watch(done_, failed_, static_cast<int>(open_.size()),
                                            static_cast<double>(at) / 1e9))
        interrupt();
    }
  }
  result_.wall = now();
  const ProcessorTime after = processor_time();
  result_.cpu_seconds = after.own_seconds - before.own_seconds;
  result_.stolen_share = stolen_share(before, after);
  std::stable_sort(result_.samples.begin(), result_.samples.end(),
                   [](const Sample& a, const Sample& b) { return a.scheduled < b.scheduled; });
  return std::move(result_);
}

/// A connection each: the soft limit goes up to the hard one.
Result<void> allow_sockets(int wanted) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return {};
  if (limit.rlim_cur < limit.rlim_max) {
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    getrlimit(RLIMIT_NOFILE, &limit);
  }
  const auto needed = static_cast<rlim_t>(wanted) + 64;
  if (limit.rlim_cur >= needed) return {};
  return failure("load-files",
                 fmt::format("{} connections need {} file descriptors, {} are allowed", wanted,
                             needed, limit.rlim_cur),
                 fmt::format("ulimit -n {}", needed));
}

}  // namespace

Result<DriveResult> drive(const DriveOptions& options) {
  const CurlLibrary* const curl = CurlLibrary::load();
  if (curl == nullptr)
    return failure("load-failed", "libcurl is missing", "apt-get install libcurl4");
  if (const auto allowed = allow_sockets(options.open_loop ? 64 : options.concurrency); !allowed)
    return allowed.error();
  Driver driver(*curl, options);
  if (const auto ready = driver.set_up(); !ready) return ready.error();
  return driver.run();
}

}  // namespace muster::load
