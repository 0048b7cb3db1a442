// What the journal has left to tell, and removing what is oldest of it.
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "api/context.hpp"
#include "wire/json.hpp"

namespace paceline {
namespace {

Result<std::uint64_t> read_before(const HttpRequest& request) {
  const auto json = parse_json(request.body.empty() ? "{}" : request.body);
  if (!json) return fail(json.error());
  std::uint64_t before = 0;
  ObjectReader reader(*json, "body");
  reader.require({"before"}).whole("before", before, 1, std::numeric_limits<std::int64_t>::max());
  if (auto read = reader.finish(); !read) return fail(read.error());
  return before;
}

Result<std::string> prune_journal(ApiContext& context, const HttpRequest& request) {
  const auto before = read_before(request);
  if (!before) return fail(before.error());
  auto& store = context.controller.store();
  const auto pruned = store.prune(*before);
  if (!pruned) return fail(pruned.error());
  const auto first = store.first_entry();
  if (!first) return fail(first.error());
  JsonWriter json;
  json.begin_object().field("segments", pruned->segments).field("entries", pruned->entries);
  json.field("bytes", pruned->bytes).field("first", *first).end_object();
  return json.take();
}

}  // namespace

void add_journal_routes(Routes& routes, const SharedContext& context) {
  routes.add("POST", "/v1/journal/prune", Action::prune_journal,
             answering([context](const HttpRequest& request) {
               return prune_journal(*context, request);
             }));
}

}  // namespace paceline
