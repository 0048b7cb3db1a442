// Directories that travel with jobs: what of one is missing here, and the pieces of its files. Each user has
// their own, and hears of no others.
#include <utility>

#include "api/context.hpp"
#include "api/ship_desk.hpp"
#include "ship/pieces.hpp"
#include "trust/sha256.hpp"

namespace paceline {
namespace {

// Whose jobs they are for.
Result<std::uint32_t> shipper(const ApiContext& context, const Principal& by) {
  if (context.options.ships == nullptr) return fail(ships_nothing());
  if (auto there = sha256_library(); !there) return fail(std::move(there.error()));
  if (!context.shared()) return context.options.uid;
  if (!by.uid) return fail(no_account(by.user));
  if (auto may = context.may_run(*by.uid); !may) return fail(std::move(may.error()));
  return *by.uid;
}

Result<std::string> offer_ship(ShipStore& store, std::uint32_t uid, const std::string& body,
                               std::uint64_t bytes_max) {
  const auto manifest = read_manifest(body);
  if (!manifest) return fail(manifest.error());
  const auto offered = store.offer(uid, *manifest, bytes_max);
  if (!offered) return fail(offered.error());
  JsonWriter json;
  json.begin_object().field("ship", offered->name).field("files", manifest->files.size());
  json.field("bytes", offered->bytes).key("missing").begin_array();
  for (const auto& file : offered->missing) json.value(file.sha256);
  json.end_array().end_object();
  return json.take();
}

Result<std::string> take_pieces(ShipStore& store, std::uint32_t uid, const std::string& body,
                                std::uint64_t) {
  return take_ship_pieces(store, uid, body);
}

using Work = Result<std::string> (*)(ShipStore&, std::uint32_t uid, const std::string& body,
                                     std::uint64_t bytes_max);

RouteHandler working(const SharedContext& context, Work work) {
  return [context, work](const std::shared_ptr<Exchange>& exchange, const Principal& by) {
    const auto uid = shipper(*context, by);
    if (!uid) return exchange->refuse(uid.error());
    // The body is there as long as the exchange is, which the answer holds.
    context->options.ships->work(
        [work, uid = *uid, &body = exchange->request().body,
         most = context->options.limits.ship_size](ShipStore& store) {
          return work(store, uid, body, most);
        },
        [exchange](Result<std::string> text) { reply_with(*exchange, std::move(text)); });
  };
}

}  // namespace

Result<std::string> take_ship_pieces(ShipStore& store, std::uint32_t uid, const std::string& body) {
  const auto pieces = read_pieces(body);
  if (!pieces) return fail(pieces.error());
  for (const auto& [piece, bytes] : *pieces)
    if (auto taken = store.take(uid, piece, bytes); !taken) return fail(std::move(taken.error()));
  JsonWriter json;
  json.begin_object().field("taken", pieces->size()).end_object();
  return json.take();
}

void add_ship_routes(Routes& routes, const SharedContext& context) {
  routes.add("POST", "/v1/ships", Action::submit, working(context, offer_ship));
  routes.add("POST", "/v1/ships/pieces", Action::submit, working(context, take_pieces));
}

}  // namespace paceline
