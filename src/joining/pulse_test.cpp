#include "joining/pulse.hpp"

#include <gtest/gtest.h>

namespace paceline {
namespace {

TEST(Pulse, SaysSomethingWithEveryBeat) {
  Pulse pulse;
  int beats = 0;
  for (int tick = 0; tick < 100; ++tick) {
    pulse.heard();
    if (pulse.tick() == Pulse::Due::beat) ++beats;
  }
  EXPECT_EQ(beats, 20);
}

TEST(Pulse, EndsOnceNothingWasHeardForThreeBeats) {
  Pulse pulse;
  for (int tick = 0; tick < 15; ++tick) EXPECT_NE(pulse.tick(), Pulse::Due::end);
  EXPECT_EQ(pulse.tick(), Pulse::Due::end);
}

TEST(Pulse, AnyWordStartsTheWaitAnew) {
  Pulse pulse;
  for (int tick = 0; tick < 15; ++tick) EXPECT_NE(pulse.tick(), Pulse::Due::end);
  pulse.heard();
  for (int tick = 0; tick < 15; ++tick) EXPECT_NE(pulse.tick(), Pulse::Due::end);
}

TEST(Pulse, ABeatOfFiveSecondsMeansFifteenOfSilence) {
  EXPECT_EQ(PulseTimes{}.tick(), std::chrono::seconds{1});
  EXPECT_EQ(PulseTimes{}.silence(), std::chrono::seconds{15});
}

}  // namespace
}  // namespace paceline
