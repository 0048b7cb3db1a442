// One worker as its agent sees it: the claim, the connection to its supervisor, its log, its
// socket. It lives as long as the claim, not as long as the worker: agents come and go, and the
// last word about a worker is told when everything before it was.
#pragma once

#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "agent/host.hpp"
#include "agent/linux/checkpoint_watch.hpp"
#include "agent/linux/chores.hpp"
#include "agent/linux/claim.hpp"
#include "agent/linux/control.hpp"
#include "agent/linux/http_listener.hpp"
#include "agent/linux/log_tail.hpp"
#include "agent/linux/report_ledger.hpp"
#include "clock/clock.hpp"

namespace paceline::agent {

// What all workers of a host share. Outlives them.
struct WorkerContext {
  boost::asio::io_context& io;
  Clock& clock;
  std::string boot_id;
  std::function<void(Observation)> tell;
  Chores& chores;
};

class SupervisedWorker : public std::enable_shared_from_this<SupervisedWorker> {
 public:
  SupervisedWorker(WorkerContext& context, std::string path, ClaimFile claim, WorkerOrder order);

  // Takes an open control connection of a worker that was just started.
  void follow(UniqueFd control);
  // Finds out what became of a worker that an earlier agent started: connects to its supervisor or,
  // where nobody supervises any more, cleans up and tells the end. Waits for the clean-up, but not
  // for long.
  void adopt();
  // Stops following; what runs goes on.
  void leave();

  void send(const ControlCommand& command);
  void give_notice(std::int32_t signal);
  // Has the supervisor kill the tree. A supervisor that answers to none of several kills is killed
  // itself, and the tree without it.
  void kill();
  void set_should_stop(std::string reason) { should_stop_ = std::move(reason); }
  // Takes the body of a trainer-status POST.
  HttpReply take_status(const std::string& body);
  // Hands on what came since the last call. Cheap where nothing came.
  void tick();

  [[nodiscard]] const WorkerOrder& order() const { return order_; }
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] Claim claim() const;
  [[nodiscard]] bool is_gone() const { return gone_.has_value(); }

 private:
  void receive();
  void take_lines();
  void take_line(std::string_view line);
  void runs(pid_t pid);
  void find_out();
  void connect();
  void retry_connecting();

  void open_socket();
  void take_report(const Report& report);
  void look_for_checkpoints(bool final);
  void take_checkpoints(const std::vector<CheckpointMatch>& matches, bool final);
  void look_last_and_wait();

  void conclude();
  void sweep_remains();
  void end_as(WorkerEnding ending);
  void finish();
  void finish_drained();
  void finish_looked();
  [[nodiscard]] WorkerEnding lost(std::string message) const;
  [[nodiscard]] Time ended_at() const;
  [[nodiscard]] bool supervised() const;
  void handle_report(std::uint64_t number, const Report& report);

  WorkerContext& context_;
  std::string path_;
  ClaimFile claim_;
  WorkerOrder order_;
  ReportLedger ledger_;
  LogTail tail_;
  std::unique_ptr<HttpListener> socket_;
  std::optional<CheckpointWatch> watch_;
  Time next_look_;
  bool looking_ = false;
  std::string should_stop_;
  std::optional<std::uint64_t> total_steps_;  // as the trainer status told it last
  boost::asio::local::stream_protocol::socket control_;
  boost::asio::steady_timer timer_;
  std::array<char, 1024> chunk_{};
  std::string input_;
  pid_t pid_ = 0;
  int unanswered_ = 0;  // kills since the supervisor last showed that it lives
  bool noticed_ = false;
  bool left_ = false;
  bool adopting_ = false;
  std::optional<WorkerEnding> ending_;
  std::optional<WorkerGone> gone_;
};

// A report as it is observed of a worker.
WorkerReport to_observation(const WorkerKey& key, std::uint64_t number, Time at,
                            const Report& report);

}  // namespace paceline::agent
