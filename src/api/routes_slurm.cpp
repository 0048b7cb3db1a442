// Nodes that Slurm brings: asked for, told of, given back.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "api/context.hpp"
#include "api/slurm.hpp"
#include "http/query.hpp"

namespace paceline {

void write_settings(JsonWriter& json, const PilotSettings& settings) {
  json.field("partition", unless_empty(settings.partition));
  json.field("account", unless_empty(settings.account)).field("nodes_max", settings.nodes_max);
  json.field("time_seconds", settings.time).field("gres", unless_empty(settings.gres));
  json.field("cpus", settings.cpus).field("idle_seconds", settings.idle);
  json.field("lease_seconds", settings.lease);
  json.field("look_every_seconds", settings.look_every).field("pilot_log", settings.output);
}

void read_settings(ObjectReader& reader, PilotSettings& settings) {
  reader.text("partition", settings.partition, kSlurmWordMax);
  reader.text("account", settings.account, kSlurmWordMax);
  reader.whole("nodes_max", settings.nodes_max, 1, kPilotsMax);
  reader.seconds("time_seconds", settings.time).text("gres", settings.gres, kSlurmWordMax);
  reader.whole("cpus", settings.cpus, 1, kPilotCpusMax).seconds("idle_seconds", settings.idle);
  reader.seconds("lease_seconds", settings.lease);
  reader.seconds("look_every_seconds", settings.look_every);
  reader.text("pilot_log", settings.output, kSlurmWordMax);
}

namespace {

Result<SlurmDesk*> desk(const ApiContext& context) {
  if (context.options.slurm != nullptr) return context.options.slurm;
  return fail(joins_nobody());
}

void write_pilot(JsonWriter& json, const KnownPilot& known, WallTime now) {
  const auto& pilot = known.pilot;
  json.begin_object().field("job", pilot ? std::optional(pilot->job) : std::nullopt);
  json.field("state", pilot ? to_string(pilot->state) : "asked");
  json.field("reason", pilot ? unless_empty(pilot->reason) : std::nullopt);
  json.field("host", pilot ? unless_empty(pilot->host) : std::nullopt);
  json.field("node", known.node ? unless_empty(known.node->name) : std::nullopt);
  json.field("asked_at", now - known.asked_for);
  json.field("time_left_seconds", pilot ? pilot->time_left : std::nullopt).end_object();
}

std::string status_text(const SlurmStatus& status, WallTime now) {
  JsonWriter json;
  json.begin_object().field("connected", status.settings.has_value());
  json.field("leaving", status.leaving).field("proven", status.proven);
  write_settings(json, status.settings.value_or(PilotSettings{}));
  json.field("slots_per_node", slots_of(status.settings.value_or(PilotSettings{})));
  json.field("could_grow_to_nodes",
             status.settings && !status.leaving ? status.settings->nodes_max : 0);
  json.field("problem", unless_empty(status.problem)).key("pilots").begin_array();
  for (const auto& known : status.pilots) write_pilot(json, known, now);
  json.end_array().end_object();
  return json.take();
}

Result<PilotSettings> read_wish(const HttpRequest& request) {
  const auto json = parse_json(request.body);
  if (!json) return fail(json.error());
  PilotSettings settings;
  ObjectReader reader(*json, "body");
  read_settings(reader, settings);
  if (auto read = reader.finish(); !read) return fail(std::move(read.error()));
  if (auto ok = validate(settings); !ok) return fail(std::move(ok.error()));
  return settings;
}

void connect(const SharedContext& context, const std::shared_ptr<Exchange>& exchange,
             const Principal& by) {
  auto settings = read_wish(exchange->request());
  if (!settings) return exchange->refuse(settings.error());
  const auto slurm = desk(*context);
  if (!slurm) return exchange->refuse(slurm.error());
  (*slurm)->connect(std::move(*settings), [context, exchange,
                                           user = by.user](const Result<void>& done) {
    if (!done) return exchange->refuse(done.error());
    spdlog::info("{} connected the server to Slurm.", user);
    exchange->reply({.body = status_text(context->options.slurm->status(), context->wall_now())});
  });
}

Result<std::string> disconnect(const ApiContext& context, const HttpRequest& request,
                               const Principal& by) {
  const auto slurm = desk(context);
  if (!slurm) return fail(slurm.error());
  bool dry_run = false;
  QueryReader query(request);
  if (auto read = query.flag("dry_run", dry_run).finish(); !read) return fail(read.error());
  const auto cost = (*slurm)->cost();
  if (!dry_run) {
    if (auto left = (*slurm)->disconnect(by); !left) return fail(std::move(left.error()));
  }
  JsonWriter json;
  json.begin_object().field("pilots", cost.pilots).key("jobs").begin_array();
  for (const auto job : cost.jobs) json.value(job.value);
  json.end_array().field("loses_slot_seconds", cost.loses_slot_seconds).end_object();
  return json.take();
}

}  // namespace

void add_slurm_routes(Routes& routes, const SharedContext& context) {
  routes.add("GET", "/v1/slurm", Action::see,
             answering([context](const HttpRequest&) -> Result<std::string> {
               const auto* slurm = context->options.slurm;
               return status_text(slurm == nullptr ? SlurmStatus{} : slurm->status(),
                                  context->wall_now());
             }));
  routes.add("POST", "/v1/slurm", Action::use_slurm,
             [context](const std::shared_ptr<Exchange>& exchange, const Principal& by) {
               connect(context, exchange, by);
             });
  routes.add("DELETE", "/v1/slurm", Action::use_slurm,
             answering([context](const HttpRequest& request, const Principal& by) {
               return disconnect(*context, request, by);
             }));
}

}  // namespace paceline
