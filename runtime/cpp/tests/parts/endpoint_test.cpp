#include "endpoint.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

namespace paceline::runtime {
namespace {

TEST(Endpoint, IsReadAsItIsWritten) {
  for (const Endpoint& endpoint :
       {Endpoint{"host-1", "paceline-a", "", 0}, Endpoint{"h", "s", "10.0.0.7", 65535},
        Endpoint{"h", "s", "fd00::7", 1}}) {
    const auto read = Endpoint::parse(endpoint.text());
    ASSERT_TRUE(read) << endpoint.text();
    EXPECT_EQ(read->text(), endpoint.text());
  }
}

TEST(Endpoint, WhatIsNoneIsRefused) {
  for (const std::string text :
       {"", ",", "h,s", "h,s,10.0.0.7", "h,s,10.0.0.7,", "h,s,10.0.0.7,x", "h,s,10.0.0.7,65536",
        "h,s,10.0.0.7,-1", "h,s,10.0.0.7,1,", ",s,,0", "h,,,0", "h,s,gpu-3,1"})
    EXPECT_FALSE(Endpoint::parse(text)) << text;
  EXPECT_FALSE(Endpoint::parse("h," + std::string(300, 's') + ",,0"));
}

TEST(Endpoint, IsConnectedToOnThisHostAndByItsAddress) {
  auto listener = Listener::open("127.0.0.1");
  ASSERT_TRUE(listener) << listener.error().message;
  const auto& there = listener->endpoint;
  EXPECT_TRUE(dial(there, there));
  EXPECT_TRUE(listener->accept_local());
  EXPECT_FALSE(listener->accept_remote());
  Endpoint here = there;
  here.host = "another";
  EXPECT_TRUE(dial(here, there));
  pollfd waits{listener->remote.get(), POLLIN, 0};
  EXPECT_EQ(::poll(&waits, 1, 10'000), 1);
  EXPECT_TRUE(listener->accept_remote());
}

TEST(Endpoint, AnAddressOfAnotherHostIsSaidToBeNone) {
  const auto listener = Listener::open("192.0.2.1");
  ASSERT_FALSE(listener);
  EXPECT_THAT(listener.error().message, ::testing::HasSubstr("192.0.2.1"));
}

}  // namespace
}  // namespace paceline::runtime
