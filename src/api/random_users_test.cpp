// Users at random: whatever they ask of a server on which others live, nobody learns what is
// another's, changes it, or brings the server to fail.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <vector>

#include "api/node_book_file.hpp"
#include "api/token_book.hpp"
#include "api/world_testing.hpp"
#include "base/rng.hpp"
#include "trust/testing.hpp"

namespace paceline {
namespace {

constexpr std::uint32_t kRootUid = 0;
constexpr std::array kUsers = {1001U, 1002U, 1003U, kRootUid};
constexpr int kDeeds = 600;

std::string secret_of(std::uint32_t uid) { return fmt::format("secret-of-{}", uid); }

class Crowd {
 public:
  explicit Crowd(std::uint64_t seed) : rng_(seed) {}

  void live() {
    for (int i = 0; i < kDeeds && !::testing::Test::HasFailure(); ++i) {
      switch (rng_.below(6)) {
        case 0:
          submit();
          break;
        case 1:
          something_happens();
          break;
        case 2:
          look();
          break;
        case 3:
          command();
          break;
        default:
          wander();
      }
    }
    EXPECT_GT(owners_.size(), 20U);
    EXPECT_GT(asked_.size(), 40U) << "of the routes";
    expect_only_owners_in_the_journal();
  }

 private:
  std::uint32_t anybody() { return kUsers[rng_.below(kUsers.size())]; }
  template <std::size_t N>
  std::string_view one_of(const std::array<std::string_view, N>& all) {
    return all[rng_.below(N)];
  }
  // One beyond the last is nobody's.
  std::uint32_t any_job() { return static_cast<std::uint32_t>(1 + rng_.below(owners_.size() + 1)); }

  // What every answer is held to.
  void expect_fair(std::uint32_t uid, std::string_view what, const HttpResponse& answer) {
    EXPECT_LT(answer.status, 500) << uid << " " << what << ": " << answer.body;
    if (uid == kRootUid) return;
    for (const std::uint32_t other : kUsers) {
      if (other == uid) continue;
      EXPECT_EQ(answer.body.find(secret_of(other)), std::string::npos)
          << uid << " " << what << ": " << answer.body;
    }
    for (const std::string& token : tokens_)
      EXPECT_EQ(answer.body.find(token), std::string::npos) << uid << " " << what;
  }

  void submit() {
    const std::uint32_t uid = anybody();
    Json spec = {{"name", "train"},
                 {"workers", 1 + rng_.below(3)},
                 {"retry", rng_.below(3)},
                 {"hold", rng_.chance(0.2)},
                 {"checkpoint", secret_of(uid) + "*.pt"}};
    if (rng_.chance(0.2)) spec["after"] = {any_job()};
    const Json body = {{"spec", spec},
                       {"launch",
                        {{"command", {"python3", secret_of(uid)}},
                         {"directory", "/" + secret_of(uid)},
                         {"environment", {{"TOKEN", secret_of(uid)}}}}},
                       {"notify", {{"to", {"https://lab.example/" + secret_of(uid)}}}}};
    const auto answer = world_.ask_later(uid, "POST", "/v1/jobs", body.dump());
    expect_fair(uid, "submit", answer);
    if (answer.status == 201) submitted(uid, answer);
  }

  void submitted(std::uint32_t uid, const HttpResponse& answer) {
    const auto job = parse_json(answer.body)->at("id").get<std::uint32_t>();
    owners_[job] = uid;
    world_.log(static_cast<int>(job), 0, secret_of(uid) + "\n");
  }

