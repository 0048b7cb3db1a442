// How the ends of a connection know of each other. Each says at least an empty line with every beat,
// and ends the connection where nothing was heard for as long as three of them take.
//
// Time comes in as ticks. A process that stood still for a while counts one tick for it, and hears
// what came meanwhile before the next: nobody is given up because this side stood still.
#pragma once

#include <chrono>

namespace paceline {

struct PulseTimes {
  std::chrono::milliseconds beat{5'000};

  static constexpr int kTicksOfBeat = 5;
  static constexpr int kTicksOfSilence = 15;
  [[nodiscard]] std::chrono::milliseconds tick() const { return beat / kTicksOfBeat; }
  [[nodiscard]] std::chrono::milliseconds silence() const { return tick() * kTicksOfSilence; }
};

class Pulse {
 public:
  enum class Due { nothing, beat, end };

  void heard() { unheard_ = 0; }
  // To be called every PulseTimes::tick().
  Due tick() {
    if (++unheard_ > PulseTimes::kTicksOfSilence) return Due::end;
    if (++unsaid_ < PulseTimes::kTicksOfBeat) return Due::nothing;
    unsaid_ = 0;
    return Due::beat;
  }

 private:
  int unheard_ = 0, unsaid_ = 0;  // ticks since something was heard, and since a beat
};

}  // namespace paceline
