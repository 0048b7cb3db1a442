// libpaceline for C++: what runtime.h does, with a group that closes itself and failures that are
// exceptions.
//
//   paceline::Group group({.rank = 0, .size = 4, .secret = secret});
//   group.connect(endpoints);                        // of all members, in the order of their ranks
//   group.all_reduce(gradients, paceline::Op::mean);  // a std::span of a type that runtime.h names
//
// Where Paceline or torchrun starts the ranks, Group::join() does the first two by itself.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "paceline/runtime.h"

namespace paceline {

enum class Op { sum = PACELINE_SUM, mean = PACELINE_MEAN, min = PACELINE_MIN, max = PACELINE_MAX };

// An operation ended on every member, and so did the group, unless the cause is a bad argument.
class GroupError : public std::runtime_error {
 public:
  explicit GroupError(const paceline_error& error)
      : std::runtime_error(error.message),
        cause_(static_cast<paceline_cause>(error.cause)),
        rank_(error.rank) {}
  GroupError(paceline_cause cause, int rank, const std::string& message)
      : std::runtime_error(message), cause_(cause), rank_(rank) {}
  [[nodiscard]] paceline_cause cause() const { return cause_; }
  [[nodiscard]] int rank() const { return rank_; }  // at fault; -1: none

 private:
  paceline_cause cause_;
  int rank_;
};

template <class T>
constexpr paceline_type type_of() = delete;
template <>
constexpr paceline_type type_of<float>() {
  return PACELINE_FLOAT32;
}
template <>
constexpr paceline_type type_of<double>() {
  return PACELINE_FLOAT64;
}
template <>
constexpr paceline_type type_of<std::int8_t>() {
  return PACELINE_INT8;
}
template <>
constexpr paceline_type type_of<std::uint8_t>() {
  return PACELINE_UINT8;
}
template <>
constexpr paceline_type type_of<std::int32_t>() {
  return PACELINE_INT32;
}
template <>
constexpr paceline_type type_of<std::int64_t>() {
  return PACELINE_INT64;
}

using Place = paceline_place;

// One member's end of a group; the comments of runtime.h hold. Functions throw GroupError.
class Group {
 public:
  struct Options {
    int rank = 0;
    int size = 1;
    std::uint64_t generation = 0;
    std::string secret{};
    std::string address{};  // empty: all members run on this host
    std::chrono::milliseconds timeout{};
  };
  using Ticket = std::uint64_t;

