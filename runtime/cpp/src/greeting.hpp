// The first words on a connection between two members: who each is, and that both know the secret of
// the generation.
//
//   dials:   "PLRT" version kind 0 rank size generation nonce                       (56 bytes)
//   answers: nonce, proof("answers" + what was said + its nonce)                    (64 bytes)
//   dials:   proof("dials" + what was said + the other's nonce)                     (32 bytes)
//
// Numbers are little-endian.
#pragma once

#include <poll.h>

#include <cstdint>
#include <string>
#include <vector>

#include "descriptor.hpp"
#include "proof.hpp"

namespace paceline::runtime {

struct Identity {
  int rank = 0;
  int size = 1;
  std::uint64_t generation = 0;
  std::string secret;
};

// What a connection is for: words about the group, or the data of operations.
enum class LinkKind : std::uint8_t { control = 0, data = 1 };

class Greeting {
 public:
  enum class State { goes_on, done, failed };

  // REQUIRES: `own` outlives it.
  static Greeting dials(const Identity& own, Descriptor fd, int peer, LinkKind kind);
  static Greeting answers(const Identity& own, Descriptor fd);

  // As far as it goes without waiting.
  State step();
  [[nodiscard]] pollfd awaits() const;

  [[nodiscard]] bool dialled() const { return dialled_; }
  [[nodiscard]] int peer() const { return peer_; }  // -1: not said yet
  [[nodiscard]] LinkKind kind() const { return kind_; }
  // It was answered, but by nobody of this generation.
  [[nodiscard]] bool is_foreign() const { return foreign_; }
  Descriptor take() { return std::move(fd_); }

 private:
  Greeting(const Identity& own, Descriptor fd, bool dialled)
      : own_(&own), fd_(std::move(fd)), dialled_(dialled) {}

  State fail();
  bool say();
  State next();
  State take_answer();
  State take_hello();
  State take_last();
  [[nodiscard]] Digest prove(std::string_view role) const;

  const Identity* own_;
  Descriptor fd_;
  bool dialled_;
  int peer_ = -1;
  LinkKind kind_ = LinkKind::control;
  bool foreign_ = false;
  std::vector<std::byte> hello_, nonce_;  // what was dialled with, and the answer's nonce
  std::vector<std::byte> out_, in_;
  std::size_t said_ = 0, wanted_ = 0;
};

}  // namespace paceline::runtime
