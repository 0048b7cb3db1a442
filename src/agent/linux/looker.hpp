// A looker: a small process that looks for the checkpoint files of one user's jobs, as that user.
// What hangs, loops or eats time there is that user's alone. It is a fork of the nursery, ends with
// its agent, and one look that takes too long ends it.
//
// Requests and answers are single messages over a SOCK_SEQPACKET pair, in the text of fields.hpp;
// one request is under way at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "agent/linux/checkpoint_search.hpp"

namespace paceline::agent {

struct LookRequest {
  std::uint32_t uid = 0;  // a looker serves the user of its first request
  std::string pattern;
  std::string directory;  // of the job
  std::int64_t newer_than_ns = 0;
  std::size_t entries = SearchLimits{}.entries;
};

inline constexpr std::size_t kLookMessageMax = 64 << 10;
inline constexpr unsigned kLookSecondsMax = 5;

std::string to_text(const LookRequest& request);
std::optional<LookRequest> parse_look_request(std::string_view text);
// Of more matches than a message holds the newest are told.
std::string to_text(CheckpointSearch found);
std::optional<CheckpointSearch> parse_checkpoint_search(std::string_view text);

// The looker's own side: answers requests from `socket` until it ends. REQUIRES: a process of its
// own.
int run_looker(int socket);

}  // namespace paceline::agent
