#include <fmt/format.h>

#include <functional>

#include "cli/commands/agree.hpp"
#include "cli/commands/journal.hpp"
#include "cli/words/text.hpp"
#include "cli/words/units.hpp"
#include "wire/json_writer.hpp"

namespace paceline {
namespace {

struct JournalPrune {
  std::optional<std::string> directory, before, keep;
  bool yes = false;
};

// What goes: whole segments from the oldest on.
struct Loss {
  std::uint64_t segments = 0, entries = 0, bytes = 0;
  std::uint64_t last = 0;             // entry
  std::optional<double> from, until;  // seconds
  void add(const Document& segment) {
    if (segments++ == 0) from = number_of(segment, "from");
    until = number_of(segment, "until");
    last = static_cast<std::uint64_t>(whole_of(segment, "last"));
    entries += static_cast<std::uint64_t>(whole_of(segment, "entries"));
    bytes += static_cast<std::uint64_t>(whole_of(segment, "bytes"));
  }
};

// Whether a segment is before what was named.
using Before = std::function<bool(const Document& segment)>;

Result<Before> read_before(const JournalPrune& typed) {
  if (typed.before.has_value() == typed.keep.has_value()) {
    return fail(ErrorCode::invalid, "Say what is pruned, with --before or with --keep.",
                "For example 'paceline journal prune --keep 90d'.");
  }
  const auto until = [](WallTime end) -> Before {
    return [end](const Document& segment) {
      const auto at = number_of(segment, "until");
      return at && *at < to_seconds(end);
    };
  };
  if (typed.keep) {
    const auto keep = parse_duration(*typed.keep);
    if (!keep)
      return fail(ErrorCode::invalid, "--keep: " + keep.error().message, keep.error().hint);
    return until(Context::now() - *keep);
  }
  if (const auto typed_seq = parse_whole(*typed.before, {1, std::int64_t{1} << 53})) {
    const auto seq = *typed_seq;
    return Before([seq](const Document& each) { return whole_of(each, "last") < seq; });
  }
  const auto date = parse_date(*typed.before);
  if (date) return until(*date);
  return fail(ErrorCode::invalid, "--before: " + date.error().message,
              "Write the number of an entry, or a date like 2025-11-20 or 2025-11-20T18:00:00Z.");
}

Loss loss_of(const Document& journal, const Before& before) {
  Loss loss;
  for (const auto& segment : list_of(journal, "segments")) {
    if (!before(segment)) break;
    loss.add(segment);
  }
  return loss;
}

std::string loss_sentence(const Loss& loss) {
  const double now = to_seconds(Context::now());
  const auto span = loss.from && loss.until
                        ? fmt::format(", from {} to {}", human_time(*loss.from, now),
                                      human_time(*loss.until, now))
                        : "";
  return fmt::format(
      "{} with the entries up to {} are removed ({}{}): nobody can list, replay or export these "
      "again.",
      plural(loss.segments, "segment"), loss.last, human_bytes(loss.bytes), span);
}

// By the server where one runs there, which has the directory for itself.
Result<Document> prune_segments(Context& context, const std::string& directory,
                                std::uint64_t before) {
  if (const auto api = context.api()) {
    JsonWriter json;
    json.begin_object().field("before", before).end_object();
    return (*api)->post("/v1/journal/prune", json.take());
  }
  const auto pruned = context.hooks.journal.prune(directory, before);
  if (!pruned) return fail(pruned.error());
  return parse_document(*pruned);
}

Result<int> prune_journal(Context& context, const JournalPrune& typed) {
  const auto before = read_before(typed);
  if (!before) return fail(before.error());
  const auto directory = journal_directory(context, typed.directory);
  if (!directory) return fail(directory.error());
  const auto journal = journal_document(context, *directory);
  if (!journal) return fail(journal.error());
  const auto loss = loss_of(*journal, *before);
  if (loss.segments == 0) {
    context.console.print("Nothing to prune: no segment of the journal is that old.\n");
    return 0;
  }
  if (!typed.yes) {
    if (auto agreed = agree(context, loss_sentence(loss)); !agreed) return fail(agreed.error());
  }
  const auto pruned = prune_segments(context, *directory, loss.last + 1);
  if (!pruned) return fail(pruned.error());
  context.console.print(
      fmt::format("{} and {} bytes are gone; the journal begins at entry {}.\n",
                  plural(static_cast<std::uint64_t>(whole_of(*pruned, "segments")), "segment"),
                  whole_of(*pruned, "bytes"), whole_of(*pruned, "first")));
  return 0;
}

}  // namespace

Command journal_prune_command() {
  return {"journal prune",
          "",
          "Journal",
          "Remove the oldest segments of the journal for good",
          "paceline journal prune --keep 90d\npaceline journal prune --before 2025-11-20 --yes",
          [](Options& options) -> Action {
            const auto typed = std::make_shared<JournalPrune>();
            options.value("--dir", "DIR", typed->directory,
                          "directory of the server (of the one that runs)");
            options.value("--before", "SEQ|DATE", typed->before,
                          "segments that end before this entry or day");
            options.value("--keep", "SPAN", typed->keep, "segments that ended longer ago: 90d");
            options.flag("-y,--yes", typed->yes, "ask nothing");
            return [typed](Context& context) { return prune_journal(context, *typed); };
          }};
}

}  // namespace paceline
