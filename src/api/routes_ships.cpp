// Directories that travel with jobs: what of one is missing here, and the pieces of its files. Each user has
// their own, and hears of no others.
#include <utility>

#include "api/context.hpp"
#include "api/ship_desk.hpp"
#include "ship/pieces.hpp"
#include "trust/sha256.hpp"

namespace paceline {
namespace {

struct Shipper {
  ShipDesk* desk = nullptr;
  std::uint32_t uid = 0;  // whose jobs they are for
};

Result<Shipper> shipper(const ApiContext& context, const Principal& by) {
  if (context.options.ships == nullptr)
    return fail(ErrorCode::unavailable, "This server takes no shipped directories.",
                "Put the directory where the nodes find it.");
  if (auto there = sha256_library(); !there) return fail(std::move(there.error()));
  if (!context.shared()) return Shipper{context.options.ships, context.options.uid};
  if (!by.uid) return fail(no_account(by.user));
  if (auto may = context.may_run(*by.uid); !may) return fail(std::move(may.error()));
  return Shipper{context.options.ships, *by.uid};
}

Result<std::string> offer_ship(const ApiContext& context, const HttpRequest& request,
                               const Principal& by) {
  const auto who = shipper(context, by);
  if (!who) return fail(who.error());
  const auto manifest = read_manifest(request.body);
  if (!manifest) return fail(manifest.error());
  const auto offered = who->desk->offer(who->uid, *manifest);
  if (!offered) return fail(offered.error());
  JsonWriter json;
  json.begin_object().field("ship", offered->name).field("files", manifest->files.size());
  json.field("bytes", offered->bytes).key("missing").begin_array();
  for (const auto& file : offered->missing) json.value(file.sha256);
  json.end_array().end_object();
  return json.take();
}

Result<std::string> take_pieces(const ApiContext& context, const HttpRequest& request,
                                const Principal& by) {
  const auto who = shipper(context, by);
  if (!who) return fail(who.error());
  const auto pieces = read_pieces(request.body);
  if (!pieces) return fail(pieces.error());
  for (const auto& [piece, bytes] : *pieces)
    if (auto taken = who->desk->store().take(who->uid, piece, bytes); !taken)
      return fail(std::move(taken.error()));
  JsonWriter json;
  json.begin_object().field("taken", pieces->size()).end_object();
  return json.take();
}

}  // namespace

void add_ship_routes(Routes& routes, const SharedContext& context) {
  routes.add("POST", "/v1/ships", Action::submit,
             answering([context](const HttpRequest& request, const Principal& by) {
               return offer_ship(*context, request, by);
             }));
  routes.add("POST", "/v1/ships/pieces", Action::submit,
             answering([context](const HttpRequest& request, const Principal& by) {
               return take_pieces(*context, request, by);
             }));
}

}  // namespace paceline
