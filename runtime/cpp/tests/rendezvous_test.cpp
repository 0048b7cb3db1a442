// Ranks that know nothing of each other but where they meet.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <atomic>
#include <cstdlib>

#include "gang.hpp"

namespace paceline::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::HasSubstr;

std::string fresh_name() {
  static std::atomic<int> number = 0;
  return "paceline-test-" + std::to_string(::getpid()) + "-" + std::to_string(++number);
}

// Free a moment ago.
std::uint16_t free_port() {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  if (::bind(fd, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0)
    std::abort();
  ::close(fd);
  return ntohs(address.sin_port);
}

// One rank on a thread of its own: opens its group, meets the others and adds up.
struct Member {
  Group::Options options;
  std::chrono::milliseconds comes_after{};
};
using Meet = std::function<void(Group&)>;

std::vector<Ended> meet(const std::vector<Member>& members, const Meet& meet) {
  std::vector<Ended> ended(members.size());
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < members.size(); ++i)
    threads.emplace_back([&, i] {
      std::this_thread::sleep_for(members[i].comes_after);
      try {
        Group group(members[i].options);
        meet(group);
        std::array<std::int32_t, 1> sum{group.rank()};
        group.all_reduce(std::span<std::int32_t>(sum), Op::sum);
        EXPECT_EQ(sum[0], group.size() * (group.size() - 1) / 2);
        group.barrier();
      } catch (const GroupError& error) {
        ended[i].error = error;
      }
    });
  for (auto& each : threads) each.join();
  return ended;
}

std::vector<Member> members(int size, const std::string& address = "") {
  std::vector<Member> all;
  for (int rank = 0; rank < size; ++rank)
    all.push_back({{.rank = rank,
                    .size = size,
                    .generation = 3,
                    .secret = kSecret,
                    .address = address,
                    .timeout = 20s}});
  return all;
}

TEST(Rendezvous, RanksOfOneHostMeetAtANameInAnyOrder) {
  for (const int size : {1, 2, 5}) {
    auto all = members(size);
    all.front().comes_after = 50ms;
    const auto name = fresh_name();
    for (const auto& each : meet(all, [&](Group& group) { group.meet(name); }))
      EXPECT_TRUE(each.well()) << each.message();
  }
}

TEST(Rendezvous, RanksOfSeveralHostsMeetAtAnAddress) {
  for (const auto* address : {"127.0.0.1", "::1"}) {
    auto all = members(4, address);
    all.back().comes_after = 50ms;
    const auto port = free_port();
    for (const auto& each : meet(all, [&](Group& group) { group.meet(address, port); }))
      EXPECT_TRUE(each.well()) << each.message();
  }
}

// As a port that is used in generation after generation.
TEST(Rendezvous, APlaceIsMetAtAgainAndAgain) {
  const auto port = free_port();
  for (int generation = 0; generation < 5; ++generation)
    for (const auto& each :
         meet(members(3, "127.0.0.1"), [&](Group& group) { group.meet("127.0.0.1", port); }))
      EXPECT_TRUE(each.well()) << each.message();
}

TEST(Rendezvous, WhoDoesNotComeIsNamed) {
  auto all = members(4);
  all.resize(2);
  for (auto& each : all) each.options.timeout = 300ms;
  const auto name = fresh_name();
  const auto ended = meet(all, [&](Group& group) { group.meet(name); });
  EXPECT_THAT(ended[0].message(), AllOf(HasSubstr("ranks 2, 3"), HasSubstr("within 0.3 s")));
  EXPECT_EQ(ended[0].error->cause(), PACELINE_TIMED_OUT);
  EXPECT_EQ(ended[0].error->rank(), 2);
  EXPECT_FALSE(ended[1].well());
}

TEST(Rendezvous, ARankZeroThatDoesNotComeIsNamed) {
  auto all = members(2, "127.0.0.1");
  all.erase(all.begin());
  all.front().options.timeout = 300ms;
  const auto port = free_port();
  const auto ended = meet(all, [&](Group& group) { group.meet("127.0.0.1", port); });
  EXPECT_THAT(ended[0].message(), AllOf(HasSubstr("Rank 0 was not reached at 127.0.0.1:"),
                                        HasSubstr("Connection refused")));
}

