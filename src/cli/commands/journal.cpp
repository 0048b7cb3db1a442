#include "cli/commands/journal.hpp"

#include <filesystem>

#include "cli/client/locate.hpp"

namespace paceline {

Result<std::string> journal_directory(Context& context, const std::optional<std::string>& named) {
  if (named) {
    std::error_code error;
    const auto absolute = std::filesystem::absolute(*named, error).lexically_normal();
    if (error || named->empty())
      return fail(ErrorCode::invalid, "--dir is no directory.", "Name that of a server.");
    context.server = absolute.string();
    return absolute.string();
  }
  const auto api = context.api();
  if (!api) return default_directory(context.environment);
  const auto server = (*api)->get("/v1/server");
  if (!server) return fail(server.error());
  return text_of(*server, "dir");
}

Result<Document> journal_document(Context& context, const std::string& directory) {
  const auto text = context.hooks.journal.list(directory);
  if (!text) return fail(text.error());
  return parse_document(*text);
}

}  // namespace paceline
