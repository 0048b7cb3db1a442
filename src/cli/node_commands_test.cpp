// The commands of nodes, against a server that answers as it is told.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/fake_server.hpp"

namespace paceline {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr const char* kInvitation = R"({"id": 3, "made_by": "root", "made_at": 1763636100.0,
  "expires_at": 1763639700.0, "expired": false, "uses_left": 2, "rack": "r1", "switch": null,
  "labels": {"disk": "nvme"}, "token": "plj_secret", "address": "gpu-box:7443"})";

constexpr const char* kNodes = R"({"nodes": [
  {"id": 0, "name": "box", "state": "up", "address": "10.0.0.1", "rack": null, "switch": null,
   "labels": {}, "refusal": null, "joined": false, "removed": false, "joined_at": null,
   "serial": null, "cpus": 8, "memory_bytes": 17179869184, "slots": []},
  {"id": 1, "name": "gpu-3", "state": "up", "address": "10.0.0.3", "rack": "r1", "switch": "s1",
   "labels": {"disk": "nvme"}, "refusal": null, "joined": true, "removed": false,
   "joined_at": 1763636100.0, "serial": 2, "silent_seconds": 3.2, "version": "0.1.0", "cpus": 64, "memory_bytes": 549755813888, "slots": [
     {"index": 0, "kind": "gpu", "model": "H100", "uuid": "GPU-1", "memory_bytes": 85899345920,
      "island": 0, "numa": 0, "state": "leased", "note": null, "job": 7, "rank": 0},
     {"index": 1, "kind": "gpu", "model": "H100", "uuid": "GPU-2", "memory_bytes": 85899345920,
      "island": 0, "numa": 0, "state": "free", "note": null, "job": null, "rank": null}]},
  {"id": 2, "name": "gpu-4", "state": "lost", "address": "10.0.0.4", "rack": null, "switch": null,
   "labels": {}, "refusal": null, "joined": true, "removed": true, "joined_at": 1763636100.0,
   "serial": 1, "off_by": "ann", "cpus": 8, "memory_bytes": 17179869184, "slots": []}],
  "awaited": [{"name": "gpu-5", "joined_at": 1763636100.0, "serial": 1}]})";

FakeAnswer answer(const FakeRequest& request) {
  if (request.method == "POST") return {kInvitation, 201};
  if (request.method == "DELETE") return {"{}"};
  if (request.target == "/v1/nodes") return {kNodes};
  return {std::string(R"({"invitations": [)") + kInvitation + "]}"};
}

nlohmann::json asked(const FakeServer& server) {
  return nlohmann::json::parse(server.requests().back().body);
}

TEST(NodeInvite, PrintsTheLineToPasteAndNothingElse) {
  const FakeServer server(answer);
  const auto result = run_words(server, {"node", "invite"});
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.out, "echo plj_secret | paceline agent --join gpu-box:7443 --token -\n");
  EXPECT_THAT(result.err, HasSubstr("Invitation 3 for 2 machines, until 2025-11-20T11:55:00Z"));
  EXPECT_THAT(result.err, Not(HasSubstr("plj_")));
  EXPECT_EQ(asked(server), (nlohmann::json{{"expires_seconds", 3600.0},
                                           {"uses", 1},
                                           {"rack", nullptr},
                                           {"switch", nullptr},
                                           {"labels", nlohmann::json::object()}}));
}

TEST(NodeInvite, SaysWhatWasAskedFor) {
  const FakeServer server(answer);
  run_words(server, {"node", "invite", "--expires", "2d", "--uses", "8", "--rack", "r1", "--switch",
                     "s1", "--label", "disk=nvme", "--label", "team=vision"});
  EXPECT_EQ(asked(server), (nlohmann::json{{"expires_seconds", 172800.0},
                                           {"uses", 8},
                                           {"rack", "r1"},
                                           {"switch", "s1"},
                                           {"labels", {{"disk", "nvme"}, {"team", "vision"}}}}));
}

TEST(NodeInvite, AsJsonIsTheServersAnswer) {
  const FakeServer server(answer);
  const auto result = run_words(server, {"node", "invite", "-o", "json"});
  EXPECT_EQ(nlohmann::json::parse(result.out), nlohmann::json::parse(kInvitation));
}