  explicit Group(const Options& options) : rank_(options.rank), size_(options.size) {
    paceline_group_options wanted{};
    wanted.rank = options.rank;
    wanted.size = options.size;
    wanted.generation = options.generation;
    wanted.secret = options.secret.data();
    wanted.secret_size = options.secret.size();
    wanted.address = options.address.empty() ? nullptr : options.address.c_str();
    wanted.timeout_ms = static_cast<std::uint64_t>(options.timeout.count());
    paceline_error error;
    group_ = paceline_group_open(&wanted, &error);
    if (group_ == nullptr) throw GroupError(error);
  }
  // That of the gang which the environment names, once all have come; `place`: this process's there.
  static Group join(std::chrono::milliseconds timeout, Place& place) {
    paceline_error error;
    auto* const joined =
        paceline_group_join(static_cast<std::uint64_t>(timeout.count()), &place, &error);
    if (joined == nullptr) throw GroupError(error);
    return {joined, place};
  }
  Group(Group&& other) noexcept
      : group_(std::exchange(other.group_, nullptr)), rank_(other.rank_), size_(other.size_) {}
  Group& operator=(Group&& other) noexcept {
    std::swap(group_, other.group_);
    std::swap(rank_, other.rank_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~Group() {
    if (group_ != nullptr) paceline_group_close(group_);
  }

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }
  [[nodiscard]] std::string endpoint() const { return paceline_group_endpoint(group_); }
  void connect(std::span<const std::string> endpoints) {
    if (endpoints.size() != static_cast<std::size_t>(size_))
      throw std::invalid_argument("connect() takes one endpoint of each rank");
    std::vector<const char*> texts;
    for (const auto& each : endpoints) texts.push_back(each.c_str());
    call([&](auto* error) { return paceline_group_connect(group_, texts.data(), error); });
  }
  // All run on this host: `name` is that of a unix socket without a file.
  void meet(const std::string& name) {
    call([&](auto* error) { return paceline_group_meet(group_, name.c_str(), nullptr, 0, error); });
  }
  // `address`: rank 0's, in numbers.
  void meet(const std::string& address, std::uint16_t port) {
    call([&](auto* error) {
      return paceline_group_meet(group_, nullptr, address.c_str(), port, error);
    });
  }
  void abort(const std::string& reason) { paceline_group_abort(group_, reason.c_str()); }

  template <class T>
  void all_reduce(std::span<T> data, Op op) {
    call([&](auto* error) {
      return paceline_all_reduce(group_, data.data(), data.size(), type_of<T>(), raw(op), error);
    });
  }
  template <class T>
  void all_reduce(std::span<const std::span<T>> tensors, Op op) {
    std::vector<void*> data;
    std::vector<std::size_t> counts;
    for (const auto& each : tensors) {
      data.push_back(each.data());
      counts.push_back(each.size());
    }
    call([&](auto* error) {
      return paceline_all_reduce_many(group_, data.data(), counts.data(), data.size(), type_of<T>(),
                                      raw(op), error);
    });
  }
  template <class T>
  [[nodiscard]] Ticket start_all_reduce(std::span<T> data, Op op) {
    return start_all_reduce(data.data(), data.size(), type_of<T>(), op);
  }
  // Of `count` elements of a type that C++ may have no name for.
  [[nodiscard]] Ticket start_all_reduce(void* data, std::size_t count, paceline_type type, Op op) {
    Ticket ticket = 0;
    call([&](auto* error) {
      ticket = paceline_all_reduce_start(group_, data, count, type, raw(op), error);
      return ticket == 0 ? error->cause : 0;
    });
    return ticket;
  }
  void wait(Ticket ticket) {
    call([&](auto* error) { return paceline_wait(group_, ticket, error); });
  }
  template <class T>
  void broadcast(std::span<T> data, int root) {
    call([&](auto* error) {
      return paceline_broadcast(group_, data.data(), data.size_bytes(), root, error);
    });
  }
  // The root's bytes, of any length.
  [[nodiscard]] std::string broadcast_bytes(std::string bytes, int root) {
    std::uint64_t length = bytes.size();
    broadcast(std::span(&length, 1), root);
    bytes.resize(length);
    broadcast(std::span(bytes), root);
    return bytes;
  }
  // What each rank gave, in the order of ranks. `does`: what this rank does by it, as "begins an epoch"; 55 bytes of it
  // count. The error tells of ranks that do different things.
  [[nodiscard]] std::vector<std::string> all_gather_bytes(std::string mine,
                                                          std::string_view does = {}) {
    Told own;
    own.length = mine.size();
    does.substr(0, own.does.size() - 1).copy(own.does.data(), own.does.size() - 1);
    std::vector<Told> told(static_cast<std::size_t>(size_));
    all_gather(std::span<const Told>(&own, 1), std::span(told));
    std::uint64_t longest = 0;
    for (const auto& each : told) {
      if (each.does != told[0].does)
        throw different_acts(told[0].does.data(), static_cast<int>(&each - told.data()),
                             each.does.data());
      longest = std::max(longest, each.length);
    }
    mine.resize(longest);
    std::string all(longest * told.size(), '\0');
    all_gather(std::span<const char>(mine), std::span(all));
    std::vector<std::string> everyones;
    for (std::size_t i = 0; i < told.size(); ++i)
      everyones.push_back(all.substr(i * longest, told[i].length));
    return everyones;
  }
  // `all`: as many as `mine` for each rank.
  template <class T>
  void all_gather(std::span<const T> mine, std::span<T> all) {
    expect(all.size() == mine.size() * static_cast<std::size_t>(size_));
    call([&](auto* error) {
      return paceline_all_gather(group_, mine.data(), mine.size_bytes(), all.data(), error);
    });
  }
  template <class T>
  void reduce_scatter(std::span<const T> all, std::span<T> mine, Op op) {
    expect(all.size() == mine.size() * static_cast<std::size_t>(size_));
    call([&](auto* error) {
      return paceline_reduce_scatter(group_, all.data(), mine.data(), mine.size(), type_of<T>(),
                                     raw(op), error);
    });
  }
  void barrier() {
    call([&](auto* error) { return paceline_barrier(group_, error); });
  }
  template <class T>
  void send(std::span<const T> data, int to) {
    call([&](auto* error) {
      return paceline_send(group_, data.data(), data.size_bytes(), to, error);
    });
  }
  template <class T>
  void receive(std::span<T> data, int from) {
    call([&](auto* error) {
      return paceline_receive(group_, data.data(), data.size_bytes(), from, error);
    });
  }

 private:
  friend class Attendant;
  struct Told {
    std::uint64_t length = 0;
    std::array<char, 56> does{};
  };

  Group(paceline_group* joined, const Place& place)
      : group_(joined), rank_(place.rank), size_(place.size) {}

  static paceline_op raw(Op op) { return static_cast<paceline_op>(op); }
  static void expect(bool fits) {
    if (!fits) throw std::invalid_argument("'all' holds as much as 'mine' for each rank");
  }
  static GroupError different_acts(std::string_view first, int rank, std::string_view other) {
    constexpr std::string_view kElse = "does something else";
    return {PACELINE_MISMATCH, rank,
            "Rank " + std::to_string(rank) + " " + std::string(other.empty() ? kElse : other) +
                " where rank 0 " + std::string(first.empty() ? kElse : first) +
                ". Every rank must take the same way through the script: decide by what all know, "
                "such as what evaluate() returns."};
  }
  template <class Call>
  static void call(Call what) {
    paceline_error error;
    if (what(&error) != 0) throw GroupError(error);
  }

  paceline_group* group_ = nullptr;
  int rank_, size_;
};

// What happens beside a training; the comments of runtime.h hold.
class Attendant {
 public:
  Attendant() {
    paceline_error error;
    attendant_ = paceline_attendant_open(&error);
    if (attendant_ == nullptr) throw GroupError(error);
  }
  Attendant(const Attendant&) = delete;
  Attendant& operator=(const Attendant&) = delete;
  ~Attendant() { paceline_attendant_close(attendant_); }

