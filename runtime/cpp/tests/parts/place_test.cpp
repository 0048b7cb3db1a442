#include "place.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace paceline::runtime {
namespace {

using ::testing::HasSubstr;
using Environment = std::map<std::string, std::string>;

Outcome<Place> place(const Environment& environment) {
  return Place::read([&](const char* name) -> const char* {
    const auto found = environment.find(name);
    return found == environment.end() ? nullptr : found->second.c_str();
  });
}

Environment with(Environment environment, const Environment& more) {
  for (const auto& [name, value] : more) environment[name] = value;
  return environment;
}

const Environment kSecondOfTwo{{"RANK", "1"},
                               {"WORLD_SIZE", "2"},
                               {"LOCAL_RANK", "1"},
                               {"MASTER_ADDR", "127.0.0.1"},
                               {"MASTER_PORT", "29500"},
                               {"TORCHELASTIC_RUN_ID", "paceline-7"}};

TEST(Place, OfNoEnvironmentIsThatOfOne) {
  const auto found = place({});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->rank, 0);
  EXPECT_EQ(found->size, 1);
  EXPECT_EQ(found->generation, 0U);
}

TEST(Place, OnOneHostIsANameThatTheGangAloneHas) {
  const auto found =
      place(with(kSecondOfTwo, {{"LOCAL_WORLD_SIZE", "2"}, {"PACELINE_GENERATION", "9"}}));
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->rank, 1);
  EXPECT_EQ(found->local_rank, 1);
  EXPECT_EQ(found->generation, 9U);
  EXPECT_EQ(found->venue.name, "paceline-paceline-7-127.0.0.1-29500");
  EXPECT_EQ(found->address, "");
}

// As of the package, which has the same numbers in its tests: ranks of one gang may use either.
TEST(Place, OnOneHostIsANameThatNobodyGuessesWhereTheGangHasASecret) {
  const auto name = [](const Environment& more) {
    const Environment drawn{{"PACELINE_GENERATION", "9"},
                            {"PACELINE_GANG_SECRET", "sixteen bytes ..."}};
    return place(with(with(kSecondOfTwo, drawn), more))->venue.name;
  };
  EXPECT_EQ(name({}), "paceline-11bd2a46ca84e42d5809e78ce69200390fe6d2f538e8e6e6d02c308cc7daf53c");
  EXPECT_EQ(name({}), name({{"RANK", "0"}, {"LOCAL_RANK", "0"}}));
  EXPECT_NE(name({}), name({{"PACELINE_GANG_SECRET", "sixteen others .."}}));
  EXPECT_NE(name({}), name({{"PACELINE_GENERATION", "10"}})) << "the last one was read by others";
  EXPECT_EQ(name({{"PACELINE_GANG_SECRET", ""}}), "paceline-paceline-7-127.0.0.1-29500");
}

TEST(Place, OnSeveralHostsIsAnAddress) {
  const auto found =
      place(with(kSecondOfTwo, {{"LOCAL_WORLD_SIZE", "1"}, {"MASTER_ADDR", "localhost"}}));
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->venue.name, "");
  EXPECT_EQ(found->venue.port, 29500);
  EXPECT_THAT(found->venue.address, ::testing::AnyOf("127.0.0.1", "::1"));
  EXPECT_EQ(found->address, found->venue.address);
}

TEST(Place, GenerationsOfTorchrunAreItsRestarts) {
  const auto found = place(with(kSecondOfTwo, {{"TORCHELASTIC_RESTART_COUNT", "4"}}));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->generation, 4U);
}

TEST(Place, SecretsOfGangsDiffer) {
  const auto secret = [](const Environment& more) {
    return place(with(kSecondOfTwo, more))->secret;
  };
  EXPECT_EQ(secret({{"PACELINE_GANG_SECRET", "sixteen bytes ..."}}), "sixteen bytes ...");
  EXPECT_EQ(secret({}).size(), 32U);
  EXPECT_EQ(secret({}), secret({{"RANK", "0"}}));
  EXPECT_NE(secret({}), secret({{"TORCHELASTIC_RUN_ID", "paceline-8"}}));
}

TEST(Place, WhatDoesNotFitIsRefused) {
  const auto why = [](const Environment& environment) {
    const auto found = place(environment);
    return found ? std::string() : found.error().message;
  };
  EXPECT_THAT(why({{"RANK", "1"}}), HasSubstr("RANK=1 does not fit WORLD_SIZE=1"));
  EXPECT_THAT(why({{"RANK", "-1"}, {"WORLD_SIZE", "2"}}), HasSubstr("ranks go from 0"));
  EXPECT_THAT(why({{"WORLD_SIZE", "two"}}), HasSubstr("WORLD_SIZE='two' is no whole number"));
  EXPECT_THAT(why({{"WORLD_SIZE", ""}}), HasSubstr("WORLD_SIZE='' is no whole number"));
  EXPECT_THAT(why({{"WORLD_SIZE", "2"}}), HasSubstr("needs MASTER_ADDR and MASTER_PORT"));
  EXPECT_THAT(why(with(kSecondOfTwo, {{"MASTER_PORT", "70000"}})),
              HasSubstr("MASTER_PORT='70000'"));
  EXPECT_THAT(why(with(kSecondOfTwo, {{"MASTER_ADDR", "no host ever"}})),
              HasSubstr("MASTER_ADDR=no host ever is no address"));
  EXPECT_THAT(why(with(kSecondOfTwo,
                       {{"LOCAL_WORLD_SIZE", "1"}, {"TORCHELASTIC_USE_AGENT_STORE", "True"}})),
              HasSubstr("start this under Paceline"));
}

}  // namespace
}  // namespace paceline::runtime
