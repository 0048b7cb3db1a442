#include "rendezvous.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <list>
#include <map>
#include <numeric>
#include <optional>
#include <string_view>

#include "conversation.hpp"
#include "sentences.hpp"

namespace paceline::runtime {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;
using Endpoints = std::vector<std::string>;

constexpr milliseconds kHeardWithin{10'000};  // else it is a stranger that keeps a place
constexpr milliseconds kToldWithin{5'000};    // who isn't is missed when the group connects
constexpr std::size_t kGuestsMax = 4096;      // that have not said who they are

Endpoints lines_of(std::string_view text) {
  Endpoints lines;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

// Of a connection that was begun.
int reason_of_failure(int fd) {
  int reason = 0;
  socklen_t size = sizeof reason;
  ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &reason, &size);
  return reason;
}

// Rank 0, to which all others come.
class Host {
 public:
  explicit Host(Rendezvous& meeting)
      : meeting_(meeting), endpoints_(static_cast<std::size_t>(meeting.own.size)) {
    endpoints_.front() = meeting.endpoint;
  }

  Outcome<Endpoints> hold() {
    auto listener = Listener::open(meeting_.venue);
    if (!listener) return fail(std::move(listener.error()));
    const auto size = static_cast<std::size_t>(meeting_.own.size);
    while (arrived_.size() + 1 < size) {
      if (!wait(*listener)) return fail(late());
      if (aborted_) return Endpoints();
      accept(*listener);
      hear();
    }
    tell();
    return endpoints_;
  }

 private:
  struct Guest {
    Conversation conversation;
    Clock::time_point since = Clock::now();
  };

  bool wait(const Listener& listener) {
    std::vector<pollfd> waits{{meeting_.aborted, POLLIN, 0}};
    for (const auto* fd : {&listener.local, &listener.remote})
      if (*fd && guests_.size() < kGuestsMax) waits.push_back({fd->get(), POLLIN, 0});
    for (const auto& each : guests_) waits.push_back(each.conversation.awaits());
    const bool patient = meeting_.patience.wait(waits, kLookEvery);
    aborted_ = waits.front().revents != 0;
    return patient;
  }

  void accept(const Listener& listener) {
    while (guests_.size() < kGuestsMax) {
      auto fd = listener.local ? listener.accept_local() : listener.accept_remote();
      if (!fd) return;
      guests_.push_back({Conversation(Greeting::answers(meeting_.own, std::move(fd)))});
    }
  }

  void hear() {
    for (auto it = guests_.begin(); it != guests_.end();) {
      const auto state = it->conversation.step();
      const bool waits = state == Conversation::State::goes_on;
      if (waits && Clock::now() - it->since < kHeardWithin) {
        ++it;
        continue;
      }
      if (state == Conversation::State::done) arrive(std::move(it->conversation));
      it = guests_.erase(it);
    }
  }

  // Who hung up and came again is there once.
  void arrive(Conversation guest) {
    const int rank = guest.peer();
    endpoints_[static_cast<std::size_t>(rank)] = guest.heard();
    arrived_.insert_or_assign(rank, std::move(guest));
  }

  void tell() {
    std::string all;
    for (const auto& each : endpoints_) all += each + "\n";
    for (auto& [_, guest] : arrived_) guest.say(all);
    Patience patience(kToldWithin);
    for (;;) {
      std::vector<pollfd> waits;
      for (auto& [_, guest] : arrived_)
        if (guest.step() == Conversation::State::goes_on) waits.push_back(guest.awaits());
      if (waits.empty() || !patience.wait(waits)) return;
    }
  }

  [[nodiscard]] Failure late() const {
    std::vector<int> missing;
    for (int rank = 1; rank < meeting_.own.size; ++rank)
      if (!arrived_.contains(rank)) missing.push_back(rank);
    return {PACELINE_TIMED_OUT, missing.front(),
            "Nothing was heard of " + ranks_text(missing) + " at " + meeting_.venue.text() +
                ", where ranks meet, within " + seconds_text(meeting_.patience.limit()) + "."};
  }

  Rendezvous& meeting_;
  Endpoints endpoints_;
  std::list<Guest> guests_;
  std::map<int, Conversation> arrived_;  // by rank
  bool aborted_ = false;
};

// Any other rank.
class Joining {
 public:
  explicit Joining(Rendezvous& meeting) : meeting_(meeting) {}

  Outcome<Endpoints> hold() {
    for (;;) {
      auto fd = dial(meeting_.venue);
      if (!fd && errno == EACCES && !meeting_.venue.name.empty())
        return refused("Another user's process waits at " + meeting_.venue.text() +
                       ", where ranks meet.");
      if (!fd) why_ = std::strerror(errno);
      auto heard = fd ? ask(std::move(fd)) : std::nullopt;
      if (heard) return *heard;
      if (!wait({}, kDialAgain)) return ended();
    }
  }

 private:
  // Nothing: that was no rank 0 of this generation; it may yet come.
  std::optional<Outcome<Endpoints>> ask(Descriptor fd) {
    if (!wait(pollfd{fd.get(), POLLOUT, 0})) return ended();
    const int reason = reason_of_failure(fd.get());
    why_ = reason != 0 ? std::strerror(reason) : "it hung up";
    if (reason != 0 || is_connected_to_itself(fd.get())) return std::nullopt;
    Conversation conversation(Greeting::dials(meeting_.own, std::move(fd), 0, LinkKind::control));
    conversation.say(meeting_.endpoint);
    auto state = conversation.step();
    while (state == Conversation::State::goes_on) {
      if (!wait(conversation.awaits())) return ended();
      state = conversation.step();
    }
    if (conversation.is_foreign())
      return refused("Whoever answers at " + meeting_.venue.text() +
                     ", where ranks meet, is not rank 0 of this generation.");
    if (state == Conversation::State::failed) return std::nullopt;
    auto endpoints = lines_of(conversation.heard());
    if (endpoints.size() != static_cast<std::size_t>(meeting_.own.size)) return std::nullopt;
    return endpoints;
  }

  // False: ended() says why it is no use to go on.
  bool wait(std::optional<pollfd> descriptor, std::optional<milliseconds> at_most = {}) {
    std::array<pollfd, 2> waits{pollfd{meeting_.aborted, POLLIN, 0},
                                descriptor.value_or(pollfd{-1, 0, 0})};
    const bool patient = meeting_.patience.wait(waits, at_most);
    aborted_ = waits.front().revents != 0;
    return patient && !aborted_;
  }

  [[nodiscard]] Outcome<Endpoints> ended() const {
    if (aborted_) return Endpoints();
    return fail(PACELINE_TIMED_OUT, 0,
                "Rank 0 was not reached at " + meeting_.venue.text() +
                    ", where ranks meet, within " + seconds_text(meeting_.patience.limit()) + ": " +
                    why_ + ".");
  }

  static Outcome<Endpoints> refused(std::string message) {
    return fail(PACELINE_REFUSED, 0, std::move(message));
  }

  Rendezvous& meeting_;
  std::string why_ = "nobody answers";
  bool aborted_ = false;
};

}  // namespace

Outcome<std::vector<std::string>> rendezvous(Rendezvous meeting) {
  if (meeting.own.size == 1) return Endpoints{meeting.endpoint};
  return meeting.own.rank == 0 ? Host(meeting).hold() : Joining(meeting).hold();
}

}  // namespace paceline::runtime
