#include "app/pilots.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "link/agent_door.hpp"
#include "plan/draining.hpp"
#include "trust/token.hpp"

namespace paceline {
namespace {

constexpr std::size_t kServerDigits = 8;
constexpr std::uint32_t kSinceMax = std::numeric_limits<std::uint32_t>::max();
constexpr Duration kLookSoon = std::chrono::seconds{1};

PilotKeeper::Ways ways_of(const Pilots::Options& options) {
  const RemoteAccess& remote = options.remote;
  PilotKeeper::Ways ways{.book = *remote.nodes,
                         .count_off = remote.count_off,
                         .make_token = [authority = remote.authority]() -> PilotToken {
                           const auto secret = Token::make(TokenKind::join, authority);
                           return {to_hex(secret.digest()), secret.text()};
                         },
                         .server = to_hex(remote.authority).substr(0, kServerDigits),
                         .program = options.program,
                         .address = remote.address};
  if (remote.agents != nullptr)
    ways.cut = [agents = remote.agents](std::string_view node) { agents->cut(node); };
  return ways;
}

// Waits for Slurm.
std::vector<PilotKeeper::Answer> answers_of(NodeProvider& provider,
                                            const std::vector<PilotKeeper::Request>& requests) {
  std::vector<PilotKeeper::Answer> answers;
  for (const auto& request : requests) {
    std::optional<Error> error;
    if (request.invitation) {
      if (auto asked = provider.ask(request.name, request.script); !asked)
        error = std::move(asked.error());
    } else if (auto back = provider.give_back(request.job); !back) {
      error = std::move(back.error());
    }
    answers.push_back({request.invitation.value_or(0), std::move(error)});
  }
  return answers;
}

}  // namespace

Pilots::Pilots(boost::asio::io_context& io, Clock& clock, Controller& controller,
               std::unique_ptr<NodeProvider> provider, Options options)
    : controller_(controller),
      provider_(std::move(provider)),
      options_(std::move(options)),
      file_(options_.directory / "slurm",
            {.what = "Slurm's settings", .remedy = "connect again: 'paceline slurm connect'"}),
      server_(to_hex(options_.remote.authority).substr(0, kServerDigits)),
      keeper_(clock, controller, ways_of(options_)),
      timer_(io),
      errand_(io),
      connecting_(io) {}

Result<std::unique_ptr<Pilots>> Pilots::open(boost::asio::io_context& io, Clock& clock,
                                             Controller& controller,
                                             std::unique_ptr<NodeProvider> provider,
                                             Options options) {
  std::unique_ptr<Pilots> pilots(
      new Pilots(io, clock, controller, std::move(provider), std::move(options)));
  const auto read = pilots->file_.load([&](const Json& json) { return pilots->read(json); });
  if (!read) return fail(read.error());
  if (pilots->keeper_.settings()) pilots->look_in(Duration{});
  return pilots;
}

// ---- what is kept ----

Result<void> Pilots::read(const Json& json) {
  PilotSettings settings;
  bool connected = false, leaving = false, proven = false;
  std::uint32_t since = 0;
  ObjectReader reader(json, "the file");
  reader.require({"connected", "leaving"}).flag("connected", connected);
  reader.flag("leaving", leaving).flag("proven", proven).whole("since", since, 0, kSinceMax);
  read_settings(reader, settings);
  if (auto ok = reader.finish(); !ok) return ok;
  keeper_.set_proven(proven);
  if (connected) keeper_.serve(std::move(settings), leaving, since);
  return {};
}

Result<void> Pilots::keep(const std::optional<PilotSettings>& settings, bool leaving,
                          std::uint32_t since) {
  JsonWriter json;
  json.begin_object().field("connected", settings.has_value()).field("leaving", leaving);
  json.field("proven", keeper_.proven()).field("since", since);
  write_settings(json, settings.value_or(PilotSettings{}));
  json.end_object();
  if (auto kept = file_.save(json.take()); !kept) return kept;
  if (settings)
    keeper_.serve(*settings, leaving, since);
  else
    keeper_.forget_settings();
  return {};
}

// ---- what people say ----

void Pilots::connect(PilotSettings settings, std::function<void(Result<void>)> done) {
  if (options_.uid == 0)
    return done(
        fail(ErrorCode::conflict, "This server is root's, and pilots are no job for root.",
             "Start one of your own on the login node: 'paceline up --listen ADDRESS:PORT'."));
  if (connecting_.busy())
    return done(fail(ErrorCode::conflict, "Somebody connects this server to Slurm already.",
                     "'paceline slurm status' tells how it went.", Retry::may_help));
  auto script = batch_script(settings, keeper_.call("plj_nobodys"));
  connecting_.run(
      [this, settings, script = std::move(script), asked = keeper_.call("")]() -> Result<bool> {
        if (auto fits = provider_->try_out(script); !fits) return fail(std::move(fits.error()));
        return provider_->prove(settings, asked);
      },
      [this, settings, done = std::move(done)](const Result<bool>& proven) {
        settle_connect(settings, proven, done);
      });
}

void Pilots::settle_connect(const PilotSettings& settings, const Result<bool>& proven,
                            const std::function<void(Result<void>)>& done) {
  if (!proven) return done(fail(proven.error()));
  keeper_.set_proven(*proven);
  const auto& before = keeper_.settings();
  const auto since = before && !asks_alike(*before, settings)
                         ? options_.remote.nodes->next_invitation()
                         : keeper_.since();
  if (auto kept = keep(settings, false, since); !kept) return done(fail(std::move(kept.error())));
  keeper_.begin_anew();
  look_in(Duration{});
  done({});
}

Result<void> Pilots::disconnect(const Principal& by) {
  if (!keeper_.settings() || keeper_.leaving()) return {};
  if (auto kept = keep(keeper_.settings(), true, keeper_.since()); !kept) return kept;
  spdlog::info("{} disconnected the server from Slurm: its pilots are given back.", by.user);
  look_in(Duration{});
  return {};
}

SlurmStatus Pilots::status() const {
  return {.settings = keeper_.settings(),
          .leaving = keeper_.leaving(),
          .proven = keeper_.proven(),
          .problem = keeper_.problem(),
          .pilots = keeper_.pilots()};
}

SlurmCost Pilots::cost() const {
  SlurmCost cost;
  std::set<JobId> jobs;
  for (const auto& known : keeper_.pilots()) {
    ++cost.pilots;
    const Node* node = known.node ? controller_.state().find_node(known.node->name) : nullptr;
    if (node == nullptr) continue;
    for (const auto id : jobs_on(controller_.state(), *node)) jobs.insert(id);
    const auto outlook = controller_.drains().look_at(known.node->name, {.within = kLeavesWithin});
    if (outlook) cost.loses_slot_seconds += outlook->lost_slot_seconds();
  }
  cost.jobs.assign(jobs.begin(), jobs.end());
  return cost;
}

// ---- looking ----

void Pilots::look_in(Duration span) {
  timer_.after(span, [this] { look(); });
}

void Pilots::look() {
  if (!keeper_.settings()) return;
  if (errand_.busy()) return look_in(kLookSoon);
  errand_.run([this] { return provider_->list(server_); },
              [this](const Result<std::vector<Pilot>>& listed) { take(listed); });
}

void Pilots::take(const Result<std::vector<Pilot>>& listed) {
  if (!keeper_.settings()) return;
  auto turn = keeper_.take(listed);
  if (turn.left && keep({}, false, 0)) {
    spdlog::info("Slurm has every node back.");
    return;
  }
  if (!turn.requests.empty()) return send(std::move(turn.requests));
  look_in(keeper_.settings()->look_every);
}

void Pilots::send(std::vector<PilotKeeper::Request> requests) {
  errand_.run([this, requests = std::move(requests)] { return answers_of(*provider_, requests); },
              [this](const std::vector<PilotKeeper::Answer>& answers) { hear(answers); });
}

void Pilots::hear(const std::vector<PilotKeeper::Answer>& answers) {
  keeper_.hear(answers);
  if (keeper_.settings()) look_in(std::min(keeper_.settings()->look_every, kLookSoon));
}

}  // namespace paceline