  void begin(bool asks) { paceline_attendant_begin(attendant_, asks ? 1 : 0); }
  [[nodiscard]] int notice() const { return paceline_attendant_notice(attendant_); }
  [[nodiscard]] bool should_stop() const { return paceline_attendant_should_stop(attendant_) != 0; }

  void hear() {
    paceline_error error;
    if (paceline_attendant_hear(attendant_, &error) != 0) throw GroupError(error);
  }
  [[nodiscard]] bool hears() const { return paceline_attendant_hears(attendant_) != 0; }
  void say_ready(std::uint64_t generation) { paceline_attendant_say_ready(attendant_, generation); }
  void say_stands(std::uint64_t generation) {
    paceline_attendant_say_stands(attendant_, generation);
  }
  struct Next {
    paceline_next what;
    std::uint64_t generation;  // 0: nothing was heard of it
  };
  [[nodiscard]] Next next(std::uint64_t generation, std::chrono::milliseconds limit = {}) {
    Next next{PACELINE_UNHEARD, 0};
    next.what = paceline_attendant_next(
        attendant_, generation, static_cast<std::uint64_t>(limit.count()), &next.generation);
    return next;
  }
  // `place`: this process's there.
  [[nodiscard]] Group join(std::chrono::milliseconds timeout, Place& place) {
    paceline_error error;
    auto* const joined = paceline_attendant_join(
        attendant_, static_cast<std::uint64_t>(timeout.count()), &place, &error);
    if (joined == nullptr) throw GroupError(error);
    return {joined, place};
  }

 private:
  paceline_attendant* attendant_;
};

}  // namespace paceline
