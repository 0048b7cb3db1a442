#include "agent/linux/set_aside.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>

#include "agent/linux/signals.hpp"

namespace paceline::agent {
namespace {

constexpr auto kLook = std::chrono::milliseconds{100};

}  // namespace

SetAsideWorker::SetAsideWorker(WorkerContext& context, ClaimFile claim, const Marks& marks,
                               CgroupPlan groups)
    : context_(context),
      claim_(std::move(claim)),
      path_(marks.aside_path(claim_.key())),
      remains_(std::move(groups), marks.marker(claim_.key())),
      plain_remains_({}, marks.marker(claim_.key(), ClaimFormat::plain)),
      timer_(context.io) {}

void SetAsideWorker::leave() { timer_.cancel(); }

void SetAsideWorker::watch() {
  if (is_over()) return end();
  timer_.expires_after(kLook);
  timer_.async_wait([weak = weak_from_this()](const boost::system::error_code& error) {
    const auto self = weak.lock();
    if (!error && self) self->watch();
  });
}

// What can't be opened now may be so later; what is no file was nobody's claim.
bool SetAsideWorker::lock_is_free() {
  struct stat info {};
  if (!claim_) claim_ = ClaimFile::open(path_);
  if (claim_) return claim_.lock();
  return ::lstat(path_.c_str(), &info) == 0 ? !S_ISREG(info.st_mode) : errno == ENOENT;
}

bool SetAsideWorker::is_over() {
  return lock_is_free() && remains_.sweep() && plain_remains_.have_ended();
}

// An ending has a digest of its own, and its writer saw that nothing was left.
void SetAsideWorker::end() {
  const auto ending = claim_ && claim_.format() == ClaimFormat::sealed
                          ? claim_.ending()
                          : std::optional<WorkerEnding>{};
  gone_.emplace();  // the sentence is that of one that is over
  *gone_ = WorkerGone{claim_.key(), Cause::node_lost, {}, 0, problem(), context_.clock.now()};
  if (ending)
    gone_ = WorkerGone{claim_.key(),   ending->cause,   ending->exit_code,
                       ending->signal, ending->message, time_from_us(ending->at_us)};
  context_.tell(*gone_);
}

void SetAsideWorker::signal_supervisors(int signal) const {
  std::vector<pid_t> supervisors;
  for (const pid_t pid : all_pids())
    if (claim_ && claim_.is_supervised_by(pid)) supervisors.push_back(pid);
  send_signal(supervisors, signal);
}

std::string SetAsideWorker::problem() const {
  if (!claim_ && ::access(path_.c_str(), F_OK) != 0)
    return fmt::format("The file of the claim of worker {} was removed{}", claim_name(claim_.key()),
                       gone_ ? "." : "; what is left of the worker is ended.");
  const bool unknown = claim_ && claim_.has_unknown_ending();
  return fmt::format(
      "The claim of worker {} {} and was set aside as '{}'{}", claim_name(claim_.key()),
      unknown ? "tells of an ending that only another version of Paceline knows" : "is damaged",
      path_, gone_ ? "." : "; it runs on unwatched until it ends.");
}

}  // namespace paceline::agent
