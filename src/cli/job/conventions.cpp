#include "cli/job/conventions.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "cli/job/batch_script.hpp"
#include "cli/job/launcher.hpp"

namespace paceline {
namespace {

void append(std::vector<std::string> sentences, std::vector<std::string>& to) {
  for (auto& sentence : sentences) to.push_back(std::move(sentence));
}

// A batch script is one worker's, whatever it calls.
Result<void> take_script(BatchScript script, Understood& understood) {
  understood.words.command.clear();
  understood.words = overlaid(std::move(script.words), understood.words);
  append(std::move(script.notes), understood.notes);
  if (script.launcher) {
    auto fitted = fit_launcher(understood.words, *script.launcher);
    if (!fitted) return fail(std::move(fitted.error()));
    append(std::move(*fitted), understood.notes);
    return {};
  }
  const auto made =
      make_one_worker(understood.words, fmt::format("{} is started once as by sbatch", script.name),
                      "Submit the training itself, as in 'paceline submit --slots 1..4 -- python3 "
                      "train.py'. --as-is "
                      "starts the script once per worker, without its #SBATCH lines.");
  if (!made) return fail(made.error());
  if (*made) understood.notes.push_back(**made);
  return {};
}

}  // namespace

Result<Understood> understand(JobWords words, const std::string& directory) {
  Understood understood{std::move(words), {}};
  if (understood.words.as_is == "true" || understood.words.command.empty()) return understood;
  const auto where =
      std::filesystem::path(directory) / understood.words.workdir.value_or(std::string());
  auto script = find_batch_script(understood.words, where.string());
  if (!script) return fail(std::move(script.error()));
  if (*script) {
    if (auto taken = take_script(std::move(**script), understood); !taken)
      return fail(std::move(taken.error()));
    return understood;
  }
  if (const auto launcher = find_launcher(understood.words)) {
    auto fitted = fit_launcher(understood.words, *launcher);
    if (!fitted) return fail(std::move(fitted.error()));
    append(std::move(*fitted), understood.notes);
  }
  return understood;
}

}  // namespace paceline
