#include "engine/bench/meeting.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <future>

#include <gtest/gtest.h>

namespace muster::measure {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

int free_port() {
  const int descriptor = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  EXPECT_EQ(::bind(descriptor, reinterpret_cast<sockaddr*>(&address), length), 0);
  ::getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &length);
  ::close(descriptor);
  return ntohs(address.sin_port);
}

/// What a rank got, or why it did not.
std::string takes_part(const Rendezvous& where, milliseconds limit) {
  try {
    const auto meeting = meet(where, limit);
    std::string all;
    for (const int round : {1, 2}) {
      for (const std::string& text :
           meeting->all_gather(std::to_string(meeting->rank() * round) + " "))
        all += text;
    }
    return all + meeting->address();
  } catch (const NotMet& error) {
    return error.what();
  }
}

std::vector<std::string> all_take_part(const std::vector<Rendezvous>& ranks, milliseconds limit) {
  std::vector<std::future<std::string>> parts;
  for (const Rendezvous& rank : ranks)
    parts.push_back(std::async(std::launch::async, [=] { return takes_part(rank, limit); }));
  std::vector<std::string> told;
  for (auto& part : parts) told.push_back(part.get());
  return told;
}

TEST(Meeting, TellsAllRanksWhatEachGives) {
  const int port = free_port();
  const auto told = all_take_part({{3, 4, "127.0.0.1", port},
                                   {1, 4, "127.0.0.1", port},
                                   {0, 4, "127.0.0.1", port},
                                   {2, 4, "127.0.0.1", port}},
                                  seconds(60));
  for (const std::string& text : told) EXPECT_EQ(text, "0 1 2 3 0 2 4 6 127.0.0.1");
  EXPECT_EQ(all_take_part({{0, 1, "127.0.0.1", port}}, seconds(60))[0], "0 0 127.0.0.1");
}

TEST(Meeting, NamesToAllThoseThatNeverCame) {
  const int port = free_port();
  const auto told =
      all_take_part({{0, 4, "127.0.0.1", port}, {2, 4, "127.0.0.1", port}}, milliseconds(500));
  for (const std::string& text : told)
    EXPECT_EQ(text, "after 0.5 s (-T) these ranks have not joined: 1, 3");
}

TEST(Meeting, SaysThatRankZeroIsMissing) {
  const int port = free_port();
  const std::string told = takes_part({1, 2, "127.0.0.1", port}, milliseconds(300));
  EXPECT_EQ(told, "after 0.3 s (-T) rank 0 was not reached at 127.0.0.1:" + std::to_string(port) +
                      ": Connection refused");
  EXPECT_NE(takes_part({1, 2, "no.such.host.invalid", port}, milliseconds(300))
                .find("MASTER_ADDR no.such.host.invalid: "),
            std::string::npos);
}

TEST(Meeting, RefusesRanksOfAnotherJob) {
  const int port = free_port();
  const auto sizes =
      all_take_part({{0, 3, "127.0.0.1", port}, {1, 2, "127.0.0.1", port}}, seconds(60));
  EXPECT_NE(sizes[0].find("came rank 1 of 2, to a job of 3"), std::string::npos) << sizes[0];
  const auto twice = all_take_part(
      {{0, 3, "127.0.0.1", port}, {1, 3, "127.0.0.1", port}, {1, 3, "127.0.0.1", port}},
      seconds(60));
  EXPECT_NE(twice[0].find("rank 1 came twice"), std::string::npos) << twice[0];
}

TEST(Meeting, SendsAwayWhoeverElseConnects) {
  const int port = free_port();
  auto first = std::async(std::launch::async, [=] {
    return takes_part({0, 2, "127.0.0.1", port}, seconds(60));
  });
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  const int stranger = ::socket(AF_INET, SOCK_STREAM, 0);
  while (::connect(stranger, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
    ::usleep(1000);
  constexpr char kGreeting[] = "GET / HTTP/1.1\r\n\r\n";
  EXPECT_GT(::send(stranger, kGreeting, sizeof kGreeting, MSG_NOSIGNAL), 0);
  EXPECT_EQ(takes_part({1, 2, "127.0.0.1", port}, seconds(60)), "0 1 0 2 127.0.0.1");
  EXPECT_EQ(first.get(), "0 1 0 2 127.0.0.1");
  ::close(stranger);
}

TEST(Meeting, PortThatIsTakenIsNamed) {
  const int taken = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  ASSERT_EQ(::bind(taken, reinterpret_cast<sockaddr*>(&address), length), 0);
  ASSERT_EQ(::listen(taken, 1), 0);
  ::getsockname(taken, reinterpret_cast<sockaddr*>(&address), &length);
  const std::string told = takes_part({0, 2, "127.0.0.1", ntohs(address.sin_port)}, seconds(60));
  EXPECT_NE(told.find("Address already in use"), std::string::npos) << told;
  ::close(taken);
}

class Environment : public testing::Test {
 protected:
  void SetUp() override { clear(); }
  void TearDown() override { clear(); }
  static void clear() {
    for (const char* name : {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT",
                             "TORCHELASTIC_USE_AGENT_STORE", "OMPI_COMM_WORLD_SIZE", "PMIX_RANK"})
      ::unsetenv(name);
  }
};

TEST_F(Environment, TellsWhereToMeet) {
  ::setenv("RANK", "3", 1);
  ::setenv("WORLD_SIZE", "8", 1);
  auto where = rendezvous_from_environment();
  ASSERT_TRUE(where);
  EXPECT_EQ(where->rank, 3);
  EXPECT_EQ(where->size, 8);
  EXPECT_EQ(where->address, "127.0.0.1");
  EXPECT_EQ(where->port, 29500);
  ::setenv("MASTER_ADDR", "n1", 1);
  ::setenv("MASTER_PORT", "1234", 1);
  ::setenv("TORCHELASTIC_USE_AGENT_STORE", "True", 1);
  where = rendezvous_from_environment();
  ASSERT_TRUE(where);
  EXPECT_EQ(where->address, "n1");
  EXPECT_EQ(where->port, 1235);
}

TEST_F(Environment, NamesTheVariableThatIsWrong) {
  EXPECT_NE(to_string(rendezvous_from_environment().findings().at(0)).find("WORLD_SIZE is not set"),
            std::string::npos);
  ::setenv("WORLD_SIZE", "2", 1);
  ::setenv("RANK", "2", 1);
  EXPECT_NE(to_string(rendezvous_from_environment().findings().at(0)).find("RANK=2"),
            std::string::npos);
  ::setenv("RANK", "1", 1);
  ::setenv("MASTER_PORT", "http", 1);
  EXPECT_NE(to_string(rendezvous_from_environment().findings().at(0)).find("MASTER_PORT=http"),
            std::string::npos);
}

TEST_F(Environment, IsNotAskedUnderALauncherOfMpi) {
  EXPECT_FALSE(launched_by_environment());
  ::setenv("RANK", "0", 1);
  ::setenv("WORLD_SIZE", "2", 1);
  EXPECT_TRUE(launched_by_environment());
  ::setenv("OMPI_COMM_WORLD_SIZE", "2", 1);
  EXPECT_FALSE(launched_by_environment());
}

}  // namespace
}  // namespace muster::measure
