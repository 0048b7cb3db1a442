#include "agent/linux/worker.hpp"

#include <sys/socket.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <thread>

#include "agent/linux/remains.hpp"

namespace paceline::agent {
namespace {

constexpr auto kRetry = std::chrono::milliseconds{20};
constexpr int kAdoptSweepsMax = 400;
constexpr auto kAdoptSweepPause = std::chrono::milliseconds{5};

}  // namespace

WorkerReport to_observation(const WorkerKey& key, std::uint64_t number, Time at,
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
  return seen;
}

SupervisedWorker::SupervisedWorker(WorkerContext& context, std::string path, ClaimFile claim,
                                   WorkerOrder order)
    : context_(context),
      path_(std::move(path)),
      claim_(std::move(claim)),
      order_(std::move(order)),
      ledger_(claim_, static_cast<std::uint64_t>(order_.log_offset)),
      tail_(order_.log, ledger_,
            [this](std::uint64_t number, const Report& report) { handle_report(number, report); }),
      control_(context.io),
      timer_(context.io),
      noticed_(claim_.noticed()) {
  order_.environment = {};
  order_.command = {};
}

void SupervisedWorker::follow(UniqueFd control) {
  boost::system::error_code error;
  control_.assign(boost::asio::local::stream_protocol(), control.release(), error);
  receive();
}

void SupervisedWorker::leave() {
  left_ = true;
  boost::system::error_code ignored;
  control_.close(ignored);
  timer_.cancel();
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
}

void SupervisedWorker::runs(pid_t pid) {
  if (pid_ == pid) return;
  pid_ = pid;
  context_.tell(WorkerRuns{order_.key, pid});
}

// A command that can't be delivered is for a supervisor that is gone: the end of the connection
// says the rest.
void SupervisedWorker::send(const ControlCommand& command) {
  if (gone_ || !control_.is_open()) return;
  const std::string line = to_line(command);
  static_cast<void>(
      ::send(control_.native_handle(), line.data(), line.size(), MSG_DONTWAIT | MSG_NOSIGNAL));
}

void SupervisedWorker::give_notice(std::int32_t signal) {
  noticed_ = true;
  send({ControlCommand::Kind::notice, signal});
}

void SupervisedWorker::tick() {
  if (gone_) return;
  tail_.step();
  ledger_.settle(context_.clock.now());
}

Claim SupervisedWorker::claim() const { return {order_.key, pid_, gone_, noticed_, order_.slots}; }

// ---- adoption ----

bool SupervisedWorker::supervised() const { return !claim_.lock(); }

void SupervisedWorker::adopt() {
  pid_ = claim_.processes().main.pid;
  if (order_.boot_id != context_.boot_id)
    return end_as(lost("The machine was restarted while the worker ran."));
  if (supervised()) return connect();
  ending_ = claim_.ending();
  if (ending_) return finish();
  const Remains remains(order_.cgroups, order_.marker);
  for (int i = 0; i < kAdoptSweepsMax; ++i) {
    if (remains.sweep()) return conclude();
    std::this_thread::sleep_for(kAdoptSweepPause);
  }
  conclude();
}

void SupervisedWorker::connect() {
  if (UniqueFd control = connect_control(order_.control)) return follow(std::move(control));
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

void SupervisedWorker::conclude() {
  boost::system::error_code ignored;
  control_.close(ignored);
  if (!ending_) ending_ = claim_.ending();
  if (ending_) return finish();
  sweep_remains();
}

// The supervisor died. Its slots are free only when the tree it leaves behind is gone.
void SupervisedWorker::sweep_remains() {
  if (Remains(order_.cgroups, order_.marker).sweep())
    return end_as(lost("The supervisor of the worker was killed."));
  timer_.expires_after(kRetry);
  timer_.async_wait([self = shared_from_this()](const boost::system::error_code& error) {
    if (!error && !self->left_) self->sweep_remains();
  });
}

WorkerEnding SupervisedWorker::lost(std::string message) const {
  return {Cause::node_lost, {}, 0, to_us(context_.clock.now()), std::move(message)};
}

void SupervisedWorker::end_as(WorkerEnding ending) {
  ending_ = std::move(ending);
  finish();
}

void SupervisedWorker::finish() {
  tail_.drain();
  gone_ = WorkerGone{order_.key,      ending_->cause,   ending_->exit_code,
                     ending_->signal, ending_->message, time_from_us(ending_->at_us)};
  context_.tell(*gone_);
}

void SupervisedWorker::handle_report(std::uint64_t number, const Report& report) {
  const Time now = context_.clock.now();
  if (report.checkpoint.empty())
    context_.tell(to_observation(order_.key, number, now, report));
  else
    context_.tell(
        CheckpointSeen{order_.key, number, now, report.checkpoint, report.step, report.samples});
}

}  // namespace paceline::agent