  // To a running job.
  void something_happens() {
    world_.loop.on([&] {
      const auto& active = world_.controller->state().active();
      if (active.empty()) return;
      auto key = active.begin();
      std::advance(key, static_cast<std::ptrdiff_t>(rng_.below(active.size())));
      const Job& job = world_.controller->state().job(key->job);
      if (!job.current) return;
      const ProcessKey worker{job.id, job.current->generation, 0};
      const std::string secret = secret_of(job.spec->uid);
      const Time now = world_.clock.now();
      switch (rng_.below(4)) {
        case 0: {
          Progress report;
          report.step = 1 + rng_.below(100);
          report.metrics[secret] = 0.5;
          report.reported_at = now;
          world_.engine.tell(Progressed{job.id, worker.born, report});
          return world_.engine.tell(
              MetricPoint{job.id, worker.born, 0, 1, now, report.step, {}, report.metrics});
        }
        case 1:
          world_.engine.tell(
              ModelPublished{job.id, worker.born, {"box", "/" + secret, "", 1, {}, {}, now}});
          return world_.engine.tell(
              CheckpointAcknowledged{job.id, worker.born, {"/" + secret + "/1.pt", 1, 64, now}});
        case 2:
          return world_.engine.tell(WorkerEnded{
              worker, {Cause::launch_failed, {}, 0, "There is no program '/" + secret + "'", now}});
        default:
          return world_.engine.end(worker, static_cast<int>(rng_.below(2)), now);
      }
    });
    world_.advance(std::chrono::seconds{rng_.between(0, 100)});
  }

  void look() {
    static constexpr std::array<std::string_view, 17> kTargets = {"/v1/jobs",
                                                                  "/v1/jobs?all=1",
                                                                  "/v1/jobs?user=1001",
                                                                  "/v1/jobs/{}",
                                                                  "/v1/jobs/{}/why",
                                                                  "/v1/jobs/{}/logs",
                                                                  "/v1/jobs/{}/timeline",
                                                                  "/v1/jobs/{}/metrics",
                                                                  "/v1/events",
                                                                  "/v1/events?job={}",
                                                                  "/v1/events?after=3&limit=5",
                                                                  "/v1/nodes",
                                                                  "/v1/users",
                                                                  "/v1/policy",
                                                                  "/v1/policy/fifo",
                                                                  "/v1/shadow",
                                                                  "/v1/server"};
    const std::uint32_t uid = anybody();
    const auto target = fmt::format(fmt::runtime(one_of(kTargets)), any_job());
    expect_fair(uid, target, world_.ask_later(uid, "GET", target));
  }

  void command() {
    const std::uint32_t uid = anybody();
    if (rng_.chance(0.2)) return command_the_server(uid);
    static constexpr std::array<std::string_view, 4> kJobRequests = {"cancel", "pause", "resume",
                                                                     "resize"};
    const std::uint32_t job = any_job();
    const auto target = fmt::format("/v1/jobs/{}/{}", job, one_of(kJobRequests));
    const auto body = target.ends_with("resize") ? R"({"workers": 1})" : "";
    const auto answer = world_.ask_later(uid, "POST", target, body);
    expect_fair(uid, target, answer);
    const auto owner = owners_.find(job);
    if (owner == owners_.end()) {
      EXPECT_EQ(answer.status, 404) << target;
    } else {
      EXPECT_EQ(answer.status == 403, uid != kRootUid && uid != owner->second)
          << uid << " " << target << ": " << answer.status << " " << answer.body;
    }
  }

  void command_the_server(std::uint32_t uid) {
    struct Deed {
      std::string_view method, target, body;
    };
    static constexpr std::array<Deed, 7> kServerDeeds = {{
        {"PUT", "/v1/policy", R"({"name": "las"})"},
        {"PUT", "/v1/policy/mine", R"({"script": "function decide(s) end"})"},
        {"DELETE", "/v1/policy/mine", ""},
        {"POST", "/v1/policy/rollback", ""},
        {"PUT", "/v1/shadow", R"({"name": "sjf"})"},
        {"POST", "/v1/shadow/promote", ""},
        {"DELETE", "/v1/shadow", ""},
    }};
    const Deed& deed = kServerDeeds[rng_.below(kServerDeeds.size())];
    const auto answer = world_.ask_later(uid, deed.method, deed.target, std::string(deed.body));
    expect_fair(uid, deed.target, answer);
    EXPECT_EQ(answer.status == 403, uid != kRootUid)
        << uid << " " << deed.target << ": " << answer.body;
  }

