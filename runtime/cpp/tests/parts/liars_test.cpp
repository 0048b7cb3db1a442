// Members that know the secret and then say anything.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <random>
#include <thread>

#include "greeting.hpp"
#include "group.hpp"

namespace paceline::runtime {
namespace {

const std::string kSecret = "known to the liar as well";

// The rank 1 of two, connected to rank 0 as a member is.
struct Liar {
  Descriptor control, data;

  explicit Liar(const Endpoint& there) {
    const Identity own{1, 2, 9, kSecret};
    for (const auto kind : {LinkKind::control, LinkKind::data}) {
      auto greeting = Greeting::dials(own, dial(there, there), 0, kind);
      while (greeting.step() == Greeting::State::goes_on) {
        auto waits = greeting.awaits();
        ::poll(&waits, 1, 100);
      }
      (kind == LinkKind::data ? data : control) = greeting.take();
    }
  }
};

TEST(Liars, EndAnOperationAndNothingElse) {
  std::mt19937 random(3);
  for (int round = 0; round < 300; ++round) {
    auto links = Links::open({0, 2, 9, kSecret}, "", std::chrono::seconds(20));
    ASSERT_TRUE(links);
    Group group(std::move(*links));
    const auto text = group.links().endpoint();
    std::thread lies([&, seed = random()] {
      std::mt19937 chance(static_cast<unsigned>(seed));
      Liar liar(*Endpoint::parse(text));
      std::string said(chance() % 4'000, '\0');
      for (auto& each : said) each = static_cast<char>(chance());
      const bool talks = chance() % 2 == 0;
      if (talks && chance() % 2 == 0) said.replace(0, 4, "PLW1");
      const int fd = talks ? liar.control.get() : liar.data.get();
      if (::send(fd, said.data(), said.size(), MSG_NOSIGNAL) < 0) return;
    });
    const std::vector<std::string> endpoints{text, text};
    auto ended = group.connect(endpoints);
    std::vector<float> values(20'000);
    for (int i = 0; ended && i < 5; ++i)
      ended = group.run([&](Collectives& collectives) {
        return collectives.all_reduce(reinterpret_cast<std::byte*>(values.data()),
                                      {values.size(), PACELINE_FLOAT32, PACELINE_SUM});
      });
    lies.join();
    ASSERT_FALSE(ended);
    EXPECT_FALSE(ended.error().message.empty());
    EXPECT_NE(ended.error().cause, PACELINE_TIMED_OUT);
  }
}

}  // namespace
}  // namespace paceline::runtime