TEST(NodeInvite, BadWordsAskNothing) {
  const FakeServer server(answer);
  const std::vector<std::vector<std::string>> bad = {
      {"--expires", "soon"}, {"--uses", "0"},       {"--uses", "10001"},
      {"--label", "nvme"},   {"--rack", "a\track"}, {"--label", "a=1", "--label", "a=2"}};
  for (auto words : bad) {
    const auto option = words.front();
    words.insert(words.begin(), {"node", "invite"});
    const auto result = run_words(server, words);
    EXPECT_EQ(result.code, 64) << words.back();
    EXPECT_THAT(result.err, HasSubstr(option + ": ")) << words.back();
  }
  EXPECT_THAT(server.log(), IsEmpty());
}

TEST(NodeInvitations, AreListedWithoutSecrets) {
  const FakeServer server(answer);
  const auto result = run_words(server, {"node", "invitations"});
  EXPECT_THAT(result.out, HasSubstr("disk=nvme"));
  EXPECT_THAT(result.out, HasSubstr("2025-11-20T11:55:00Z"));
  EXPECT_THAT(result.out, Not(HasSubstr("plj_")));
  EXPECT_EQ(run_words(server, {"node", "invitations", "-o", "name"}).out, "3\n");
}

TEST(NodeRevoke, NamesInvitationsByNumber) {
  const FakeServer server(answer);
  EXPECT_EQ(run_words(server, {"node", "revoke", "3", "4"}).code, 0);
  EXPECT_THAT(server.log(), ElementsAre("DELETE /v1/invitations/3", "DELETE /v1/invitations/4"));
  EXPECT_EQ(run_words(server, {"node", "revoke", "gpu-3"}).code, 64);
  EXPECT_EQ(server.log().size(), 2U);
}

TEST(NodeRevoke, GoesOnBehindOneThatIsGone) {
  const FakeServer server([](const FakeRequest& request) {
    return request.target.ends_with("/3") ? fake_error(404, "not_found", "There is no 3.")
                                          : FakeAnswer{"{}"};
  });
  for (const char* what : {"node", "token"}) {
    const auto result = run_words(server, {what, "revoke", "3", "4"});
    EXPECT_EQ(result.code, 66) << what;
    EXPECT_THAT(result.err, HasSubstr("There is no 3.")) << what;
    EXPECT_THAT(result.out, HasSubstr(" 4 ")) << what;
  }
}

TEST(Undrain, GoesOnBehindOneThatDoesNotDrain) {
  const FakeServer server([](const FakeRequest& request) {
    return request.target == "/v1/nodes/gpu-1/undrain"
               ? fake_error(409, "conflict", "Node 'gpu-1' does not drain.")
               : FakeAnswer{"{}"};
  });
  const auto result = run_words(server, {"undrain", "gpu-1", "gpu-2"});
  EXPECT_EQ(result.code, 76);
  EXPECT_THAT(result.err, HasSubstr("Node 'gpu-1' does not drain."));
  EXPECT_EQ(result.out, "Jobs may start on gpu-2 again.\n");
}

TEST(Drain, OfSeveralNodesIsOneOrder) {
  const FakeServer server([](const FakeRequest&) {
    return FakeAnswer{R"({"slots": 8, "is_last": true, "loses_slot_seconds": 0, "jobs": [
      {"id": 7, "user": "ann", "leaves": "stopped", "workers": 2, "workers_then": 0, "at": 0,
       "never_saved": false, "loses_slot_seconds": 0}]})"};
  });
  const auto result =
      run_words(server, {"drain", "gpu-1", "gpu-2", "gpu-3", "--within", "5s", "--no-wait"});
  EXPECT_EQ(result.code, 76);
  EXPECT_THAT(result.out, HasSubstr("Draining gpu-1, gpu-2 and gpu-3 takes 8 slots out of use"));
  EXPECT_THAT(result.err, HasSubstr("No other node starts jobs"));
  EXPECT_THAT(result.err, HasSubstr("Draining gpu-1, gpu-2 and gpu-3 is to stop job 7."));
  EXPECT_THAT(server.log(), ElementsAre("POST /v1/nodes/gpu-1/drain?dry_run=1"));
  EXPECT_EQ(asked(server)["also"], nlohmann::json::array({"gpu-2", "gpu-3"}));
  run_words(server, {"drain", "gpu-1", "gpu-2", "--no-wait", "--yes"});
  EXPECT_EQ(server.log().back(), "POST /v1/nodes/gpu-1/drain");
  EXPECT_EQ(asked(server)["also"], nlohmann::json::array({"gpu-2"}));
  run_words(server, {"drain", "gpu-1", "--no-wait", "--yes"});
  EXPECT_FALSE(asked(server).contains("also"));
}

