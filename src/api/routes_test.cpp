// Every route against a real controller.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/world_testing.hpp"

namespace paceline {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class RoutesTest : public ::testing::Test {
 protected:
  int submit(std::string_view spec = "{}") {
    const auto reply = client_.call("POST", "/v1/jobs", submission(spec));
    EXPECT_EQ(reply.status, 201) << reply.body;
    return parsed(reply)["id"];
  }
  Json job(int id) { return parsed(client_.get(fmt::format("/v1/jobs/{}", id))); }
  // Asks again until the job is in that state.
  Json job_once(int id, std::string_view state) {
    auto found = job(id);
    while (found["state"] != state && !HasFailure()) found = job(id);
    return found;
  }
  std::string code(const Reply& reply) { return parsed(reply)["error"]["code"]; }

  World world_;
  Client client_{world_.socket()};
};

TEST_F(RoutesTest, SaysThatItIsThereAndReady) {
  EXPECT_EQ(client_.get("/healthz").status, 200);
  EXPECT_EQ(client_.get("/readyz").status, 200);
  world_.loop.on([&] { world_.engine.tell(NodeDown{NodeId{0}}); });
  while (client_.get("/readyz").status == 200) {
  }
  EXPECT_EQ(code(client_.get("/readyz")), "unavailable");
}

TEST_F(RoutesTest, ListsNoNodeThatRetired) {
  EXPECT_EQ(parsed(client_.get("/v1/nodes"))["nodes"].size(), 1U);
  EXPECT_THAT(client_.get("/metrics").body, HasSubstr("paceline_node_up{node=\"box\"} 1\n"));
  world_.loop.on([&] {
    world_.engine.tell(NodeDown{NodeId{0}});
    world_.engine.tell(NodesRetired{{NodeId{0}}});
  });
  while (!parsed(client_.get("/v1/nodes"))["nodes"].empty() && !HasFailure()) {
  }
  EXPECT_THAT(client_.get("/metrics").body, ::testing::Not(HasSubstr("node=\"box\"")));
  EXPECT_EQ(code(client_.get("/readyz")), "unavailable");
}

TEST_F(RoutesTest, IsReadyWhileItCanWrite) {
  EXPECT_EQ(client_.get("/readyz").status, 200);
  world_.loop.on([&] {
    world_.store.refuse_writes({ErrorCode::storage, "The disk is full.", "Make room.", {}});
  });
  while (client_.get("/readyz").status == 200) {
  }
  const auto refused = client_.get("/readyz");
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(parsed(refused)["error"]["message"], "The disk is full.");
  world_.loop.on([&] { world_.store.accept_writes(); });
  while (client_.get("/readyz").status != 200) {
  }
}

TEST_F(RoutesTest, LoadsShowsAndForgetsAPolicy) {
  const auto body = [](std::string_view script) { return Json{{"script", script}}.dump(); };
  const auto text = "-- Does nothing.\nfunction decide(cluster) return {} end\n";
  const auto loaded = client_.call("PUT", "/v1/policy/mine", body(text));
  ASSERT_EQ(loaded.status, 200) << loaded.body;
  EXPECT_EQ(parsed(loaded)["summary"], "Does nothing.");
  EXPECT_EQ(parsed(client_.get("/v1/policy/mine"))["script"], text);
  EXPECT_EQ(parsed(client_.get("/v1/policy"))["policies"].back()["name"], "mine");
  EXPECT_EQ(client_.call("PUT", "/v1/policy", R"({"name": "mine"})").status, 200);
  EXPECT_EQ(client_.call("DELETE", "/v1/policy/mine", "").status, 409);
  const auto refused = client_.call("PUT", "/v1/policy/mine", body("function decide("));
  EXPECT_EQ(refused.status, 400);
  EXPECT_THAT(refused.body, HasSubstr("in line 1"));
  EXPECT_EQ(client_.call("PUT", "/v1/policy/fifo", body(text)).status, 409);
  EXPECT_EQ(client_.call("PUT", "/v1/policy/mine", "{}").status, 400);
  EXPECT_EQ(client_.call("PUT", "/v1/policy", R"({"name": "fifo"})").status, 200);
  EXPECT_EQ(client_.call("DELETE", "/v1/policy/mine", "").status, 200);
  EXPECT_EQ(client_.get("/v1/policy/mine").status, 404);
}

TEST_F(RoutesTest, ShowsTheServer) {
  submit();
  job_once(1, "RUNNING");
  const auto server = parsed(client_.get("/v1/server"));
  EXPECT_EQ(server["slots"], 4);
  EXPECT_EQ(server["slots_leased"], 1);
  EXPECT_EQ(server["policy"], "elastic-fifo");
  EXPECT_EQ(server["jobs"]["RUNNING"], 1);
  EXPECT_EQ(server["jobs"]["PENDING"], 0);
  EXPECT_EQ(server["uid"], ::getuid());
  EXPECT_EQ(server["pid"], ::getpid());
}

TEST_F(RoutesTest, SubmitsAJobAndShowsIt) {
  EXPECT_EQ(submit(R"({"name": "digits", "workers": "2", "target": "accuracy>=0.95"})"), 1);
  const auto shown = job_once(1, "RUNNING");
  EXPECT_EQ(shown["name"], "digits");
  EXPECT_EQ(shown["uid"], ::getuid());
  EXPECT_EQ(shown["workers"], 2);
  EXPECT_EQ(shown["command"], "python3 'a b.py'");
  EXPECT_EQ(shown["directory"], "/data");
  EXPECT_EQ(shown["pids"], Json({1000, 1001}));
  EXPECT_EQ(shown["nodes"], Json({"box"}));
  EXPECT_EQ(shown["gang"][1]["rank"], 1);
  EXPECT_EQ(shown["target"]["reached"], false);
  EXPECT_EQ(shown["progress"], nullptr);
  EXPECT_EQ(shown["metrics"], Json::object());
}

TEST_F(RoutesTest, RefusesWhatIsWrongAndChangesNothing) {
  const std::pair<std::string, std::string> bad[] = {
      {"{", "invalid"},
      {"{}", "invalid"},
      {submission(R"({"wokers": 2})"), "invalid"},
      {submission(R"({"workers": "100"})"), "invalid"},
      {submission(R"({"after": [9]})"), "not_found"},
      {std::string(5 << 20, ' '), "too_large"},
  };
  for (const auto& [body, expected] : bad) {
    Client client(world_.socket());
    EXPECT_EQ(code(client.call("POST", "/v1/jobs", body)), expected) << body.substr(0, 100);
  }
  EXPECT_THAT(parsed(client_.get("/v1/jobs?all=1"))["jobs"], IsEmpty());
}

TEST_F(RoutesTest, TheSameKeyIsTheSameJob) {
  constexpr std::string_view kKey = "Idempotency-Key: 5f3a\r\n";
  const auto first = client_.call("POST", "/v1/jobs", submission(), kKey);
  const auto again = client_.call("POST", "/v1/jobs", submission(), kKey);
  EXPECT_EQ(first.status, 201);
  EXPECT_EQ(again.status, 200);
  EXPECT_EQ(first.body, again.body);
  world_.advance(25h);
  EXPECT_EQ(client_.call("POST", "/v1/jobs", submission(), kKey).status, 201);
  const auto long_key = "Idempotency-Key: " + std::string(129, 'x') + "\r\n";
  EXPECT_EQ(client_.call("POST", "/v1/jobs", submission(), long_key).status, 400);
}

TEST_F(RoutesTest, ManyClientsSubmitAtOnce) {
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < 50; ++i) clients.push_back(std::make_unique<Client>(world_.socket()));
  const auto body = submission();
  for (const auto& each : clients) {
    each->send(fmt::format("POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n{}",
                           body.size(), body));
  }
  std::set<int> ids;
  for (const auto& each : clients) ids.insert(parsed(each->reply())["id"].get<int>());
  EXPECT_EQ(ids.size(), 50U);
  EXPECT_EQ(*ids.rbegin(), 50);
}

