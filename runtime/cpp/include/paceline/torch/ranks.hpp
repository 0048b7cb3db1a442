// The group that this process is in, generation after generation.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "paceline/runtime.hpp"
#include "paceline/torch/error.hpp"

namespace paceline::detail {

inline std::string variable(const char* name) {
  const char* const text = std::getenv(name);
  return text == nullptr ? "" : text;
}

inline GroupError group_error(paceline_cause cause, int rank, const std::string& message) {
  paceline_error error{};
  error.cause = cause;
  error.rank = rank;
  std::snprintf(error.message, sizeof error.message, "%s", message.c_str());
  return GroupError(error);
}

class Ranks {
 public:
  // Meets all ranks. A newcomer of a gang that trains ($PACELINE_JOINS) meets them by join().
  explicit Ranks(std::chrono::milliseconds timeout) : timeout_(timeout) {
    if (variable("PACELINE_RESIZE") == "in-place") attendant_.hear();
    joins_ = attendant_.hears() && variable("PACELINE_JOINS") == "1";
    if (joins_)
      place_ = own_place();
    else
      group_.emplace(Group::join(timeout, place_));
  }

  [[nodiscard]] Attendant& attendant() { return attendant_; }
  [[nodiscard]] const Place& place() const { return place_; }
  // This process is a newcomer, and has met nobody yet.
  [[nodiscard]] bool joins() const { return joins_; }
  [[nodiscard]] bool met() const { return group_.has_value(); }
  [[nodiscard]] Group& group() {
    if (!group_)
      throw PacelineError(joins_ ? "A newcomer meets the others in job.epochs(): call it before."
                                 : "The training is over: job.finish() was called.");
    return *group_;
  }

  // The newest generation after this one that was heard of; 0: none.
  [[nodiscard]] std::uint64_t heard() { return attendant_.next(place_.generation + 1).generation; }
  // All agree on that generation, which this rank may not have heard of yet. Throws GroupError.
  void hear_of(std::uint64_t generation) {
    if (hears_of(generation, kHeardWithin)) return;
    throw group_error(PACELINE_SYSTEM, place_.rank,
                      "Others of the gang go on as generation " + std::to_string(generation) +
                          ", of which rank " + std::to_string(place_.rank) + " heard nothing.");
  }

  // Does it as the only rank of a group of its own.
  template <class Act>
  std::string alone(Act act) {
    const Alone kept(*this);
    return act();
  }

  // All ranks leave the group; each of them calls it.
  void part() {
    group().barrier();
    group_.reset();
  }
  // This rank alone leaves the group, which has failed.
  void leave() { group_.reset(); }
  // Meets the ranks of the newest generation that was heard of, else of this one. Throws GroupError where
  // it doesn't come about, Exit where the gang goes on without this worker.
  void join() {
    group_.reset();
    if (attendant_.next(place_.generation + 1).what == PACELINE_LEAVES) throw Exit{0};
    group_.emplace(attendant_.join(timeout_, place_));
    joins_ = false;
  }
  // The ranks that were there before go on; those that join wait.
  void go_on() { error_.reset(); }
  // The group has all that it needs.
  void stand() {
    go_on();
    if (place_.rank == 0) attendant_.say_stands(place_.generation);
  }

  // What the group failed of, until another one stands.
  [[nodiscard]] const std::optional<GroupError>& error() const { return error_; }
  // The group failed. Throws the error where that ends the training: where this process doesn't hear of
  // its gang, or other ranks are not what it failed of.
  void suffer(const GroupError& error) {
    const auto cause = error.cause();
    const bool can_be_mended = cause == PACELINE_LOST || cause == PACELINE_LEFT ||
                               cause == PACELINE_ABORTED || cause == PACELINE_TIMED_OUT;
    if (!attendant_.hears() || !can_be_mended) throw GroupError(error);
    if (!error_) error_ = error;
  }
  // The group is no more: waits until a generation after this one is heard of. Throws what the group
  // failed of where none is, or a notice comes.
  // REQUIRES: error().
  void await_next() {
    group_.reset();
    const std::string why = error_->what();
    std::cerr << "paceline: " << why << (why.ends_with('.') ? "" : ".")
              << " Those that are left wait for the gang's next generation." << std::endl;
    if (!hears_of(place_.generation + 1, timeout_, [this] { return attendant_.notice() != 0; }))
      throw GroupError(*error_);
  }

  // This rank ends; the others are told why, wherever they wait for it.
  void abort(const std::string& reason) {
    if (!group_) return;
    try {
      group_->abort(reason);
      group_->barrier();  // what ran may just have ended; what runs next notices, and tells them
    } catch (const GroupError&) {
    }
  }

 private:
  // While it is there, the process has a group of one.
  class Alone {
   public:
    explicit Alone(Ranks& ranks)
        : ranks_(ranks), group_(std::move(ranks.group_)), place_(ranks.place_) {
      Group one({.secret = std::string(16, ' ')});  // nobody else is asked for it
      const auto endpoint = one.endpoint();
      one.connect(std::span(&endpoint, 1));
      ranks_.group_.emplace(std::move(one));
      ranks_.place_.rank = 0;
      ranks_.place_.size = 1;
    }
    Alone(const Alone&) = delete;
    Alone& operator=(const Alone&) = delete;
    ~Alone() {
      ranks_.group_ = std::move(group_);
      ranks_.place_ = place_;
    }

   private:
    Ranks& ranks_;
    std::optional<Group> group_;
    Place place_;
  };

  static constexpr std::chrono::milliseconds kHeardWithin{30'000}, kSlice{100};

  // Whether it hears of that generation in time, and before `ends()`. In slices, so that time in which this
  // process was stopped doesn't count.
  template <class Ends>
  bool hears_of(std::uint64_t generation, std::chrono::milliseconds within, Ends ends) {
    for (std::chrono::milliseconds waited{0}; waited < within; waited += kSlice) {
      if (attendant_.next(generation, kSlice).what != PACELINE_UNHEARD) return true;
      if (ends()) return false;
    }
    return false;
  }
  bool hears_of(std::uint64_t generation, std::chrono::milliseconds within) {
    return hears_of(generation, within, [] { return false; });
  }

  static Place own_place() {
    const auto number = [](const char* name) { return std::atoi(variable(name).c_str()); };
    return {number("RANK"), number("WORLD_SIZE"), number("LOCAL_RANK"),
            std::strtoull(variable("PACELINE_GENERATION").c_str(), nullptr, 10)};
  }

  const std::chrono::milliseconds timeout_;
  Attendant attendant_;
  bool joins_ = false;
  Place place_{};
  std::optional<Group> group_;  // until all ranks part
  std::optional<GroupError> error_;
};

}  // namespace paceline::detail
