#include "cli/job/launcher.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <span>
#include <string_view>

#include "base/points.hpp"
#include "cli/job/shell_words.hpp"
#include "cli/words/text.hpp"

namespace paceline {
namespace {

using Names = std::array<std::string_view, 7>;

struct Launcher {
  std::string_view name;  // as people write it
  std::string_view program;
  std::string_view subcommand;  // that must follow, or ""
  std::array<std::string_view, 2> modules;
  Names machines;  // options that say how many machines, or which; with '-' for '_'
  Names processes;
};

constexpr Names kMpiMachines = {"-H",         "-host",        "--host",       "-hostfile",
                                "--hostfile", "-machinefile", "--machinefile"};
constexpr Names kMpiProcesses = {"-np", "--np", "-n", "-c"};

constexpr std::array kLaunchers = {
    Launcher{"torchrun",
             "torchrun",
             "",
             {"torch.distributed.run", "torch.distributed.launch"},
             {"--nnodes"},
             {"--nproc-per-node"}},
    Launcher{"accelerate launch",
             "accelerate",
             "launch",
             {"accelerate.commands.launch"},
             {"--num-machines"},
             {"--num-processes"}},
    Launcher{
        "accelerate launch", "accelerate-launch", "", {}, {"--num-machines"}, {"--num-processes"}},
    Launcher{"deepspeed",
             "deepspeed",
             "",
             {"deepspeed.launcher.runner", "deepspeed"},
             {"--num-nodes", "--hostfile", "-H"},
             {"--num-gpus"}},
    Launcher{"mpirun", "mpirun", "", {}, kMpiMachines, kMpiProcesses},
    Launcher{"mpiexec", "mpiexec", "", {}, kMpiMachines, kMpiProcesses},
    Launcher{"horovodrun",
             "horovodrun",
             "",
             {"horovod.runner"},
             {"-H", "--hosts", "-hostfile", "--hostfile"},
             {"-np", "--num-proc"}},
    Launcher{"srun", "srun", "", {}, {}, {"-n", "--ntasks"}},
};

using Arguments = std::span<const std::string>;

bool is_assignment(std::string_view word) {
  const auto equals = word.find('=');
  return equals != std::string_view::npos && equals > 0 && word.front() != '-' &&
         word.substr(0, equals).find('/') == std::string_view::npos;
}

// "uv run torchrun": in an environment of Python's.
bool runs_in_environment(Arguments argv) {
  constexpr std::array<std::string_view, 4> kTools = {"uv", "poetry", "pipenv", "pdm"};
  return argv.size() > 1 && argv[1] == "run" &&
         std::ranges::find(kTools, argv.front()) != kTools.end();
}

// What only stands in front of a program.
struct Front {
  std::string_view name;
  std::array<std::string_view, 10> with_value = {};  // options whose value is the next word
  std::size_t words = 0;                             // behind the options
};

constexpr std::array kFronts = {
    Front{"env", {"-u", "--unset", "-C", "--chdir"}},
    Front{"exec", {"-a"}},
    Front{"nohup"},
    Front{"setsid"},
    Front{"time", {"-f", "--format", "-o", "--output"}},
    Front{"nice", {"-n", "--adjustment"}},
    Front{"ionice", {"-c", "--class", "-n", "--classdata"}},
    Front{"timeout", {"-s", "--signal", "-k", "--kill-after"}, 1},
    Front{"stdbuf", {"-i", "--input", "-o", "--output", "-e", "--error"}},
    Front{"taskset", {}, 1},
    Front{"numactl",
          {"-i", "--interleave", "-p", "--preferred", "-N", "--cpunodebind", "-C", "--physcpubind",
           "-m", "--membind"}},
    Front{"then"},
    Front{"else"},
    Front{"do"},
    Front{"!"},
};

// "env -u A torchrun" without its first two words and their like.
Arguments behind(const Front& front, Arguments argv) {
  std::size_t at = 1;
  while (at < argv.size() && argv[at].starts_with('-')) {
    const auto& option = argv[at++];
    if (option == "--") break;
    if (std::ranges::find(front.with_value, option) != front.with_value.end()) ++at;
  }
  return argv.subspan(std::min(at + front.words, argv.size()));
}

// Behind what only stands in front of a program.
Arguments bare(Arguments argv) {
  while (!argv.empty()) {
    if (runs_in_environment(argv)) {
      argv = argv.subspan(2);
      continue;
    }
    const auto program = std::filesystem::path(argv.front()).filename().string();
    const auto front = std::ranges::find(kFronts, program, &Front::name);
    if (front != kFronts.end())
      argv = behind(*front, argv);
    else if (is_assignment(argv.front()) || program == "command")  // "command -v torchrun" asks
      argv = argv.subspan(1);
    else
      break;
  }
  return argv;
}

// The module of `python -m MODULE …`, with what stands behind it.
std::optional<Arguments> module_of(Arguments argv) {
  for (std::size_t i = 1; i + 1 < argv.size() && argv[i].starts_with('-'); ++i) {
    if (argv[i] == "-m") return argv.subspan(i + 1);
    if (argv[i] == "-X" || argv[i] == "-W") ++i;
  }
  return {};
}

struct Found {
  const Launcher* launcher = nullptr;
  Arguments rest;  // behind its name
};

std::optional<Found> find_module(Arguments module) {
  for (const auto& launcher : kLaunchers) {
    const auto known = std::ranges::find(launcher.modules, module.front());
    if (known != launcher.modules.end()) return Found{&launcher, module.subspan(1)};
  }
  return {};
}

// REQUIRES: bare, not empty.
std::optional<Found> find_call(Arguments argv) {
  const auto program = std::filesystem::path(argv.front()).filename().string();
  if (program.starts_with("python")) {
    const auto module = module_of(argv);
    return module ? find_module(*module) : std::nullopt;
  }
  for (const auto& launcher : kLaunchers) {
    if (launcher.program != program) continue;
    if (launcher.subcommand.empty()) return Found{&launcher, argv.subspan(1)};
    if (argv.size() > 1 && argv[1] == launcher.subcommand) return Found{&launcher, argv.subspan(2)};
  }
  return {};
}

bool is_script(const std::string& word) { return word.ends_with(".py"); }

// The value of the first of the options; "--nnodes=2" and "--nnodes 2" are the same.
std::optional<std::string> option_of(Arguments arguments, const Names& names) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const auto equals = std::min(arguments[i].find('='), arguments[i].size());
    auto name = arguments[i].substr(0, equals);
    std::ranges::replace(name, '_', '-');
    if (!name.starts_with('-') || std::ranges::find(names, name) == names.end()) continue;
    if (equals < arguments[i].size()) return arguments[i].substr(equals + 1);
    if (i + 1 < arguments.size()) return arguments[i + 1];
  }
  return {};
}

