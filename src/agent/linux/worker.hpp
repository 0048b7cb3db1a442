// One worker as its agent sees it: the claim, the connection to its supervisor, its log, its
// socket. It lives as long as the claim, not as long as the worker: agents come and go, and the
// last word about a worker is told when everything before it was.
#pragma once

#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>

#include "agent/host.hpp"
#include "agent/linux/checkpoint_watch.hpp"
#include "agent/linux/claim.hpp"
#include "agent/linux/control.hpp"
#include "agent/linux/gang_news.hpp"
#include "agent/linux/log_tail.hpp"
#include "agent/linux/lookers.hpp"
#include "agent/linux/rendezvous.hpp"
#include "agent/linux/report_ledger.hpp"
#include "agent/linux/stopped_watch.hpp"
#include "agent/linux/worker_stacks.hpp"
#include "clock/clock.hpp"
#include "files/log_times_writer.hpp"
#include "http/http.hpp"
#include "http/server.hpp"

namespace paceline::agent {

// What all workers of a host share. Outlives them.
struct WorkerContext {
  boost::asio::io_context& io;
  Clock& clock;
  std::string boot_id;
  std::function<void(Observation)> tell;
  Lookers& lookers;
  // Called while a worker waits for its supervisor to begin.
  std::function<void()> wake_nursery;
  // Counts a supervisor that was killed, and says of how many generations of its job in a row.
  std::function<int(const ProcessKey&)> count_lost_supervisor;
  std::chrono::milliseconds rendezvous_patience;
  PortsInUse ports_in_use = {};
  std::size_t unstored = 0;  // reports and checkpoints told and not stored
  // Named where something is missing here; empty: there is no other node to mistake it for.
  std::string node = {};
  std::string node_name = {};  // this machine's, in any case
  std::string travelled = {};  // the folder of directories that travel with jobs, with a slash
  std::uint64_t log_at_end = LogTail::kEndBytes;
  std::size_t checkpoint_entries = SearchLimits{}.entries;

  [[nodiscard]] bool has_room() const { return unstored < kUnstoredMax; }
  // Logs can wait; some room is left to those that post.
  [[nodiscard]] bool has_room_for_lines() const { return unstored < kUnstoredMax * 9 / 10; }
};

// How long a supervisor may take to answer a kill, or to begin.
inline constexpr auto kAnswerPatience = std::chrono::seconds{3};
inline constexpr auto kBeginPatience = std::chrono::seconds{5};

class SupervisedWorker : public std::enable_shared_from_this<SupervisedWorker> {
 public:
  SupervisedWorker(WorkerContext& context, std::string path, ClaimFile claim, WorkerOrder order);

  // Takes an open control connection of a worker that is about to be started. Errors: storage (the
  // machine lacks something).
  Result<void> begin(UniqueFd control);
  // Finds out what became of a worker that an earlier agent started: connects to its supervisor or,
  // where nobody supervises any more, cleans up and tells the end, after its last reports. Waits for
  // neither.
  void adopt();
  // Stops following; what runs goes on.
  void leave();

  void send(const ControlCommand& command);
  void give_notice(std::int32_t signal);
  // Has the supervisor kill the tree. One that was stopped is let go on first; one that doesn't
  // answer within kAnswerPatience all the same, now or while it kills, is killed itself, and the tree
  // without it.
  void kill();
  void set_should_stop(std::string reason) { should_stop_ = std::move(reason); }
  void set_membership(const Membership& membership, const GangPlace& place);
  void dismiss(Generation generation) { gang_news_.leave(generation); }
  // What its threads are in at this moment, told later. False: nothing of it runs.
  bool tell_stacks(WorkerStacks::Told told);
  // Takes the body of a trainer-status POST.
  HttpResponse take_status(const std::string& body);
  // Does what is due. Cheap.
  void tick();
  // Hands on the reports in the next piece of the log, and tells the end of a worker that ended once
  // there are no more. Answers how many bytes it read.
  std::size_t read_log();
  // Its reports up to this number are stored.
  void stored(std::uint64_t report);
  // Its unstored reports count no longer.
  void forget_unstored() { stored(std::numeric_limits<std::uint64_t>::max()); }

