// What happens when members die, stop, leave, differ or lie: every survivor has the same error, soon.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <atomic>
#include <cstring>
#include <random>

#include "gang.hpp"

namespace paceline::testing {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;

int number_of(const char* variable, int otherwise) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? otherwise : std::atoi(text);
}

// Operations of all kinds and sizes, the same on all ranks.
void work(Group& group, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<float> data(400'000), all(data.size());
  for (;;) {
    const auto choice = random() % 6;
    const std::size_t count = std::size_t{1} << (random() % 19);
    const auto some = std::span(data).first(count);
    const auto root = static_cast<int>(random() % static_cast<unsigned>(group.size()));
    const auto part = count / static_cast<std::size_t>(group.size());
    if (choice <= 2) group.all_reduce(some, Op::mean);
    if (choice == 3) group.broadcast(some, root);
    if (choice == 4) group.barrier();
    if (choice == 5)
      group.all_gather(std::span<const float>(data).first(part),
                       std::span(all).first(part * static_cast<std::size_t>(group.size())));
  }
}

// A gang of processes that work until something ends it; each then says what.
class Processes {
 public:
  Processes(int size, std::chrono::milliseconds timeout, unsigned seed) {
    for (int rank = 0; rank < size; ++rank)
      members_.push_back(std::make_unique<Process>([=](int in, int out) {
        Group group({.rank = rank, .size = size, .secret = kSecret, .timeout = timeout});
        const auto say = [out](const std::string& line) {
          if (::write(out, (line + "\n").data(), line.size() + 1) < 0) ::_exit(1);
        };
        say(group.endpoint());
        std::vector<std::string> endpoints;
        for (int i = 0; i < size; ++i) endpoints.push_back(Process::read_line(in));
        try {
          group.connect(endpoints);
          say("works");
          work(group, seed);
        } catch (const GroupError& error) {
          say(std::to_string(error.cause()) + " " + std::to_string(error.rank()) + " " +
              error.what());
        }
        Process::read_line(in);
      }));
    std::string all;
    for (const auto& each : members_) all += each->line() + "\n";
    for (const auto& each : members_) each->say(all);
    for (const auto& each : members_) EXPECT_EQ(each->line(), "works");
  }
  [[nodiscard]] Process& member(int rank) { return *members_[static_cast<std::size_t>(rank)]; }

 private:
  std::vector<std::unique_ptr<Process>> members_;
};

TEST(Faults, AKilledMemberEndsEveryOperationOfTheOthers) {
  const int kills = number_of("PACELINE_RUNTIME_KILLS", 60);
  std::mt19937 random(std::random_device{}());
  for (int kill = 0; kill < kills; ++kill) {
    const int size = 2 + static_cast<int>(random() % 4);
    const int dead = static_cast<int>(random() % static_cast<unsigned>(size));
    const auto seed = static_cast<unsigned>(random());
    Processes gang(size, 30s, seed);
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 30'000));
    const auto killed = Clock::now();
    gang.member(dead).signal(SIGKILL);
    for (int rank = 0; rank < size; ++rank) {
      if (rank == dead) continue;
      EXPECT_EQ(gang.member(rank).line(),
                std::to_string(PACELINE_LOST) + " " + std::to_string(dead) + " Rank " +
                    std::to_string(dead) + " is gone: its connection ended.")
          << "rank " << rank << " of " << size << ", seed " << seed;
    }
    // A guard against hangs: a second is what is promised on a machine that isn't busy.
    EXPECT_LT(Clock::now() - killed, 20s);
  }
}

// As the workers of a data loader.
TEST(Faults, AForkOfAKilledMemberDoesNotKeepItAmongTheLiving) {
  std::vector<std::unique_ptr<Process>> members;
  for (int rank = 0; rank < 2; ++rank)
    members.push_back(std::make_unique<Process>([=](int in, int out) {
      const auto say = [out](const std::string& line) {
        if (::write(out, (line + "\n").data(), line.size() + 1) < 0) ::_exit(1);
      };
      Group group({.rank = rank, .size = 2, .secret = kSecret, .timeout = 60s});
      say(group.endpoint());
      std::vector<std::string> endpoints;
      for (int i = 0; i < 2; ++i) endpoints.push_back(Process::read_line(in));
      try {
        group.connect(endpoints);
        const pid_t fork = ::fork();
        if (fork == 0) {
          std::this_thread::sleep_for(60s);
          ::_exit(0);
        }
        say(std::to_string(fork));
        if (rank == 0) group.barrier();
      } catch (const GroupError& error) {
        say(error.what());
      }
      Process::read_line(in);
    }));
  std::string all;
  for (const auto& each : members) all += each->line() + "\n";
  for (const auto& each : members) each->say(all);
  std::vector<pid_t> forks;
  for (const auto& each : members) forks.push_back(std::stoi(each->line()));
  members[1]->signal(SIGKILL);
  EXPECT_EQ(members[0]->line(), "Rank 1 is gone: its connection ended.");
  for (const pid_t each : forks) EXPECT_EQ(::kill(each, SIGKILL), 0) << "it was there until now";
}

TEST(Faults, AStoppedMemberIsNamedOnceTheLimitIsOver) {
  Processes gang(4, 700ms, 1);
  gang.member(2).signal(SIGSTOP);
  for (const int rank : {0, 1, 3})
    EXPECT_THAT(gang.member(rank).line(),
                AllOf(HasSubstr(std::to_string(PACELINE_TIMED_OUT) + " 2 No sign of rank 2 in "),
                      HasSubstr(" for 0.7 s.")));
  gang.member(2).signal(SIGCONT);
  EXPECT_THAT(gang.member(2).line(), HasSubstr("No sign of rank 2")) << "it is told, too";
}

TEST(Faults, WhoIsStoppedWithAllOthersIsNotLate) {
  Processes gang(3, 1s, 2);
  for (int rank = 0; rank < 3; ++rank) gang.member(rank).signal(SIGSTOP);
  std::this_thread::sleep_for(2s);
  for (int rank = 0; rank < 3; ++rank) gang.member(rank).signal(SIGCONT);
  std::this_thread::sleep_for(1s);
  gang.member(1).signal(SIGKILL);
  EXPECT_THAT(gang.member(0).line(), HasSubstr("Rank 1 is gone")) << "it went on until then";
  EXPECT_THAT(gang.member(2).line(), HasSubstr("Rank 1 is gone"));
}

// ---- on threads ----

std::vector<Ended> connected(Gang& gang) {
  auto ended = gang.connect();
  for (const auto& each : ended) EXPECT_TRUE(each.well()) << each.message();
  return ended;
}

TEST(Faults, AbortEndsWhatRunsEverywhere) {
  Gang gang(4);
  connected(gang);
  std::atomic<int> inside = 0;
  std::thread aborts([&] {
    while (inside < 3) std::this_thread::yield();
    std::this_thread::sleep_for(20ms);
    gang.group(0).abort("the notice came");
  });
  const auto ended = gang.run([&](Group& group) {
    ++inside;
    if (group.rank() == 3) return;  // it never comes
    std::vector<float> data(1'000'000);
    group.all_reduce(std::span(data), Op::sum);
  });
  aborts.join();
  for (const int rank : {0, 1, 2})
    EXPECT_EQ(ended[static_cast<std::size_t>(rank)].message(),
              "Rank 0 aborted the group: the notice came");
  const auto after = gang.run([](Group& group) { group.barrier(); });
  for (const auto& each : after) {
    ASSERT_FALSE(each.well());
    EXPECT_EQ(each.error->cause(), PACELINE_ABORTED) << "a group that failed stays failed";
    EXPECT_EQ(each.error->rank(), 0);
  }
}

TEST(Faults, AbortReachesThoseThatAreBusyElsewhereAtTheirNextCall) {
  Gang gang(3);
  connected(gang);
  gang.group(1).abort("enough");
  const auto ended = gang.run([](Group& group) { group.barrier(); });
  for (const auto& each : ended) EXPECT_EQ(each.message(), "Rank 1 aborted the group: enough");
}

TEST(Faults, DifferentCallsAreToldInOneSentence) {
  struct Case {
    std::function<void(Group&)> odd;
    std::string said;
  };
  std::vector<float> few(10), more(11), much(1'000'000);
  const std::vector<Case> cases{
      {[&](Group& group) { group.all_reduce(std::span(more), Op::sum); },
       "all_reduce (sum of 11 float32)"},
      {[&](Group& group) { group.all_reduce(std::span(few), Op::max); },
       "all_reduce (max of 10 float32)"},
      {[&](Group& group) { group.barrier(); }, "barrier"},
      {[&](Group& group) { group.broadcast(std::span(few), 0); },
       "broadcast (40 bytes from rank 0)"},
  };
  for (const auto& each : cases) {
    Gang gang(2);
    connected(gang);
    const auto ended = gang.run([&](Group& group) {
      std::vector<float> data(10);
      if (group.rank() == 1) each.odd(group);
      if (group.rank() == 0) group.all_reduce(std::span(data), Op::sum);
      group.barrier();
    });
    for (const auto& one : ended) {
      ASSERT_FALSE(one.well()) << each.said;
      EXPECT_EQ(one.error->cause(), PACELINE_MISMATCH);
      EXPECT_THAT(one.message(),
                  AllOf(HasSubstr("all_reduce (sum of 10 float32)"), HasSubstr(each.said),
                        HasSubstr("same calls in the same order")));
    }
  }
}

TEST(Faults, ASkippedCallIsTold) {
  Gang gang(2);
  connected(gang);
  const auto ended = gang.run([&](Group& group) {
    std::vector<float> data(10);
    for (int call = group.rank(); call < 3; ++call) group.all_reduce(std::span(data), Op::sum);
    group.barrier();
  });
  for (const auto& one : ended) EXPECT_THAT(one.message(), HasSubstr("where rank"));
}

TEST(Faults, WhoLeavesEarlyIsNamed) {
  Gang gang(3);
  connected(gang);
  const auto ended = gang.run([](Group& group) {
    group.barrier();
    if (group.rank() == 2) {
      const Group leaves(std::move(group));
      return;
    }
    std::vector<float> data(10);
    group.all_reduce(std::span(data), Op::sum);
  });
  for (const int rank : {0, 1}) {
    const auto& each = ended[static_cast<std::size_t>(rank)];
    EXPECT_EQ(each.message(), "Rank 2 has left the group, but is needed.");
    EXPECT_EQ(each.error->rank(), 2);
  }
}

TEST(Faults, WhoLeavesWhenAllIsDoneDisturbsNobody) {
  for (int round = 0; round < 20; ++round) {
    Gang gang(4);
    connected(gang);
    const auto ended = gang.run([](Group& group) {
      std::vector<int> data(100'000, 1);
      group.broadcast(std::span(data), 0);
      if (group.rank() == 0) {
        const Group leaves(std::move(group));
        return;
      }
      if (group.rank() == 1) group.send(std::span<const int>(data), 2);
      if (group.rank() == 2) group.receive(std::span(data), 1);
    });
    for (const auto& each : ended) EXPECT_TRUE(each.well()) << each.message();
  }
}

// ---- meeting ----

TEST(Meeting, WhoDoesNotComeIsNamed) {
  Group::Options options;
  options.timeout = 300ms;
  Gang gang(3, options);
  const auto ended = gang.run([&](Group& group) {
    if (group.rank() == 1) return;
    group.connect(gang.endpoints());
  });
  for (const int rank : {0, 2}) {
    const auto& each = ended[static_cast<std::size_t>(rank)];
    ASSERT_FALSE(each.well());
    EXPECT_EQ(each.error->cause(), PACELINE_TIMED_OUT);
    EXPECT_EQ(each.error->rank(), 1) << each.message();
  }
}

TEST(Meeting, OthersAreNoMembers) {
  const auto meet = [](Group::Options odd) {
    odd.size = 2;
    odd.rank = 1;
    Group first({.rank = 0, .size = 2, .generation = 4, .secret = kSecret, .timeout = 400ms}),
        second(odd);
    const std::vector<std::string> endpoints{first.endpoint(), second.endpoint()};
    std::vector<Ended> ended(2);
    std::thread other([&] {
      try {
        first.connect(endpoints);
      } catch (const GroupError& error) {
        ended[0].error = error;
      }
    });
    try {
      second.connect(endpoints);
    } catch (const GroupError& error) {
      ended[1].error = error;
    }
    other.join();
    return ended;
  };
  const auto right = meet({.generation = 4, .secret = kSecret, .timeout = 400ms});
  EXPECT_TRUE(right[0].well() && right[1].well());
  const auto secret = meet({.generation = 4, .secret = kSecret + "x", .timeout = 400ms});
  EXPECT_EQ(secret[1].message(),
            "Whoever answers at the endpoint of rank 0 is no member of this generation.");
  EXPECT_EQ(secret[1].error->cause(), PACELINE_REFUSED);
  EXPECT_FALSE(secret[0].well());
  const auto generation = meet({.generation = 5, .secret = kSecret, .timeout = 400ms});
  EXPECT_FALSE(generation[0].well() || generation[1].well());
}

int dial(const std::string& endpoint) {
  const auto begin = endpoint.find(',') + 1;
  const auto name = endpoint.substr(begin, endpoint.find(',', begin) - begin);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  name.copy(address.sun_path + 1, sizeof address.sun_path - 2);
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  EXPECT_EQ(::connect(fd, reinterpret_cast<const sockaddr*>(&address), size), 0);
  return fd;
}

TEST(Meeting, StrangersKeepNobodyOut) {
  std::mt19937 random(7);
  Gang gang(3);
  std::vector<int> strangers;
  for (int i = 0; i < 300; ++i) {
    const int fd = dial(gang.endpoints()[static_cast<std::size_t>(i % 3)]);
    strangers.push_back(fd);
    std::string said(random() % 200, '\0');
    for (auto& each : said) each = static_cast<char>(random());
    if (i % 3 == 0)
      said = std::string("PLRT\1\0\0\0\2\0\0\0\3\0\0\0\0\0\0\0\0\0\0\0", 24) +
             std::string(i % 2 == 0 ? 32 : 80, 'x');
    if (::write(fd, said.data(), said.size()) < 0) ADD_FAILURE();
    if (i % 4 == 0) ::shutdown(fd, SHUT_RDWR);
  }
  connected(gang);
  const auto ended = gang.run([](Group& group) {
    std::vector<float> data(300'000, 1);
    group.all_reduce(std::span(data), Op::sum);
    EXPECT_EQ(data.back(), 3);
  });
  for (const auto& each : ended) EXPECT_TRUE(each.well()) << each.message();
  for (const int fd : strangers) ::close(fd);
}

// ---- arguments ----

TEST(Arguments, AreToldInASentence) {
  const auto open = [](Group::Options options) -> std::string {
    try {
      const Group group(options);
      return "opened";
    } catch (const GroupError& error) {
      EXPECT_EQ(error.cause(), PACELINE_BAD_ARGUMENT);
      return error.what();
    }
  };
  EXPECT_THAT(open({.size = 0, .secret = kSecret}), HasSubstr("1 to 1024 ranks, not 0"));
  EXPECT_THAT(open({.rank = 4, .size = 4, .secret = kSecret}), HasSubstr("ranks go from 0 to 3"));
  EXPECT_THAT(open({.secret = "short"}), HasSubstr("at least 16 bytes"));
  EXPECT_THAT(open({.secret = kSecret, .address = "nowhere"}),
              HasSubstr("'nowhere' is no IPv4 or IPv6 address"));
  EXPECT_EQ(open({.secret = kSecret}), "opened");

  Gang gang(2);
  std::vector<float> data(4);
  const auto told = [&](const std::function<void(Group&)>& call) {
    const auto ended = gang.run([&](Group& group) {
      if (group.rank() == 0) call(group);
    });
    return ended[0].message();
  };
  EXPECT_THAT(told([&](Group& group) { group.barrier(); }), HasSubstr("not connected yet"));
  EXPECT_THAT(told([&](Group& group) {
                group.connect(std::vector<std::string>{"a", "b"});
              }),
              HasSubstr("'a' is no endpoint"));
  connected(gang);
  EXPECT_THAT(told([&](Group& group) { group.connect(gang.endpoints()); }),
              HasSubstr("connected already"));
  EXPECT_THAT(told([&](Group& group) { group.broadcast(std::span(data), 2); }),
              HasSubstr("no rank 2"));
  EXPECT_THAT(told([&](Group& group) { group.send(std::span<const float>(data), 0); }),
              HasSubstr("to itself"));
  EXPECT_THAT(told([&](Group& group) { group.wait(7); }), HasSubstr("no ticket 7"));
  const auto after = gang.run([](Group& group) { group.barrier(); });
  for (const auto& each : after)
    EXPECT_TRUE(each.well()) << "nothing has happened to the group: " << each.message();
}

}  // namespace
}  // namespace paceline::testing
