#include "api/context.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <limits>
#include <utility>

#include "api/metrics_page.hpp"
#include "api/token_book.hpp"
#include "base/utf8.hpp"
#include "estimate/remaining.hpp"
#include "http/query.hpp"
#include "joining/node_book.hpp"
#include "trust/token.hpp"

namespace paceline {
namespace {

constexpr std::size_t kLinesMax = 20'000;
constexpr std::size_t kShownBytes = 60;  // of what was given in the place of an id

// Nobody is root from another machine.
std::optional<std::uint32_t> uid_of(const std::optional<Login>& account) {
  if (!account || account->uid == 0) return std::nullopt;
  return account->uid;
}

std::optional<TimeLeft> time_left(const State& state, const Job& job, Time now) {
  if (is_over(job.state)) return std::nullopt;
  const auto workers = job.planned_workers();
  const auto left = remaining(state.nodes(), job, now, workers > 0 ? workers : job.range.want);
  if (!left) return std::nullopt;
  return TimeLeft{left->likely, left->low, left->high, to_string(length_source(job))};
}

}  // namespace

void reply_with(Exchange& exchange, Result<std::string> body) {
  if (!body) return exchange.refuse(body.error());
  exchange.reply({.body = std::move(*body)});
}

JobCounts::JobCounts(const State& state) {
  for (const auto& job : state.jobs()) {
    last_.emplace(job.id, job.state);
    ++count(job.state);
  }
  for (const auto& [user, sums] : state.forgotten()) {
    count(JobState::completed) += sums.completed;
    count(JobState::failed) += sums.failed;
    count(JobState::timeout) += sums.timeout;
    count(JobState::cancelled) += sums.cancelled;
  }
}

void JobCounts::update(const State& state, std::span<const JobId> touched) {
  for (const auto id : touched) {
    const auto now = state.job(id).state;
    const auto [last, fresh] = last_.try_emplace(id, now);
    if (!fresh) --count(last->second);
    last->second = now;
    ++count(now);
  }
}

void JobCounts::forget(std::span<const JobId> jobs) {
  for (const auto id : jobs) last_.erase(id);
}

const CommandLines::Line& CommandLines::of(JobId job, Store& store) {
  const auto known = lines_.find(job);
  if (known != lines_.end()) return known->second;
  if (lines_.size() >= kLinesMax) lines_.erase(lines_.begin());
  const auto launch = store.launch(job);
  const auto line =
      launch ? Line{command_line(*launch), launch->directory, launch->shipped} : Line{};
  return lines_.insert_or_assign(job, line).first->second;
}

Result<JobId> read_job_id(std::string_view text) {
  const auto id = parse_whole(text, 1, std::numeric_limits<std::uint32_t>::max());
  if (id) return JobId{static_cast<std::uint32_t>(*id)};
  return fail(ErrorCode::invalid,
              fmt::format("'{}' is not a job id.", to_utf8(text.substr(0, kShownBytes))),
              "A job id is a number like 7; 'paceline queue --all' lists them.");
}

ApiContext::ApiContext(Controller& c, ApiOptions o)
    : controller(c),
      options(std::move(o)),
      started_at(c.now()),
      counts(c.state()),
      user_names(options.logins.of_user),
      logins(options.logins.of_name, {}),
      foreign_looks([](const std::string& line) { spdlog::info("{}", line); }) {
  // Whoever keeps the server is known from the beginning.
  for (const std::uint32_t keeper : {0U, options.uid}) (void)user_name(keeper);
}

Result<Principal> ApiContext::caller(const HttpRequest& request) {
  if (options.identify) return options.identify(request);
  const bool by_token = !request.peer.account && !request.peer.certificate;
  const auto token = by_token ? bearer_token(request) : std::nullopt;
  return token ? holder(*token) : caller(request.peer);
}

// The server's user and root keep it. Others are users of a shared one, and strangers to one's own.
Result<Principal> ApiContext::caller(const Peer& peer) {
  if (peer.certificate) {
    auto node = this->node(peer);
    if (!node) return fail(std::move(node.error()));
    return Principal{
        .user = std::move(node->id), .roles = {Role::node}, .known_by = KnownBy::certificate};
  }
  if (!peer.account) {
    return fail(ErrorCode::forbidden, "The server can't tell who asks.",
                options.remote ? "Log in with a token: 'paceline login ADDR:PORT'."
                               : "Ask through its unix socket.");
  }
  const auto uid = peer.account->uid;
  const bool keeps = uid == 0 || uid == options.uid;
  if (!keeps && !shared()) {
    return fail(
        ErrorCode::forbidden,
        fmt::format("This server belongs to {}.", user_name(options.uid).value_or("another user")),
        "Start your own with 'paceline up'.");
  }
  return Principal{.user = user_name(uid).value_or(""),
                   .uid = uid,
                   .roles = {keeps ? Role::admin : Role::user},
                   .known_by = KnownBy::unix_socket};
}

std::optional<std::string_view> bearer_token(const HttpRequest& request) {
  constexpr std::string_view kBearer = "Bearer ";
  const auto authorization = request.header("Authorization");
  if (!authorization.starts_with(kBearer)) return std::nullopt;
  return authorization.substr(kBearer.size());
}

Result<Principal> ApiContext::holder(std::string_view text) {
  if (const auto to_join = Token::parse(text, TokenKind::join)) return newcomer(*to_join);
  const auto secret = Token::parse(text, TokenKind::user);
  const auto* token = secret && options.remote
                          ? options.remote->tokens->find(to_hex(secret->digest()), wall_now())
                          : nullptr;
  if (token == nullptr) {
    return fail(ErrorCode::forbidden,
                "The server doesn't know this token: it has expired, was revoked, or is another "
                "server's.",
                "Ask its administrator for a new one, then 'paceline login ADDR:PORT'.");
  }
  Principal by{.user = token->user, .roles = {token->role}, .known_by = KnownBy::token};
  by.uid = uid_of(login(token->user).value_or(std::nullopt));
  return by;
}

// Whose account could not be looked up has none, and whose name, an empty one.
Result<void> ApiContext::is_known(const Principal& by, Needs needs) {
  const bool may_have_jobs = whose(by, Action::read_private) != Whose::nobodys;
  if (!may_have_jobs || (by.uid && needs == Needs::account)) return {};
  if (by.uid && !by.user.empty()) return {};
  if (by.uid) return fail(silent_name_service());
  const auto account = login(by.user);
  if (!account) return fail(account.error());
  if (uid_of(*account)) return fail(silent_name_service());  // it was found since
  return {};
}

Result<Principal> ApiContext::newcomer(const Token& token) const {
  const auto* book = options.remote ? options.remote->nodes : nullptr;
  if (book == nullptr) return fail(joins_nobody());
  const auto by = book->invitation(to_hex(token.digest()), wall_now());
  if (!by) return fail(by.error());
  return Principal{.roles = {Role::newcomer}, .known_by = KnownBy::token};
}

Result<KnownNode> ApiContext::node(const Peer& peer) const {
  const auto* book = options.remote ? options.remote->nodes : nullptr;
  if (book == nullptr) return fail(joins_nobody());
  if (peer.certificate && peer.certificate->holder == Holder::node)
    return book->known(peer.certificate->node, peer.certificate->serial);
  return fail(ErrorCode::forbidden, "Only a node asks for this, and shows its certificate.",
              "'paceline agent' does that, once it has joined.");
}

Error no_account(const std::string& user) {
  return {ErrorCode::forbidden, fmt::format("{} has no account on this machine.", user),
          "Ask its administrator for one: jobs run as their owner.", Retry::useless};
}

Error ships_nothing() {
  return {ErrorCode::unavailable, "This server takes no shipped directories.",
          "Put the directory where the nodes find it.", Retry::useless};
}

Error joins_nobody() {
  return {ErrorCode::conflict, "This server serves no other machines, so none can join.",
          "Start it with 'paceline up --listen ADDR:PORT'.", Retry::useless};
}

Result<std::optional<Login>> ApiContext::login(const std::string& user) {
  return logins.of(user, controller.now());
}

namespace {

std::string day(WallTime time) {
  const std::chrono::sys_time<Duration> at{time.time_since_epoch()};
  const std::chrono::year_month_day date{std::chrono::floor<std::chrono::days>(at)};
  return fmt::format("{:04}-{:02}-{:02}", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()));
}

std::string dropped_sentence(JobId id, const Remains& left, const ClockMarks& marks) {
  return fmt::format(
      "Job {} ({}) ended on {}; it was dropped on {} with its log and its {} metric point{}.",
      id.value, to_string(left.state), day(shown(marks, left.ended_at)),
      day(shown(marks, left.dropped_at.value_or(left.ended_at))), left.points,
      left.points == 1 ? "" : "s");
}

}  // namespace

