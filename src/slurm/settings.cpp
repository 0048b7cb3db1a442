#include "slurm/settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace paceline {
namespace {

Result<void> check_word(std::string_view option, std::string_view word, std::string_view beside) {
  const auto plain = [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           beside.find(c) != std::string_view::npos;
  };
  if (word.size() <= kSlurmWordMax && std::ranges::all_of(word, plain) && !word.starts_with('-'))
    return {};
  return fail(
      ErrorCode::invalid, fmt::format("{}: '{}' is no word of Slurm's.", option, word),
      "Write it as for sbatch; 'sinfo' and 'sacctmgr show associations user=$USER' show what "
      "there is.");
}

// Slurm warns up to a minute too early: shorter pilots would be warned before their jobs have left, and are
// ended at their limit.
constexpr Duration kWarnedFrom = std::chrono::minutes{10};

// Whole minutes, as Slurm counts them.
std::int64_t minutes(Duration span) {
  return std::chrono::floor<std::chrono::minutes>(span).count();
}

}  // namespace

Result<void> validate(const PilotSettings& settings) {
  constexpr std::string_view kName = "._-,";
  if (auto ok = check_word("--partition", settings.partition, kName); !ok) return ok;
  if (auto ok = check_word("--account", settings.account, kName); !ok) return ok;
  if (auto ok = check_word("--gres", settings.gres, "._-:,"); !ok) return ok;
  if (auto ok = check_word("--pilot-log", settings.output, "._-/%"); !ok) return ok;
  if (settings.nodes_max < 1 || settings.nodes_max > kPilotsMax)
    return fail(ErrorCode::invalid, fmt::format("--nodes-max must be from 1 to {}.", kPilotsMax));
  if (settings.cpus < 1 || settings.cpus > kPilotCpusMax)
    return fail(ErrorCode::invalid, fmt::format("--cpus must be from 1 to {}.", kPilotCpusMax));
  if (settings.time < kPilotTimeMin || settings.time > kPilotTimeMax)
    return fail(ErrorCode::invalid, "--time must be from two minutes to a year.");
  if (settings.idle <= Duration{} || settings.idle > kPilotTimeMax)
    return fail(ErrorCode::invalid, "--idle must be more than nothing and at most a year.");
  if (settings.lease < kLeaseMin || settings.lease > kLeaseMax)
    return fail(ErrorCode::invalid, "--lease must be from 10 seconds to a year.");
  if (settings.look_every < kLookEveryMin || settings.look_every > kLookEveryMax)
    return fail(ErrorCode::invalid, "--look-every must be from a second to an hour.");
  return {};
}

std::uint32_t slots_of(const PilotSettings& settings) {
  if (!settings.gres.starts_with("gpu")) return settings.cpus;
  const auto colon = settings.gres.rfind(':');
  if (colon == std::string::npos) return 1;
  std::uint32_t count = 0;
  const char* const end = settings.gres.data() + settings.gres.size();
  const auto read = std::from_chars(settings.gres.data() + colon + 1, end, count);
  return read.ec == std::errc{} && read.ptr == end && count > 0 ? count : 1;
}

bool asks_alike(const PilotSettings& one, const PilotSettings& other) {
  auto as_one = other;
  as_one.nodes_max = one.nodes_max;
  as_one.idle = one.idle;
  as_one.look_every = one.look_every;
  return as_one == one;
}

std::string batch_options(const PilotSettings& settings) {
  std::string text = "#SBATCH --nodes=1 --ntasks=1 --no-requeue --open-mode=append\n";
  text +=
      fmt::format("#SBATCH --time={} --cpus-per-task={}\n", minutes(settings.time), settings.cpus);
  text += "#SBATCH --export=NIL\n";
  if (settings.time >= kWarnedFrom) text += "#SBATCH --signal=B:TERM@30\n";
  text += fmt::format("#SBATCH --output={} --chdir=/\n", settings.output);
  if (!settings.partition.empty())
    text += fmt::format("#SBATCH --partition={}\n", settings.partition);
  if (!settings.account.empty()) text += fmt::format("#SBATCH --account={}\n", settings.account);
  if (!settings.gres.empty()) text += fmt::format("#SBATCH --gres={}\n", settings.gres);
  return text;
}

std::string proof(const PilotCall& call) {
  const auto colon = call.address.rfind(':');
  auto host = call.address.substr(0, colon);
  if (host.starts_with('[')) host = host.substr(1, host.size() - 2);
  return fmt::format(
      "[ -x '{}' ] || exit {}; timeout 10 bash -c 'exec 3<>/dev/tcp/{}/{}' 2>/dev/null || exit {}",
      call.program, kNoProgram, host, call.address.substr(colon + 1), kNoServer);
}

std::string batch_script(const PilotSettings& settings, const PilotCall& call) {
  constexpr std::string_view kBody = R"sh(umask 077
program='{}'
[ -x "$program" ] || {{ echo "$program is not a program on $SLURMD_NODENAME"; exit {}; }}
dir=$(mktemp -d "${{SLURM_TMPDIR:-/tmp}}/paceline-XXXXXXXX") || exit {}
printf '%s\n' '{}' > "$dir/token" || exit {}
node="${{SLURMD_NODENAME:0:$((62 - ${{#SLURM_JOB_ID}}))}}-$SLURM_JOB_ID"
if [ -n "$CUDA_VISIBLE_DEVICES" ]; then
  given=${{CUDA_VISIBLE_DEVICES//[!,]/}}
  slots=$((${{#given}} + 1))
else
  slots=${{SLURM_CPUS_ON_NODE:-1}}
fi
memory=${{SLURM_MEM_PER_NODE:-$((${{SLURM_MEM_PER_CPU:-0}} * ${{SLURM_CPUS_ON_NODE:-1}}))}}
bounds=()
[ "$memory" -gt 0 ] && bounds=(--memory "${{memory}}M")
export PATH=${{PATH:-/usr/local/bin:/usr/bin:/bin}} HOME=${{HOME:-$(getent passwd "$(id -u)" | cut -d: -f6)}}
exec "$program" agent --guest --join '{}' --token-file "$dir/token" --dir "$dir" --node "$node" --slots "$slots" "${{bounds[@]}}" --lease {}s
)sh";
  return "#!/bin/bash\n" + batch_options(settings) +
         fmt::format(fmt::runtime(kBody), call.program, kNoProgram, kNoRoom, call.token, kNoRoom,
                     call.address, std::chrono::ceil<std::chrono::seconds>(settings.lease).count());
}

}  // namespace paceline
