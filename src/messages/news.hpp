// What there is to tell of a job: facts that the fold wrote down, compared with what was told. By the
// state alone, so that whoever missed entries tells the same, and each thing once.
//
//   for (const News& news : news_of(job, told)) { …; mark(told, news); }
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "model/job.hpp"
#include "notify/notify.hpp"

namespace paceline {

// Who is told of a job.
enum class Audience : std::uint8_t { owner, operator_ };

struct News {
  MessageKind kind;
  Time at;                   // when it happened
  std::uint64_t number = 0;  // tells those of one kind apart
  // What it is, too: a failure is an end; where a target has one tier, the final one was delivered.
  std::optional<MessageKind> also = {};
  std::optional<Audience> only = {};  // nothing: it is for everybody

  [[nodiscard]] bool is_among(const MessageKinds& kinds) const {
    return kinds.contains(kind) || (also && kinds.contains(*also));
  }
  friend bool operator==(const News&, const News&) = default;
};

// What was told of one job.
struct Told {
  bool started = false, delivered = false, final = false, ended = false;
  std::int32_t attempt = 0;  // the newest that was requeued
  Time stalled_since;        // the newest report without another one, of which was told:
  bool stalled_owner = false, stalled_operator = false;
  friend bool operator==(const Told&, const Told&) = default;
};

// In the order in which it happened.
std::vector<News> news_of(const Job& job, const Told& told);
void mark(Told& told, const News& news);

// When the job counts as stalled for them, unless it reports; nothing: it never reported, doesn't run, or that
// was told. No time before `heard_from` counts, when nobody could hear it.
std::optional<News> stall_of(const Job& job, const Told& told, Audience audience,
                             Duration stalled_after, Time heard_from);

}  // namespace paceline