Result<SharedJob> ApiContext::find(JobId id) {
  if (const auto* found = state().find_job(id)) return SharedJob(SharedJob(), found);
  if (std::exchange(dropped_by_then, controller.jobs_dropped()) != controller.jobs_dropped())
    recalled.clear();
  if (const auto known = recalled.find(id); known != recalled.end()) return known->second;
  if (state().is_forgotten(id)) {
    auto found = controller.store().forgotten(id, 1);
    if (!found) return fail(found.error());
    if (!found->empty() && found->front().id == id) {
      if (recalled.size() >= kRecalledMax) recalled.clear();
      return recalled[id] = std::make_shared<const Job>(std::move(found->front()));
    }
    const auto left = controller.store().remains(id);
    if (!left) return fail(left.error());
    if (*left && (*left)->kept == Kept::nothing)
      return fail(ErrorCode::not_found, dropped_sentence(id, **left, state().clock_marks()),
                  "How long jobs are kept is set with 'paceline up --keep'.");
  }
  return fail(ErrorCode::not_found, fmt::format("There is no job {}.", id.value),
              "List jobs with 'paceline queue --all'.");
}

Result<SharedJob> ApiContext::job(const HttpRequest& request) {
  const auto id = read_job_id(request.ids.at(0));
  if (!id) return fail(id.error());
  return find(*id);
}

