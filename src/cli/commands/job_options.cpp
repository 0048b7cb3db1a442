#include "cli/commands/job_options.hpp"

#include <fmt/format.h>
#include <sys/random.h>

#include <array>
#include <utility>

#include "base/check.hpp"
#include "base/utf8.hpp"
#include "cli/client/persistence.hpp"
#include "cli/client/ship_sender.hpp"
#include "cli/job/contradictions.hpp"
#include "cli/job/conventions.hpp"
#include "cli/job/job_file.hpp"

namespace paceline {
namespace {

constexpr int kExitJobFile = 65;

Error about(std::string_view option, Error error) {
  error.message = fmt::format("{}: {}", option, error.message);
  return error;
}

// What was typed of each list, judged and in its parts.
Result<void> read_lists(JobWords& words) {
  for (const auto& list : job_lists()) {
    for (const auto& text : std::exchange(words.*list.field, {})) {
      if (auto added = list.add(text, words.*list.field); !added)
        return fail(about(list.option, added.error()));
    }
  }
  return {};
}

// The words of the command line, judged.
Result<JobWords> typed_words(const JobOptions& job) {
  JobWords words = job.words;
  if (auto judged = judge_words(words); !judged) return fail(std::move(judged.error()));
  for (const auto& text : job.env) {
    auto variable = parse_variable(text);
    if (!variable) return fail(about("--env", variable.error()));
    words.env.insert_or_assign(variable->first, variable->second);
  }
  if (job.mesh) {
    if (auto added = add_mesh(*job.mesh, words); !added)
      return fail(about("--mesh", added.error()));
  }
  if (auto sized = one_size(words); !sized) return fail(std::move(sized.error()));
  if (job.exclusive) words.exclusive = "true";
  if (job.no_preempt) words.preemptible = "false";
  if (job.shared_shm) words.shared_shm = "true";
  if (job.as_is) words.as_is = "true";
  if (job.ship) words.ship = "true";
  if (auto read = read_lists(words); !read) return fail(std::move(read.error()));
  return words;
}

Result<int> refuse_file(Context& context, const Error& error) {
  const bool content = error.code == ErrorCode::invalid || error.code == ErrorCode::too_large;
  if (!content) return fail(error);
  context.console.complain(error);
  return kExitJobFile;
}

// The directory that travels is here, wherever the job runs.
Result<Submitter> submitter_of(Context& context, const JobWords& words) {
  const auto remote = context.remote();
  if (!remote) return fail(remote.error());
  const auto now = Context::now();
  if (!*remote) return this_submitter(context.environment, now);
  auto elsewhere = submitter_elsewhere(now);
  if (!ships(words)) return elsewhere;
  auto here = this_submitter(context.environment, now);
  if (!here) return here;
  elsewhere.directory = std::move(here->directory);
  return elsewhere;
}

// The pattern from the root on where it begins at home: on nodes nobody expands it.
Result<void> expand_checkpoint(JobWords& words, const Submitter& submitter,
                               const Environment& environment) {
  if (!words.checkpoint) return {};
  if (!submitter.elsewhere) words.checkpoint = with_home(*words.checkpoint, environment);
  if (!words.checkpoint->starts_with('~')) return {};
  return fail(
      ErrorCode::invalid,
      fmt::format("--checkpoint: Whose home '{}' begins at is not known here.", *words.checkpoint),
      "Write it from the job's directory on, like 'checkpoints/*.pt', or from '/' on.");
}

// What a batch script asks to be mailed is left out where nothing is, as it would not have kept the job
// from running under sbatch.
void leave_out_mail(Context& context, Notify& notify) {
  const auto api = context.api();
  if (!api) return;  // the submitter is told
  const auto server = (*api)->get("/v1/server");
  if (!server || flag_of(*server, "mails")) return;
  notify = {};
  context.console.note("This server sends no mail: --mail-type and --mail-user are left out.");
}

std::string fresh_key() {
  std::array<unsigned char, 16> bytes{};
  check(::getrandom(bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()),
        "random bytes for a key");
  std::string key;
  for (const auto byte : bytes) key += fmt::format("{:02x}", byte);
  return key;
}

}  // namespace

void declare_job_options(Options& options, JobOptions& job) {
  options.value("-f,--file", "FILE", job.file, "job file (docs/cli.md); '-' is standard input");
  for (const auto& word : job_words()) {
    if (word.option.empty()) continue;
    options.value(std::string(word.option), word.value_name, job.words.*word.field, word.help);
  }
  options.values("--env", "NAME=VALUE", job.env, "sets a variable of the job; may be repeated");
  options.flag("--clean-env", job.clean_env, "hand over only HOME, PATH, LANG and their like");
  options.value("--mesh", "tensor=N,pipeline=N", job.mesh, "workers that belong together (1 each)");
  for (const auto& list : job_lists()) {
    options.values(std::string(list.option), list.value_name, job.words.*list.field, list.help);
  }
  options.flag("--exclusive", job.exclusive, "share no node with other jobs");
  options.flag("--no-preempt", job.no_preempt, "never stop it for another job");
  options.flag("--shared-shm", job.shared_shm, "see the machine's /dev/shm, not one of its own");
  options.flag("--as-is", job.as_is, "heed neither #SBATCH lines nor what starts processes itself");
  options.flag("--ship", job.ship, "send the directory to the nodes it runs on");
  options.flag("--hold", job.words.hold, "wait for 'paceline resume'");
  options.command_line(job.words.command);
}

Result<int> with_submission(Context& context, const JobOptions& job,
                            const std::function<Result<int>(MadeSubmission)>& then) {
  auto words = typed_words(job);
  if (!words) return fail(std::move(words.error()));
  if (job.file) {
    auto file = read_job_file(*job.file);
    if (!file) return refuse_file(context, file.error());
    *words = overlaid(std::move(*file), *words);
  }
  const auto submitter = submitter_of(context, *words);
  if (!submitter) return fail(submitter.error());
  const bool is_here = !submitter->elsewhere || ships(*words);
  if (words->workdir && is_here) words->workdir = with_home(*words->workdir, context.environment);
  if (auto ok = expand_checkpoint(*words, *submitter, context.environment); !ok)
    return fail(std::move(ok.error()));
  const auto understood = understand(std::move(*words), submitter->directory);
  if (!understood) return fail(understood.error());
  auto submission = make_submission(understood->words, *submitter,
                                    job.clean_env ? Inherit::little : Inherit::everything);
  if (!submission) return fail(std::move(submission.error()));
  for (const auto& sentence : understood->notes) context.console.note(sentence);
  if (understood->words.mail_if_possible) leave_out_mail(context, submission->notify);
  for (const auto& sentence : contradictions(submission->spec, submitter->now))
    context.console.note(sentence);
  for (const auto& [name, value] : submitter->environment) {
    if (job.clean_env || (is_utf8(name) && is_utf8(value))) continue;
    context.console.note(
        fmt::format("The variable {} is not UTF-8 text: the job goes without it.", to_utf8(name)));
  }
  MadeSubmission made{std::move(*submission), {}};
  if (!ships(understood->words)) return then(std::move(made));
  const LaunchSpec& launch = made.body.launch;
  for (const auto& word : launch.command) {
    if (!word.starts_with(launch.directory + "/")) continue;
    context.console.note(fmt::format(
        "'{}' is the file there, not the copy that travels: write it from the directory on.",
        word));
  }
  made.ships = Packing{launch.directory, understood->words.ship_paths};
  return then(std::move(made));
}

Result<std::uint32_t> submit(Context& context, MadeSubmission submission) {
  const auto api = context.api();
  if (!api) return fail(api.error());
  if (submission.ships) {
    auto shipped = send_ship(**api, context.console, *submission.ships);
    if (!shipped) return fail(std::move(shipped.error()));
    submission.body.launch.shipped = std::move(*shipped);
  }
  ClientRequest request;
  request.method = "POST";
  request.target = "/v1/jobs";
  request.body = submission_body(submission.body);
  request.idempotency_key = fresh_key();
  Persistence patience(context.console);
  for (;;) {
    const auto answer = (*api)->ask(request);
    if (answer) {
      patience.over();
      return static_cast<std::uint32_t>(whole_of(*answer, "id"));
    }
    if (!patience.again(answer.error())) return fail(answer.error());
  }
}

}  // namespace paceline
