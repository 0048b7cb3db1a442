// What the server says to an agent beside frames: the first line of a connection, and the last one of
// a connection that it ends for a reason. Both are JSON.
//
//   {"session":7,"version":"0.1.0","beat_seconds":5.0}
//   {"error":{"code":"conflict","message":"…","hint":"…"}}
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "wire/agent_protocol.hpp"

namespace paceline {

struct LinkGreeting {
  Session session;
  std::string version;             // of the server's program
  std::chrono::milliseconds beat;  // how often each side says something: 10 ms to a minute
  friend bool operator==(const LinkGreeting&, const LinkGreeting&) = default;
};

std::string encode(const LinkGreeting& greeting);
// Errors: data: it is none; and the one that it tells in place of a greeting.
Result<LinkGreeting> decode_greeting(std::string_view line);

// Of a line that can't be read as a frame. `speaker`: "agent", "server".
Error no_frame(std::string_view speaker, const Error& why);

std::string encode_refusal(const Error& why);
// Nothing: the line is no refusal.
std::optional<Error> decode_refusal(std::string_view line);

}  // namespace paceline
