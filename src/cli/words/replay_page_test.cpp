#include "cli/words/replay_page.hpp"

#include <gtest/gtest.h>

namespace paceline {
namespace {

TEST(ReplayPage, SaysThatAllIsEqual) {
  const Document replay = Document::parse(
      R"({"plans":2,"entries":9,"servers":1,"folded":0,"unwritten":0,"difference":null})");
  EXPECT_FALSE(differs(replay));
  EXPECT_EQ(replay_page(replay),
            "2 plans of 1 server replayed, in 9 entries: all equal, byte for byte.\n");
}

TEST(ReplayPage, ShowsTheFirstDifferenceAsBothHaveIt) {
  const Document replay = Document::parse(
      R"({"plans":1,"entries":1,"servers":2,"folded":1,"unwritten":0,)"
      R"("difference":{"seq":3,"at":5.5,"recorded":"{\"seq\":3}","replayed":null}})");
  EXPECT_TRUE(differs(replay));
  EXPECT_EQ(replay_page(replay),
            "Taken as they are: 1 entry of an older version.\n"
            "1 plan of 2 servers replayed, in 1 entry: equal up to entry 3.\n"
            "recorded: {\"seq\":3}\n"
            "replayed: no entry\n");
}

}  // namespace
}  // namespace paceline