  // Any route, about anything, with any query and body.
  void wander() {
    const RouteRow& row = rows_[rng_.below(rows_.size())];
    const std::uint32_t uid = anybody(), job = any_job();
    const std::string target = fill(row.pattern, job) + std::string(one_of(kQueries));
    if (row.pattern.ends_with("/wait") && !is_over(job)) return;
    const auto answer = world_.ask_later(uid, row.method, target, any_body(row, uid));
    asked_.insert(row.method + row.pattern);
    const std::string what = fmt::format("{} {}", row.method, target);
    expect_fair(uid, what, answer);
    expect_only_who_may(uid, row, job, what, answer);
    if (row.method == "POST" && row.pattern == "/v1/jobs" && answer.status == 201)
      submitted(uid, answer);
    if (answer.status == 201 && parse_json(answer.body)->contains("token"))
      tokens_.push_back(parse_json(answer.body)->at("token").get<std::string>());
  }

  // The same once more in other words: what each may do, and to whose jobs.
  void expect_only_who_may(std::uint32_t uid, const RouteRow& row, std::uint32_t job,
                           const std::string& what, const HttpResponse& answer) {
    const bool machines = row.action == Action::join || row.action == Action::be_a_node;
    const bool owners = row.action == Action::read_private || row.action == Action::attach ||
                        row.action == Action::control || row.action == Action::cancel;
    const bool everybodys = row.action == Action::see || row.action == Action::submit;
    const auto owner = owners_.find(job);
    if (owners && owner == owners_.end()) {
      EXPECT_EQ(answer.status, 404) << uid << " " << what;
      return;
    }
    const bool may =
        !machines && (uid == kRootUid || everybodys || (owners && owner->second == uid));
    EXPECT_EQ(answer.status == 403, !may)
        << uid << " " << what << ": " << answer.status << " " << answer.body;
  }

  std::string fill(std::string pattern, std::uint32_t job) {
    const auto begin = pattern.find('{');
    if (begin == std::string::npos) return pattern;
    const auto end = pattern.find('}', begin) + 1;
    const auto part = pattern.substr(begin, end - begin);
    const std::string word = part == "{id}"     ? std::to_string(job)
                             : part == "{name}" ? std::string(one_of(kPolicies))
                             : part == "{node}" ? std::string(one_of(kNodes))
                                                : std::to_string(1 + rng_.below(4));
    return pattern.replace(begin, end - begin, word);
  }

  // What the route takes, what another takes, or none; whole or with a byte that is wrong.
  std::string any_body(const RouteRow& row, std::uint32_t uid) {
    std::string body(one_of(kNoBodies));
    const auto own = std::ranges::find(kBodies, row.method + " " + row.pattern, &Body::route);
    if (own != kBodies.end() && rng_.chance(0.6)) body = own->text;
    if (rng_.chance(0.2)) body = kBodies[rng_.below(kBodies.size())].text;
    if (rng_.chance(0.1))
      body = submission(fmt::format(R"({{"checkpoint": "{}*.pt"}})", secret_of(uid)));
    if (!body.empty() && rng_.chance(0.2))
      body[rng_.below(body.size())] = static_cast<char>(rng_.below(256));
    return body;
  }

  bool is_over(std::uint32_t job) {
    return world_.loop.on([&] {
      const Job* known = world_.controller->state().find_job(JobId{job});
      return known == nullptr || paceline::is_over(known->state);
    });
  }

  // A server that ends, and connections that become something else, are tried elsewhere.
  std::vector<RouteRow> rows() {
    auto all = world_.loop.on([&] { return world_.api->rows(); });
    std::erase_if(all, [](const RouteRow& row) {
      return row.action == Action::shut_down || row.pattern == "/v1/link" ||
             row.pattern == "/v1/bytes";
    });
    return all;
  }

