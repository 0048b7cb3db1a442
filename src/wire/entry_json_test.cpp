#include "wire/entry_json.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "wire/model_testing.hpp"

namespace paceline {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

Entry entry(Event event) { return {12, time_from_us(1'763'636'100'000'000), std::move(event)}; }

std::string problem(std::string_view text) {
  const auto read = read_entry(text);
  return read ? "none" : read.error().message;
}

TEST(EntryJson, OfAnEvent) {
  EXPECT_EQ(
      entry_text(entry(WorkerStarted{{JobId{7}, Generation{3}, 0}, 4711})),
      R"({"seq":12,"at":1763636100.0,"kind":"worker_started","job":7,"generation":3,"rank":0,"pid":4711})");
}

TEST(EntryJson, OfASubmission) {
  JobSpec spec;
  spec.name = "digits";
  spec.user = "ann";
  spec.uid = 1000;
  spec.workers = {2, 8, 4};
  spec.target = Target{"accuracy", Direction::at_least, 0.95, 0.97};
  EXPECT_EQ(
      entry_text(entry(JobSubmitted{JobId{7}, spec})),
      R"({"seq":12,"at":1763636100.0,"kind":"job_submitted","job":7,"spec":{"name":"digits","user":"ann",)"
      R"("uid":1000,"workers":{"min":2,"max":8,"want":4},"slots_per_worker":1,"cpus":0.0,"memory_bytes":0,)"
      R"("priority":50,"retry":0,"elastic":"auto","target":{"metric":"accuracy","direction":">=",)"
      R"("deliver":0.95,"final":0.97},"notice":{"signal":15,"grace_seconds":120.0}}})");
}

Event read_event(std::string_view text) { return std::get<Event>(read_entry(text).value().body); }

TEST(EntryJson, TellsWhoAsked) {
  const Principal ann{.user = "ann",
                      .uid = 1000,
                      .roles = {Role::user, Role::operator_},
                      .known_by = KnownBy::token};
  const JobRequested asked{JobId{7}, Request::pause, ann};
  const std::string text =
      R"({"seq":12,"at":1763636100.0,"kind":"job_requested","job":7,"request":"pause","by":{"user":"ann",)"
      R"("uid":1000,"roles":["user","operator"],"known_by":"token"}})";
  EXPECT_EQ(entry_text(entry(asked)), text);
  EXPECT_EQ(read_event(text), Event(asked));
}

TEST(EntryJson, ReadsAJournalThatKnowsOnlyAccounts) {
  EXPECT_EQ(
      read_event(
          R"({"seq":1,"at":2.0,"kind":"job_requested","job":7,"request":"cancel","uid":1000})"),
      Event(JobRequested{JobId{7}, Request::cancel, account(1000)}));
  EXPECT_EQ(account(1000).known_by, KnownBy::unix_socket);
  EXPECT_FALSE(
      read_entry(R"({"seq":1,"at":2.0,"kind":"job_requested","job":7,"request":"cancel"})"));
}

TEST(EntryJson, ReadsAJournalThatKnowsNothingOfPlaces) {
  JobSpec spec;
  spec.name = "old";
  EXPECT_EQ(
      read_event(
          R"({"seq":1,"at":2.0,"kind":"job_submitted","job":7,"spec":{"name":"old","uid":0,)"
          R"("workers":{"min":1,"max":1,"want":1},"slots_per_worker":1,"cpus":0.0,"memory_bytes":0,)"
          R"("priority":50,"retry":0,"elastic":"auto","notice":{"signal":15,"grace_seconds":120.0}}})"),
      Event(JobSubmitted{JobId{7}, spec}));
  NodeSpec node;
  node.name = "box";
  node.rack = "r1";
  node.slots.resize(1);
  EXPECT_EQ(
      read_event(
          R"({"seq":1,"at":2.0,"kind":"node_up","node":0,"spec":{"name":"box","rack":"r1","cpus":0.0,)"
          R"("memory_bytes":0,"slots":[{"kind":"cpu","memory_bytes":0,"usable":true}]}})"),
      Event(NodeUp{NodeId{0}, node}));
}

TEST(EntryJson, OfASubmissionThatIsParticularAboutItsPlace) {
  JobSpec spec;
  spec.name = "big";
  spec.mesh = {2, 4};
  spec.devices = {"h100"};
  spec.affinity = {*parse_affinity("label:disk=nvme~10m", false),
                   *parse_affinity("job:prep:rack", true)};
  spec.exclusive = true;
  spec.preemptible = false;
  spec.minimum_run = std::chrono::minutes{10};
  spec.log_limit_bytes = 1U << 20;
  const auto text = entry_text(entry(JobSubmitted{JobId{7}, spec}));
  for (const auto* part :
       {R"("mesh":{"tensor":2,"pipeline":4},"devices":["h100"],"affinity":[{"to":"label",)",
        R"("name":"disk","value":"nvme","reach":"node","give_up_after_seconds":600.0},)",
        R"({"anti":true,"to":"job","name":"prep","reach":"rack"}],"exclusive":true,)",
        R"("log_limit_bytes":1048576,"preemptible":false,)", R"("min_run_seconds":600.0,)"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " in " << text;
  }
}

Plan one_change() {
  Plan plan;
  plan.round = 5;
  plan.policy = "fifo";
  plan.build = "0.1.0";
  plan.changes.push_back({ChangeKind::start,
                          JobId{7},
                          Generation{1},
                          {{NodeId{0}, {2, 3}}},
                          {ReasonCode::starts, {1}, ""},
                          0,
                          {}});
  return plan;
}

TEST(EntryJson, OfAPlan) {
  EXPECT_EQ(
      entry_text({13, time_from_us(1'500'001), one_change()}),
      R"({"seq":13,"at":1.500001,"kind":"plan","round":5,"policy":"fifo","build":"0.1.0",)"
      R"("changes":[{"kind":"start","job":7,"generation":1,"placement":[{"node":0,"slots":[2,3]}],)"
      R"("reason_code":"starts","reason_numbers":[1],"trade":0}]})");
}

TEST(EntryJson, ReadsThePlansOfOlderJournals) {
  const Entry entry{13, time_from_us(1'500'001), one_change()};
  std::string text = entry_text(entry);
  const std::string_view code = R"("starts")";
  text.replace(text.find(code), code.size(), R"("Starts")");
  EXPECT_EQ(read_entry(text).value(), entry);
}

TEST(EntryJson, ReadsKeysThatOlderJournalsNamedOtherwise) {
  Plan plan = one_change();
  plan.counted_anew = {JobId{3}, JobId{9}};
  Began began;
  began.protects = true;
  const Entry entry{13, time_from_us(1'500'001), std::move(plan), began, {}};
  const std::string text = entry_text(entry);
  std::string older = text;
  for (const auto& [key, was] : {std::pair{R"("counted_anew":)", R"("promoted":)"},
                                 std::pair{R"("protects":)", R"("temper":)"}}) {
    ASSERT_NE(older.find(key), std::string::npos) << text;
    older.replace(older.find(key), std::string_view(key).size(), was);
  }
  EXPECT_EQ(read_entry(text).value(), entry);
  EXPECT_EQ(read_entry(older).value(), entry);
}

TEST(EntryJson, ShowsPeopleTheReasonOfAChangeAsASentence) {
  JsonWriter json;
  write_event(json, {13, time_from_us(0), one_change()}, Viewer::other);
  const auto shown =
      R"("trade":0,"workers":1,"reason":")" + sentence({ReasonCode::starts, {1}, ""}) + R"("}]})";
  EXPECT_TRUE(json.text().ends_with(shown)) << json.text();
}

TEST(EntryJson, ShowsPeopleAnEventAsItIsKept) {
  const auto event = entry(NodeDown{NodeId{4}});
  JsonWriter json;
  write_event(json, event, Viewer::other);
  EXPECT_EQ(json.text(), entry_text(event));
}

TEST(EntryJson, KeepsFromOthersWhatIsTheOwners) {
  const auto shown = [](Event event, Viewer viewer) {
    JsonWriter json;
    const bool written = write_event(json, entry(std::move(event)), viewer);
    EXPECT_EQ(written, !json.text().empty());
    return json.take();
  };
  JobSubmitted submitted{JobId{7}, {}};
  submitted.spec.name = "digits";
  submitted.spec.checkpoint_glob = "secret/*.pt";
  const Ending ending{Cause::launch_failed, {}, 0, "There is no program '/home/ann/secret'.", {}};
  const WorkerEnded ended{{JobId{7}, Generation{1}, 0}, ending};
  const CheckpointAcknowledged saved{JobId{7}, Generation{1}, {"/home/ann/secret.pt", 1, 2, {}}};
  const ModelPublished published{
      JobId{7}, Generation{1}, {"box", "/home/ann/secret.pt", "", 1, {}, {}, {}}};
  for (const Event& event : {Event{submitted}, Event{ended}, Event{saved}, Event{published}}) {
    EXPECT_EQ(private_to(entry(event)), JobId{7});
    EXPECT_THAT(shown(event, Viewer::owner), HasSubstr("secret"));
    EXPECT_THAT(shown(event, Viewer::other), Not(HasSubstr("secret")));
  }
  EXPECT_THAT(shown(submitted, Viewer::other), HasSubstr("digits"));
  EXPECT_THAT(shown(ended, Viewer::other), HasSubstr("launch_failed"));
  EXPECT_EQ(shown(Progressed{JobId{7}, Generation{1}, {}}, Viewer::other), "");
  EXPECT_EQ(private_to(entry(NodeDown{NodeId{4}})), std::nullopt);
}

// Whoever asks for an event of no job's sees all of it.
TEST(EntryJson, KnowsWhoseJobIsInWhateverOthersDoNotSeeWhole) {
  Rng rng(3);
  const auto shown = [](const Entry& event, Viewer viewer) {
    JsonWriter json;
    write_event(json, event, viewer);
    return json.take();
  };
  for (std::size_t kind = 0; kind < std::variant_size_v<Event>; ++kind) {
    for (int i = 0; i < 20; ++i) {
      const auto event = entry(random_event(rng, kind));
      if (shown(event, Viewer::owner) == shown(event, Viewer::other)) continue;
      EXPECT_TRUE(private_to(event)) << kind_of(event);
    }
  }
}

TEST(EntryJson, MarksTheReportsThatMetATierOfTheTarget) {
  JobSpec spec;
  spec.target = Target{"accuracy", Direction::at_least, 0.95, 0.97};
  Job job;
  job.spec = std::make_shared<const JobSpec>(spec);
  job.target = {time_from_us(1), time_from_us(2)};
  const auto shown = [&](std::int64_t at, double accuracy) {
    Progress progress;
    progress.metrics = {{"accuracy", accuracy}};
    const Entry report{1, time_from_us(at), Progressed{JobId{1}, Generation{1}, progress}};
    JsonWriter json;
    write_event(json, report, Viewer::owner, tiers_met(report, job));
    return json.take();
  };
  EXPECT_THAT(shown(1, 0.96), EndsWith(R"(,"target_delivered":true})"));
  EXPECT_THAT(shown(1, 0.94), Not(HasSubstr("target")));
  EXPECT_THAT(shown(2, 0.98), EndsWith(R"(,"target_reached":true})"));
  EXPECT_THAT(shown(3, 0.99), Not(HasSubstr("target")));
}

RC_GTEST_PROP(EntryJson, ReadsBackExactlyWhatItWrote, (std::uint64_t seed)) {
  Rng rng(seed);
  const auto before = random_value<Entry>(rng);
  const auto text = entry_text(before);
  const auto after = read_entry(text);
  if (!after) RC_FAIL(after.error().message + " in " + text);
  RC_ASSERT(*after == before);
  RC_ASSERT(entry_text(*after) == text);
}

TEST(EntryJson, ReadsEveryKindBack) {
  Rng rng(1);
  for (std::size_t kind = 0; kind < std::variant_size_v<Event>; ++kind) {
    const Entry before{kind, {}, random_event(rng, kind)};
    EXPECT_EQ(read_entry(entry_text(before)).value(), before) << kind_of(before);
  }
}

TEST(EntryJson, RefusesATextCutAnywhere) {
  Rng rng(7);
  const auto text = entry_text(random_value<Entry>(rng));
  for (std::size_t size = 0; size < text.size(); ++size) {
    EXPECT_FALSE(read_entry(std::string_view(text).substr(0, size))) << size;
  }
}

TEST(EntryJson, SaysWhatIsWrongWhere) {
  EXPECT_EQ(problem(""), "at byte 0, '{' is missing");
  EXPECT_EQ(problem(R"({"seq":1,"at":2.0})"), "at byte 17, the kind '' is unknown");
  EXPECT_EQ(problem(R"({"seq":1,"at":2.0,"kind":"flood"})"),
            "at byte 32, the kind 'flood' is unknown");
  EXPECT_EQ(problem(R"({"seq":1,"at":2.0,"kind":"node_down","node":"x"})"),
            "at byte 44, a whole number that fits is missing");
  EXPECT_EQ(problem(R"({"seq":1,"at":2.0,"kind":"node_down","node":3,"up":true})"),
            "at byte 45, '}' is missing");
  EXPECT_EQ(problem(R"({"seq":1,"at":2.0,"kind":"job_requested","job":3,"request":"eat","uid":0})"),
            "at byte 64, the word 'eat' is unknown");
  EXPECT_EQ(
      problem(
          R"({"seq":1,"at":2.0,"kind":"policy_set","name":"a","parameters":{"k":"1","k":"2"}})"),
      "at byte 78, a key stands twice");
}

}  // namespace
}  // namespace paceline
