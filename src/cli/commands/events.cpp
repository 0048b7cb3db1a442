#include <fmt/format.h>

#include <algorithm>

#include "cli/client/interrupt.hpp"
#include "cli/client/persistence.hpp"
#include "cli/commands/command.hpp"
#include "cli/words/event_view.hpp"
#include "cli/words/units.hpp"

namespace paceline {
namespace {

struct Events {
  OutputOptions output;
  std::optional<std::string> from;
  bool follow = false;
};

struct Cursor {
  std::int64_t from = 0;  // the first event not printed yet
};

std::string drawn(const Document& event, Format format) {
  if (format == Format::json) {
    return event.dump(-1, ' ', false, Document::error_handler_t::replace) + "\n";
  }
  if (format == Format::name) return fmt::format("{}\n", whole_of(event, "seq"));
  return event_lines(event, to_seconds(Context::now())) + "\n";
}

void print(Context& context, const Document& event, Format format, Cursor& cursor) {
  const auto seq = whole_of(event, "seq");
  if (seq < cursor.from) return;
  context.console.print(drawn(event, format));
  cursor.from = seq + 1;
}

Result<int> print_all(Context& context, Api& api, Format format, Cursor cursor) {
  constexpr int kPage = 1000;
  while (!context.console.broken()) {
    const auto page = api.get(fmt::format("/v1/events?from={}&limit={}", cursor.from, kPage));
    if (!page) return fail(page.error());
    if (const auto first = whole_of(*page, "first");
        first > std::max<std::int64_t>(cursor.from, 1)) {
      context.console.note(
          fmt::format("The journal begins at entry {}: older ones were pruned.", first));
    }
    for (const auto& event : list_of(*page, "events")) print(context, event, format, cursor);
    // Other people's reports are left out: a page without events isn't the end.
    const auto next = whole_of(*page, "next");
    if (next <= cursor.from && list_of(*page, "events").empty()) break;
    cursor.from = std::max(cursor.from, next);
  }
  return 0;
}

// Prints one stream's events until it ends. Errors: why it ended.
Result<int> follow_once(Context& context, Api& api, Format format, Cursor& cursor,
                        Persistence& patience) {
  constexpr Duration kLook = std::chrono::hours{1};
  auto stream =
      EventStream::open(api.server(), fmt::format("/v1/events?from={}&follow=1", cursor.from));
  if (!stream) return fail(stream.error());
  patience.over();
  while (!context.console.broken()) {
    const auto next = stream->next(kLook);
    if (!next) return fail(next.error());
    if (!*next) continue;
    const auto event = parse_document((*next)->data);
    if (!event) return fail(event.error());
    print(context, *event, format, cursor);
  }
  return 0;
}

Result<int> follow(Context& context, Api& api, Format format, Cursor cursor) {
  Persistence patience(context.console);
  for (;;) {
    const auto ended = follow_once(context, api, format, cursor, patience);
    if (ended || !patience.again(ended.error())) return ended;
  }
}

Result<int> run(Context& context, const Events& typed) {
  const auto output = read_output(typed.output);
  if (!output) return fail(output.error());
  Cursor cursor;
  if (typed.from) {
    const auto from = parse_whole(*typed.from, {0, std::int64_t{1} << 53});
    if (!from) return fail(ErrorCode::invalid, "--from: " + from.error().message);
    cursor.from = *from;
  }
  const auto api = context.api();
  if (!api) return fail(api.error());
  return typed.follow ? follow(context, **api, output->format, cursor)
                      : print_all(context, **api, output->format, cursor);
}

}  // namespace

Command events_command() {
  return {"events",
          "",
          "Cluster",
          "Print what happened: every event and plan, in order",
          "paceline events --from 100\npaceline events -f -o json",
          [](Options& options) -> Action {
            const auto typed = std::make_shared<Events>();
            options.flag("-f,--follow", typed->follow, "go on as more happens");
            options.value("--from", "SEQ", typed->from, "start with this event (the first)");
            options.output(typed->output, Watchable::no);
            return [typed](Context& context) { return run(context, *typed); };
          }};
}

}  // namespace paceline
