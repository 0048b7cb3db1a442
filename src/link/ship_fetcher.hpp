// Brings the directories that travel with jobs from the server to this node's store, over the connection for
// bytes (bytes_lines.hpp): says what is asked for next, and hears what comes.
//
//   ShipFetcher fetcher({.store = {.directory = dir + "/agent/ships"}});
//   fetcher.fetch({job, uid, ship}, [](Result<void> there) { … });     // from any thread
//
// Of a ship only what the store lacks is asked for, and of all ships together at most kShipAskedMax bytes are
// on their way. A connection that ends changes nothing: what is missing is asked for over the next one.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "files/fd.hpp"
#include "link/bytes_lines.hpp"
#include "ship/store.hpp"

namespace paceline {

inline constexpr std::uint64_t kShipAskedMax = 4 << 20;
inline constexpr std::size_t kShipWantsMax = 64;

// A job's directory, and whose it is on this node.
struct JobsShip {
  JobId job;
  std::uint32_t uid = 0;
  std::string ship;
};

class ShipFetcher {
 public:
  using Instant = std::chrono::steady_clock::time_point;
  // The digests of the files that came, each compared with it.
  using Fetched = Result<std::set<std::string>>;
  // Called on the connection's thread. Errors: not_found, data: it can't be had any more; storage,
  // unavailable: trying again may help.
  using Done = std::function<void(Fetched)>;

  struct Options {
    ShipStore::Options store;                                 // its in_use and comes_for aside
    std::chrono::seconds patience = std::chrono::minutes{1};  // without anything of a ship
  };
  explicit ShipFetcher(Options options);

  // The one call from other threads.
  void fetch(JobsShip ship, Done done);

  // ---- of the connection's thread ----

  // Can be read once look() has something new to see.
  [[nodiscard]] int wakes() const { return wakes_.get(); }
  // A connection was made: nothing is on its way.
  void begin();
  // Takes up what was asked for, and gives up what doesn't come. Also called where there is no connection.
  void look(Instant now);
  // What is to be said next; nothing: enough is on its way.
  std::optional<std::string> next();
  void take(const ShipPart& part, std::string_view bytes, Instant now);
  void take(const NoShipPart& none, Instant now);

 private:
  struct Fetch {
    JobsShip ship;
    Done done;
    Instant progress{};
    std::string text;  // of the manifest, as far as it is there
    std::optional<Manifest> manifest;
    std::vector<ShipFile> missing;  // while the manifest is there; by their digests
    std::size_t file = 0;           // of them, that is asked for next
    std::uint64_t from = 0;
    std::vector<std::uint64_t> awaited;  // bytes of each question that has no answer yet
    std::set<std::string> fresh;         // that came
    int rounds = 0;
    bool again = false;  // something didn't fit: it is looked at anew once nothing is awaited
  };

  // False: it stands in line still.
  bool take_up(std::pair<JobsShip, Done>& asked, Instant now);
  void ask(Fetch& fetch, std::uint64_t bytes);
  void answered(Fetch& fetch);
  std::optional<std::string> next_of(Fetch& fetch);
  void take_manifest(Fetch& fetch, const ShipPart& part, std::string_view bytes);
  static bool is_cut(const Fetch& fetch, const ShipPart& part, std::string_view bytes);
  void find_damaged(const ShipPart& part);
  void take_file(Fetch& fetch, const ShipPart& part, std::string_view bytes);
  void look_what_is_missing(Fetch& fetch);
  void go_on(Fetch& fetch);
  void finish(JobId job, Fetched outcome);

  Options options_;
  ShipStore store_;
  UniqueFd wakes_;
  std::mutex mutex_;
  std::vector<std::pair<JobsShip, Done>> asked_;  // guarded by it
  std::map<JobId, Fetch> fetches_;
  JobId turn_;
  std::uint64_t on_the_way_ = 0;
  std::size_t wants_ = 0;
  std::vector<std::string> said_;  // lines that go out next
};

}  // namespace paceline
