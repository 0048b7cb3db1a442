// What a message says: one line, the body of a web hook and a mail. Nothing in it can begin a header or a line
// that wasn't meant: names and reasons are made fit first.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "messages/news.hpp"
#include "model/wall_clock.hpp"

namespace paceline {

struct Telling {
  const Job& job;
  const News& news;
  std::string reason;  // why the job is as it is, to its owner; one sentence
  std::string server;  // the machine's name
  std::string id;      // of the message: the same whenever it is sent again
  WallTime at;         // when it happened, as people's clocks showed it
};

// "job 12 (resnet) failed: exit code 1 on worker 0"
std::string headline(const Telling& telling);

// {"version": 1, "id": …, "kind": "failed", "text": the headline, …} (docs/operations.md). `text` is what Slack,
// Mattermost and their like show.
std::string hook_body(const Telling& telling);

struct MailFrom {
  std::string address;  // "paceline@lab.example"
};

// Headers and body by RFC 5322, in ASCII, its lines ended by CRLF. `to` is a mail address without "mailto:".
std::string mail_text(const Telling& telling, const MailFrom& from, std::string_view to);

// As a header may hold it: encoded words (RFC 2047) where it isn't ASCII, folded.
std::string header_text(std::string_view text);

// "Mon, 24 Nov 2025 00:12:01 +0000"
std::string mail_date(WallTime at);

}  // namespace paceline
