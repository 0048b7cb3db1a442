#include "http/router.hpp"

#include <gtest/gtest.h>

#include "http/url.hpp"

namespace paceline {
namespace {

Router sample() {
  Router router;
  const Handler nothing = [](const auto&) {};
  router.add("GET", "/v1/jobs", nothing).add("POST", "/v1/jobs", nothing);
  router.add("GET", "/v1/jobs/{id}", nothing).add("POST", "/v1/jobs/{id}/cancel", nothing);
  return router;
}

TEST(Router, FindsByMethodAndPattern) {
  const auto router = sample();
  EXPECT_NE(router.find("GET", "/v1/jobs").handler, nullptr);
  const auto job = router.find("GET", "/v1/jobs/7");
  ASSERT_NE(job.handler, nullptr);
  EXPECT_EQ(job.ids, std::vector<std::string>{"7"});
  EXPECT_NE(router.find("GET", "/v1/jobs").handler, router.find("POST", "/v1/jobs").handler);
}

TEST(Router, RefusesWithTheRightStatus) {
  const auto router = sample();
  EXPECT_EQ(router.find("GET", "/v2").refusal.status, 404);
  EXPECT_EQ(router.find("GET", "/v1/jobs/").refusal.status, 404);
  const auto wrong = router.find("PUT", "/v1/jobs");
  EXPECT_EQ(wrong.refusal.status, 405);
  EXPECT_EQ(wrong.refusal.headers.at(0).second, "GET, POST");
}

TEST(Url, IsTakenApartAndDecoded) {
  const auto url = parse_url("/a%20b/c?x=1&y=a+b%26&flag&&x=2");
  ASSERT_TRUE(url.has_value());
  EXPECT_EQ(url->path, "/a b/c");
  EXPECT_EQ(url->query.at("x"), "2");
  EXPECT_EQ(url->query.at("y"), "a b&");
  EXPECT_EQ(url->query.at("flag"), "");
}

TEST(Url, RefusesBrokenEscapes) {
  for (const auto* bad :
       {"/%", "/%1", "/%zz", "/a?x=%0", "/%00", "/a%2Fb", "/a%2fb", "http://x/a", "*", ""}) {
    EXPECT_FALSE(parse_url(bad).has_value()) << bad;
  }
}

}  // namespace
}  // namespace paceline