  RemoteAccess access() {
    return {.tokens = &token_book_,
            .authority = authority_.fingerprint(),
            .address = "box:7443",
            .nodes = &node_book_,
            .issuer = &authority_,
            .own_nodes = {"box"}};
  }

  void expect_only_owners_in_the_journal() {
    const auto entries = world_.loop.on([&] {
      const auto first = world_.store.first_entry().value();
      return world_.store.entries(first, 1'000'000).value();
    });
    for (const Entry& entry : entries) {
      const auto* event = std::get_if<Event>(&entry.body);
      const auto* asked = event ? std::get_if<JobRequested>(event) : nullptr;
      if (!asked) continue;
      EXPECT_TRUE(asked->by.uid == kRootUid || asked->by.uid == owners_.at(asked->job.value))
          << "job " << asked->job.value << " was asked for by " << asked->by.user;
    }
  }

  static constexpr std::array<std::string_view, 3> kNodes = {"box", "gpu-3", "nowhere"};
  static constexpr std::array<std::string_view, 4> kPolicies = {"fifo", "las", "mine", "none"};
  static constexpr std::array<std::string_view, 12> kQueries = {"",
                                                                "",
                                                                "",
                                                                "?all=1",
                                                                "?limit=2&after=1",
                                                                "?limit=-1",
                                                                "?from=3&limit=5",
                                                                "?rank=0&offset=0:3",
                                                                "?rank=99999999999",
                                                                "?dry_run=1",
                                                                "?is_off=1",
                                                                "?no-such=1"};
  static constexpr std::array<std::string_view, 10> kNoBodies = {
      "",
      "{",
      "[]",
      "null",
      "{}",
      "\"\"",
      "\xff\xfe",
      "{\"a\": 1, \"a\": 2}",
      "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[",
      R"({"workers": 1e308})"};
  struct Body {
    std::string_view route, text;
  };
  static constexpr std::array<Body, 13> kBodies = {{
      {"POST /v1/jobs", R"({"launch": {"command": ["true"], "directory": "/"}})"},
      {"POST /v1/plan", R"({"launch": {"command": ["true"], "directory": "/"}})"},
      {"POST /v1/jobs/{id}/resize", R"({"workers": "1..2"})"},
      {"PUT /v1/policy", R"({"name": "las"})"},
      {"PUT /v1/policy/{name}", R"({"script": "function decide(s) return {} end"})"},
      {"PUT /v1/shadow", R"({"name": "srtf"})"},
      {"PUT /v1/rules", R"({"reclaim_after_seconds": 60})"},
      {"POST /v1/journal/prune", R"({"before": 50})"},
      {"POST /v1/nodes/{node}/drain", R"({"reason": "mended"})"},
      {"POST /v1/tokens", R"({"user": "nobody", "role": "user"})"},
      {"POST /v1/invitations", R"({"uses": 2})"},
      {"POST /v1/slurm", R"({"partition": "all"})"},
      {"POST /v1/join", R"({"node": "gpu-3", "machine": null, "request": "x", "version": "1"})"},
  }};

  Rng rng_;
  TempFolder folder_;
  Authority authority_ = authority_in(folder_.path() / "trust", WallTime{});
  TokenBook token_book_ = *TokenBook::open(folder_.path() / "tokens");
  NodeBook node_book_ = *open_node_book(folder_.path() / "nodes");
  World world_{kRootUid, 4, {}, {}, {}, access()};
  const std::vector<RouteRow> rows_ = rows();
  std::map<std::uint32_t, std::uint32_t> owners_;
  std::set<std::string> asked_;      // routes
  std::vector<std::string> tokens_;  // that were given away, each once
};

class RandomUsers : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(RandomUsers, LearnAndChangeOnlyWhatIsTheirs) { Crowd(GetParam()).live(); }

INSTANTIATE_TEST_SUITE_P(Seeds, RandomUsers, ::testing::Range<std::uint64_t>(1, 21));

}  // namespace
}  // namespace paceline
