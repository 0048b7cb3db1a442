#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "cli/commands/agree.hpp"
#include "cli/commands/policy_words.hpp"
#include "cli/words/text.hpp"

namespace paceline {
namespace {

constexpr std::size_t kNamedMax = 3;  // jobs in a sentence

std::string job_of(const Document& effect) {
  return printable(fmt::format("job {} of {}", whole_of(effect, "id"), text_of(effect, "user")));
}

std::string loss_of(const Document& effect) {
  const double lost = number_of(effect, "loses_seconds").value_or(0);
  const bool anew = flag_of(effect, "never_saved");
  if (lost <= 0) return "";
  return fmt::format("{}loses {}", anew ? "never saved and " : "", human_duration(lost));
}

// "stop job 5 of ann, which never saved and loses 45s"
std::string clause(const Document& effect) {
  const auto what = text_of(effect, "what");
  const auto loss = loss_of(effect);
  if (what == "asks") {
    return fmt::format("ask {} to save and give way, which never saved and would lose {}",
                       job_of(effect),
                       human_duration(number_of(effect, "loses_seconds").value_or(0)));
  }
  auto verb = what;
  verb.pop_back();  // "stops"
  auto text = fmt::format("{} {}", verb, job_of(effect));
  if (what == "shrinks" || what == "grows") {
    text +=
        fmt::format(" from {} to {}", whole_of(effect, "workers"),
                    plural(static_cast<std::uint64_t>(whole_of(effect, "workers_then")), "worker"));
  }
  return text + (loss.empty() ? "" : ", which " + loss);
}

// Does it stop, now or later, or lose work?
bool harms(const Document& effect) {
  const auto what = text_of(effect, "what");
  return what == "stops" || what == "asks" || number_of(effect, "loses_seconds").value_or(0) > 0;
}

std::string summary_of(const std::vector<std::string>& clauses, std::size_t unnamed) {
  const std::size_t named = std::min(clauses.size(), kNamedMax);
  std::vector<std::string> parts(clauses.begin(), clauses.begin() + static_cast<long>(named));
  auto text = fmt::format("{}", fmt::join(parts, "; "));
  const std::size_t others = unnamed + clauses.size() - named;
  if (others > 0) text += fmt::format("; and change {} more", plural(others, "job"));
  return text;
}

// What the next round would do to those it would harm, in one sentence; empty: nobody.
std::string harm_sentence(const Document& round) {
  std::vector<std::string> clauses;
  for (const auto& effect : list_of(round, "jobs"))
    if (harms(effect)) clauses.push_back(clause(effect));
  if (clauses.empty()) return "";
  return fmt::format("With {} the next round would {}.", text_of(round, "policy"),
                     summary_of(clauses, static_cast<std::size_t>(whole_of(round, "other_jobs"))));
}

// "The policy is srtf now; it was fifo. Its first round restarts nothing.\n", or what it does.
std::string switch_sentence(const Document& answer) {
  auto text =
      fmt::format("The policy is {} now; it was {}.", text_of(member(answer, "active"), "name"),
                  text_of(member(answer, "previous"), "name"));
  const auto& round = member(answer, "next_round");
  if (!round.is_object()) return text + "\n";
  std::vector<std::string> clauses;
  for (const auto& effect : list_of(round, "jobs")) clauses.push_back(clause(effect));
  if (clauses.empty()) return text + " Its first round restarts nothing.\n";
  return text +
         fmt::format(" The next round is to {}.\n",
                     summary_of(clauses, static_cast<std::size_t>(whole_of(round, "other_jobs"))));
}

Result<Document> ask(Api& api, const PolicySwitch& wanted, const std::string& query) {
  const auto target = wanted.target + query;
  return wanted.method == "PUT" ? api.put(target, wanted.body) : api.post(target, wanted.body);
}

Result<int> switch_policy(Context& context, const PolicySwitch& wanted, bool yes) {
  const auto api = context.api();
  if (!api) return fail(api.error());
  if (!yes) {
    const auto played = ask(**api, wanted, "?dry_run=1");
    if (!played) return fail(played.error());
    const auto harm = harm_sentence(member(*played, "next_round"));
    const auto agreed = harm.empty() ? Result<void>() : agree(context, harm);
    if (!agreed) return fail(agreed.error());
  }
  const auto answer = ask(**api, wanted, "");
  if (!answer) return fail(answer.error());
  context.console.print(switch_sentence(*answer));
  return 0;
}

}  // namespace

Action switch_action(Options& options, const ReadSwitch& read) {
  const auto yes = std::make_shared<bool>(false);
  options.flag("-y,--yes", *yes,
               "also where the next round stops jobs or loses work; asks nothing");
  return [yes, read](Context& context) -> Result<int> {
    const auto wanted = read();
    if (!wanted) return fail(wanted.error());
    return switch_policy(context, *wanted, *yes);
  };
}

}  // namespace paceline
