#include <fmt/format.h>

#include <filesystem>

#include "cli/commands/command.hpp"
#include "cli/words/text_file.hpp"
#include "http/url.hpp"
#include "model/script.hpp"
#include "wire/json_writer.hpp"

namespace paceline {
namespace {

Result<std::string> body_of(const std::string& path) {
  const auto text = read_text_file(path, kScriptBytesMax, "policy",
                                   "Name a file with a policy: docs/policies.md.");
  if (!text) return fail(text.error());
  if (text->size() > kScriptBytesMax)
    return fail(ErrorCode::too_large, fmt::format("The policy {} is larger than 256 KiB.", path));
  JsonWriter json;
  json.begin_object().field("script", *text).end_object();
  return json.take();
}

Result<int> load(Context& context, const std::string& path) {
  const auto body = body_of(path);
  if (!body) return fail(body.error());
  const auto api = context.api();
  if (!api) return fail(api.error());
  const auto name = std::filesystem::path(path).stem().string();
  const auto answer = (*api)->put("/v1/policy/" + url_encoded(name), *body);
  if (!answer) return fail(answer.error());
  context.console.print(
      fmt::format("The policy {} is loaded. Activate it with 'paceline policy set {}'.\n",
                  text_of(*answer, "name"), text_of(*answer, "name")));
  return 0;
}

}  // namespace

Command policy_load_command() {
  return {"policy load",
          "",
          "Cluster",
          "Load a policy of your own, or its edited file again",
          "paceline policy load mine.lua\npaceline policy set mine",
          [](Options& options) -> Action {
            const auto file = std::make_shared<std::vector<std::string>>();
            options.words("FILE", *file, Count::one,
                          "a policy in Lua; its name without the ending is the policy's");
            return [file](Context& context) { return load(context, file->front()); };
          }};
}

}  // namespace paceline
