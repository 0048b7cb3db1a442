// The connections of a member: to each of its neighbours one for data, and one for words about the
// group, which a full connection for data never delays.
//
// Neighbours are all members where there are few; else those at a distance of a power of two, which is
// all that collectives need. A member that isn't one is connected when it is first asked for.
//
// A member that notices something wrong tells all neighbours, which tell theirs: every member ends with
// the sentence of the first that noticed.
#pragma once

#include <poll.h>

#include <array>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "endpoint.hpp"
#include "failure.hpp"
#include "greeting.hpp"
#include "head.hpp"
#include "patience.hpp"

namespace paceline::runtime {

class Links {
 public:
  static Outcome<std::unique_ptr<Links>> open(Identity own, const std::string& address,
                                              std::chrono::milliseconds limit);
  ~Links();
  Links(const Links&) = delete;
  Links& operator=(const Links&) = delete;

  [[nodiscard]] const std::string& endpoint() const { return text_; }
  [[nodiscard]] int rank() const { return own_.rank; }
  [[nodiscard]] int size() const { return own_.size; }
  [[nodiscard]] std::uint64_t generation() const { return own_.generation; }
  [[nodiscard]] Patience patience() const { return Patience(limit_); }

  // The endpoints of all members, once all have come to the venue.
  Outcome<std::vector<std::string>> meet(const Venue& venue);
  // To all neighbours.
  Outcome<void> connect(std::span<const std::string> endpoints);
  // The descriptor for data to a member, connected by now.
  Outcome<int> data(int peer);

  // Before an operation: is something known that ends it?
  Outcome<void> look();
  // Until one of them is ready; listens to the others meanwhile. `peer`: whom it
  // waits for, in which operation.
  Outcome<void> wait(std::span<const pollfd> descriptors, Patience& patience, int peer,
                     const Head& head);
  [[nodiscard]] bool has_left(int peer) const {
    return peers_[static_cast<std::size_t>(peer)].left;
  }
  // A connection for data to that member ended: why, in the others' words where they know better.
  Failure ended(int peer);
  // Tells all, and ends all connections. Returns the first failure of this group.
  Failure break_off(Failure failure);

  // All members run on this host.
  [[nodiscard]] bool is_local() const;
  // Called now and then by what waits; what it returns ends the wait.
  void while_waiting(std::function<std::optional<Failure>(const Head&)> look) {
    looks_ = std::move(look);
  }

  // From any thread: ends what waits, or will.
  void abort(std::string reason);

 private:
  // A word between neighbours.
  enum class Kind : std::uint8_t { broken = 1, left = 2, asks = 3, answers = 4 };
  struct Word {
    std::array<char, 4> magic{'P', 'L', 'W', '1'};
    Kind kind{};
    std::uint8_t cause = 0;
    std::uint16_t length = 0;
    std::int32_t rank = -1;
    std::array<char, 468> message{};
  };
  struct Peer {
    Descriptor control, data;
    std::vector<std::byte> heard;  // of a word that isn't whole
    bool left = false;
    bool answered = false;  // since it was asked last
  };

  class Meeting;

  Links(Identity own, Listener listener, std::chrono::milliseconds limit);
  friend struct LinksOfProcess;

  void forget();

  [[nodiscard]] bool is_neighbour(int peer) const;
  Outcome<void> establish(std::span<const int> wanted);
  [[nodiscard]] std::vector<int> missing(std::span<const int> wanted) const;
  bool adopt(Greeting& greeting);
  Outcome<void> hear();
  Outcome<void> hear(int peer);
  Outcome<void> hear(int peer, const Word& word);
  Outcome<void> hear_for(std::chrono::milliseconds time);
  Failure late(int peer, const Patience& patience, const Head& head);
  static void say(const Peer& peer, const Word& word);
  void say_to_all(const Word& word);
  [[nodiscard]] Failure aborted();

  Identity own_;
  Listener listener_;
  std::chrono::milliseconds limit_;
  std::string text_;
  std::vector<Endpoint> endpoints_;
  std::vector<Peer> peers_;
  Descriptor watch_;    // epoll over the connections for words
  Descriptor aborted_;  // readable once abort() was called
  std::mutex abort_mutex_;
  std::string abort_reason_;
  std::optional<Failure> failure_;
  std::function<std::optional<Failure>(const Head&)> looks_;
};

}  // namespace paceline::runtime