TEST(Rendezvous, APlaceThatIsTakenIsSaidToBe) {
  const auto name = fresh_name();
  auto all = members(2);
  all[1].options.rank = 0;
  all[0].options.timeout = all[1].options.timeout = 300ms;
  const auto ended = meet(all, [&](Group& group) { group.meet(name); });
  const auto& second = ended[ended[0].error->cause() == PACELINE_SYSTEM ? 0 : 1];
  EXPECT_THAT(second.message(), AllOf(HasSubstr(name), HasSubstr("Address already in use")));
}

TEST(Rendezvous, AnotherGenerationIsWaitedOut) {
  auto all = members(2);
  all[0].options.generation = 2;
  all[0].options.timeout = all[1].options.timeout = 300ms;
  const auto name = fresh_name();
  const auto ended = meet(all, [&](Group& group) { group.meet(name); });
  EXPECT_THAT(ended[0].message(), HasSubstr("rank 1"));
  EXPECT_THAT(ended[1].message(), HasSubstr("Rank 0 was not reached"));
}

TEST(Rendezvous, WhoKnowsAnotherSecretIsNoRankZero) {
  auto all = members(2);
  all[0].options.secret = "another one of thirty-two bytes .";
  all[0].options.timeout = 300ms;
  const auto name = fresh_name();
  const auto ended = meet(all, [&](Group& group) { group.meet(name); });
  EXPECT_EQ(ended[1].error->cause(), PACELINE_REFUSED);
  EXPECT_THAT(ended[1].message(), HasSubstr("is not rank 0 of this generation"));
}

// Strangers keep no rank out: those that say nothing, and those that say anything.
TEST(Rendezvous, StrangersAreDisregarded) {
  const auto port = free_port();
  std::atomic<bool> over = false;
  std::thread stranger([&] {
    std::vector<int> kept;
    while (!over) {
      const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
      sockaddr_in address{};
      address.sin_family = AF_INET;
      address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      address.sin_port = htons(port);
      const bool there = ::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
      if (there && kept.size() % 2 == 1)
        ::send(fd, std::string(5000, 'x').data(), 5000, MSG_NOSIGNAL);
      kept.push_back(fd);
      if (kept.size() > 50) {
        for (const int each : kept) ::close(each);
        kept.clear();
      }
      std::this_thread::sleep_for(1ms);
    }
    for (const int each : kept) ::close(each);
  });
  auto all = members(3, "127.0.0.1");
  all.back().comes_after = 200ms;
  for (const auto& each : meet(all, [&](Group& group) { group.meet("127.0.0.1", port); }))
    EXPECT_TRUE(each.well()) << each.message();
  over = true;
  stranger.join();
}

TEST(Rendezvous, AnAbortEndsIt) {
  for (const int rank : {0, 1}) {
    Group group({.rank = rank, .size = 2, .secret = kSecret, .timeout = 20s});
    std::thread aborts([&] {
      std::this_thread::sleep_for(50ms);
      group.abort("enough");
    });
    try {
      group.meet(fresh_name());
      ADD_FAILURE() << "it met nobody";
    } catch (const GroupError& error) {
      EXPECT_EQ(error.cause(), PACELINE_ABORTED);
      EXPECT_THAT(error.what(), HasSubstr("enough"));
    }
    aborts.join();
  }
}

TEST(Rendezvous, NeedsAPlace) {
  Group group({.rank = 0, .size = 2, .secret = kSecret});
  paceline_error error;
  EXPECT_THROW(group.meet(""), GroupError);
  EXPECT_THROW(group.meet("gpu-3", 1), GroupError);
  paceline_group_options options{};
  options.size = 1;
  options.secret = kSecret.data();
  options.secret_size = kSecret.size();
  auto* const alone = paceline_group_open(&options, &error);
  EXPECT_EQ(paceline_group_meet(alone, nullptr, nullptr, 0, &error), PACELINE_BAD_ARGUMENT);
  EXPECT_EQ(paceline_group_meet(alone, "any", nullptr, 0, &error), PACELINE_OK);
  paceline_group_close(alone);
}

