// Policies: which there are, which is active and how well each used the slots, the switch, and those
// that people bring.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "api/policy_choice.hpp"
#include "http/query.hpp"
#include "wire/json.hpp"

namespace paceline {
namespace {

constexpr std::size_t kNameBytesMax = 128;
constexpr std::size_t kParametersMax = 100;
constexpr std::size_t kPlansMax = 20;
constexpr std::size_t kEffectsMax = 1'000;  // of a round that is played

// A policy as people see it, built in or their own.
struct ShownPolicy {
  std::string_view name, summary, text;
  bool elastic = false;
  Parameters defaults;
  const PolicyScript* script = nullptr;
};

ShownPolicy shown_policy(const ApiContext& context, std::string_view name,
                         const PolicyScript& script) {
  const auto& pages = context.controller.desk().pages();
  const auto page = pages.find(std::string(name));
  if (page == pages.end()) return {name, "can't be loaded by this server", {}, true, {}, &script};
  return {name, page->second.summary, page->second.text, true, page->second.defaults, &script};
}

ShownPolicy shown_policy(const PolicyInfo& info) {
  return {info.name, info.summary, info.text, info.elastic, info.defaults, nullptr};
}

// Errors: not_found.
Result<ShownPolicy> find_policy(const ApiContext& context, std::string_view name) {
  const auto& scripts = context.state().scripts();
  const auto script = scripts.find(std::string(name));
  if (script != scripts.end()) return shown_policy(context, script->first, script->second);
  const auto known = context.controller.policies().find(name);
  if (!known) return fail(known.error());
  return shown_policy(**known);
}

// With every parameter that the policy takes, given or not.
void write_active(JsonWriter& json, const ApiContext& context) {
  const auto* active = context.state().policy();
  if (active == nullptr) {
    json.null();
    return;
  }
  auto parameters = active->parameters;
  if (const auto known = find_policy(context, active->name)) {
    parameters.insert(known->defaults.begin(), known->defaults.end());
  }
  json.begin_object().field("name", active->name);
  write_parameters(json, parameters);
  json.field("since", active->from).end_object();
}

// Of a policy that somebody brought: when it came and why it was set aside last.
void write_script(JsonWriter& json, const PolicyScript* script) {
  const bool failed = script && !script->failure.empty();
  json.field("loaded_at", script ? std::optional(script->loaded_at) : std::nullopt);
  json.field("failure", failed ? std::optional<std::string_view>(script->failure) : std::nullopt);
  json.field("failed_at", failed ? script->failed_at : std::nullopt);
}

void write_policy(JsonWriter& json, const ShownPolicy& policy) {
  json.begin_object().field("name", policy.name).field("summary", policy.summary);
  json.field("elastic", policy.elastic);
  write_parameters(json, policy.defaults);
  write_script(json, policy.script);
  json.end_object();
}

void write_period(JsonWriter& json, const PolicyPeriod& period, std::optional<Time> to) {
  const bool used = period.slot_seconds_available > 0;
  json.begin_object().field("name", period.name).field("from", period.from).field("to", to);
  json.field("slot_seconds_leased", period.slot_seconds_leased);
  json.field("slot_seconds_available", period.slot_seconds_available);
  json.field("utilization",
             used ? std::optional(period.slot_seconds_leased / period.slot_seconds_available)
                  : std::nullopt);
  write_lost(json, period.lost);
  json.end_object();
}

void write_periods(JsonWriter& json, const ApiContext& context) {
  const auto& periods = context.state().periods();
  json.key("periods").begin_array();
  for (std::size_t i = 0; i + 1 < periods.size(); ++i) {
    write_period(json, periods[i], periods[i + 1].from);
  }
  if (!periods.empty()) {
    write_period(json, context.state().active_period(context.controller.now()), std::nullopt);
  }
  json.end_array();
}

// What the newest plans that stopped or resized jobs came to.
void write_plans(JsonWriter& json, const ApiContext& context) {
  const auto& bills = context.state().bills();
  json.key("plans").begin_array();
  for (std::size_t i = bills.size() - std::min(bills.size(), kPlansMax); i < bills.size(); ++i) {
    const PlanBill& plan = bills[i];
    json.begin_object().field("round", plan.round).field("policy", plan.policy);
    json.field("at", plan.at);
    write_lost(json, plan.lost);
    json.end_object();
  }
  json.end_array();
}

Result<std::string> list_policies(const ApiContext& context) {
  JsonWriter json = context.json();
  json.begin_object().key("active");
  write_active(json, context);
  json.key("policies").begin_array();
  for (const auto& policy : context.controller.policies().all())
    write_policy(json, shown_policy(policy));
  for (const auto& [name, script] : context.state().scripts())
    write_policy(json, shown_policy(context, name, script));
  json.end_array();
  write_periods(json, context);
  write_plans(json, context);
  json.end_object();
  return json.take();
}

Result<std::string> show_policy(const ApiContext& context, const HttpRequest& request) {
  const auto policy = find_policy(context, request.ids.at(0));
  if (!policy) return fail(policy.error());
  JsonWriter json = context.json();
  json.begin_object().field("name", policy->name).field("summary", policy->summary);
  json.field("text", policy->text);
  write_parameters(json, policy->defaults);
  write_script(json, policy->script);
  json.field("script",
             policy->script ? std::optional<std::string_view>(policy->script->text) : std::nullopt);
  json.end_object();
  return json.take();
}

std::string active_text(const ApiContext& context) {
  JsonWriter json = context.json();
  write_active(json, context);
  return json.take();
}

Result<std::string> read_script(const HttpRequest& request) {
  const auto json = parse_json(request.body);
  if (!json) return fail(json.error());
  std::string text;
  ObjectReader reader(*json, "body");
  reader.require({"script"}).text("script", text, kScriptBytesMax);
  if (auto read = reader.finish(); !read) return fail(read.error());
  if (text.empty()) return fail(ErrorCode::invalid, "The script is empty.");
  return text;
}

void load_policy(const SharedContext& context, const std::shared_ptr<Exchange>& exchange,
                 const Principal& by) {
  auto text = read_script(exchange->request());
  if (!text) return exchange->refuse(text.error());
  context->controller.desk().load(exchange->request().ids.at(0), std::move(*text), by,
                                  [context, exchange](const Result<void>& done) {
                                    if (!done) return exchange->refuse(done.error());
                                    auto page = show_policy(*context, exchange->request());
                                    if (!page) return exchange->refuse(page.error());
                                    exchange->reply({.body = std::move(*page)});
                                  });
}

void forget_policy(const SharedContext& context, const std::shared_ptr<Exchange>& exchange,
                   const Principal& by) {
  context->controller.desk().forget(exchange->request().ids.at(0), by,
                                    [exchange](const Result<void>& done) {
                                      if (!done) return exchange->refuse(done.error());
                                      exchange->reply({.body = "{}"});
                                    });
}

void set_policy(const SharedContext& context, const std::shared_ptr<Exchange>& exchange,
                const Principal& by) {
  const auto choice = read_policy_choice(exchange->request());
  answer_switch(context, exchange, choice, [&](Done<void> done) {
    context->controller.desk().set({choice->name, choice->parameters}, by, std::move(done));
  });
}

void write_effect(JsonWriter& json, const Effect& effect, const State& state) {
  const JobSpec& spec = *state.job(effect.job).spec;
  json.begin_object().field("id", effect.job.value).field("user", spec.user);
  json.field("name", spec.name).field("what", word_of(effect));
  json.field("workers", effect.from).field("workers_then", effect.asked ? effect.from : effect.to);
  json.field("by", effect.by ? std::optional(effect.by->value) : std::nullopt);
  json.field("never_saved", effect.anew).field("loses_seconds", effect.lost);
  json.field("loses_slot_seconds", effect.lost_slot_seconds);
  json.field("stops_at", effect.stops_at).end_object();
}

std::string preview_text(const ApiContext& context, const Preview& preview) {
  JsonWriter json = context.json();
  const std::size_t shown = std::min(preview.effects.size(), kEffectsMax);
  json.begin_object().field("policy", preview.policy).field("starts", preview.starts);
  json.field("loses_work", preview.loses_work());
  json.field("loses_slot_seconds", preview.lost_slot_seconds()).key("jobs").begin_array();
  for (std::size_t i = 0; i < shown; ++i) write_effect(json, preview.effects[i], context.state());
  json.end_array().field("other_jobs", preview.effects.size() - shown).end_object();
  return json.take();
}

Result<bool> read_dry_run(const HttpRequest& request) {
  bool dry_run = false;
  QueryReader query(request);
  if (auto read = query.flag("dry_run", dry_run).finish(); !read) return fail(read.error());
  return dry_run;
}

void answer_preview(const ApiContext& context, Exchange& exchange, const Result<Preview>& preview) {
  if (!preview) return exchange.refuse(preview.error());
  JsonWriter json;
  json.begin_object().raw_field("next_round", preview_text(context, *preview)).end_object();
  exchange.reply({.body = json.take()});
}

}  // namespace

std::string_view word_of(const Effect& effect) {
  if (effect.asked) return "asks";
  switch (effect.kind) {
    case ChangeKind::resize:
      return effect.to < effect.from ? "shrinks" : "grows";
    case ChangeKind::move:
      return "moves";
    case ChangeKind::pause:
      return "pauses";
    default:
      return "stops";
  }
}

void write_parameters(JsonWriter& json, const Parameters& parameters) {
  json.key("parameters").begin_object();
  for (const auto& [name, value] : parameters) json.field(name, value);
  json.end_object();
}

Result<PolicyChoice> read_policy_choice(const HttpRequest& request) {
  const auto json = parse_json(request.body);
  if (!json) return fail(json.error());
  PolicyChoice choice;
  ObjectReader reader(*json, "body");
  reader.require({"name"}).text("name", choice.name, kNameBytesMax);
  const auto* parameters = reader.find("parameters");
  const bool fits =
      parameters == nullptr || (parameters->is_object() && parameters->size() <= kParametersMax &&
                                std::ranges::all_of(*parameters, &Json::is_primitive));
  if (!fits) reader.mismatch("parameters", "an object of strings and numbers", *parameters);
  if (auto read = reader.finish(); !read) return fail(read.error());
  if (parameters == nullptr) return choice;
  for (const auto& [name, value] : parameters->items()) {
    choice.parameters[name] = value.is_string() ? value.get<std::string>() : value.dump();
  }
  return choice;
}

void answer_switch(const SharedContext& context, const std::shared_ptr<Exchange>& exchange,
                   const Result<PolicyChoice>& choice,
                   const std::function<void(Done<void>)>& change) {
  const auto dry_run = read_dry_run(exchange->request());
  if (!dry_run) return exchange->refuse(dry_run.error());
  if (!choice) return exchange->refuse(choice.error());
  const auto preview = context->controller.desk().preview(*choice);
  if (*dry_run) return answer_preview(*context, *exchange, preview);
  change([context, exchange, previous = active_text(*context),
          round = preview ? preview_text(*context, *preview) : "null"](const Result<void>& done) {
    if (!done) return exchange->refuse(done.error());
    JsonWriter json = context->json();
    json.begin_object().raw_field("active", active_text(*context));
    json.raw_field("previous", previous).raw_field("next_round", round).end_object();
    exchange->reply({.body = json.take()});
  });
}

void add_policy_routes(Routes& routes, const SharedContext& context) {
  routes.add("GET", "/v1/policy", Action::see,
             answering([context](const HttpRequest&) { return list_policies(*context); }));
  routes.add(
      "GET", "/v1/policy/{name}", Action::see,
      answering([context](const HttpRequest& request) { return show_policy(*context, request); }));
  routes.add(
      "PUT", "/v1/policy", Action::set_policy,
      [context](const auto& exchange, const Principal& by) { set_policy(context, exchange, by); });
  routes.add(
      "PUT", "/v1/policy/{name}", Action::load_policy,
      [context](const auto& exchange, const Principal& by) { load_policy(context, exchange, by); });
  routes.add("DELETE", "/v1/policy/{name}", Action::load_policy,
             [context](const auto& exchange, const Principal& by) {
               forget_policy(context, exchange, by);
             });
}

}  // namespace paceline