TEST_F(RoutesTest, AClientThatLeavesHasSubmittedAllTheSame) {
  Client hasty(world_.socket());
  const auto body = submission();
  hasty.send(fmt::format("POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n{}",
                         body.size(), body));
  hasty.close();
  job_once(1, "RUNNING");
}

TEST_F(RoutesTest, ListsJobsInPages) {
  for (int i = 0; i < 7; ++i) submit();
  const auto ids = [](const Json& page) {
    std::vector<int> list;
    for (const auto& each : page["jobs"]) list.push_back(each["id"]);
    return list;
  };
  const auto first = parsed(client_.get("/v1/jobs?limit=3"));
  EXPECT_THAT(ids(first), ElementsAre(1, 2, 3));
  EXPECT_EQ(first["next"], 3);
  const auto last = parsed(client_.get("/v1/jobs?after=4"));
  EXPECT_THAT(ids(last), ElementsAre(5, 6, 7));
  EXPECT_EQ(last["next"], nullptr);
}

TEST_F(RoutesTest, ListsEndedJobsWhenAsked) {
  for (int i = 0; i < 4; ++i) submit();
  job_once(2, "RUNNING");
  world_.end_worker(2, 0);
  job_once(2, "COMPLETED");
  EXPECT_EQ(parsed(client_.get("/v1/jobs"))["jobs"].size(), 3U);
  EXPECT_EQ(parsed(client_.get("/v1/jobs?all=1"))["jobs"].size(), 4U);
  EXPECT_EQ(parsed(client_.get("/v1/jobs?all=1&limit=4"))["next"], nullptr);
  const auto over = parsed(client_.get("/v1/jobs?state=COMPLETED"));
  ASSERT_EQ(over["jobs"].size(), 1U);
  EXPECT_EQ(over["jobs"][0]["exit_code"], 0);
  EXPECT_EQ(over["jobs"][0]["ending"], "exited with code 0");
  EXPECT_EQ(code(client_.get("/v1/jobs?state=ASLEEP")), "invalid");
  EXPECT_EQ(code(client_.get("/v1/jobs?limit=1001")), "invalid");
  EXPECT_EQ(code(client_.get("/v1/jobs?al=1")), "invalid");
}

