#include "cli/commands/faults.hpp"

#include <fmt/format.h>

#include <utility>

#include "cli/words/table.hpp"
#include "cli/words/text.hpp"
#include "cli/words/units.hpp"

namespace paceline {
namespace {

constexpr Bounds kFaultSeeds{0, 1'000'000'000'000};
constexpr std::int64_t kSeedsAtOnceMax = 10'000'000;

tl::unexpected<Error> no_seeds(std::string_view typed) {
  return fail(ErrorCode::invalid, fmt::format("--faults: '{}' is no range of seeds.", typed),
              fmt::format("Give one seed or a range of at most {} of them, for example --faults "
                          "1..1000.",
                          human_count(kSeedsAtOnceMax)));
}

// "7" or "1..1000".
Result<std::pair<std::int64_t, std::int64_t>> read_seeds(std::string_view typed) {
  const auto dots = typed.find("..");
  const auto first = parse_whole(typed.substr(0, dots), kFaultSeeds);
  const auto last =
      dots == std::string_view::npos ? first : parse_whole(typed.substr(dots + 2), kFaultSeeds);
  if (!first || !last || *last < *first || *last - *first >= kSeedsAtOnceMax)
    return no_seeds(typed);
  return std::pair{*first, *last};
}

Result<void> refuse_others(std::span<const std::string_view> others) {
  if (others.empty()) return {};
  return fail(ErrorCode::invalid,
              fmt::format("{} belongs to a trace, and --faults simulates none.", others.front()),
              "Leave out one of them.");
}

Result<FaultsOptions> read_faults(const FaultsTyped& typed, const Output& output) {
  const auto seeds = read_seeds(*typed.seeds);
  if (!seeds) return fail(seeds.error());
  FaultsOptions options;
  options.first = static_cast<std::uint64_t>(seeds->first);
  options.last = static_cast<std::uint64_t>(seeds->second);
  options.threads = typed.threads;
  if (typed.story && (options.first != options.last || output.format == Format::json)) {
    return fail(ErrorCode::invalid, "--story tells of one seed, in lines.",
                "Name one seed and leave out -o json, for example --faults 7 --story.");
  }
  return options;
}

std::string failures_of(const Document& study) {
  std::string text;
  for (const auto& failed : list_of(study, "failed")) {
    for (const auto& fault : list_of(failed, "faults"))
      text += fmt::format("seed {} {}\n", whole_of(failed, "seed"), fault.get<std::string>());
    text += fmt::format("  again: {}\n", text_of(failed, "replay"));
  }
  return text;
}

std::string counts_of(const Document& study, const Console& console) {
  Table table({{"WHAT HAPPENED"}, {"TIMES", Align::right}});
  for (const auto& [what, times] : member(study, "happened").items())
    table.add({{what}, {human_count(times.get<std::uint64_t>())}});
  return table.render(console.look());
}

std::string page_of(const Document& study, const Console& console, bool header) {
  const auto failures = static_cast<std::uint64_t>(whole_of(study, "failures"));
  return failures_of(study) + (header ? counts_of(study, console) + "\n" : "") +
         fmt::format("{}, {} in {}; {} failed; digest {}.\n",
                     plural(static_cast<std::uint64_t>(whole_of(study, "seeds")), "seed"),
                     human_duration(number_of(study, "virtual_seconds").value_or(0)),
                     human_duration(number_of(study, "wall_seconds").value_or(0)), failures,
                     text_of(study, "digest"));
}

}  // namespace

void declare_faults(Options& options, FaultsTyped& typed) {
  options.value("--faults", "SEEDS", typed.seeds,
                "instead of a trace: everything that can go wrong, from a seed or 1..1000");
  options.flag("--story", typed.story, "tell what happens in the only seed of --faults, and when");
}

Result<int> show_faults(Context& context, const FaultsTyped& typed, const Output& output,
                        std::span<const std::string_view> others, const ProgressBar& bar) {
  if (auto ok = refuse_others(others); !ok) return fail(ok.error());
  auto options = read_faults(typed, output);
  if (!options) return fail(options.error());
  Console& console = context.console;
  if (typed.story) {
    options->story = [&](Duration since, std::string_view line) {
      console.print(fmt::format("{:12.6f}  {}\n", to_seconds(since), printable(line)));
    };
  }
  const auto study = context.hooks.simulate_faults(*options, typed.story ? ProgressBar() : bar);
  console.status("");
  if (!study) return fail(study.error());
  const auto document = parse_document(*study);
  if (!document) return fail(document.error());
  console.print(output.format == Format::json ? json_text(*document, console)
                                              : page_of(*document, console, output.header));
  return whole_of(*document, "failures") > 0 ? 1 : 0;
}

}  // namespace paceline
