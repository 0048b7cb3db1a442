// TCP sockets that listen at an address of this machine.
//
//   const auto at = parse_tcp_address("9464");   // 127.0.0.1:9464
//   auto socket = listen_tcp(*at);
//   tcp_address_of(socket->get()).port           // the one that was given, where 0 was asked for
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "files/fd.hpp"

namespace paceline {

struct TcpAddress {
  std::string host = "127.0.0.1";  // a number: 127.0.0.1, ::1
  std::uint16_t port = 0;          // 0: any that is free
  friend bool operator==(const TcpAddress&, const TcpAddress&) = default;
};

// "9464", "0.0.0.0:9464", "[::1]:9464". Errors: invalid.
Result<TcpAddress> parse_tcp_address(std::string_view text);
// As it stands in a URL.
std::string to_string(const TcpAddress& address);

// A listening, non-blocking socket. Errors: conflict (the port is taken), forbidden, invalid (not an
// address of this machine), storage.
Result<UniqueFd> listen_tcp(const TcpAddress& address);
// Gives a socket that address at this end. 0, or the errno.
int bind_tcp(int socket, const TcpAddress& address);
// This machine's end of a socket that listens, or that was connected here.
TcpAddress tcp_address_of(int socket);
// The other end of a connected one, of IPv4 where it is one by way of IPv6; an empty host: it is
// gone.
TcpAddress tcp_peer_of(int socket);

// Of any socket: AF_UNIX, AF_INET, AF_INET6; -1: it is none.
int family_of(int socket);

// What is sent goes out at once, however little it is.
void send_without_delay(int socket);

// This machine's, as it calls itself.
std::string host_name();

}  // namespace paceline