TEST_F(RoutesTest, SaysWhichJobIsNotThere) {
  const auto reply = client_.get("/v1/jobs/7");
  EXPECT_EQ(reply.status, 404);
  EXPECT_EQ(reply.body, R"({"error":{"code":"not_found","message":"There is no job 7.",)"
                        R"("hint":"List jobs with 'paceline queue --all'."}})");
  for (const auto* id : {"x", "0", "-1", "99999999999", "1.5", "%20"}) {
    EXPECT_EQ(client_.get(fmt::format("/v1/jobs/{}", id)).status, 400) << id;
  }
}

TEST_F(RoutesTest, CommandsAnswerWithTheJob) {
  submit();
  job_once(1, "RUNNING");
  EXPECT_EQ(parsed(client_.call("POST", "/v1/jobs/1/pause", ""))["state"], "PAUSED");
  EXPECT_EQ(parsed(client_.call("POST", "/v1/jobs/1/resume", ""))["state"], "RUNNING");
  EXPECT_EQ(code(client_.call("POST", "/v1/jobs/1/resume", "")), "conflict");
  client_.call("POST", "/v1/jobs/1/cancel", "");
  const auto over = job_once(1, "CANCELLED");
  EXPECT_EQ(over["cause"], "cancelled");
  EXPECT_EQ(code(client_.call("POST", "/v1/jobs/1/cancel", "")), "conflict");
  EXPECT_EQ(code(client_.call("POST", "/v1/jobs/9/cancel", "")), "not_found");
}

TEST_F(RoutesTest, ResizesWithinTheCluster) {
  submit(R"({"hold": true})");
  const auto resized =
      parsed(client_.call("POST", "/v1/jobs/1/resize", R"({"workers": "2..4@3"})"));
  EXPECT_EQ(resized["min"], 2);
  EXPECT_EQ(resized["max"], 4);
  EXPECT_EQ(resized["want"], 3);
  EXPECT_EQ(parsed(client_.call("POST", "/v1/jobs/1/resize", R"({"workers": 1})"))["max"], 1);
  for (const auto* bad : {R"({"workers": "5"})", R"({"workers": "x"})", R"({"workers": []})", "{}",
                          R"({"workers": "2", "size": 1})"}) {
    EXPECT_EQ(code(client_.call("POST", "/v1/jobs/1/resize", bad)), "invalid") << bad;
  }
}

TEST_F(RoutesTest, ExplainsWhyAJobWaits) {
  submit(R"({"hold": true})");
  const auto why = parsed(client_.get("/v1/jobs/1/why"));
  EXPECT_EQ(why["state"], "PENDING");
  EXPECT_THAT(why["reason"].get<std::string>(), HasSubstr("held"));
  EXPECT_FALSE(why["lines"].empty());
}

