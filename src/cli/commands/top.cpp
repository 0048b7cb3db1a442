#include <fmt/format.h>

#include "cli/commands/command.hpp"
#include "cli/top/full_screen.hpp"
#include "cli/top/live_view.hpp"
#include "cli/top/source.hpp"
#include "cli/words/expected_text.hpp"
#include "cli/words/units.hpp"

namespace paceline {
namespace {

struct Top {
  OutputOptions output;
  std::vector<std::string> filter;
  bool all = false;
  bool once = false;
};

Result<Board::Begin> begin_of(Context& context, const Top& typed) {
  const auto uid = context.own_uid();
  if (!uid) return fail(uid.error());
  auto filter = Filter::parse(fmt::format("{}", fmt::join(typed.filter, " ")), *uid);
  if (!filter) return fail(std::move(filter.error()));
  return Board::Begin{std::move(*filter), typed.all, *uid};
}

std::string whole_json(BoardNews news, const Filter& filter, const Console& console) {
  Document jobs = {{"jobs", Document::array()}};
  for (auto& job : news.jobs) {
    if (filter.wants(job)) jobs["jobs"].push_back(std::move(job));
  }
  join_expected(jobs, news.expected);
  return json_text({{"server", std::move(news.server)},
                    {"nodes", member(news.nodes, "nodes")},
                    {"jobs", std::move(jobs["jobs"])}},
                   console);
}

Result<int> print_once(Console& console, const ServerAddress& server, Board::Begin begin,
                       Format format) {
  constexpr std::size_t kUncut = 100'000;
  BoardNews news = Source(server).look({.ended = begin.ended});
  if (news.away) return fail(std::move(*news.away));
  if (format == Format::json) {
    console.print(whole_json(std::move(news), begin.filter, console));
    return 0;
  }
  const Paper paper{.size = {console.look().width.value_or(kUncut), 0},
                    .color = console.look().color,
                    .now = news.at};
  Board board(std::move(begin));
  board.told(std::move(news));
  for (const auto& row : board.draw_whole(paper)) console.print(row + "\n");
  return 0;
}

Result<int> run(Context& context, const Top& typed) {
  auto output = read_output(typed.output);
  if (!output) return fail(std::move(output.error()));
  if (output->format != Format::table && output->format != Format::json)
    return fail(ErrorCode::invalid, "'top' has no such format.", "Formats are table and json.");
  if (!typed.output.interval) output->interval = std::chrono::seconds{2};
  auto begin = begin_of(context, typed);
  if (!begin) return fail(std::move(begin.error()));
  const auto api = context.api();
  if (!api) return fail(api.error());
  const auto& server = (*api)->server();
  const bool live = !typed.once && output->format == Format::table;
  if (live && FullScreen::can_draw(context.console, context.environment)) {
    run_live_view(context.console, server, output->interval, Board(std::move(*begin)));
    return 0;
  }
  if (live && context.console.output_terminal())
    context.console.note(
        "This terminal can't be drawn on: this is one picture.\nSet TERM, as to "
        "xterm, where it can.");
  return print_once(context.console, server, std::move(*begin), output->format);
}

}  // namespace

Command top_command() {
  return {
      "top",
      "",
      "Jobs",
      "Watch slots and queue on one screen; open jobs, follow logs",
      "paceline top\npaceline top me\npaceline top user:ann state:RUNNING\n"
      "paceline top --once",
      [](Options& options) -> Action {
        const auto typed = std::make_shared<Top>();
        options.words("FILTER", typed->filter, Count::any,
                      "train, name:train*, user:ann, state:RUNNING, me: as typed after /");
        options.flag("-a,--all", typed->all, "the newest ended jobs too");
        options.flag("--once", typed->once, "print one picture, as where there is no terminal");
        options.value("--interval", "TIME", typed->output.interval, "time between two looks (2s)");
        options.value("-o,--output", "FORMAT", typed->output.format, "table, or json: one picture");
        return [typed](Context& context) { return run(context, *typed); };
      }};
}

}  // namespace paceline
