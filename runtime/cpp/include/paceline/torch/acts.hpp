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
  std::int64_t ranks = 0;  // of the generation before
  std::string record;      // of a whole step before this generation; empty: it has none
  std::string result;      // what its last act came to

  [[nodiscard]] std::string packed() const {
    const std::array<std::int64_t, 6> numbers{
        acts,          is_void ? 1 : 0, joins ? 1 : 0,
        stops ? 1 : 0, ranks,           static_cast<std::int64_t>(record.size())};
    return std::string(reinterpret_cast<const char*>(numbers.data()), sizeof numbers) + record +
           result;
  }
  // REQUIRES: packed() made the bytes.
  static Told unpacked(const std::string& bytes) {
    std::array<std::int64_t, 6> numbers{};
    std::memcpy(numbers.data(), bytes.data(), sizeof numbers);
    const auto size = static_cast<std::size_t>(numbers[5]);
    return {numbers[0],
            numbers[1] != 0,
            numbers[2] != 0,
            numbers[3] != 0,
            numbers[4],
            bytes.substr(sizeof numbers, size),
            bytes.substr(sizeof numbers + size)};
  }
};

struct Comparison {
  int root;                   // the rank whose state counts
  Told its;                   // what it said
  std::vector<bool> lacking;  // of each rank: it has no such state
  bool some_join, stops;      // one of them joins; one of them knows that the model is good enough
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

  // Every rank tells the others where it stands; `record`: Told has it. Throws PacelineError, on every
  // rank, where none has a whole state.
  [[nodiscard]] Comparison compare(Group& group, bool stops, int ranks,
                                   const std::string& record = {}) const {
    const bool whole = !joins_ && !torn_;
    const Told own{whole ? count_ : -1, void_.has_value(), joins_, stops, ranks, record, result_};
    std::vector<Told> all;
    for (const auto& each : group.all_gather_bytes(own.packed()))
      all.push_back(Told::unpacked(each));
    const auto most =
        std::max_element(all.begin(), all.end(), [](const auto& one, const auto& two) {
          return one.acts < two.acts;
        });  // the lowest of those
    if (most->acts < 0)
      throw PacelineError(
          "Of the gang nobody is left with a whole state: the next start goes on from its last "
          "checkpoint.");
    Comparison found{static_cast<int>(most - all.begin()), *most, {}, false, false};
    for (const auto& each : all) {
      // Who is behind with an evaluation lacks what it came to, and no state.
      found.lacking.push_back(each.acts < 0 || (each.is_void && each.acts < most->acts));
      found.some_join = found.some_join || each.joins;
      found.stops = found.stops || each.stops;
    }
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
  std::int64_t count_ = 0;
  std::string result_;
  bool joins_, torn_ = false;
  std::optional<std::size_t> void_;  // until another generation stands
};

}  // namespace paceline::detail
