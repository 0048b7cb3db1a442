#include "cli/job/submission.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "base/utf8.hpp"
#include "cli/job/program.hpp"
#include "files/witnesses.hpp"

namespace paceline {
namespace {

constexpr std::array<std::string_view, 10> kLittle = {
    "HOME", "USER", "LOGNAME", "SHELL", "PATH", "LANG", "LC_ALL", "TERM", "TZ", "TMPDIR"};

// What a worker gets from an agent (docs/design.md, 7); a job submitted from within one gets its
// own.
constexpr std::array<std::string_view, 17> kWorkerVariables = {"MASTER_ADDR",
                                                               "MASTER_PORT",
                                                               "RANK",
                                                               "WORLD_SIZE",
                                                               "LOCAL_RANK",
                                                               "LOCAL_WORLD_SIZE",
                                                               "GROUP_RANK",
                                                               "GROUP_WORLD_SIZE",
                                                               "TF_CONFIG",
                                                               "JAX_NUM_PROCESSES",
                                                               "JAX_PROCESS_ID",
                                                               "JAX_COORDINATOR_ADDRESS",
                                                               "JAX_LOCAL_DEVICE_IDS",
                                                               "CUDA_VISIBLE_DEVICES",
                                                               "CUDA_DEVICE_ORDER",
                                                               "PET_MASTER_PORT",
                                                               "NVIDIA_VISIBLE_DEVICES"};
constexpr std::array<std::string_view, 4> kWorkerPrefixes = {"PACELINE_", "TORCHELASTIC_",
                                                             "KUBEFLOW_TRAINER_", "ROLE_"};

bool is_of_paceline(std::string_view name, bool within_job) {
  if (name.starts_with("PACELINE_")) return true;
  if (!within_job) return false;
  return std::ranges::find(kWorkerVariables, name) != kWorkerVariables.end() ||
         std::ranges::any_of(kWorkerPrefixes,
                             [&](std::string_view prefix) { return name.starts_with(prefix); });
}

std::string without_slash(std::string path) {
  if (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path;
}

// The directory to run in: absolute, or from the home elsewhere.
Result<std::string> directory_of(const JobWords& words, const Submitter& submitter) {
  if (!words.workdir) return submitter.directory;
  if (submitter.elsewhere && !ships(words)) {
    const bool full = words.workdir->starts_with('/') || words.workdir->starts_with('~');
    const std::filesystem::path path = full ? *words.workdir : "~/" + *words.workdir;
    return without_slash(path.lexically_normal().string());
  }
  const auto path =
      (std::filesystem::path(submitter.directory) / *words.workdir).lexically_normal();
  std::error_code ec;
  if (!std::filesystem::is_directory(path, ec)) {
    return fail(ErrorCode::not_found, fmt::format("There is no directory {}.", path.string()),
                "Make it, or name another one with --workdir.");
  }
  return without_slash(path.string());
}

bool all_utf8(const std::vector<std::string>& words) {
  return std::ranges::all_of(words, [](const std::string& word) { return is_utf8(word); });
}

Result<LaunchSpec> launch_of(const JobWords& words, const Submitter& submitter, Inherit inherit) {
  LaunchSpec launch;
  auto directory = directory_of(words, submitter);
  if (!directory) return fail(std::move(directory.error()));
  launch.directory = std::move(*directory);
  const bool named = words.workdir.has_value();
  if (!named && !submitter.elsewhere && !ships(words))
    launch.witnesses = witnesses_of(launch.directory);
  launch.command = words.command;
  launch.shell = words.shell;
  launch.setup = words.setup.value_or("");
  launch.umask = submitter.umask;
  launch.shared_shm = words.shared_shm == "true";
  launch.environment = inherited(submitter.environment, inherit);
  if (launch.environment.contains("PWD")) launch.environment["PWD"] = launch.directory;
  for (const auto& [name, value] : words.env) {
    launch.environment[name] = value;
    if (is_utf8(name) && is_utf8(value)) continue;
    return fail(ErrorCode::invalid,
                fmt::format("The variable '{}' is not UTF-8 text.", to_utf8(name)),
                "Let the script read it from a file.");
  }
  if (!all_utf8(launch.command) || !is_utf8(launch.directory)) {
    return fail(ErrorCode::invalid, "The command or its directory is not UTF-8 text.",
                "Rename what it names.");
  }
  return launch;
}

Result<void> find_program_of(const LaunchSpec& launch) {
  const auto path = launch.environment.find("PATH");
  return find_program({.name = launch.command.front(),
                       .directory = launch.directory,
                       .path = path == launch.environment.end() ? "" : path->second});
}

}  // namespace

std::string with_home(const std::string& path, const Environment& environment) {
  const auto home = environment.find("HOME");
  const bool is_short = path == "~" || path.starts_with("~/");
  if (!is_short || home == environment.end() || home->second.empty()) return path;
  return home->second + path.substr(1);
}

Environment inherited(const Environment& environment, Inherit inherit) {
  const bool within_job =
      environment.contains("PACELINE_JOB_ID") || environment.contains("PACELINE_SOCKET");
  Environment kept;
  for (const auto& [name, value] : environment) {
    const bool little = std::ranges::find(kLittle, name) != kLittle.end();
    if (inherit == Inherit::little && !little) continue;
    if (is_of_paceline(name, within_job) || !is_utf8(name) || !is_utf8(value)) continue;
    kept.emplace(name, value);
  }
  return kept;
}

std::string name_of(const std::vector<std::string>& command) {
  for (std::size_t i = 1; i < command.size(); ++i) {
    const auto& word = command[i];
    if (word == "-m" && i + 1 < command.size()) return command[i + 1];
    const std::filesystem::path path(word);
    const auto suffix = path.extension();
    if (word.starts_with('-') || (suffix != ".py" && suffix != ".sh")) continue;
    return path.stem().string();
  }
  return std::filesystem::path(command.front()).stem().string();
}

Result<Submitter> this_submitter(const Environment& environment, WallTime now) {
  std::error_code ec;
  const auto physical = std::filesystem::current_path(ec);
  if (ec) {
    return fail(ErrorCode::not_found, "The current directory is gone.",
                "Change into another one, or name one with --workdir.");
  }
  std::string directory = physical.string();
  const auto logical = environment.find("PWD");
  if (logical != environment.end() && logical->second.starts_with('/') &&
      std::filesystem::equivalent(logical->second, physical, ec)) {
    directory = logical->second;
  }
  const auto mask = ::umask(0);
  ::umask(mask);
  return Submitter{environment, directory, static_cast<std::uint32_t>(mask & 0777), now};
}

Submitter submitter_elsewhere(WallTime now) {
  return {.environment = {}, .directory = "~", .umask = 022, .now = now, .elsewhere = true};
}

Result<SubmissionBody> make_submission(const JobWords& words, const Submitter& submitter,
                                       Inherit inherit) {
  if (words.command.empty()) {
    return fail(ErrorCode::invalid, "There is no command to run.",
                "Write it after '--', as in 'paceline submit -- python3 train.py'.");
  }
  auto spec = to_spec(words, submitter.now);
  if (!spec) return fail(std::move(spec.error()));
  auto launch = launch_of(words, submitter, inherit);
  if (!launch) return fail(std::move(launch.error()));
  if (!launch->shell && !submitter.elsewhere) {
    if (auto found = find_program_of(*launch); !found) return fail(std::move(found.error()));
  }
  if (spec->name.empty()) spec->name = name_of(words.command).substr(0, kNameLengthMax);
  if (!is_visible(spec->name) && !words.name) spec->name = "job";
  auto notify = to_notify(words);
  if (!notify) return fail(std::move(notify.error()));
  return SubmissionBody{std::move(*spec), std::move(*launch), std::move(*notify)};
}

}  // namespace paceline
