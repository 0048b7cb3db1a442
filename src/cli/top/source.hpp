// Asks a server for what a view of the cluster shows. The first look lists all jobs. Later ones ask
// the journal which jobs it named since, and for those and the ones on the screen alone: ten
// thousand jobs cost no more than what happens to them. Where much happened they are listed again.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>

#include "cli/client/api.hpp"
#include "cli/top/news.hpp"

namespace paceline {

class Source {
 public:
  explicit Source(ServerAddress server) : api_(std::move(server)) {}

  // What there is of the cluster and of the open job. Never fails: BoardNews::away says why not.
  BoardNews look(const BoardWish& wish);
  // What came of the log since the last call for the same one; the newest lines at the first.
  LogNews read_log(const LogWish& wish);
  // Of the open job alone.
  PageNews read_page(std::uint32_t id);

 private:
  using Clock = std::chrono::steady_clock;

  Result<void> look_into(BoardNews& news, const BoardWish& wish);
  Result<void> read_jobs(BoardNews& news, const BoardWish& wish, std::int64_t newest);
  Result<void> list_jobs(BoardNews& news, bool ended);
  Result<void> read_nodes(BoardNews& news);
  Result<void> read_expected(BoardNews& news);
  // The jobs that the journal named since the last look; nothing: too many, or it doesn't tell.
  Result<std::optional<std::set<std::int64_t>>> changed(std::int64_t newest);
  Result<std::int64_t> newest_id(std::int64_t known);
  Result<void> begin_log(LogNews& news);
  Result<std::int64_t> read_on(LogNews& news);
  Result<void> read_points(const Document& job);

  // Of which job, and how it was, the curve is known.
  struct CurveOf {
    std::int64_t id = 0;
    bool over = false, reached = false;
    friend bool operator==(const CurveOf&, const CurveOf&) = default;
  };

  Api api_;
  std::int64_t next_ = 0;  // entry of the journal from which on nothing was told; 0: nothing was
  std::int64_t server_pid_ = 0;
  bool ended_ = false;
  bool happened_ = false;  // the journal grew before this look
  Clock::time_point nodes_due_, expected_due_;
  CurveOf curve_of_;
  Curve curve_;
  std::optional<LogWish> log_;
  std::map<std::int64_t, std::int64_t> log_next_;  // by rank, in bytes
};

}  // namespace paceline
