// What the ranks of a gang do together, and who lacks what where a generation begins.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "paceline/runtime.hpp"
#include "paceline/torch/error.hpp"

namespace paceline::detail {

// What a rank says of itself where a generation begins.
struct Told {
  std::int64_t acts = -1;  // how many it did; -1: it has no whole state
  bool is_void = false;    // of its last global batch nothing counts
  bool joins = false;      // the others train already
  bool stops = false;      // it knows that the model is good enough
  bool is_away = false;    // it may do more with the others before it asks for the next batch
  std::int64_t ranks = 0;  // of the generation before
  std::string record;      // of a whole step before this generation; empty: it has none
  std::string result;      // what its last act came to

  [[nodiscard]] std::string packed() const {
    const std::array<std::int64_t, 7> numbers{acts,
                                              is_void ? 1 : 0,
                                              joins ? 1 : 0,
                                              stops ? 1 : 0,
                                              is_away ? 1 : 0,
                                              ranks,
                                              static_cast<std::int64_t>(record.size())};
    return std::string(reinterpret_cast<const char*>(numbers.data()), sizeof numbers) + record +
           result;
  }
  // REQUIRES: packed() made the bytes.
  static Told unpacked(const std::string& bytes) {
    std::array<std::int64_t, 7> numbers{};
    std::memcpy(numbers.data(), bytes.data(), sizeof numbers);
    const auto size = static_cast<std::size_t>(numbers[6]);
    return {numbers[0],
            numbers[1] != 0,
            numbers[2] != 0,
            numbers[3] != 0,
            numbers[4] != 0,
            numbers[5],
            bytes.substr(sizeof numbers, size),
            bytes.substr(sizeof numbers + size)};
  }
};

struct Comparison {
  int root;                   // the rank whose state counts
  Told its;                   // what it said
  std::vector<bool> lacking;  // of each rank: it has no such state, and gets it now
  bool some_join, stops;      // one of them joins; one of them knows that the model is good enough
  bool newcomers_wait;        // until all others ask for the next batch
};

// How many things this rank did to the end together with all ranks: epochs' begins, steps, evaluations.
// Of those that are left where the group fails, some may have done one more than others.
class Acts {
 public:
  explicit Acts(bool joins) : joins_(joins) {}

  [[nodiscard]] std::int64_t count() const { return count_; }
  // What the last one came to, where that is of interest.
  [[nodiscard]] const std::string& result() const { return result_; }
  // The others train already, and this rank has not met them yet.
  [[nodiscard]] bool joins() const { return joins_; }

  void done(std::string result = {}) {
    ++count_;
    result_ = std::move(result);
  }
  // The global batch of so many samples, in which the group failed, doesn't count. `torn`: of the state
  // a part may have come of it.
  void make_void(std::size_t samples, bool torn) {
    void_ = samples;
    torn_ = torn_ || torn;
  }
  // From here to catch_up() the state is partly another rank's.
  void begin_copy() { torn_ = true; }

  // What a rank tells beside what this knows; Told has it.
  struct More {
    bool stops = false, is_away = false;
    int ranks = 0;
    std::string record{};
  };
  // Every rank tells the others where it stands. Throws PacelineError, on every rank, where none has a
  // whole state.
  [[nodiscard]] Comparison compare(Group& group, const More& more) const {
    const bool whole = !joins_ && !torn_;
    const Told own{whole ? count_ : -1, void_.has_value(), joins_,      more.stops,
                   more.is_away,        more.ranks,        more.record, result_};
    std::vector<Told> all;
    for (const auto& each : group.all_gather_bytes(own.packed(), "compares where ranks stand"))
      all.push_back(Told::unpacked(each));
    const auto most =
        std::max_element(all.begin(), all.end(), [](const auto& one, const auto& two) {
          return one.acts < two.acts;
        });  // the lowest of those
    if (most->acts < 0)
      throw PacelineError(
          "Of the gang nobody is left with a whole state: the next start goes on from its last "
          "checkpoint.");
    Comparison found{static_cast<int>(most - all.begin()), *most, {}, false, false, false};
    bool some_are_away = false;
    for (const auto& each : all) {
      found.some_join = found.some_join || each.joins;
      found.stops = found.stops || each.stops;
      some_are_away = some_are_away || each.is_away;
    }
    found.newcomers_wait = found.some_join && some_are_away;
    for (const auto& each : all)
      found.lacking.push_back(lacks(each, *most) && !(each.joins && found.newcomers_wait));
    return found;
  }

  // What another rank did last counts for this one, too. Returns the samples of the global batch that
  // this rank takes over; 0: none.
  std::size_t catch_up(const Told& its) {
    const bool behind = count_ < its.acts && !joins_;
    const auto samples = behind ? void_.value_or(0) : 0;
    count_ = its.acts;
    result_ = its.result;
    joins_ = torn_ = false;
    void_.reset();
    return samples;
  }

 private:
  // Who is behind with an evaluation lacks what it came to, and no state.
  static bool lacks(const Told& one, const Told& most) {
    return one.acts < 0 || (one.is_void && one.acts < most.acts);
  }

  std::int64_t count_ = 0;
  std::string result_;
  bool joins_, torn_ = false;
  std::optional<std::size_t> void_;  // until another generation stands
};

}  // namespace paceline::detail