  [[nodiscard]] const WorkerOrder& order() const { return order_; }
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] Claim claim() const;
  // What its log holds before this offset was read, and its reports are stored.
  [[nodiscard]] std::uint64_t log_stored() const { return ledger_.stored_to(); }
  [[nodiscard]] bool is_gone() const { return gone_.has_value(); }
  // Nothing of it lives any more, though that may not be told yet.
  [[nodiscard]] bool has_ended() const { return ending_.has_value(); }

 private:
  Result<void> follow(UniqueFd control);
  void receive();
  void take_lines();
  void take_line(std::string_view line);
  void runs(pid_t pid);
  void connect();
  void retry_connecting();
  void say_wishes();
  void keep_wish(const ControlCommand& command);
  void count_limit();
  void signal_supervisor(int signal) const;
  void ask_later();
  void ask();
  void after(std::chrono::milliseconds span, void (SupervisedWorker::*what)());
  void expect_answer(std::chrono::milliseconds patience);
  void no_answer();

  Result<void> open_socket();
  void take_report(const Report& report);
  [[nodiscard]] HttpResponse take_timeline(const std::string& body) const;
  HttpResponse take_stacks(const std::string& body);
  void tell_gang_news(const std::shared_ptr<Exchange>& exchange);
  void look_for_rendezvous(std::chrono::steady_clock::time_point now);
  void end_if_stopped(std::chrono::steady_clock::time_point now);
  void watch_from(const GangPlace& place);
  void look_for_checkpoints(bool final);
  void take_search(const std::optional<CheckpointSearch>& found, Duration took, bool final);
  void say_cut(bool answered);
  void tell_checkpoint(std::uint64_t number, const Report& report);
  [[nodiscard]] bool ended_by_itself() const;  // REQUIRES: it has ended
  void take_checkpoints(const std::vector<CheckpointMatch>& matches, bool all_written);

  void conclude();
  [[nodiscard]] bool remains_are_gone() const;
  void sweep_remains();
  [[nodiscard]] WorkerEnding supervisor_lost() const;
  [[nodiscard]] std::string why_it_ended() const;
  void end_as(WorkerEnding ending);
  void finish();
  void note_length();
  void read_some();
  void finish_read();
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
  LogTimesWriter times_;
  std::chrono::steady_clock::time_point next_note_;
  std::unique_ptr<HttpServer> socket_;
  std::optional<RendezvousWatch> rendezvous_;  // of the gang's rank 0
  std::optional<CheckpointWatch> watch_;
  std::chrono::steady_clock::time_point next_look_;
  bool looking_ = false;
  bool said_cut_ = false;
  std::string should_stop_;
  Membership membership_;
  std::string gang_secret_;
  GangNews gang_news_;
  StoppedWatch stopped_watch_;
  bool was_stopped_ = false;  // for too long, and so is ended
  WorkerStacks stacks_;
  std::optional<std::uint64_t> total_steps_;  // as the trainer status told it last
  boost::asio::local::stream_protocol::socket control_;
  boost::asio::steady_timer timer_;
  boost::asio::steady_timer answer_timer_;
  std::array<char, 1024> chunk_{};
  std::string input_;
  pid_t pid_ = 0;
  bool killing_ = false;           // its end is wanted
  bool awaits_answer_ = false;     // of a supervisor that was asked whether it listens
  std::int32_t notice_ = 0;        // the signal of the notice that this agent gave
  std::optional<bool> frozen_;     // as this agent asked last; nothing: it did not ask
  std::optional<RunLimit> limit_;  // as it said last, less what was used by `limit_counted_us_`
  std::int64_t limit_counted_us_ = 0;
  bool noticed_ = false;
  bool left_ = false;
  bool finishing_ = false;     // nothing of it is left; its log is read to the end
  bool looking_last_ = false;  // and was
  std::optional<WorkerEnding> ending_;
  std::optional<WorkerGone> gone_;
};

// A report as it is observed of a worker.
WorkerReport to_observation(const ProcessKey& key, std::uint64_t number, Time at,
                            const Report& report);

}  // namespace paceline::agent
