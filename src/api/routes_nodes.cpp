#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "api/context.hpp"
#include "http/query.hpp"
#include "joining/node_book.hpp"
#include "link/agent_door.hpp"
#include "wire/json.hpp"
#include "wire/node_status_json.hpp"

namespace paceline {
namespace {

std::optional<NodeJoin> join_of(const ApiContext& context, const std::string& name) {
  const auto* book = context.options.remote ? context.options.remote->nodes : nullptr;
  if (book == nullptr) return std::nullopt;
  const auto found = book->nodes().find(name);
  if (found == book->nodes().end()) return std::nullopt;
  const auto& node = found->second;
  NodeJoin join{
      .at = node.joined_at, .serial = node.serial, .removed = node.removed_at.has_value()};
  const auto* agents = context.options.remote->agents;
  if (const auto last = agents != nullptr ? agents->connection(name) : std::nullopt) {
    join.silent = context.controller.now() - last->last_heard;
    join.version = last->version;
  }
  return join;
}

using Names = std::set<std::string_view>;

// Those that joined, and whose agent never connected, or is away for so long that they retired.
void write_awaited(JsonWriter& json, const ApiContext& context, const Names& counted) {
  const auto* book = context.options.remote ? context.options.remote->nodes : nullptr;
  if (book == nullptr) return;
  for (const auto& [name, joined] : book->nodes()) {
    if (joined.removed_at || counted.contains(name)) continue;
    json.begin_object().field("name", name).field("joined_at", joined.joined_at);
    json.field("serial", joined.serial).end_object();
  }
}

std::string nodes_text(const ApiContext& context) {
  Names counted;
  JsonWriter json = context.json();
  json.begin_object().key("nodes").begin_array();
  for (const auto& node : context.state().nodes()) {
    if (node.retired) continue;
    counted.insert(node.spec.name);
    write_node_status(json, context.state(), node, join_of(context, node.spec.name));
  }
  json.end_array().key("awaited").begin_array();
  write_awaited(json, context, counted);
  json.end_array().end_object();
  return json.take();
}

// ---- draining ----

constexpr std::size_t kDrainedTogetherMax = 10'000;

struct DrainWish {
  std::vector<std::string> nodes;
  DrainOrder order;
  bool dry_run = false;
};

Result<DrainWish> read_drain(const HttpRequest& request) {
  DrainWish wish;
  QueryReader query(request);
  if (auto read = query.flag("dry_run", wish.dry_run).finish(); !read) return fail(read.error());
  const auto json = parse_json(request.body);
  if (!json) return fail(json.error());
  ObjectReader reader(*json, "body");
  reader.texts("also", wish.nodes, kDrainedTogetherMax);
  reader.text("reason", wish.order.reason, kDrainReasonMax);
  reader.time("begins_at", wish.order.from).time("ends_at", wish.order.until);
  reader.seconds("within_seconds", wish.order.within).flag("keeps", wish.order.keeps);
  if (auto read = reader.finish(); !read) return fail(read.error());
  wish.nodes.push_back(request.ids.at(0));
  return wish;
}

std::string_view leaving_word(Leaving how) {
  switch (how) {
    case Leaving::at_once:
      return "at_once";
    case Leaving::saving:
      return "saving";
    case Leaving::stopped:
      return "stopped";
    case Leaving::by_itself:
      return "by_itself";
    case Leaving::kept:
      return "kept";
  }
  return "by_itself";
}

void write_leaver(JsonWriter& json, const Leaver& leaver, const State& state) {
  const JobSpec& spec = *state.job(leaver.job).spec;
  json.begin_object().field("id", leaver.job.value).field("user", spec.user);
  json.field("name", spec.name).field("leaves", leaving_word(leaver.how));
  json.field("workers", leaver.from).field("workers_then", leaver.to).field("at", leaver.at);
  json.field("never_saved", leaver.anew).field("loses_slot_seconds", leaver.lost_slot_seconds);
  json.end_object();
}

std::string outlook_text(const ApiContext& context, const DrainOutlook& outlook) {
  JsonWriter json = context.json();
  json.begin_object().field("slots", outlook.slots).field("is_last", outlook.is_last);
  json.field("begins_at", outlook.begins).field("ends_at", outlook.ends);
  json.field("loses_slot_seconds", outlook.lost_slot_seconds()).key("jobs").begin_array();
  for (const Leaver& leaver : outlook.jobs) write_leaver(json, leaver, context.state());
  json.end_array().end_object();
  return json.take();
}

void drain(const SharedContext& context, const std::shared_ptr<Exchange>& exchange,
           const Principal& by) {
  auto wish = read_drain(exchange->request());
  if (!wish) return exchange->refuse(wish.error());
  const auto outlook = context->controller.drains().look_at_together(wish->nodes, wish->order);
  if (!outlook) return exchange->refuse(outlook.error());
  auto text = outlook_text(*context, *outlook);
  if (wish->dry_run) return exchange->reply({.body = std::move(text)});
  context->controller.drains().drain_together(
      wish->nodes, std::move(wish->order), by,
      [exchange, text = std::move(text)](const Result<void>& done) {
        if (!done) return exchange->refuse(done.error());
        exchange->reply({.body = text});
      });
}

void undrain(const SharedContext& context, const std::shared_ptr<Exchange>& exchange,
             const Principal& by) {
  context->controller.drains().undrain(exchange->request().ids.at(0), by,
                                       [exchange](const Result<void>& done) {
                                         if (!done) return exchange->refuse(done.error());
                                         exchange->reply({.body = "{}"});
                                       });
}

}  // namespace

void add_node_routes(Routes& routes, const SharedContext& context) {
  routes.add("GET", "/v1/nodes", Action::see,
             answering([context](const HttpRequest&) -> Result<std::string> {
               return nodes_text(*context);
             }));
  routes.add("POST", "/v1/nodes/{node}/drain", Action::drain_nodes,
             [context](const std::shared_ptr<Exchange>& exchange, const Principal& by) {
               drain(context, exchange, by);
             });
  routes.add("POST", "/v1/nodes/{node}/undrain", Action::drain_nodes,
             [context](const std::shared_ptr<Exchange>& exchange, const Principal& by) {
               undrain(context, exchange, by);
             });
}

}  // namespace paceline
