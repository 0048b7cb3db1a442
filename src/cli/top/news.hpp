// What a view of the cluster asks for, and what it is told: the border between what is drawn and
// where it comes from. Documents are the API's (docs/api.md).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.hpp"
#include "cli/words/document.hpp"
#include "cli/words/job_view.hpp"

namespace paceline {

struct LogWish {
  std::uint32_t job = 0;
  std::optional<std::int64_t> rank = {};  // nothing: all
  std::size_t lines = 1000;               // of each rank, to begin with
  std::uint64_t opened = 0;               // told apart from the one that was open before
  friend bool operator==(const LogWish&, const LogWish&) = default;
};

struct BoardWish {
  bool ended = false;                      // the newest jobs that are over, too
  bool stands = false;                     // nothing new until this changes
  std::vector<std::int64_t> seen = {};     // jobs that are on the screen
  std::optional<std::uint32_t> page = {};  // the job that is open
  std::optional<LogWish> log = {};
  friend bool operator==(const BoardWish&, const BoardWish&) = default;
};

// Of the job that is open.
struct PageNews {
  std::uint32_t id = 0;
  Document job = {}, why = {};
  Curve curve = {};
  std::optional<Error> failed = {};  // the rest is nothing then
};

struct LogNews {
  LogWish of = {};
  bool anew = false;  // what was told of it before counts no more
  std::vector<Document> chunks = {};
  std::optional<Error> failed = {};
};

struct BoardNews {
  double at = 0;                   // seconds since 1970
  std::optional<Error> away = {};  // the server doesn't answer; the rest is nothing then
  Document server = {};            // GET /v1/server; null: as before
  Document nodes = {};             // GET /v1/nodes; null: as before
  Document expected = {};          // GET /v1/expected; null: as before
  bool all_jobs = false;           // `jobs` are all there are; else those that may have changed
  std::vector<Document> jobs = {};
  std::optional<PageNews> page = {};
  std::optional<LogNews> log = {};
};

}  // namespace paceline
