// Checkpoints that lie on one node alone: its agent sends them, and the server keeps them among what travels
// with jobs (ship_desk.hpp).
#include <fmt/format.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "api/context.hpp"
#include "api/ship_desk.hpp"
#include "base/utf8.hpp"
#include "http/query.hpp"
#include "ship/pieces.hpp"
#include "wire/json.hpp"

namespace paceline {
namespace {

constexpr std::size_t kWhyBytesMax = 1024;
constexpr std::uint32_t kNumberMax = std::numeric_limits<std::int32_t>::max();

// One that is asked of the node which sends it.
struct Sent {
  std::string node;
  ProcessKey by;
  std::uint64_t report = 0;
  std::uint32_t uid = 0;  // whose it is
};

Result<std::string> sender_of(const ApiContext& context, const HttpRequest& request,
                              const Principal& by) {
  if (!by.is(Role::node)) return context.options.checkpoints->own_node;
  const auto node = context.node(request.peer);
  if (!node) return fail(node.error());
  return node->id;
}

tl::unexpected<Error> not_asked(const Sent& sent) {
  return fail(ErrorCode::conflict,
              fmt::format("No checkpoint of job {} is asked of {}.", sent.by.job.value, sent.node),
              "The server asks for the newest one.", Retry::useless);
}

Result<Sent> read_sent(const ApiContext& context, const HttpRequest& request, const Principal& by) {
  if (!context.options.checkpoints || context.options.ships == nullptr)
    return fail(ErrorCode::conflict, "No checkpoints are kept here.");
  auto node = sender_of(context, request, by);
  if (!node) return fail(std::move(node.error()));
  Sent sent{std::move(*node), {}, 0, 0};
  std::uint32_t number = 0;
  QueryReader query(request);
  query.whole("job", sent.by.job.value, 1, kNumberMax)
      .whole("born", sent.by.born.value, 0, kNumberMax);
  query.whole("number", number, 0, kNumberMax);
  query.whole("report", sent.report, 0, std::numeric_limits<std::uint64_t>::max());
  if (auto read = query.finish(); !read) return fail(std::move(read.error()));
  if (sent.by.job.value == 0)
    return fail(ErrorCode::invalid, "Whose checkpoint it is, isn't said.",
                "Say job, born, number and report, as the server asked for it.");
  sent.by.number = static_cast<std::int32_t>(number);
  const Job* job = context.state().find_job(sent.by.job);
  if (job == nullptr || !context.options.checkpoints->wants(sent.node, sent.by, sent.report))
    return not_asked(sent);
  sent.uid = job->spec->uid;
  return sent;
}

Result<void> tell(const ApiContext& context, const Sent& sent, Keeping keeping, std::string text) {
  return context.options.checkpoints->take(sent.node,
                                           {sent.by, sent.report, keeping, std::move(text)});
}

std::string answer(bool kept, const std::vector<ShipFile>& missing = {}) {
  JsonWriter json;
  json.begin_object().field("kept", kept).key("missing").begin_array();
  for (const auto& file : missing) json.value(file.sha256);
  json.end_array().end_object();
  return json.take();
}

std::string gigabytes(std::uint64_t bytes) {
  return fmt::format("{:.1f}G", static_cast<double>(bytes) / static_cast<double>(1U << 30));
}

// What is too large to be kept is kept nowhere, and the job is told so.
Result<OfferedShip> offer(ShipStore& store, std::uint32_t uid, const Manifest& manifest,
                          std::uint64_t bytes_max) {
  if (manifest.bytes() > bytes_max)
    return fail(ErrorCode::too_large,
                fmt::format("it has {}, and the server keeps at most {} of one (checkpoint-size)",
                            gigabytes(manifest.bytes()), gigabytes(bytes_max)));
  auto offered = store.offer(uid, manifest);
  if (!offered && offered.error().code == ErrorCode::too_large)
    offered.error().message =
        fmt::format("it has {}, and a user's files are kept up to less (ships-per-user)",
                    gigabytes(manifest.bytes()));
  if (!offered && offered.error().code == ErrorCode::unavailable)
    offered.error().message =
        "what jobs keep on the server leaves no room for it (ships, ships-per-user)";
  return offered;
}

// What only is on its way leaves room before long.
bool gets_none(const Error& error) {
  return error.code == ErrorCode::too_large ||
         (error.code == ErrorCode::unavailable && error.retry == Retry::useless);
}

void take_offer(const SharedContext& context, const std::shared_ptr<Exchange>& exchange,
                const Principal& by) {
  const auto sent = read_sent(*context, exchange->request(), by);
  if (!sent) return exchange->refuse(sent.error());
  auto manifest = read_manifest(exchange->request().body);
  if (!manifest) return exchange->refuse(manifest.error());
  const ShipOf ship{sent->uid, ship_name(to_text(*manifest))};
  if (!context->options.ships->coming(sent->by, sent->report, ship))
    return exchange->refuse(not_asked(*sent).value());
  const auto finish = [context, exchange, sent = *sent](const Result<OfferedShip>& offered) {
    const bool never = !offered && gets_none(offered.error());
    if (!offered && !never) return exchange->refuse(offered.error());
    if (!never && !offered->missing.empty())
      return reply_with(*exchange, Result<std::string>(answer(false, offered->missing)));
    if (never) context->options.ships->not_coming(sent.by, sent.report);
    auto told = never ? tell(*context, sent, Keeping::unkept, offered.error().message)
                      : tell(*context, sent, Keeping::kept, offered->name);
    if (!told) return exchange->refuse(told.error());
    reply_with(*exchange, Result<std::string>(answer(!never)));
  };
  context->options.ships->work([uid = sent->uid, manifest = std::move(*manifest),
                                most = context->options.limits.checkpoint_size](
                                   ShipStore& store) { return offer(store, uid, manifest, most); },
                               finish);
}

// The body is there as long as the exchange is, which the answer holds.
void take_pieces(const SharedContext& context, const std::shared_ptr<Exchange>& exchange,
                 const Principal& by) {
  const auto sent = read_sent(*context, exchange->request(), by);
  if (!sent) return exchange->refuse(sent.error());
  context->options.ships->work(
      [uid = sent->uid, &body = exchange->request().body](ShipStore& store) {
        return take_ship_pieces(store, uid, body);
      },
      [exchange](Result<std::string> text) { reply_with(*exchange, std::move(text)); });
}

Result<std::string> take_refusal(const ApiContext& context, const HttpRequest& request,
                                 const Principal& by) {
  const auto sent = read_sent(context, request, by);
  if (!sent) return fail(sent.error());
  const auto json = parse_json(request.body);
  if (!json) return fail(json.error());
  bool shared = false;
  std::string why;
  ObjectReader reader(*json, "body");
  reader.flag("shared", shared).text("why", why, kWhyBytesMax);
  if (auto read = reader.finish(); !read) return fail(std::move(read.error()));
  if (!shared && why.empty()) why = "its node can't send it";
  auto told = tell(context, *sent, shared ? Keeping::shared : Keeping::unkept,
                   shared ? std::string() : printable(why));
  if (!told) return fail(std::move(told.error()));
  context.options.ships->not_coming(sent->by, sent->report);
  return answer(false);
}

}  // namespace

void add_checkpoint_routes(Routes& routes, const SharedContext& context) {
  const auto with = [&context](auto take) -> RouteHandler {
    return [context, take](const std::shared_ptr<Exchange>& exchange, const Principal& by) {
      take(context, exchange, by);
    };
  };
  routes.add("POST", "/v1/checkpoints", Action::send_checkpoints, with(take_offer));
  routes.add("POST", "/v1/checkpoints/pieces", Action::send_checkpoints, with(take_pieces));
  routes.add("POST", "/v1/checkpoints/unkept", Action::send_checkpoints,
             answering([context](const HttpRequest& request, const Principal& by) {
               return take_refusal(*context, request, by);
             }));
}

}  // namespace paceline