// By the environment, as a worker does: each rank is a process.
TEST(Join, RanksFindEachOtherByTheirEnvironment) {
  const auto port = std::to_string(free_port());
  for (const auto* on_this_host : {"3", "1"}) {
    std::vector<std::unique_ptr<Process>> processes;
    for (int rank = 0; rank < 3; ++rank)
      processes.push_back(std::make_unique<Process>([=](int in, int out) {
        for (const auto& [name, value] : std::initializer_list<std::pair<const char*, std::string>>{
                 {"RANK", std::to_string(rank)},
                 {"LOCAL_RANK", "7"},
                 {"WORLD_SIZE", "3"},
                 {"LOCAL_WORLD_SIZE", on_this_host},
                 {"MASTER_ADDR", "localhost"},
                 {"MASTER_PORT", port},
                 {"PACELINE_GENERATION", "12"}})
          ::setenv(name, value.c_str(), 1);
        std::string said;
        try {
          Place place;
          Group group = Group::join(20s, place);
          std::array<std::int32_t, 1> sum{group.rank()};
          group.all_reduce(std::span<std::int32_t>(sum), Op::sum);
          group.barrier();
          said = std::to_string(place.rank) + " of " + std::to_string(place.size) + ", " +
                 std::to_string(place.local_rank) + ", " + std::to_string(place.generation) + ": " +
                 std::to_string(sum[0]);
        } catch (const GroupError& error) {
          said = error.what();
        }
        if (::write(out, (said + "\n").data(), said.size() + 1) < 0) ::_exit(1);
        Process::read_line(in);
      }));
    for (int rank = 0; rank < 3; ++rank)
      EXPECT_EQ(processes[static_cast<std::size_t>(rank)]->line(),
                std::to_string(rank) + " of 3, 7, 12: 3");
  }
}

TEST(Join, WithoutAnEnvironmentItIsAGroupOfOne) {
  for (const auto* name : {"RANK", "WORLD_SIZE", "PACELINE_GENERATION"}) ::unsetenv(name);
  Place place;
  Group group = Group::join(1s, place);
  EXPECT_EQ(group.size(), 1);
  EXPECT_EQ(group.all_gather_bytes("mine"), std::vector<std::string>{"mine"});
  EXPECT_EQ(group.broadcast_bytes("all", 0), "all");
}

TEST(Bytes, OfAnyLengthGoFromRankToRank) {
  Gang(3, [](Group& group) {
    const auto mine = std::string(static_cast<std::size_t>(group.rank()) * 1000, 'x');
    EXPECT_EQ(group.broadcast_bytes(mine, 2), std::string(2000, 'x'));
    EXPECT_EQ(group.broadcast_bytes(mine, 0), "");
    const auto all = group.all_gather_bytes(mine);
    ASSERT_EQ(all.size(), 3U);
    for (std::size_t rank = 0; rank < 3; ++rank)
      EXPECT_EQ(all[rank], std::string(rank * 1000, 'x'));
  });
}

TEST(Bytes, OfRanksThatDoDifferentThingsAreRefused) {
  Gang(3, [](Group& group) {
    EXPECT_EQ(group.all_gather_bytes("equal", "begins an epoch").size(), 3U);
    try {
      const auto got = group.all_gather_bytes(
          "bytes", group.rank() < 2 ? "begins an epoch" : std::string(100, 'x'));
      FAIL() << got.size();
    } catch (const GroupError& error) {
      EXPECT_EQ(error.cause(), PACELINE_MISMATCH);
      EXPECT_EQ(error.rank(), 2);
      EXPECT_THAT(error.what(), ::testing::StartsWith("Rank 2 " + std::string(55, 'x') +
                                                      " where rank 0 begins an epoch. "));
    }
  });
}

}  // namespace
}  // namespace paceline::testing
