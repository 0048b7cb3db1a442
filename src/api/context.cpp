#include "api/context.hpp"

#include <fmt/format.h>
#include <pwd.h>

#include <utility>

#include "api/query.hpp"
#include "estimate/remaining.hpp"

namespace paceline {
namespace {

constexpr std::chrono::milliseconds kTick{100};
constexpr std::size_t kLinesMax = 20'000;

std::string login_name(std::uint32_t uid) {
  std::vector<char> space(16 << 10);
  passwd entry{};
  passwd* found = nullptr;
  if (::getpwuid_r(uid, &entry, space.data(), space.size(), &found) != 0 || found == nullptr) {
    return fmt::format("{}", uid);
  }
  return found->pw_name;
}

std::optional<TimeLeft> time_left(const Job& job, Time now) {
  if (is_over(job.state)) return std::nullopt;
  const auto workers = job.planned_workers();
  const auto left = remaining(job, now, workers > 0 ? workers : job.range.want);
  if (!left) return std::nullopt;
  return TimeLeft{left->likely, left->low, left->high, to_string(length_source(job))};
}

}  // namespace

JobCounts::JobCounts(const State& state) {
  for (const auto& job : state.jobs()) {
    last_.emplace_back(job.state);
    ++counts_.at(static_cast<std::size_t>(job.state));
  }
}

void JobCounts::update(const State& state, std::span<const JobId> touched) {
  for (const auto id : touched) {
    const auto now = state.job(id).state;
    if (id.value > last_.size()) last_.resize(id.value);
    auto& last = last_[id.value - 1];
    if (last) --counts_.at(static_cast<std::size_t>(*last));
    last = now;
    ++counts_.at(static_cast<std::size_t>(now));
  }
}

const CommandLines::Line& CommandLines::of(JobId job, Store& store) {
  const auto known = lines_.find(job);
  if (known != lines_.end()) return known->second;
  if (lines_.size() >= kLinesMax) lines_.erase(lines_.begin());
  const auto launch = store.launch(job);
  const auto line = launch ? Line{command_line(*launch), launch->directory} : Line{};
  return lines_.insert_or_assign(job, line).first->second;
}

ApiContext::ApiContext(boost::asio::io_context& io, Controller& c, ApiOptions o)
    : controller(c),
      options(std::move(o)),
      started_at(c.now()),
      counts(c.state()),
      ticker(io, kTick) {}

bool ApiContext::administers(const Peer& peer) const {
  return peer.uid == 0 || peer.uid == options.uid;
}

bool ApiContext::owns(const Peer& peer, const Job& job) const {
  return administers(peer) || peer.uid == job.spec->uid;
}

Result<const Job*> ApiContext::job(const ApiRequest& request) const {
  const auto id = read_job_id(request.ids.at(0));
  if (!id) return fail(id.error());
  if (const auto* found = state().find_job(*id)) return found;
  return fail(ErrorCode::not_found, fmt::format("There is no job {}.", id->value),
              "List jobs with 'paceline queue --all'.");
}

Result<const Job*> ApiContext::own_job(const ApiRequest& request) const {
  const auto found = job(request);
  if (found && !owns(request.peer, **found)) return not_yours(**found);
  return found;
}

JsonWriter ApiContext::json() const {
  JsonWriter json;
  json.shows_by(state().clock_marks());
  return json;
}

void ApiContext::write_job(JsonWriter& json, const Job& job, const Peer& peer) {
  const auto seen_by = viewer(peer, job);
  JobView view{job, state(), controller.now(), controller.reason(job.id, seen_by), {}, {}, seen_by};
  view.left = time_left(job, view.now);
  if (seen_by == Viewer::owner) {
    const auto& line = commands.of(job.id, controller.store());
    view.command = line.command;
    view.directory = line.directory;
  }
  paceline::write_job(json, view);
}

std::string ApiContext::job_text(const Job& job, const Peer& peer) {
  JsonWriter json = this->json();
  write_job(json, job, peer);
  return json.take();
}

const std::string& ApiContext::user_name(std::uint32_t uid) {
  const auto known = user_names.find(uid);
  if (known != user_names.end()) return known->second;
  return user_names[uid] = login_name(uid);
}

ListenToken ApiContext::watch(JobId id, std::function<void()> touched) {
  if (watched.size() >= watched_max) {
    std::erase_if(watched, [](const auto& each) { return each.second.idle(); });
    watched_max = std::max(kWatchedMin, 2 * watched.size());
  }
  return watched[id].listen(std::move(touched));
}

void ApiContext::committed(std::span<const Entry> batch, std::span<const JobId> touched) {
  counts.update(state(), touched);
  for (const auto id : touched) {
    if (is_over(state().job(id).state)) commands.forget(id);
  }
  entries.emit(batch);
  for (const auto id : touched) {
    const auto listeners = watched.find(id);
    if (listeners == watched.end()) continue;
    listeners->second.emit();
    if (listeners->second.idle()) watched.erase(id);
  }
}

Handler answering(std::function<Result<std::string>(const ApiRequest&)> route) {
  return [route = std::move(route)](const std::shared_ptr<Exchange>& exchange) {
    auto body = route(exchange->request());
    if (body) {
      exchange->reply({.body = std::move(*body)});
    } else {
      exchange->refuse(body.error());
    }
  };
}

tl::unexpected<Error> not_yours(const Job& job) {
  return fail(ErrorCode::forbidden,
              fmt::format("Job {} belongs to {}.", job.id.value, job.spec->user),
              "Only its owner and root may do that.");
}

HttpApi::HttpApi(boost::asio::io_context& io, Controller& controller, ApiOptions options)
    : context_(std::make_shared<ApiContext>(io, controller, std::move(options))) {
  controller.on_commit(
      [context = context_](std::span<const Entry> entries, std::span<const JobId> touched) {
        context->committed(entries, touched);
      });
}

HttpApi::~HttpApi() { context_->controller.on_commit({}); }

Router HttpApi::router() const {
  Router router;
  add_server_routes(router, context_);
  add_job_routes(router, context_);
  add_command_routes(router, context_);
  add_log_routes(router, context_);
  add_node_routes(router, context_);
  add_user_routes(router, context_);
  add_policy_routes(router, context_);
  add_shadow_routes(router, context_);
  add_rule_routes(router, context_);
  add_event_routes(router, context_);
  add_attach_route(router, context_);
  return router;
}

std::function<bool(const Peer&)> HttpApi::keeper() const {
  return [context = context_](const Peer& peer) { return context->administers(peer); };
}

std::function<Result<void>(const Peer&)> HttpApi::admission() const {
  return [context = context_](const Peer& peer) -> Result<void> {
    if (context->shared() || context->administers(peer)) return {};
    return fail(ErrorCode::forbidden,
                fmt::format("This server belongs to {}.", context->user_name(context->options.uid)),
                "Start your own with 'paceline up'.");
  };
}

}  // namespace paceline