TEST_F(RoutesTest, WaitsForTheEndOfAJob) {
  submit();
  job_once(1, "RUNNING");
  Client waiting(world_.socket());
  waiting.send("GET /v1/jobs/1/wait?timeout_seconds=60 HTTP/1.1\r\nHost: x\r\n\r\n");
  world_.end_worker(1, 3);
  const auto over = parsed(waiting.reply());
  EXPECT_EQ(over["state"], "FAILED");
  EXPECT_EQ(over["exit_code"], 3);
  EXPECT_EQ(parsed(client_.get("/v1/jobs/1/wait?timeout_seconds=60"))["state"], "FAILED");
}

TEST_F(RoutesTest, AnswersAWaitWhenTheTimeIsUp) {
  submit();
  job_once(1, "RUNNING");
  EXPECT_EQ(parsed(client_.get("/v1/jobs/1/wait?timeout_seconds=0"))["state"], "RUNNING");
  EXPECT_EQ(parsed(client_.get("/v1/jobs/1/wait?timeout_seconds=1"))["state"], "RUNNING");
  EXPECT_EQ(client_.get("/v1/jobs/1/wait?timeout_seconds=61").status, 400);
}

TEST_F(RoutesTest, ShowsMetricsInPages) {
  submit();
  job_once(1, "RUNNING");
  world_.loop.on([&] {
    for (std::uint64_t i = 1; i <= 3; ++i) {
      world_.engine.tell(MetricPoint{JobId{1},
                                     Generation{1},
                                     0,
                                     i,
                                     world_.clock.now(),
                                     i,
                                     {},
                                     {{"loss", 1.0 / static_cast<double>(i)}}});
    }
    world_.engine.progress(JobId{1}, 3, 0.25, world_.clock.now());
  });
  while (job(1)["progress"].is_null()) {
  }
  EXPECT_EQ(job(1)["metrics"]["loss"], 0.25);
  EXPECT_EQ(job(1)["progress"]["step"], 3);
  const auto page = parsed(client_.get("/v1/jobs/1/metrics?name=loss&limit=2"));
  ASSERT_EQ(page["points"].size(), 2U);
  EXPECT_EQ(page["points"][1]["values"]["loss"], 0.5);
  EXPECT_EQ(page["points"][1]["n"], 2);
  const auto rest =
      parsed(client_.get(fmt::format("/v1/jobs/1/metrics?from={}", page["next"].get<int>())));
  ASSERT_EQ(rest["points"].size(), 1U);
  EXPECT_EQ(rest["points"][0]["step"], 3);
}

constexpr std::size_t kLargestPage = 9 << 20;

// A page that may be longer than a request's body.
Json page_of(const Reply& reply) {
  EXPECT_LT(reply.body.size(), kLargestPage);
  return Json::parse(reply.body, nullptr, /*allow_exceptions=*/false);
}