JsonWriter ApiContext::json() const {
  JsonWriter json;
  json.shows_by(state().clock_marks());
  return json;
}

void ApiContext::write_job(JsonWriter& json, const Job& job, const Principal& by) {
  const auto seen_by = viewer(by, job);
  JobView view{job, state(), controller.now(), controller.reason(job, seen_by), {}, {}, seen_by};
  view.left = time_left(state(), job, view.now);
  if (seen_by == Viewer::owner) {
    const auto& line = commands.of(job.id, controller.store());
    view.command = line.command;
    view.directory = line.directory;
    view.shipped = line.shipped;
  }
  paceline::write_job(json, view);
}

std::string ApiContext::job_text(const Job& job, const Principal& by) {
  JsonWriter json = this->json();
  write_job(json, job, by);
  return json.take();
}

Result<std::string> ApiContext::user_name(std::uint32_t uid) {
  return user_names.of(uid, controller.now());
}

ListenToken ApiContext::watch(JobId id, std::function<void()> touched) {
  if (watched.size() >= watched_max) {
    std::erase_if(watched, [](const auto& each) { return each.second.idle(); });
    watched_max = std::max(kWatchedMin, 2 * watched.size());
  }
  return watched[id].listen(std::move(touched));
}

void ApiContext::turned_away(const Peer& peer, const Error& why) const {
  if (options.remote && options.remote->turned_away)
    options.remote->turned_away(peer.origin, why.message);
}

void ApiContext::committed(std::span<const Entry> batch, std::span<const JobId> touched) {
  counts.update(state(), touched);
  for (const auto id : touched) {
    if (is_over(state().job(id).state)) commands.forget(id);
  }
  for (const auto& entry : batch) {
    if (const auto* left = forgotten_by(entry)) counts.forget(left->jobs);
  }
  entries.emit(batch);
  for (const auto id : touched) {
    const auto listeners = watched.find(id);
    if (listeners == watched.end()) continue;
    listeners->second.emit();
    if (listeners->second.idle()) watched.erase(id);
  }
}

Handler answering(std::function<Result<std::string>(const HttpRequest&)> route) {
  return [route = std::move(route)](const std::shared_ptr<Exchange>& exchange) {
    reply_with(*exchange, route(exchange->request()));
  };
}

RouteHandler answering(
    std::function<Result<std::string>(const HttpRequest&, const Principal&)> route) {
  return
      [route = std::move(route)](const std::shared_ptr<Exchange>& exchange, const Principal& by) {
        reply_with(*exchange, route(exchange->request(), by));
      };
}

HttpApi::HttpApi(Controller& controller, ApiOptions options)
    : context_(std::make_shared<ApiContext>(controller, std::move(options))),
      metrics_(std::make_shared<MetricsPage>(context_)) {
  commits_ = controller.on_commit(
      [context = context_](std::span<const Entry> entries, std::span<const JobId> touched) {
        context->committed(entries, touched);
      });
}

HttpApi::~HttpApi() = default;

Routes HttpApi::all_routes() const {
  Routes routes(context_);
  add_server_routes(routes, context_);
  add_job_routes(routes, context_);
  add_expected_routes(routes, context_);
  add_command_routes(routes, context_);
  add_ship_routes(routes, context_);
  add_checkpoint_routes(routes, context_);
  add_log_routes(routes, context_);
  add_node_routes(routes, context_);
  add_user_routes(routes, context_);
  add_token_routes(routes, context_);
  add_joining_routes(routes, context_);
  add_slurm_routes(routes, context_);
  add_link_routes(routes, context_);
  add_policy_routes(routes, context_);
  add_shadow_routes(routes, context_);
  add_rule_routes(routes, context_);
  add_event_routes(routes, context_);
  add_journal_routes(routes, context_);
  add_attach_route(routes, context_);
  add_stacks_route(routes, context_);
  add_metrics_routes(routes, metrics_);
  return routes;
}

Router HttpApi::metrics_router() const { return paceline::metrics_router(metrics_); }

Router HttpApi::router() const { return all_routes().router(); }

std::vector<RouteRow> HttpApi::rows() const { return all_routes().rows(); }

std::function<bool(const Peer&)> HttpApi::keeper() const {
  return [context = context_](const Peer& peer) {
    const auto by = context->caller(peer);
    return by && by->is(Role::admin);
  };
}

std::function<Result<void>(const HttpRequest&)> HttpApi::admission() const {
  return [context = context_](const HttpRequest& request) -> Result<void> {
    if (const auto by = context->caller(request); !by) return fail(by.error());
    return {};
  };
}

}  // namespace paceline
