#include "agent/linux/worker.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <utility>

#include "agent/linux/environment.hpp"
#include "agent/linux/files.hpp"
#include "agent/linux/launch.hpp"
#include "agent/linux/log_file.hpp"
#include "agent/linux/remains.hpp"
#include "agent/linux/script_server.hpp"
#include "agent/linux/signals.hpp"
#include "agent/linux/timeline_file.hpp"
#include "agent/linux/worker_socket.hpp"
#include "agent/wants.hpp"
#include "files/log_names.hpp"
#include "wire/agent_bounds.hpp"
#include "wire/timeline.hpp"

namespace paceline::agent {
namespace {

using Steady = std::chrono::steady_clock;

constexpr auto kRetry = std::chrono::milliseconds{20};
constexpr int kSupervisorsLostMax = 3;
constexpr Duration kLookInterval = std::chrono::seconds{1};
constexpr int kLookRest = 20;  // times as long as a look takes until the next
constexpr auto kLastLookPatience = std::chrono::seconds{10};
constexpr std::uint64_t kPercent = 100;
constexpr int kPiecesAtOnce = 64;
constexpr auto kNoteInterval = std::chrono::milliseconds{250};
constexpr std::string_view kWasStopped =
    "A signal had stopped it while the others of its gang waited for it, so it was ended.";

}  // namespace

WorkerReport to_observation(const ProcessKey& key, std::uint64_t number, Time at,
                            const Report& report) {
  WorkerReport seen{key, number, at, {}, {}, {}, {}, {}, {}, {}, {}, report.metrics};
  seen.step = report.step;
  seen.total_steps = report.total_steps;
  seen.samples = report.samples;
  seen.position = report.position;
  seen.epoch = report.epoch;
  seen.total_epochs = report.total_epochs;
  seen.step_seconds = report.step_seconds;
  seen.learning_rate = report.learning_rate;
  seen.resume = report.resume;
  return seen;
}

SupervisedWorker::SupervisedWorker(WorkerContext& context, std::string path, ClaimFile claim,
                                   WorkerOrder order)
    : context_(context),
      path_(std::move(path)),
      claim_(std::move(claim)),
      order_(std::move(order)),
      ledger_(claim_, static_cast<std::uint64_t>(order_.log_offset)),
      tail_(
          order_.log, ledger_,
          [this](std::uint64_t number, const Report& report) { handle_report(number, report); },
          context.log_at_end),
      times_(times_path(order_.log)),
      membership_{order_.key.born, order_.rank, order_.world_size},
      gang_news_(static_cast<std::uint64_t>(to_us(context.clock.now())),
                 [this](Generation ready, Generation stands) {
                   context_.tell(WorkerPlaced{order_.key, ready, stands});
                 }),
      stacks_(context.io),
      control_(context.io),
      timer_(context.io),
      answer_timer_(context.io),
      noticed_(claim_.noticed()) {
  gang_secret_ = gang_secret(order_.environment);
  order_.environment = {};
  order_.command = {};
  if (!order_.checkpoint_glob.empty() && order_.local_rank == 0)
    watch_.emplace(order_.started_us, ledger_.checkpoint_ns());
  if (order_.rank == 0 && order_.world_size > 1)
    rendezvous_.emplace(order_.port, ports_needed(order_.world_size), context_.rendezvous_patience);
}

Result<void> SupervisedWorker::begin(UniqueFd control) {
  const auto followed = follow(std::move(control));
  if (followed) expect_answer(kBeginPatience);
  return followed;
}

Result<void> SupervisedWorker::follow(UniqueFd control) {
  boost::system::error_code error;
  input_.clear();
  control_.assign(boost::asio::local::stream_protocol(), control.get(), error);
  if (error) return fail(system_error("The worker's supervisor can't be followed", error.value()));
  static_cast<void>(control.release());
  const auto opened = socket_ ? Result<void>{} : open_socket();
  receive();
  say_wishes();
  return opened;
}

// What an earlier connection delivered of it is not known: where too many come, a supervisor drops
// the connections that came first. The first command tells it that this is its agent.
void SupervisedWorker::say_wishes() {
  if (notice_ != 0 && !claim_.noticed()) send({ControlCommand::Kind::notice, notice_});
  count_limit();
  if (limit_) send({ControlCommand::Kind::limit, 0, *limit_});
  if (frozen_) send({*frozen_ ? ControlCommand::Kind::freeze : ControlCommand::Kind::thaw, 0});
  if (killing_) send({ControlCommand::Kind::kill, 0});
  send({ControlCommand::Kind::ping, 0});
}

void SupervisedWorker::leave() {
  left_ = true;
  socket_.reset();
  boost::system::error_code ignored;
  control_.close(ignored);
  timer_.cancel();
  answer_timer_.cancel();
}

void SupervisedWorker::receive() {
  control_.async_read_some(
      boost::asio::buffer(chunk_),
      [self = shared_from_this()](const boost::system::error_code& error, std::size_t size) {
        if (self->left_) return;
        self->input_.append(self->chunk_.data(), size);
        self->take_lines();
        if (error || self->input_.size() > kControlLineMax) return self->conclude();
        self->receive();
      });
}

void SupervisedWorker::take_lines() {
  for (std::size_t end; (end = input_.find('\n')) != std::string::npos; input_.erase(0, end + 1))
    take_line(std::string_view(input_).substr(0, end));
}

void SupervisedWorker::take_line(std::string_view line) {
  if (const auto pid = parse_running_line(line)) runs(*pid);
  if (const auto ending = parse_ended_line(line)) ending_ = *ending;
  if (line != kPong) return;
  awaits_answer_ = false;
  answer_timer_.cancel();
  if (killing_) ask_later();
}

void SupervisedWorker::runs(pid_t pid) {
  if (pid_ == pid) return;
  pid_ = pid;
  context_.tell(WorkerRuns{order_.key, pid});
}

// A command that can't be delivered is for a supervisor that is gone, or said again over the next
// connection; so is what this machine can't send now.
void SupervisedWorker::send(const ControlCommand& command) {
  keep_wish(command);
  if (gone_ || !control_.is_open()) return;
  const std::string line = to_line(command);
  const ssize_t sent =
      ::send(control_.native_handle(), line.data(), line.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  if (sent == static_cast<ssize_t>(line.size()) || (sent < 0 && find_want(errno) == nullptr))
    return;
  boost::system::error_code ignored;
  control_.cancel(ignored);
}

void SupervisedWorker::keep_wish(const ControlCommand& command) {
  using Kind = ControlCommand::Kind;
  if (command.kind != Kind::freeze && command.kind != Kind::thaw && command.kind != Kind::limit)
    return;
  count_limit();
  if (command.kind == Kind::limit)
    limit_ = command.limit;
  else
    frozen_ = command.kind == Kind::freeze;
}

// As the supervisor counts, so that the limit can be said again at any moment.
void SupervisedWorker::count_limit() {
  const std::int64_t now_us = since_boot().count();
  const std::int64_t since_us = std::exchange(limit_counted_us_, now_us);
  if (!limit_ || frozen_.value_or(false)) return;
  limit_->left = std::max(Duration::zero(), limit_->left - Duration{now_us - since_us});
}

void SupervisedWorker::give_notice(std::int32_t signal) {
  noticed_ = true;
  notice_ = signal;
  signal_supervisor(SIGCONT);
  send({ControlCommand::Kind::notice, signal});
}

void SupervisedWorker::kill() {
  if (gone_) return;
  signal_supervisor(SIGCONT);
  send({ControlCommand::Kind::kill, 0});
  send({ControlCommand::Kind::ping, 0});
  killing_ = true;
  if (!awaits_answer_) expect_answer(kAnswerPatience);
}

// Only whom the kernel shows to be the supervisor.
void SupervisedWorker::signal_supervisor(int signal) const {
  const ProcessId supervisor = claim_.processes().supervisor;
  if (supervisor.pid == 0)
    context_.wake_nursery();
  else if (claim_.is_supervised_by(supervisor.pid))
    send_signal(supervisor, signal);
}

void SupervisedWorker::expect_answer(std::chrono::milliseconds patience) {
  awaits_answer_ = true;
  after(patience, &SupervisedWorker::no_answer);
}

// One that answered once may be stopped since.
void SupervisedWorker::ask_later() { after(kAnswerPatience, &SupervisedWorker::ask); }

void SupervisedWorker::ask() {
  send({ControlCommand::Kind::ping, 0});
  expect_answer(kAnswerPatience);
}

void SupervisedWorker::after(std::chrono::milliseconds span, void (SupervisedWorker::*what)()) {
  answer_timer_.expires_after(span);
  answer_timer_.async_wait(
      [self = shared_from_this(), what](const boost::system::error_code& error) {
        if (!error && !self->left_ && !self->gone_) (*self.*what)();
      });
}

// A supervisor that has begun is left alone until somebody wants its worker's end.
void SupervisedWorker::no_answer() {
  const bool begun = claim_.processes().supervisor.pid != 0;
  if (begun && !killing_) return;
  signal_supervisor(SIGKILL);
  expect_answer(kAnswerPatience);
}

void SupervisedWorker::tick() {
  if (gone_) return;
  ledger_.remember(context_.clock.now());
  const auto now = Steady::now();
  look_for_rendezvous(now);
  end_if_stopped(now);
  if (now >= next_note_) note_length();
  if (!watch_ || looking_ || finishing_ || now < next_look_) return;
  look_for_checkpoints(false);
}

void SupervisedWorker::look_for_rendezvous(Steady::time_point now) {
  if (!rendezvous_ || pid_ == 0 || ending_ || !rendezvous_->due(now)) return;
  std::optional<bool> holds;
  if (gang_news_.has_met())
    holds = rendezvous_->met();
  else if (const auto& ports = context_.ports_in_use.at(now))
    holds = rendezvous_->look(*ports, now);
  if (holds) context_.tell(WorkerWarning{order_.key, Warning::no_rendezvous, *holds});
}

// Others wait for a member of their gang, and for each other.
void SupervisedWorker::end_if_stopped(Steady::time_point now) {
  if (frozen_.value_or(false)) return stopped_watch_.excuse();
  if (ending_ || killing_ || membership_.world_size < 2 || !stopped_watch_.look(now)) return;
  was_stopped_ = true;
  kill();
}

void SupervisedWorker::note_length() {
  next_note_ = Steady::now() + kNoteInterval;
  times_.note(context_.clock.wall(), tail_.size());
}

Claim SupervisedWorker::claim() const { return {order_.key, pid_, gone_, noticed_, order_.slots}; }

// ---- adoption ----

bool SupervisedWorker::supervised() const { return !claim_.lock(); }

void SupervisedWorker::adopt() {
  pid_ = claim_.processes().main.pid;
  if (order_.boot_id != context_.boot_id)
    return end_as(lost("The machine was restarted while the worker ran."));
  if (supervised()) return connect();
  conclude();
}

void SupervisedWorker::connect() {
  UniqueFd control = connect_control(order_.control);
  if (control) {
    const auto followed = follow(std::move(control));
    if (!followed) spdlog::warn("{}", followed.error().message);
    if (control_.is_open()) return;
  }
  retry_connecting();
}

// The supervisor is on its way: not listening yet, or not any more.
void SupervisedWorker::retry_connecting() {
  timer_.expires_after(kRetry);
  timer_.async_wait([self = shared_from_this()](const boost::system::error_code& error) {
    if (error || self->left_) return;
    if (self->supervised())
      self->connect();
    else
      self->conclude();
  });
}

// ---- the end ----

// By a claim without digests nobody is killed.
bool SupervisedWorker::remains_are_gone() const {
  const Remains remains(order_.cgroups, order_.marker);
  return claim_.format() == ClaimFormat::sealed ? remains.sweep() : remains.have_ended();
}

void SupervisedWorker::conclude() {
  boost::system::error_code ignored;
  control_.close(ignored);
  if (!ending_) ending_ = claim_.ending();
  if (ending_) return finish();
  if (supervised()) return retry_connecting();
  ending_ = claim_.ending();
  if (ending_) return finish();
  if (claim_.has_unknown_ending())
    return end_as(
        lost("How the worker ended was written by another version of Paceline, which "
             "knows more endings than this one."));
  sweep_remains();
}

// The supervisor died. Its slots are free only when the tree it leaves behind is gone.
void SupervisedWorker::sweep_remains() {
  if (remains_are_gone()) return end_as(supervisor_lost());
  timer_.expires_after(kRetry);
  timer_.async_wait([self = shared_from_this()](const boost::system::error_code& error) {
    if (!error && !self->left_) self->sweep_remains();
  });
}

// A worker that may signal its supervisor and is in no group that would show so may have ended it
// itself: again and again, that is a failure of its own.
WorkerEnding SupervisedWorker::supervisor_lost() const {
  WorkerEnding ending = lost("The supervisor of the worker was killed.");
  const bool suspect = order_.uid == ::geteuid() && !WorkerGroup(order_.cgroups).tracks();
  const int times = suspect ? context_.count_lost_supervisor(order_.key) : 0;
  if (times <= kSupervisorsLostMax) return ending;
  ending.cause = Cause::signalled;
  ending.signal = SIGKILL;
  ending.message = fmt::format(
      "The supervisor of the worker was killed {} times in a row, by the job itself as it seems.",
      times);
  return ending;
}

WorkerEnding SupervisedWorker::lost(std::string message) const {
  return {Cause::node_lost, {}, 0, since_boot().count(), std::move(message)};
}

// Of another boot nobody knows how long ago it was. What is after now was told by a supervisor that
// still measured by the wall clock.
Time SupervisedWorker::ended_at() const {
  const Time now = context_.clock.now();
  const Duration at{ending_->at_us};
  const bool known = order_.boot_id == context_.boot_id && at >= Duration::zero();
  return known ? now - std::max(Duration::zero(), since_boot() - at) : now;
}

void SupervisedWorker::end_as(WorkerEnding ending) {
  ending_ = std::move(ending);
  finish();
}

// Most workers leave little to read at their end. The host reads the rest, with all other logs.
void SupervisedWorker::finish() {
  // The line that told it may have been lost with the connection.
  if (const pid_t main = claim_.processes().main.pid; main > 0) runs(main);
  socket_.reset();
  note_length();
  tail_.end();
  finishing_ = true;
  boost::asio::post(context_.io, [self = shared_from_this()] {
    if (!self->left_) self->read_some();
  });
}

void SupervisedWorker::read_some() {
  for (int i = 0; i < kPiecesAtOnce && context_.has_room_for_lines(); ++i)
    if (read_log() == 0) return;
}

std::size_t SupervisedWorker::read_log() {
  if (gone_ || looking_last_) return 0;
  const std::size_t bytes = tail_.step();
  if (bytes == 0 && finishing_) finish_read();
  return bytes;
}

void SupervisedWorker::finish_read() {
  looking_last_ = true;
  if (const auto& passed = tail_.passed_over(); passed.end > passed.begin)
    add_log_note(order_.log,
                 fmt::format("lines that begin at bytes {} to {} of this log were not looked "
                             "through for reports: the worker ended before they were read",
                             passed.begin, passed.end - 1));
  if (!watch_) return finish_looked();
  look_for_checkpoints(true);
}

std::string SupervisedWorker::why_it_ended() const {
  const std::string& message = ending_->message;
  if (was_stopped_ && ending_->cause == Cause::signalled) return std::string(kWasStopped);
  if (ending_->cause != Cause::missing || context_.node.empty()) return message;
  return fmt::format("On {}: {}{}", context_.node, message,
                     message.find("--ship") != std::string::npos ? "" : kWaysOut);
}

void SupervisedWorker::finish_looked() {
  if (gone_) return;
  note_length();
  answer_timer_.cancel();
  gone_ = WorkerGone{order_.key,     ending_->cause, ending_->exit_code, ending_->signal,
                     why_it_ended(), ended_at(),     ending_->alone};
  context_.tell(*gone_);
}

// ---- reports ----

// Where the machine is in want of nothing, reports by lines of output still work without it, and
// should_stop is a convenience.
Result<void> SupervisedWorker::open_socket() {
  auto listening = listen_at(order_.socket, order_.uid);
  if (!listening && listening.error().retry == Retry::may_help) return fail(listening.error());
  if (!listening) {
    spdlog::warn("{}", listening.error().message);
    return {};
  }
  const WorkerVoice voice{
      [this](const Report& report) { take_report(report); }, [this] { return noticed_; },
      [this] { return should_stop_.empty() && noticed_ ? "notice" : should_stop_; },
      [this] { return membership_; }};
  Router router;
  router.add("GET", "/v1/gang",
             [this](const std::shared_ptr<Exchange>& exchange) { tell_gang_news(exchange); });
  auto served = serve_scripts(
      context_.io, std::move(*listening),
      [this, voice](const HttpRequest& request) {
        if (request.method == "POST" && request.path == "/v1/timeline")
          return take_timeline(request.body);
        if (request.method == "POST" && request.path == "/v1/stacks")
          return take_stacks(request.body);
        if (request.method == "POST" && !context_.has_room()) return busy();
        if (request.method == "POST" && request.path == "/v1/gang")
          return gang_news_.say(request.body);
        return answer_worker(request, order_, voice);
      },
      std::move(router));
  if (!served) return fail(served.error());
  socket_ = std::move(*served);
  return {};
}

void SupervisedWorker::set_membership(const Membership& membership, const GangPlace& place) {
  membership_ = membership;
  watch_from(place);
  gang_news_.go_on(membership.generation,
                   gang_environment(order_.key.job, membership, place, gang_secret_));
}

// Whoever comes first on its node now looks for checkpoint files. What was there before is the word of
// the one before, who may have been killed over it.
void SupervisedWorker::watch_from(const GangPlace& place) {
  if (order_.checkpoint_glob.empty() || place.local_rank != 0 || watch_) return;
  const auto known_ns = ledger_.checkpoint_ns();
  watch_.emplace(known_ns != 0 ? order_.started_us : to_us(context_.clock.wall()), known_ns);
}

// A report that is no line of the log: what stands in the log before it is told before it.
void SupervisedWorker::take_report(const Report& report) {
  read_some();
  handle_report(ledger_.other(), report);
}

bool SupervisedWorker::tell_stacks(WorkerStacks::Told told) {
  const ProcessId supervisor = claim_.processes().supervisor;
  if (ending_ || supervisor.pid == 0 || !is_alive(supervisor)) return false;
  if (stacks_.collects())
    stacks_.join(std::move(told));
  else
    stacks_.collect({descendants(supervisor.pid), order_.uid, gang_news_.ask_for_stacks()},
                    std::move(told));
  return true;
}

HttpResponse SupervisedWorker::take_stacks(const std::string& body) {
  const auto told = parse_script_stacks(body);
  if (!told) return error_response(told.error());
  stacks_.take(*told);
  return {.body = "{}"};
}

// Who waits for news of its gang is a member of it.
void SupervisedWorker::tell_gang_news(const std::shared_ptr<Exchange>& exchange) {
  if (const auto& member = exchange->request().peer.account)
    stopped_watch_.watch(identify(static_cast<pid_t>(member->pid)));
  gang_news_.wait(exchange);
}

HttpResponse SupervisedWorker::take_timeline(const std::string& body) const {
  auto piece = parse_timeline(body);
  if (!piece) return error_response(piece.error());
  piece->attempt = static_cast<std::uint32_t>(order_.attempt);
  piece->born = order_.key.born.value;
  piece->node = context_.node_name;
  const auto added =
      add_to_timeline(timeline_beside(order_.log), order_.uid, timeline_line(*piece));
  if (!added) return error_response(added.error());
  return {.body = "{}"};
}

HttpResponse SupervisedWorker::take_status(const std::string& body) {
  auto status = parse_trainer_status(body);
  if (!status) return error_response(status.error());
  if (gone_) return {.body = "{}"};
  if (!context_.has_room()) return busy();
  Report& report = status->report;
  if (report.total_steps) total_steps_ = report.total_steps;
  if (!report.step && status->percent) {
    report.total_steps = total_steps_.value_or(kPercent);
    const double total = static_cast<double>(*report.total_steps);
    report.step =
        static_cast<std::uint64_t>(std::clamp(*status->percent, 0.0, 100.0) * total / 100);
  }
  take_report(report);
  return {.body = "{}"};
}

void SupervisedWorker::handle_report(std::uint64_t number, const Report& report) {
  const Time now = context_.clock.now();
  ++context_.unstored;
  if (!report.model.empty())
    context_.tell(ModelSeen{order_.key, number, now, report.model, report.sha256, report.bytes,
                            report.step, report.samples});
  else if (!report.checkpoint.empty())
    tell_checkpoint(number, report);
  else
    context_.tell(to_observation(order_.key, number, now, report));
}

void SupervisedWorker::stored(std::uint64_t report) { context_.unstored -= ledger_.stored(report); }

// ---- checkpoint files ----

void SupervisedWorker::look_for_checkpoints(bool final) {
  looking_ = true;
  context_.lookers.look({order_.uid, order_.checkpoint_glob, order_.directory, watch_->newest_ns(),
                         context_.checkpoint_entries},
                        [weak = weak_from_this(), final](
                            const std::optional<CheckpointSearch>& found, Duration took) {
                          const auto self = weak.lock();
                          if (self && !self->left_) self->take_search(found, took, final);
                        });
  if (!final) return;
  timer_.expires_after(kLastLookPatience);
  timer_.async_wait([self = shared_from_this()](const boost::system::error_code& error) {
    if (!error && !self->left_) self->finish_looked();
  });
}

// Looking takes no more than a small part of the time.
void SupervisedWorker::take_search(const std::optional<CheckpointSearch>& found, Duration took,
                                   bool final) {
  looking_ = false;
  next_look_ = Steady::now() + std::max(kLookInterval, kLookRest * took);
  if (!found || found->cut) say_cut(found.has_value());
  if (found) take_checkpoints(found->matches, final && ended_by_itself());
  if (final) finish_looked();
}

void SupervisedWorker::say_cut(bool answered) {
  if (gone_ || std::exchange(said_cut_, true)) return;
  add_log_note(
      order_.log,
      answered ? fmt::format("the checkpoint pattern '{}' leads to more files than are looked at: "
                             "some may not be seen; write a narrower one",
                             order_.checkpoint_glob)
               : fmt::format("files for the checkpoint pattern '{}' can't be looked for: the file "
                             "system does not answer in time",
                             order_.checkpoint_glob));
}

// One that was killed, or a part of it, may have been in the middle of writing.
bool SupervisedWorker::ended_by_itself() const {
  return ending_->exit_code && ending_->cause != Cause::out_of_memory;
}

void SupervisedWorker::take_checkpoints(const std::vector<CheckpointMatch>& matches,
                                        bool all_written) {
  if (gone_) return;
  const auto path = watch_->look(matches, all_written);
  if (!path) return;
  if (!finishing_) read_some();
  ++context_.unstored;
  Report report;
  report.checkpoint = *path;
  tell_checkpoint(ledger_.checkpoint(watch_->newest_ns()), report);
}

// Where its directory travelled here, a start elsewhere has another one.
void SupervisedWorker::tell_checkpoint(std::uint64_t number, const Report& report) {
  namespace fs = std::filesystem;
  const auto directory = fs::path(order_.directory).lexically_normal();
  const auto inside =
      fs::path(report.checkpoint).lexically_normal().lexically_relative(directory).native();
  const bool travelled = order_.directory.starts_with(context_.travelled);
  context_.tell(CheckpointSeen{order_.key, number, context_.clock.now(), report.checkpoint,
                               report.step, report.samples, travelled ? path_inside(inside) : ""});
}

}  // namespace paceline::agent
