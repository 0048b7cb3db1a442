#include <fmt/format.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <set>
#include <string>

#include "cli/client/failing_rank.hpp"
#include "cli/client/interrupt.hpp"
#include "cli/client/log_follower.hpp"
#include "cli/commands/job_options.hpp"
#include "cli/commands/terminal_session.hpp"
#include "cli/commands/wait.hpp"
#include "cli/words/job_view.hpp"
#include "cli/words/text.hpp"

namespace paceline {
namespace {

constexpr int kSignalBase = 128;
constexpr std::string_view kInputUnread =
    "Standard input is not handed to the job: let its command read a file instead, as in\n"
    "          paceline run -- sh -c 'python3 train.py < input.txt'";

// What a script reads that is run by hand, and nobody reads here: bytes that wait in a file or a
// pipe. What has none, as /dev/null and most that scripts hand down, is nothing to speak of.
bool has_unread_input(int fd) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) return false;
  if (S_ISREG(status.st_mode)) return ::lseek(fd, 0, SEEK_CUR) < status.st_size;
  int waiting = 0;
  return S_ISFIFO(status.st_mode) && ::ioctl(fd, FIONREAD, &waiting) == 0 && waiting > 0;
}

// Follows one job: its log to standard output, how it is on standard error.
class Follow {
 public:
  Follow(Context& context, Api& api, std::uint32_t id, LogShow show)
      : console_(context.console),
        api_(api),
        id_(id),
        log_(api.server(), console_, {.job = id, .show = show}) {}

  Result<int> run() {
    for (;;) {
      if (Interrupt::pending() != 0) return detach();
      if (console_.broken()) return detach();
      tell_input();
      tell_state();
      const auto step = log_.step(kLook);
      if (!step) return fail(step.error());
      if (*step == LogFollower::Step::ended) break;
    }
    return finish();
  }

 private:
  using Steady = std::chrono::steady_clock;
  static constexpr auto kLook = std::chrono::milliseconds{500};

  // Once, when there is something: what fills a pipe may be slower than the submission.
  void tell_input() {
    if (input_told_ || !has_unread_input(console_.input_fd())) return;
    input_told_ = true;
    console_.note(kInputUnread);
  }

  // On a terminal a line that stays at the bottom; elsewhere a note when the state changes.
  void tell_state() {
    if (Steady::now() < next_look_) return;
    next_look_ = Steady::now() + kLook;
    const auto job = api_.get(job_target(id_));
    if (!job || is_over(*job)) return;
    console_.status(progress_line(*job));
    auto state = text_of(*job, "state");
    if (!console_.status_line() && state != state_) console_.note(job_sentence(*job));
    state_ = std::move(state);
    tell_asked(*job);
    tell_warnings(*job);
  }

  // That it is to give way: in the log's course, once.
  void tell_asked(const Document& job) {
    const auto since = number_of(member(job, "asked"), "since");
    if (since && since != asked_since_) {
      console_.note(fmt::format("Job {} {}.", id_, reason_text(job)));
    }
    asked_since_ = since;
  }

  // Each once.
  void tell_warnings(const Document& job) {
    for (const auto& warning : list_of(job, "warnings")) {
      if (warned_.insert(text_of(warning, "code")).second)
        console_.note(fmt::format("Job {}: {}.", id_, printable(text_of(warning, "text"))));
    }
  }

  Result<int> detach() {
    const int signal = Interrupt::pending();
    console_.status("");
    console_.note(
        fmt::format("Job {0} goes on. Come back with 'paceline logs -f {0}', end it with "
                    "'paceline cancel {0}'.",
                    id_));
    return kSignalBase + signal;
  }

  Result<int> finish() {
    const auto job = wait_until_over(api_, console_, id_);
    if (!job) return Interrupt::pending() != 0 ? detach() : fail(job.error());
    console_.status("");
    tell_input();
    tell_last_lines(*job);
    if (const auto silent = unreported_target(*job); !silent.empty())
      console_.note(fmt::format("Job {}: {}.", id_, printable(silent)));
    console_.note(job_sentence(*job));
    return exit_code_of(*job);
  }

  // Of the rank by which a job failed, where the others' lines took its last ones out of sight.
  void tell_last_lines(const Document& job) {
    if (text_of(job, "state") != "FAILED") return;
    const auto rank = failing_rank(api_, job);
    if (!rank) return;
    const auto lines = log_.lines().out_of_sight(*rank);
    if (!lines.empty()) console_.note(failure_text(*rank, lines));
  }

  Console& console_;
  Api& api_;
  std::uint32_t id_;
  LogFollower log_;
  Steady::time_point next_look_;
  std::string state_;
  std::optional<double> asked_since_;
  std::set<std::string> warned_;
  bool input_told_ = false;
};

// A terminal belongs to one process: it sees all the slots.
void make_one_worker(JobSpec& spec) {
  spec.slots_per_worker *= spec.workers.want;
  spec.workers = {1, 1, 1};
}

struct Run {
  JobOptions job;
  bool pty = false;
  bool reports = false;
};

Result<int> submit_and_follow(Context& context, const MadeSubmission& made, const Run& typed) {
  const auto id = submit(context, made);
  if (!id) return fail(id.error());
  context.console.note(fmt::format("Submitted job {}.", *id));
  const auto api = context.api();
  if (!api) return fail(api.error());
  if (made.body.spec.pty) return attach(context, **api, *id);
  const Interrupt interrupt;
  const LogShow show{
      .name_ranks = made.body.spec.workers.max > 1, .newest = true, .reports = typed.reports};
  return Follow(context, **api, *id, show).run();
}

}  // namespace

Command run_command() {
  return {
      "run",
      "",
      "Jobs",
      "Submit a job and follow it; exits as the job did",
      "paceline run -- python3 train.py --lr 0.1\n"
      "paceline run --pty -- bash",
      [](Options& options) -> Action {
        const auto typed = std::make_shared<Run>();
        declare_job_options(options, typed->job);
        options.flag("--pty", typed->pty, "one worker on this terminal, for an interactive shell");
        options.flag("--reports", typed->reports, "show also the lines by which the job reports");
        return [typed](Context& context) {
          return with_submission(context, typed->job, [&](MadeSubmission made) {
            made.body.spec.pty = typed->pty;
            if (typed->pty) make_one_worker(made.body.spec);
            return submit_and_follow(context, made, *typed);
          });
        };
      }};
}

}  // namespace paceline