TEST(NodeRemove, SaysFirstWhatRunsThere) {
  const FakeServer server(answer);
  const auto refused = run_words(server, {"node", "remove", "gpu-3"});
  EXPECT_EQ(refused.code, 76);
  EXPECT_THAT(refused.err, HasSubstr("Job 7 has workers on 'gpu-3'"));
  EXPECT_THAT(refused.err, HasSubstr("paceline node remove gpu-3 --yes"));
  EXPECT_THAT(server.log(), ElementsAre("GET /v1/nodes"));
  const auto done = run_words(server, {"node", "remove", "gpu-3", "--yes"});
  EXPECT_EQ(done.code, 0);
  EXPECT_THAT(done.out, HasSubstr("Node 'gpu-3' is removed"));
  EXPECT_EQ(server.log().back(), "DELETE /v1/nodes/gpu-3");
}

TEST(NodeRemove, NeedsNoYesWhereNothingRuns) {
  const FakeServer server(answer);
  EXPECT_EQ(run_words(server, {"node", "remove", "gpu-5"}).code, 0);
  EXPECT_THAT(server.log(), ElementsAre("GET /v1/nodes", "DELETE /v1/nodes/gpu-5"));
}

TEST(NodeRemove, TellsWhatTheServerSays) {
  const FakeServer server([](const FakeRequest& request) {
    return request.method == "DELETE"
               ? fake_error(404, "not_found", "No node 'x' joined this server.")
               : answer(request);
  });
  const auto result = run_words(server, {"node", "remove", "x"});
  EXPECT_EQ(result.code, 66);
  EXPECT_THAT(result.err, HasSubstr("No node 'x' joined this server."));
}

TEST(NodeShow, TellsOfSlotsJobsAndWhenItJoined) {
  const FakeServer server(answer);
  const auto page = run_words(server, {"node", "show", "gpu-3"}).out;
  for (const char* part :
       {"gpu-3\n", "State     up", "Address   10.0.0.3", "Rack      r1", "Switch    s1",
        "Labels    disk=nvme", "CPUs      64", "Joined    2025-11-20T10:55:00Z, identity 2",
        "Heard     3s ago", "Version   0.1.0", "job 7", "free", "H100"})
    EXPECT_THAT(page, HasSubstr(part));
  EXPECT_THAT(run_words(server, {"node", "show", "box"}).out, HasSubstr("server's own machine"));
  EXPECT_THAT(run_words(server, {"node", "show", "gpu-4"}).out,
              AllOf(HasSubstr("State     removed"), HasSubstr("Off       by the word of ann\n"),
                    HasSubstr("Heard     not since the server")));
  EXPECT_THAT(run_words(server, {"node", "show", "gpu-5"}).out,
              HasSubstr("its agent has not connected yet"));
  const auto json = run_words(server, {"node", "show", "gpu-3", "-o", "json"}).out;
  EXPECT_EQ(nlohmann::json::parse(json)["serial"], 2);
}

TEST(Nodes, TellWhenTheLastWordOfThoseThatJoinedCame) {
  const FakeServer server(answer);
  EXPECT_THAT(
      run_words(server, {"nodes"}).out,
      HasSubstr("NODE   STATE    FREE  SLOTS  CPUS  MEMORY   HEARD  VERSION  USE\n"
                "box    up        0/0  -         8     16G       -  -\n"
                "gpu-3  up        1/2  H100     64    512G  3s ago  0.1.0    0 job 7; 1 free\n"));
}

TEST(NodeShow, OfAnUnhealthyOneSaysWhy) {
  const FakeServer server([](const FakeRequest&) {
    return FakeAnswer{R"({"nodes":[{"name":"box","state":"up","slots":[],
      "refusal":{"why":"The disk is full.","until":null,"unhealthy":true}}]})"};
  });
  EXPECT_THAT(run_words(server, {"node", "show", "box"}).out,
              AllOf(HasSubstr("State     unhealthy"), HasSubstr("Unhealthy The disk is full.\n")));
}

TEST(NodeShow, OfNoneSaysSo) {
  const FakeServer server(answer);
  const auto result = run_words(server, {"node", "show", "gpu-9"});
  EXPECT_EQ(result.code, 66);
  EXPECT_THAT(result.err, HasSubstr("There is no node 'gpu-9'."));
}

TEST(Nodes, TellOfThoseRemovedAndThoseAwaited) {
  const FakeServer server(answer);
  const auto table = run_words(server, {"nodes"}).out;
  EXPECT_THAT(table, HasSubstr("removed"));
  EXPECT_THAT(table, HasSubstr("gpu-5 joined, and its agent has not connected yet"));
}

}  // namespace
}  // namespace paceline
