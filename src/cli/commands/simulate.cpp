#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/commands/command.hpp"
#include "cli/commands/faults.hpp"
#include "cli/commands/simulate_options.hpp"
#include "cli/words/replay_page.hpp"
#include "cli/words/study_page.hpp"

namespace paceline {
namespace {

constexpr int kBarWidth = 24;

struct Simulate {
  struct Given {
    std::optional<std::string> text;  // of one with a value
    bool flag = false;
  };
  std::vector<Given> options = std::vector<Given>(simulate_options().size());
  FaultsTyped faults;
  OutputOptions output;

  [[nodiscard]] bool has(std::size_t option) const {
    return options[option].text || options[option].flag;
  }
};

// Those of these that were given.
std::vector<std::string_view> given(const Simulate& typed, std::initializer_list<Of> of) {
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < simulate_options().size(); ++i)
    if (typed.has(i) && std::ranges::find(of, simulate_options()[i].of) != of.end())
      names.emplace_back(simulate_options()[i].name);
  return names;
}

// What the options that serve `of` say; nothing of the others is read.
Result<SimulateOptions> read_options(const Simulate& typed, std::initializer_list<Of> of) {
  SimulateOptions options;
  for (std::size_t i = 0; i < simulate_options().size(); ++i) {
    if (!typed.has(i) || std::ranges::find(of, simulate_options()[i].of) == of.end()) continue;
    if (auto set = simulate_options()[i].set(typed.options[i].text.value_or(""), options); !set) {
      set.error().message = fmt::format("{}: {}", simulate_options()[i].name, set.error().message);
      return fail(std::move(set.error()));
    }
  }
  return options;
}

Result<SimulateOptions> read(const Simulate& typed) {
  if (typed.faults.story) {
    return fail(ErrorCode::invalid, "--story tells of a seed of --faults, and there is none.",
                "Name one: paceline simulate --faults 7 --story");
  }
  auto options = read_options(typed, {Of::study, Of::journal, Of::any});
  if (!options) return options;
  if (options->trace.empty()) {
    return fail(ErrorCode::invalid, "--trace names no file.",
                "Say what to simulate: paceline simulate --trace FILE --cluster 64x8");
  }
  // A replay has the policies, nodes and times of its journal.
  const auto others = given(typed, {Of::study});
  if (!options->replay || others.empty()) return options;
  return fail(ErrorCode::invalid,
              fmt::format("--replay decides the journal's own rounds again: {} changes nothing.",
                          others.front()),
              "Leave out one of both.");
}

std::string part_done(double done) {
  const int full = static_cast<int>(done * kBarWidth);
  std::string bar;
  for (int i = 0; i < kBarWidth; ++i) bar += i < full ? "█" : "░";
  return fmt::format("simulating {} {:3.0f} %", bar, done * 100);
}

void name_files(const SimulateOptions& options, Console& console) {
  for (const auto& file : {options.record, options.jobs_out, options.report, options.plot})
    if (file) console.note(fmt::format("Wrote {}.", *file));
}

void declare_options(Options& options, Simulate& typed) {
  for (std::size_t i = 0; i < simulate_options().size(); ++i) {
    const SimulateOption& option = simulate_options()[i];
    if (*option.value == '\0')
      options.flag(option.name, typed.options[i].flag, option.help);
    else
      options.value(option.name, option.value, typed.options[i].text, option.help);
  }
  declare_faults(options, typed.faults);
  options.output(typed.output, Watchable::no);
}

}  // namespace

Command simulate_command() {
  return {"simulate",
          "",
          "Cluster",
          "Run policies on a trace, with the scheduler that runs live",
          "paceline simulate --trace jobs.csv --cluster 64x8 --policy 'fifo,srtf,las'\n"
          "paceline simulate --trace jobs.csv.xz --cluster 64x8 --policy srtf --seeds 5 -o json\n"
          "paceline simulate --trace ~/.local/share/paceline --policy afs --what-if '+2x8'\n"
          "paceline simulate --trace ~/.local/share/paceline --replay",
          [](Options& options) -> Action {
            const auto typed = std::make_shared<Simulate>();
            declare_options(options, *typed);
            return [typed](Context& context) -> Result<int> {
              const auto output = read_output(typed->output);
              if (!output) return fail(output.error());
              Console& console = context.console;
              const ProgressBar bar = [&](double done) {
                console.status(part_done(done));
                return true;
              };
              if (typed->faults.seeds) {
                const auto common = read_options(*typed, {Of::any});
                if (!common) return fail(common.error());
                typed->faults.threads = common->threads;
                return show_faults(context, typed->faults, *output,
                                   given(*typed, {Of::study, Of::journal}), bar);
              }
              const auto wanted = read(*typed);
              if (!wanted) return fail(wanted.error());
              const auto study = context.hooks.simulate(*wanted, bar);
              console.status("");
              if (!study) return fail(study.error());
              const auto document = parse_document(*study);
              if (!document) return fail(document.error());
              if (output->format == Format::json) {
                console.print(json_text(*document, console));
              } else {
                console.print(wanted->replay ? replay_page(*document)
                                             : study_page(*document, console, *output));
                name_files(*wanted, console);
              }
              return wanted->replay && differs(*document) ? 1 : 0;
            };
          }};
}

}  // namespace paceline
