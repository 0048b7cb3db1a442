// Where a member is reached: on its host by a unix socket without a file, from elsewhere by TCP.
//
//   text: "HOST,SOCKET,ADDRESS,PORT"; ADDRESS is empty where nobody is meant to reach it from elsewhere
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "descriptor.hpp"
#include "failure.hpp"

namespace paceline::runtime {

struct Endpoint {
  std::string host;  // members with the same are on the same host and in the same network namespace
  std::string socket;  // its name in the abstract namespace
  std::string address;
  std::uint16_t port = 0;

  [[nodiscard]] std::string text() const;
  static std::optional<Endpoint> parse(std::string_view text);
};

// Where the members of a generation meet, as all of them know it: rank 0 listens there.
struct Venue {
  std::string name;     // of a unix socket without a file; empty: they run on several hosts
  std::string address;  // in numbers
  std::uint16_t port = 0;

  [[nodiscard]] std::string text() const;
};

// Listens at an endpoint of its own, or at a venue.
struct Listener {
  Endpoint endpoint;
  Descriptor local, remote;  // remote: only with an address

  static Outcome<Listener> open(const std::string& address);
  static Outcome<Listener> open(const Venue& venue);
  // The next that waits; nothing: none does. On this host only processes of this user, or root's, are
  // let in.
  [[nodiscard]] Descriptor accept_local() const;
  [[nodiscard]] Descriptor accept_remote() const;
};

// A connection that was begun; it is ready for writing once it stands. Nothing: nobody listens there,
// or another user does; `errno` says why.
Descriptor dial(const Endpoint& here, const Endpoint& there);
Descriptor dial(const Venue& venue);
// A port that nobody listens on can get connected to itself, on its own host.
bool is_connected_to_itself(int fd);

}  // namespace paceline::runtime
