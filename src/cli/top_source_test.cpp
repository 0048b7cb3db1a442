#include <fmt/format.h>
#include <gmock/gmock.h>
#include <poll.h>

#include <algorithm>
#include <map>

#include "cli/fake_server.hpp"
#include "cli/top/feed.hpp"
#include "cli/top/source.hpp"
#include "http/unix_dialer.hpp"

namespace paceline {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

// A server with so many jobs that wait, and some that are over before and among them.
struct Cluster10 {
  std::int64_t jobs = 10, ended = 0, seq = 20, pid = 1;
  std::string events = R"([])";
  bool away = false;

  [[nodiscard]] std::string job(std::int64_t id) const {
    return fmt::format(R"({{"id":{},"name":"job-{}","state":"{}"}})", id, id,
                       id <= ended ? "COMPLETED" : "PENDING");
  }
  [[nodiscard]] FakeAnswer list(const std::string& target) const {
    const bool all = target.find("all=1") != target.npos;
    const auto number = [&](std::string_view key) {
      return std::stoll(target.substr(target.find(key) + key.size()));
    };
    std::string text;
    std::int64_t listed = 0, id = std::max<std::int64_t>(number("after="), all ? 0 : ended) + 1;
    for (; id <= jobs && listed < number("limit="); ++id, ++listed)
      text += (text.empty() ? "" : ",") + job(id);
    const auto next = id <= jobs ? std::to_string(id - 1) : "null";
    return {fmt::format(R"({{"jobs":[{}],"next":{}}})", text, next)};
  }
  FakeAnswer operator()(const FakeRequest& request) const {
    const auto& target = request.target;
    if (away) return fake_error(503, "unavailable", "The server stops.");
    if (target == "/v1/server")
      return {fmt::format(
          R"({{"version":"0.1.0","dir":"/d","policy":"fifo","slots":4,"slots_leased":1,)"
          R"("pid":{},"seq":{},"jobs":{{"PENDING":{}}}}})",
          pid, seq, jobs - ended)};
    if (target == "/v1/nodes")
      return {
          R"({"nodes":[{"name":"box","slots":[{"index":0,"kind":"cpu","state":"free","job":null}]}]})"};
    if (target.starts_with("/v1/events"))
      return {fmt::format(R"({{"events":{},"next":{},"first":1}})", events, seq + 1)};
    if (target.starts_with("/v1/expected"))
      return {R"({"jobs":[{"id":1,"expected_start":{"at":5}}],"next":null})"};
    if (target.starts_with("/v1/jobs?")) return list(target);
    return {job(std::stoll(target.substr(std::string_view("/v1/jobs/").size())))};
  }
};

class Watching : public ::testing::Test {
 protected:
  ServerAddress address() {
    return {std::make_shared<UnixDialer>(server.directory() + "/paceline.sock")};
  }
  // What was asked of jobs and events since the last call.
  std::vector<std::string> asked() {
    std::vector<std::string> log;
    const auto all = server.log();
    for (; told < all.size(); ++told) {
      const auto target = all[told].substr(std::string_view("GET ").size());
      if (target.starts_with("/v1/jobs") || target.starts_with("/v1/events")) log.push_back(target);
    }
    return log;
  }