// Whether a number of machines or a list of them is more than this one. A variable can't be told.
bool is_several(const std::string& machines) {
  if (machines.starts_with('$') || machines == "1" || machines == "1:1") return false;
  const bool here = machines.starts_with("localhost") || machines.starts_with("127.0.0.1");
  return !here || machines.find(',') != std::string::npos;
}

std::string slots_of(const JobWords& words) {
  return words.slots.value_or(words.slots_per_worker.value_or("1"));
}

std::string joined(Arguments words) {
  std::string text;
  for (const auto& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

std::string script_alone(const JobWords& words, const LauncherCall& launcher) {
  const auto slots = launcher.processes && *launcher.processes > 0
                         ? std::to_string(*launcher.processes)
                         : slots_of(words);
  return fmt::format(
      "Write the script alone, as in 'paceline run --slots {} -- python3 {}': Paceline starts the "
      "workers and sets torchrun's environment. --as-is leaves the command as it is.",
      words.slots.value_or(slots), launcher.script.empty() ? "train.py" : launcher.script);
}

std::string itself(const LauncherCall& launcher) {
  return fmt::format("{} starts the processes itself", launcher.name);
}

// Where it starts another number of processes than it gets slots.
std::optional<std::string> count_sentence(const JobWords& words, const LauncherCall& launcher) {
  const auto slots = parse_range(slots_of(words));
  if (!launcher.processes || !slots || *launcher.processes < 1 || *launcher.processes == slots->max)
    return {};
  const auto processes = static_cast<std::uint64_t>(*launcher.processes);
  return fmt::format("{} is told to start {}, and the job has {}: --slots {} fits.", launcher.name,
                     processes == 1 ? "1 process" : fmt::format("{} processes", processes),
                     plural(static_cast<std::uint64_t>(slots->max), "slot"), processes);
}

}  // namespace

std::optional<LauncherCall> launcher_in(const std::vector<std::string>& argv) {
  const auto program = bare(argv);
  if (program.empty()) return {};
  if (is_shell(program.front())) {
    const auto text = shell_text(program);
    return text ? find_launcher(*text) : std::nullopt;
  }
  const auto found = find_call(program);
  if (!found) return {};
  LauncherCall call;
  call.name = found->launcher->name;
  const auto script = std::ranges::find_if(found->rest, is_script);
  const auto own = static_cast<std::size_t>(script - found->rest.begin());
  const auto options = found->rest.first(own);
  call.script = joined(found->rest.subspan(own));
  if (const auto processes = option_of(options, found->launcher->processes))
    call.processes = number_of<std::int64_t>(*processes);
  const auto machines = option_of(options, found->launcher->machines);
  call.several_machines = machines && is_several(*machines);
  return call;
}

std::optional<LauncherCall> find_launcher(const std::string& shell_text) {
  for (const auto& command : simple_commands(shell_text)) {
    if (auto call = launcher_in(command)) return call;
  }
  return {};
}

std::optional<LauncherCall> find_launcher(const JobWords& words) {
  return words.shell ? find_launcher(words.command.back()) : launcher_in(words.command);
}

Result<std::optional<std::string>> make_one_worker(JobWords& words, const std::string& why,
                                                   const std::string& hint) {
  const auto slots = parse_range(slots_of(words));
  if (!slots) return fail(slots.error());
  const auto all = std::to_string(slots->max);
  if (slots->min != slots->max) {
    return fail(ErrorCode::invalid,
                fmt::format("{} and can't use a range of slots: {}.", why, to_string(*slots)),
                hint);
  }
  const bool several = words.slots_per_worker && words.slots_per_worker != all;
  if (several || words.tensor || words.pipeline) {
    return fail(ErrorCode::invalid,
                fmt::format("{}, and {} would give it to several workers.", why,
                            several ? "--slots-per-worker " + *words.slots_per_worker : "--mesh"),
                hint);
  }
  if (slots->max == 1 || words.slots_per_worker) return std::nullopt;
  words.slots_per_worker = all;
  return fmt::format("{}: one worker with {} slots.", why, all);
}

Result<std::vector<std::string>> fit_launcher(JobWords& words, const LauncherCall& launcher) {
  const auto hint = script_alone(words, launcher);
  if (launcher.name == "srun") {
    return fail(ErrorCode::invalid, "srun starts processes by Slurm, not on the slots of this job.",
                hint);
  }
  if (launcher.several_machines) {
    return fail(ErrorCode::invalid,
                fmt::format("{} is told to start processes on several machines.", launcher.name),
                hint);
  }
  const auto made = make_one_worker(words, itself(launcher), hint);
  if (!made) return fail(made.error());
  std::vector<std::string> sentences;
  if (*made) sentences.push_back(**made);
  if (auto count = count_sentence(words, launcher)) sentences.push_back(std::move(*count));
  return sentences;
}

}  // namespace paceline
