// What was told of a cluster so far, kept up to date news by news.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "cli/top/news.hpp"

namespace paceline {

class Cluster {
 public:
  // `ended`: whether jobs that are over are kept. True if there was something of the cluster.
  bool told(BoardNews& news, bool ended);

  // By id, with what is expected of them (expected_start, expected_end).
  [[nodiscard]] const std::map<std::int64_t, Document>& jobs() const { return jobs_; }
  // Null where it isn't known.
  [[nodiscard]] const Document& job(std::int64_t id) const;
  [[nodiscard]] const Document& server() const { return server_; }
  [[nodiscard]] const Document& nodes() const { return nodes_; }
  // When all of it was so; nothing: never yet.
  [[nodiscard]] std::optional<double> at() const { return at_; }
  // Since when the server doesn't answer, and why.
  struct Away {
    double since = 0;
    Error error;
  };
  [[nodiscard]] const std::optional<Away>& away() const { return away_; }

 private:
  void take_jobs(BoardNews& news, bool ended);

  Document server_, nodes_;
  std::map<std::int64_t, Document> jobs_, expected_;
  std::optional<double> at_;
  std::optional<Away> away_;
};

}  // namespace paceline