  Cluster10 cluster;
  FakeServer server{[this](const FakeRequest& request) { return cluster(request); }};
  std::size_t told = 0;
};

TEST_F(Watching, AsksForWhatChangedAndWhatIsSeenAlone) {
  Source source(address());
  const auto first = source.look({});
  EXPECT_TRUE(first.all_jobs);
  EXPECT_EQ(first.jobs.size(), 10U);
  EXPECT_FALSE(first.nodes.is_null());
  EXPECT_THAT(asked(), ElementsAre("/v1/jobs?limit=1000&after=0"));

  cluster.seq = 22;
  cluster.events =
      R"([{"kind":"progress","job":4},{"kind":"plan","changes":[{"job":6}],"asked":[{"job":7}]}])";
  const auto next = source.look({.seen = {1, 2}});
  EXPECT_FALSE(next.all_jobs);
  EXPECT_EQ(next.jobs.size(), 5U);
  EXPECT_THAT(asked(), ElementsAre("/v1/events?from=21&limit=1000", "/v1/jobs/1", "/v1/jobs/2",
                                   "/v1/jobs/4", "/v1/jobs/6", "/v1/jobs/7"));
  cluster.events = "[]";
  (void)source.look({});
  EXPECT_THAT(asked(), ElementsAre("/v1/events?from=23&limit=1000"));
}

TEST_F(Watching, ListsAllJobsWhereMuchHappened) {
  cluster.jobs = 1500;
  Source source(address());
  EXPECT_EQ(source.look({}).jobs.size(), 1500U);
  cluster.seq += 500;
  cluster.events = "[";
  for (int id = 1; id <= 400; ++id)
    cluster.events +=
        fmt::format(R"({}{{"kind":"job_submitted","job":{}}})", id > 1 ? "," : "", id);
  cluster.events += "]";
  const auto news = source.look({});
  EXPECT_TRUE(news.all_jobs);
  EXPECT_EQ(news.jobs.size(), 1500U);
}

TEST_F(Watching, ANewServerIsLookedAtAnew) {
  Source source(address());
  (void)source.look({});
  cluster.pid = 2;
  EXPECT_TRUE(source.look({}).all_jobs);
  cluster.away = true;
  EXPECT_TRUE(source.look({}).away);
  cluster.away = false;
  EXPECT_TRUE(source.look({}).all_jobs);
}

TEST_F(Watching, FindsTheNewestOfVeryManyEndedJobs) {
  cluster.jobs = 123'456;
  cluster.ended = 123'456;
  Source source(address());
  const auto news = source.look({.ended = true});
  ASSERT_EQ(news.jobs.size(), 1000U);
  EXPECT_EQ(whole_of(news.jobs.back(), "id"), 123'456);
  EXPECT_LT(asked().size(), 50U);
  cluster.jobs = cluster.ended = 0;
  cluster.pid = 2;
  EXPECT_THAT(source.look({.ended = true}).jobs, IsEmpty());
}

TEST_F(Watching, TopPrintsOnePictureWhereThereIsNoTerminal) {
  const auto top = run_words(server, {"top"});
  EXPECT_EQ(top.code, 0);
  EXPECT_THAT(top.out, StartsWith("Paceline 0.1.0  /d  policy fifo  "));
  EXPECT_THAT(top.out, HasSubstr("\nSlots 1 of 4 used ██········   Jobs 0 running, 10 waiting"));
  EXPECT_THAT(top.out, HasSubstr("\n  10  job-10 "));
  EXPECT_THAT(run_words(server, {"top", "name:job-1"}).out,
              HasSubstr("Queue  2 of 10 jobs  /name:job-1"));
  EXPECT_EQ(top.err, "");
}

TEST_F(Watching, TopTellsTheSameAsJson) {
  const auto top = run_words(server, {"top", "-o", "json", "job-1?"});
  const auto told_json = parse_document(top.out).value();
  EXPECT_EQ(text_of(member(told_json, "server"), "policy"), "fifo");
  EXPECT_EQ(list_of(told_json, "nodes").size(), 1U);
  ASSERT_EQ(list_of(told_json, "jobs").size(), 1U);
  EXPECT_EQ(whole_of(list_of(told_json, "jobs").front(), "id"), 10);
}

TEST_F(Watching, TopRefusesWhatItDoesNotKnow) {
  EXPECT_THAT(run_words(server, {"top", "usr:ann"}).err, HasSubstr("did you mean 'user:'?"));
  EXPECT_EQ(run_words(server, {"top", "-o", "wide"}).code, 64);
  cluster.away = true;
  EXPECT_EQ(run_words(server, {"top"}).code, 69);
}

std::vector<BoardNews> next_news(Feed& feed) {
  pollfd ready{feed.fd(), POLLIN, 0};
  EXPECT_EQ(::poll(&ready, 1, 60'000), 1);
  return feed.take();
}

TEST_F(Watching, AFeedTellsByItselfAndAtOnceWhatIsWishedFor) {
  Feed feed(address(), std::chrono::hours{1});
  EXPECT_EQ(next_news(feed).front().jobs.size(), 10U);
  feed.wish({.page = 3});
  std::optional<PageNews> page;
  while (!page) {
    for (auto& news : next_news(feed)) page = std::move(news.page);
  }
  EXPECT_EQ(page->id, 3U);
  EXPECT_EQ(text_of(page->job, "name"), "job-3");
}

TEST(AFeed, EndsWhileAServerHangs) {
  FakeServer server([](const FakeRequest&) {
    return FakeAnswer{"", 200, FakeAnswer::Kind::quiet};
  });
  const Feed feed({std::make_shared<UnixDialer>(server.directory() + "/paceline.sock")},
                  std::chrono::seconds{1});
  while (server.log().empty()) std::this_thread::yield();
}

}  // namespace
}  // namespace paceline
