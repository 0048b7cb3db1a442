#include "cli/commands/kinds.hpp"

#include "cli/client/watch.hpp"
#include "cli/words/job_view.hpp"
#include "cli/words/units.hpp"
#include "wire/error_json.hpp"

namespace paceline {

Result<int> for_each_word(Context& context, const std::vector<std::string>& words,
                          const std::function<Result<int>(Api&, const std::string&)>& act) {
  const auto api = context.api();
  if (!api) return fail(api.error());
  int code = 0;
  for (const auto& word : words) {
    const auto done = act(**api, word);
    if (!done) context.console.complain(done.error());
    const int here = done ? *done : exit_code(done.error().code);
    if (code == 0) code = here;
  }
  return code;
}

Result<int> for_each_job(Context& context, const std::vector<std::string>& ids,
                         const std::function<Result<int>(Api&, std::uint32_t)>& act) {
  for (const auto& word : ids) {
    const auto id = parse_id(word);
    if (!id) return fail(id.error());
  }
  return for_each_word(context, ids, [&](Api& api, const std::string& word) {
    return act(api, parse_id(word).value());
  });
}

Command view_command(Command command, std::string_view target, const Draw& draw) {
  command.declare = [target = std::string(target), draw](Options& options) -> Action {
    const auto typed = std::make_shared<OutputOptions>();
    options.output(*typed, Watchable::yes);
    return [typed, target, draw](Context& context) -> Result<int> {
      const auto output = read_output(*typed);
      if (!output) return fail(output.error());
      const auto api = context.api();
      if (!api) return fail(api.error());
      return show(context.console, *output, [&]() -> Result<std::string> {
        const auto answer = (*api)->get(target);
        if (!answer) return fail(answer.error());
        if (output->format == Format::json) return json_text(*answer, context.console);
        return draw(*answer, *output, context.console);
      });
    };
  };
  return command;
}

Command plain_command(Command command, const Ask& ask, const Tell& tell) {
  command.declare = [ask, tell](Options&) -> Action {
    return [ask, tell](Context& context) -> Result<int> {
      const auto api = context.api();
      if (!api) return fail(api.error());
      const auto answer = ask(**api);
      if (!answer) return fail(answer.error());
      context.console.print(tell(*answer));
      return 0;
    };
  };
  return command;
}

Command request_command(Command command, std::string_view request) {
  command.declare = [request](Options& options) -> Action {
    const auto ids = std::make_shared<std::vector<std::string>>();
    options.words("ID", *ids, Count::some, "ids of jobs");
    return [ids, request](Context& context) {
      return for_each_job(context, *ids, [&](Api& api, std::uint32_t id) -> Result<int> {
        const auto job = api.post(job_target(id, request));
        if (!job) return fail(job.error());
        const auto after_the_round = api.get(job_target(id));
        context.console.print(job_sentence(after_the_round ? *after_the_round : *job) + "\n");
        return 0;
      });
    };
  };
  return command;
}

}  // namespace paceline
