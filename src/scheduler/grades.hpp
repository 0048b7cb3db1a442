// Whether what people were told came true: keeps the expected times that they were told, holds them
// against the truth when it comes, and says how good they were. What past ones missed widens or
// narrows the next ones (conformal prediction), so that about eight in ten fall inside.
//
//   grades.told(job, expected, now);    // to a person
//   grades.follow(state, touched);      // after every durable batch
//   grades.summary()                    // → 40 graded, median error 90 s, 33 inside
//   grades.adjust(expected);            // by what was learned
//
// Of each job it keeps what was told first, and again once a minute and twice as long have passed.
// A start is graded when the job runs, an end when it completed or reached its time limit; a job
// that is cancelled, fails, or is held or frozen meanwhile says nothing of a forecast.
//
// Score: how far the truth was from the likeliest time, in parts of what the plays gave on that side;
// up to 1 it was inside. Source: Papadopoulos et al., Inductive Confidence Machines for Regression
// (2002), with a scaled residual.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "forecast/expected.hpp"
#include "model/state.hpp"

namespace paceline {

enum class Milestone { start, end };
std::string_view to_string(Milestone milestone);  // "start", "end"

inline constexpr std::size_t kToldMax = 10'000;        // waiting for the truth; then none is added
inline constexpr std::size_t kToldPerJobMax = 16;      // the same, of one milestone of a job
inline constexpr std::size_t kGradesMax = 1'000;       // of a kind; then the oldest make room
inline constexpr std::size_t kGradesToLearnFrom = 20;  // below, intervals stay as they are

// How good those of one kind were.
struct GradeSummary {
  Milestone of = Milestone::start;
  LengthSource known = LengthSource::unknown;
  std::size_t graded = 0;
  std::size_t inside = 0;   // of them
  Duration median_error{};  // between the likeliest time and the truth
  double median_ratio = 0;  // the same, as a part of the time from when it was told to the truth
  double widened = 1;       // the intervals, by now
};

class Grades {
 public:
  void told(JobId job, const JobExpected& expected, Time now);
  // REQUIRES: the jobs are in the state, or were forgotten.
  void follow(const State& state, std::span<const JobId> touched);
  // The same for all that was told: once the state was loaded, which may know more than a text.
  void resume(const State& state);

  void adjust(Expectations& expectations) const;
  // By kind, those with grades alone.
  [[nodiscard]] std::vector<GradeSummary> summary() const;
  [[nodiscard]] std::size_t waiting() const { return waiting_; }

  // All of it as a text, and back: what a text doesn't hold, or holds wrongly, is left out.
  [[nodiscard]] std::string text() const;
  static Grades parse(std::string_view text);
  // Anything new since it was asked last?
  [[nodiscard]] bool take_changed();

 private:
  // What was told, at the likeliest time, and what came.
  struct Told {
    Time at, told, earliest;
    std::optional<Time> latest;
    LengthSource known = LengthSource::unknown;
    double widened = 1;
  };
  struct Grade {
    Duration error{};
    double ratio = 0, score = 0;
    bool inside = false;
  };
  struct Kind {
    Milestone of;
    LengthSource known;
    friend auto operator<=>(const Kind&, const Kind&) = default;
  };
  using Key = std::pair<JobId, Milestone>;

  void add(Key key, const std::optional<ExpectedTime>& expected, Time now);
  void grade(Key key, Time truth);
  void drop(Key key);
  void adjust(Milestone of, std::optional<ExpectedTime>& expected, Time now) const;
  [[nodiscard]] double widening(Kind kind) const;

  std::map<Key, std::vector<Told>> told_;
  std::size_t waiting_ = 0;
  std::map<Kind, std::deque<Grade>> grades_;
  std::map<Kind, double> widening_;
  bool changed_ = false;
};

}  // namespace paceline
