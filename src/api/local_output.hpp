// The output of workers of this machine: their log files and terminals in the server's directory.
#pragma once

#include <filesystem>

#include "api/ticker.hpp"
#include "api/worker_output.hpp"
#include "link/worker_doors.hpp"

namespace paceline {

class LocalOutput final : public WorkerOutput {
 public:
  // `directory`: DIR; logs/ and agent/terminals/ lie there. REQUIRES: `io` outlives it.
  LocalOutput(boost::asio::io_context& io, std::filesystem::path directory);

  void ranks(JobId job, LogKind kind, const LogStart& start,
             Told<std::map<std::int32_t, std::uint64_t>> told) override;
  void read(const LogsWanted& wanted, Told<std::vector<LogChunk>> told) override;
  [[nodiscard]] ListenToken follow(JobId job, std::function<void()> look) override;
  void gather(JobId, std::chrono::milliseconds, std::function<void()> done) override { done(); }
  void attach(const ProcessKey& worker, Told<std::shared_ptr<ServerStream>> told) override;
  void stacks(const ProcessKey& worker, Told<std::string> told) override;

 private:
  Result<std::shared_ptr<ServerStream>> open(const ProcessKey& worker, WorkerDoor door);

  boost::asio::io_context& io_;
  std::filesystem::path directory_;
  Ticker ticker_;
};

}  // namespace paceline
