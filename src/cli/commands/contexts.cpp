// The servers that this user has logged in to.
#include <fmt/format.h>

#include "cli/client/contexts.hpp"
#include "cli/commands/command.hpp"
#include "cli/words/table.hpp"
#include "wire/json_writer.hpp"

namespace paceline {
namespace {

std::string mark_of(const Contexts& contexts, std::string_view name) {
  return contexts.current == name ? "*" : "";
}

std::string json_of(const Contexts& contexts) {
  JsonWriter json;
  json.begin_object().field("current", contexts.current).key("contexts").begin_array();
  for (const auto& [name, server] : contexts.servers)
    json.begin_object().field("name", name).field("address", server.address).end_object();
  json.end_array().end_object();
  return json.take() + "\n";
}

std::string draw(const Contexts& contexts, const Output& output, const Console& console) {
  if (output.format == Format::json) return json_of(contexts);
  std::string names = fmt::format("{}\n", kLocalContext);
  Table table({{"CURRENT"}, {"NAME"}, {"SERVER", Align::left, 8}});
  table.add({{mark_of(contexts, kLocalContext)},
             {std::string(kLocalContext)},
             {"this machine's, or the one that PACELINE_DIR names"}});
  for (const auto& [name, server] : contexts.servers) {
    table.add({{mark_of(contexts, name)}, {name}, {server.address}});
    names += name + "\n";
  }
  return output.format == Format::name ? names : table.render(console.look(output.header));
}

Result<int> list(Context& context, const OutputOptions& options) {
  const auto output = read_output(options);
  if (!output) return fail(output.error());
  const auto contexts = Contexts::read(context.environment);
  if (!contexts) return fail(contexts.error());
  context.console.print(draw(*contexts, *output, context.console));
  return 0;
}

// Errors also where there is no such context.
Result<Contexts> contexts_with(const Context& context, const std::string& name) {
  auto contexts = Contexts::read(context.environment);
  if (!contexts || contexts->servers.contains(name)) return contexts;
  return fail(ErrorCode::not_found, fmt::format("There is no context '{}'.", name),
              "'paceline context list' shows them; 'paceline login ADDR:PORT' makes one.");
}

Result<int> use(Context& context, const std::string& name) {
  auto contexts =
      name == kLocalContext ? Contexts::read(context.environment) : contexts_with(context, name);
  if (!contexts) return fail(contexts.error());
  contexts->current = name;
  if (auto kept = contexts->write(context.environment); !kept) return fail(kept.error());
  context.console.print(name == kLocalContext
                            ? std::string("Commands go to this machine's server.\n")
                            : fmt::format("Commands go to {}.\n", contexts->servers[name].address));
  return 0;
}

Result<int> remove(Context& context, const std::string& name) {
  auto contexts = contexts_with(context, name);
  if (!contexts) return fail(contexts.error());
  contexts->servers.erase(name);
  const bool was_current = contexts->current == name;
  if (was_current) contexts->current = kLocalContext;
  if (auto kept = contexts->write(context.environment); !kept) return fail(kept.error());
  context.console.print(fmt::format(
      "Context '{}' and its token are forgotten here{}. The token itself is good until it is "
      "revoked.\n",
      name, was_current ? "; commands go to this machine's server" : ""));
  return 0;
}

Command command_on_name(Command command, Result<int> (*act)(Context&, const std::string&)) {
  command.declare = [act](Options& options) -> Action {
    const auto words = std::make_shared<std::vector<std::string>>();
    options.words("NAME", *words, Count::one, "name of the context");
    return [words, act](Context& context) { return act(context, words->front()); };
  };
  return command;
}

}  // namespace

Command context_list_command() {
  return {"context list",
          "",
          "Elsewhere",
          "List the servers that you have logged in to",
          "paceline context list",
          [](Options& options) -> Action {
            const auto output = std::make_shared<OutputOptions>();
            options.output(*output, Watchable::no);
            return [output](Context& context) { return list(context, *output); };
          }};
}

Command context_use_command() {
  return command_on_name({"context use",
                          "",
                          "Elsewhere",
                          "Choose the server that commands go to",
                          "paceline context use lab\npaceline context use local",
                          {}},
                         use);
}

Command context_remove_command() {
  return command_on_name({"context remove",
                          "",
                          "Elsewhere",
                          "Forget a server and the token for it",
                          "paceline context remove lab",
                          {}},
                         remove);
}

}  // namespace paceline
