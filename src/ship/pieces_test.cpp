#include "ship/pieces.hpp"

#include <gtest/gtest.h>

namespace paceline {
namespace {

const std::string kSomeDigest(64, 'a');

TEST(ShipPieces, ReadBackAsTheyWereWritten) {
  const auto text = piece_line({kSomeDigest, 0, 3}) + "a\nb" + piece_line({kSomeDigest, 3, 0}) +
                    piece_line({kSomeDigest, 7, 1}) + "{";
  const auto read = read_pieces(text);
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_EQ(read->size(), 3U);
  EXPECT_EQ(read->at(0).second, "a\nb");
  EXPECT_EQ(read->at(1).second, "");
  EXPECT_EQ(read->at(2).first, (ShipPiece{kSomeDigest, 7, 1}));
  EXPECT_TRUE(read_pieces("")->empty());
}

TEST(ShipPieces, WhatIsNoneIsOneSentence) {
  for (const auto& text :
       {std::string("x"), std::string("{}\n"), piece_line({kSomeDigest, 0, 3}) + "ab",
        std::string(300, ' ') + "\n", std::string(R"({"sha256":1,"from":0,"bytes":0})") + "\n"}) {
    const auto read = read_pieces(text);
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().code, ErrorCode::invalid) << read.error().message;
  }
}

}  // namespace
}  // namespace paceline