TEST_F(RoutesTest, PagesOfPointsEndWhereTheyAreLarge) {
  submit();
  Batch batch;
  std::map<std::string, double> values;
  for (int i = 0; i < 64; ++i) values[fmt::format("{:0128}", i)] = 0.5;
  for (std::uint64_t i = 1; i <= 2'000; ++i)
    batch.points.push_back({JobId{1}, Generation{1}, 0, i, world_.clock.now(), i, {}, values});
  world_.loop.on([&] { ASSERT_TRUE(world_.store.append(batch)); });
  std::uint64_t next = 1, pages = 0;
  for (; next <= 2'000 && !HasFailure(); ++pages) {
    const auto reply = client_.get(fmt::format("/v1/jobs/1/metrics?limit=10000&from={}", next));
    const auto page = page_of(reply);
    ASSERT_TRUE(page.is_object());
    ASSERT_FALSE(page["points"].empty());
    for (const auto& point : page["points"]) EXPECT_EQ(point["n"], next++);
    EXPECT_EQ(page["next"], next);
  }
  EXPECT_EQ(pages, 3U);
}

// So many sizes that a job of them is some 30 KB long.
std::string long_spec() {
  std::string speeds;
  for (int i = 1; i <= 1'024; ++i)
    speeds += fmt::format("{}{}:{}.12345678901234", i == 1 ? "" : ",", i, i);
  return fmt::format(R"({{"hold": true, "expect_speeds": "{}"}})", speeds);
}

TEST_F(RoutesTest, PagesOfJobsAndEventsEndWhereTheyAreLarge) {
  constexpr int kJobs = 500;
  for (const std::string spec = long_spec(); submit(spec) < kJobs && !HasFailure();) {
  }
  const auto page = page_of(client_.get("/v1/jobs?limit=1000"));
  ASSERT_TRUE(page.is_object());
  ASSERT_FALSE(page["next"].is_null());
  EXPECT_EQ(page["next"], page["jobs"].back()["id"]);
  const auto rest =
      page_of(client_.get(fmt::format("/v1/jobs?limit=1000&after={}", page["next"].get<int>())));
  EXPECT_EQ(page["jobs"].size() + rest["jobs"].size(), std::size_t{kJobs});
  EXPECT_EQ(rest["jobs"].back()["id"], kJobs);

  const auto events = page_of(client_.get("/v1/events?from=1&limit=1000"));
  ASSERT_TRUE(events.is_object());
  EXPECT_EQ(events["next"], events["events"].back()["seq"].get<int>() + 1);
  const auto more =
      page_of(client_.get(fmt::format("/v1/events?limit=1000&from={}", events["next"].get<int>())));
  ASSERT_FALSE(more["events"].empty()) << "it was not cut";
  EXPECT_EQ(more["events"].front()["seq"], events["next"]);
}

TEST_F(RoutesTest, ShowsNodesAndTheJobsInTheirSlots) {
  submit(R"({"workers": "2"})");
  job_once(1, "RUNNING");
  const auto node = parsed(client_.get("/v1/nodes"))["nodes"][0];
  EXPECT_EQ(node["name"], "box");
  EXPECT_EQ(node["state"], "up");
  EXPECT_EQ(node["slots"][1]["state"], "leased");
  EXPECT_EQ(node["slots"][1]["job"], 1);
  EXPECT_EQ(node["slots"][1]["rank"], 1);
  EXPECT_EQ(node["slots"][2]["state"], "free");
  EXPECT_EQ(node["slots"][2]["job"], nullptr);
}

TEST_F(RoutesTest, DrainsNodesTogetherOrNone) {
  const auto drain = [&](const std::string& body) {
    return world_.ask_later(::getuid(), "POST", "/v1/nodes/box/drain", body);
  };
  EXPECT_EQ(drain(R"({"also": ["gpu-9"]})").status, 404);
  EXPECT_EQ(drain(R"({"also": "box"})").status, 400);
  EXPECT_TRUE(parsed(client_.get("/v1/nodes"))["nodes"][0]["drain"].is_null());
  const auto drained = drain(R"({"also": ["box"]})");
  EXPECT_EQ(drained.status, 200);
  EXPECT_EQ(Json::parse(drained.body)["slots"], 4) << "each once";
  EXPECT_TRUE(parsed(client_.get("/v1/nodes"))["nodes"][0]["drain"].is_object());
  EXPECT_THAT(client_.get("/metrics").body,
              HasSubstr("paceline_node_slots{node=\"box\",state=\"draining\"} 4\n"));
}

TEST_F(RoutesTest, SumsUpTheJobsOfEachUser) {
  EXPECT_EQ(parsed(client_.get("/v1/users"))["users"], Json::array());
  submit(R"({"workers": "2"})");
  job_once(1, "RUNNING");
  submit(R"({"workers": "4"})");
  world_.advance(10s);
  const auto users = parsed(client_.get("/v1/users"))["users"];
  ASSERT_EQ(users.size(), 1U);
  EXPECT_EQ(users[0]["jobs"], 2);
  EXPECT_EQ(users[0]["running"], 1);
  EXPECT_EQ(users[0]["waiting"], 1);
  EXPECT_EQ(users[0]["slots"], 2);
  EXPECT_GE(users[0]["slot_seconds"], 20.0);
  EXPECT_GE(users[0]["waited_seconds"], 10.0);
  EXPECT_EQ(users[0]["lost_slot_seconds"]["failure"], 0.0);
}

TEST_F(RoutesTest, TellsWhatIsLeftOfAJob) {
  submit(R"({"workers": "2", "expect_seconds": 100})");
  const auto job = job_once(1, "RUNNING");
  EXPECT_EQ(job["remaining"]["from"], "declared");
  EXPECT_LE(job["remaining"]["seconds"], 100.0);
  EXPECT_LT(job["remaining"]["low_seconds"], job["remaining"]["seconds"]);
  EXPECT_GT(job["remaining"]["high_seconds"], job["remaining"]["seconds"]);
}

TEST_F(RoutesTest, SwitchesThePolicy) {
  const auto before = parsed(client_.get("/v1/policy"));
  EXPECT_EQ(before["active"]["name"], "elastic-fifo");
  EXPECT_GE(before["policies"].size(), 3U);
  const auto set = parsed(client_.call("PUT", "/v1/policy", R"({"name": "fifo"})"));
  EXPECT_EQ(set["active"]["name"], "fifo");
  EXPECT_EQ(set["previous"]["name"], "elastic-fifo");
  world_.advance(10s);
  const auto after = parsed(client_.get("/v1/policy"));
  ASSERT_EQ(after["periods"].size(), 2U);
  EXPECT_EQ(after["periods"][1]["to"], nullptr);
  EXPECT_EQ(after["periods"][1]["slot_seconds_available"], 40.0);
  EXPECT_EQ(after["periods"][1]["utilization"], 0.0);
  EXPECT_EQ(after["periods"][1]["lost_slot_seconds"]["resize"], 0.0);
  EXPECT_THAT(after["plans"], IsEmpty());
}

TEST_F(RoutesTest, TriesAPolicyAndPromotesItAndRollsBack) {
  EXPECT_EQ(code(client_.get("/v1/shadow")), "not_found");
  EXPECT_EQ(code(client_.call("DELETE", "/v1/shadow", "")), "not_found");
  EXPECT_EQ(code(client_.call("POST", "/v1/shadow/promote", "")), "conflict");
  EXPECT_EQ(code(client_.call("POST", "/v1/policy/rollback", "")), "conflict");
  EXPECT_EQ(code(client_.call("PUT", "/v1/shadow", R"({"name": "lottery"})")), "not_found");
  const auto tried = parsed(client_.call("PUT", "/v1/shadow", R"({"name": "fifo"})"));
  EXPECT_EQ(tried["name"], "fifo");
  EXPECT_EQ(tried["live"], "elastic-fifo");
  EXPECT_EQ(tried["rounds"], 0);
  EXPECT_EQ(tried["forecast"], nullptr);
  EXPECT_EQ(tried["counted_since"], tried["since"]);
  const auto work = [&] {
    world_.loop.on([&] {
      while (world_.controller->shadow().work()) {
      }
    });
  };
  work();
  submit(R"({"workers": "1..4", "expect_seconds": 100})");
  job_once(1, "RUNNING");
  work();
  const auto shadow = parsed(client_.get("/v1/shadow"));
  // elastic-fifo gives the job all 4 slots, fifo the one it wants.
  EXPECT_GE(shadow["differed"], 1);
  const auto change = shadow["differences"][0]["changes"][0];
  EXPECT_EQ(change["job"], 1);
  EXPECT_EQ(change["live"]["workers"], 4);
  EXPECT_EQ(change["shadow"]["workers"], 1);
  EXPECT_EQ(change["shadow"]["kind"], "start");
  EXPECT_EQ(change["shadow"]["nodes"][0], "box");
  EXPECT_EQ(shadow["forecast"]["jobs"], 1);
  EXPECT_EQ(shadow["forecast"]["live"]["lost_slot_seconds"]["preemption"], 0);
  EXPECT_THAT(shadow["forecast"]["users"], IsEmpty());
  EXPECT_EQ(shadow["forecast"]["other_users"]["count"], 0);
  const auto promoted = parsed(client_.call("POST", "/v1/shadow/promote", ""));
  EXPECT_EQ(promoted["active"]["name"], "fifo");
  EXPECT_EQ(promoted["previous"]["name"], "elastic-fifo");
  EXPECT_EQ(code(client_.get("/v1/shadow")), "not_found");
  const auto rolled = parsed(client_.call("POST", "/v1/policy/rollback", ""));
  EXPECT_EQ(rolled["active"]["name"], "elastic-fifo");
  (void)client_.call("PUT", "/v1/shadow", R"({"name": "srtf"})");
  EXPECT_EQ(parsed(client_.call("DELETE", "/v1/shadow", ""))["name"], "srtf");
  EXPECT_EQ(code(client_.get("/v1/shadow")), "not_found");
}

TEST_F(RoutesTest, RefusesPoliciesThatAreNotThere) {
  EXPECT_THAT(parsed(client_.get("/v1/policy/fifo"))["text"].get<std::string>(),
              HasSubstr("bjective"));
  EXPECT_EQ(code(client_.get("/v1/policy/lottery")), "not_found");
  EXPECT_EQ(code(client_.call("PUT", "/v1/policy", R"({"name": "lottery"})")), "not_found");
  EXPECT_EQ(code(client_.call("PUT", "/v1/policy", R"({"name": "fifo", "parameters": {"x": 1}})")),
            "invalid");
  EXPECT_EQ(code(client_.call("PUT", "/v1/policy", R"({"name": "fifo", "parameters": [1]})")),
            "invalid");
}

TEST_F(RoutesTest, ShowsTheJournalInPages) {
  submit();
  job_once(1, "RUNNING");
  const auto page = parsed(client_.get("/v1/events?limit=2"));
  ASSERT_EQ(page["events"].size(), 2U);
  EXPECT_EQ(page["events"][0]["seq"], 1);
  EXPECT_EQ(page["next"], 3);
  const auto rest = parsed(client_.get("/v1/events?from=3"));
  EXPECT_EQ(rest["events"][0]["seq"], 3);
  const auto end = rest["next"].get<int>();
  const auto empty = parsed(client_.get(fmt::format("/v1/events?from={}", end)));
  EXPECT_THAT(empty["events"], IsEmpty());
  EXPECT_EQ(empty["next"], end);
}

TEST_F(RoutesTest, FollowsTheJournal) {
  Client follower(world_.socket());
  follower.send("GET /v1/events?from=1&follow=1 HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(follower.until("\r\n\r\n"), HasSubstr("text/event-stream"));
  submit(R"({"name": "followed"})");
  const auto seen = follower.until("\"kind\":\"worker_started\"");
  EXPECT_THAT(seen, HasSubstr("id: 1\n"));
  EXPECT_THAT(seen, HasSubstr("followed"));
  for (int seq = 1; seq <= 4; ++seq) {
    const auto mark = fmt::format("id: {}\n", seq);
    EXPECT_EQ(seen.find(mark), seen.rfind(mark)) << "each event once";
    EXPECT_NE(seen.find(mark), std::string::npos) << "no event left out";
  }
}

// What a follower is sent, with room for all of it.
class RoomyStream final : public HttpStream {
 public:
  void send(const StreamEvent&) override { ++sent; }
  [[nodiscard]] bool has_room() const override { return true; }
  void end() override {}
  void on_room(std::function<void()> call) override { ready = std::move(call); }
  void go_on_later() override { ++turns; }
  void on_gone(std::function<void()> call) override { gone = std::move(call); }

  std::uint64_t sent = 0;
  int turns = 0;
  std::function<void()> ready, gone;
};

class FollowingExchange final : public Exchange {
 public:
  explicit FollowingExchange(HttpRequest request) : request_(std::move(request)) {}

  [[nodiscard]] const HttpRequest& request() const override { return request_; }
  void reply(HttpResponse response) override { ADD_FAILURE() << response.body; }
  std::shared_ptr<HttpStream> stream() override { return kept; }
  void tunnel(std::string, std::shared_ptr<ServerStream>) override {}
  void after(Duration, std::function<void()>) override {}
  void on_gone(std::function<void()>) override {}

  std::shared_ptr<RoomyStream> kept = std::make_shared<RoomyStream>();

 private:
  HttpRequest request_;
};

TEST_F(RoutesTest, WhoCatchesUpWithALongJournalLeavesOthersTheirTurn) {
  constexpr int kEntries = 5'000;
  world_.loop.on([&] {
    const Router router = world_.api->router();
    for (int i = 0; i < kEntries; ++i)
      ask(router, ::getuid(), "PUT", "/v1/rules",
          fmt::format(R"({{"reclaim_after_seconds": {}}})", 1 + i % 2));
  });
  const auto seq = [&] { return world_.loop.on([&] { return world_.controller->state().seq(); }); };
  while (seq() < kEntries) {
  }
  world_.loop.on([&] {
    const Router router = world_.api->router();
    const auto uid = ::getuid();
    const auto exchange = std::make_shared<FollowingExchange>(
        HttpRequest{.peer = unix_peer({uid, uid, 1}), .query = {{"from", "1"}, {"follow", "1"}}});
    (*router.find("GET", "/v1/events").handler)(exchange);
    auto& stream = *exchange->kept;
    EXPECT_GT(stream.sent, 0U);
    for (int turn = 1; stream.turns == turn; ++turn) {
      EXPECT_LT(stream.sent, static_cast<std::uint64_t>(turn) * 4'096);
      stream.ready();
    }
    EXPECT_GT(stream.turns, 1);
    EXPECT_GE(stream.sent, static_cast<std::uint64_t>(kEntries));
    stream.gone();
    stream.ready = stream.gone = {};
  });
}

TEST_F(RoutesTest, ResumesTheJournalAfterTheLastEventThatAClientGot) {
  submit();
  job_once(1, "RUNNING");
  Client follower(world_.socket());
  follower.send("GET /v1/events?follow=1 HTTP/1.1\r\nHost: x\r\nLast-Event-ID: 2\r\n\r\n");
  follower.until("\r\n\r\n");
  EXPECT_THAT(follower.until("\n\n"), HasSubstr("id: 3\n"));
}

TEST_F(RoutesTest, AFullDiskIsToldAndNothingIsKept) {
  world_.loop.on([&] {
    world_.store.refuse_writes(
        {ErrorCode::storage, "The disk is full.", "Free some.", Retry::may_help});
  });
  EXPECT_EQ(code(client_.call("POST", "/v1/jobs", submission())), "storage");
  world_.loop.on([&] { world_.store.accept_writes(); });
  world_.advance(2s);
  EXPECT_EQ(submit(), 1);
}

TEST_F(RoutesTest, ShutsDownAndLeavesJobsRunning) {
  submit();
  job_once(1, "RUNNING");
  EXPECT_EQ(parsed(client_.call("POST", "/v1/shutdown", ""))["running"], Json({1}));
  world_.left.get_future().get();
  EXPECT_EQ(code(client_.call("POST", "/v1/jobs", submission())), "unavailable");
}

TEST_F(RoutesTest, ShutsDownOnceAllJobsAreOver) {
  submit();
  submit(R"({"hold": true})");
  job_once(1, "RUNNING");
  EXPECT_THAT(parsed(client_.call("POST", "/v1/shutdown", R"({"jobs": true})"))["running"],
              IsEmpty());
  world_.left.get_future().get();
  EXPECT_EQ(job(1)["state"], "CANCELLED");
  EXPECT_EQ(job(2)["state"], "CANCELLED");
}

TEST_F(RoutesTest, AJobThatComesInBesideTheShutdownIsCancelledToo) {
  submit();
  job_once(1, "RUNNING");
  const auto both = world_.loop.on([&] {
    const Router router = world_.api->router();
    return std::pair{ask(router, ::getuid(), "POST", "/v1/jobs", submission()),
                     ask(router, ::getuid(), "POST", "/v1/shutdown", R"({"jobs": true})")};
  });
  ASSERT_EQ(world_.left.get_future().wait_for(30s), std::future_status::ready);
  EXPECT_EQ(world_.loop.on([&] { return both.first->response()->status; }), 201);
  EXPECT_EQ(job(2)["state"], "CANCELLED");
  EXPECT_EQ(world_.loop.on([&] { return both.second->response()->status; }), 200);
}

TEST_F(RoutesTest, AttachesToARunningTerminalOnly) {
  submit();
  constexpr std::string_view kUpgrade = "Connection: Upgrade\r\nUpgrade: paceline-pty\r\n";
  EXPECT_EQ(code(client_.get("/v1/jobs/1/attach")), "invalid");
  EXPECT_EQ(code(client_.call("GET", "/v1/jobs/1/attach", "", kUpgrade)), "conflict");
  submit(R"({"pty": true})");
  job_once(2, "RUNNING");
  EXPECT_EQ(code(client_.call("GET", "/v1/jobs/2/attach", "", kUpgrade)), "unavailable");
  const auto terminals = world_.folder.path() / "agent" / "terminals";
  std::filesystem::create_directories(terminals);
  Terminal terminal(terminals / "2.1.0.sock");
  Client client(world_.socket());
  client.send(fmt::format("GET /v1/jobs/2/attach HTTP/1.1\r\nHost: x\r\n{}\r\n", kUpgrade));
  terminal.accept();
  EXPECT_EQ(client.reply().status, 101);
  terminal.write("$ ");
  EXPECT_EQ(client.until("$ "), "$ ");
}

}  // namespace
}  // namespace paceline
