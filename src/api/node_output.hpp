// The output of workers wherever they run: nodes send their logs to the server's directory, where
// LocalOutput reads them, and terminals come by the node's connection for bytes.
#pragma once

#include <boost/asio/io_context.hpp>
#include <memory>

#include "api/log_places.hpp"
#include "api/worker_output.hpp"
#include "link/bytes_door.hpp"

namespace paceline {

class NodeOutput final : public WorkerOutput {
 public:
  // `here` reads what lies in the server's directory. REQUIRES: the others outlive it.
  NodeOutput(boost::asio::io_context& io, std::shared_ptr<WorkerOutput> here,
             const LogPlaces& places, BytesDoor& door)
      : io_(io), here_(std::move(here)), places_(places), door_(door) {}

  void ranks(JobId job, LogKind kind, const LogStart& start,
             Told<std::map<std::int32_t, std::uint64_t>> told) override {
    here_->ranks(job, kind, start, std::move(told));
  }
  void read(const LogsWanted& wanted, Told<std::vector<LogChunk>> told) override {
    here_->read(wanted, std::move(told));
  }
  [[nodiscard]] ListenToken follow(JobId job, std::function<void()> look) override {
    return here_->follow(job, std::move(look));
  }
  void gather(JobId job, std::chrono::milliseconds within, std::function<void()> done) override;
  void attach(const ProcessKey& worker, Told<std::shared_ptr<ServerStream>> told) override;
  void stacks(const ProcessKey& worker, Told<std::string> told) override;

 private:
  class Gathering;

  boost::asio::io_context& io_;
  std::shared_ptr<WorkerOutput> here_;
  const LogPlaces& places_;
  BytesDoor& door_;
};

}  // namespace paceline
