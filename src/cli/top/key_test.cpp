#include "cli/top/key.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace paceline {
namespace {

std::vector<Key> read_all(KeyReader& reader) {
  std::vector<Key> keys;
  while (auto key = reader.next()) keys.push_back(std::move(*key));
  return keys;
}

std::vector<Key> keys_of(std::string_view bytes) {
  KeyReader reader;
  reader.add(bytes);
  return read_all(reader);
}

TEST(KeyReader, KnowsTheKeysOfTerminals) {
  const std::vector<std::pair<std::string_view, KeyKind>> known = {
      {"\x1b[A", KeyKind::up},       {"\x1bOB", KeyKind::down},
      {"\x1b[5~", KeyKind::page_up}, {"\x1b[6~", KeyKind::page_down},
      {"\x1b[1~", KeyKind::home},    {"\x1bOF", KeyKind::end},
      {"\x1b[1;5C", KeyKind::right}, {"\x1b[5;2~", KeyKind::page_up},
      {"\x1b[Z", KeyKind::tab},      {"\r", KeyKind::enter},
      {"\x7f", KeyKind::backspace},  {"\x03", KeyKind::interrupt},
      {"\x1a", KeyKind::suspend},    {"\x1b[15~", KeyKind::unknown}};
  for (const auto& [bytes, kind] : known) EXPECT_EQ(keys_of(bytes), std::vector<Key>{{kind}});
}

TEST(KeyReader, ReadsLettersAsTheyAre) {
  EXPECT_EQ(keys_of("qé"), (std::vector<Key>{{KeyKind::text, "q"}, {KeyKind::text, "é"}}));
  EXPECT_EQ(keys_of("\xff"), (std::vector<Key>{{KeyKind::unknown}}));
}

TEST(KeyReader, AKeyMayComeInPieces) {
  KeyReader reader;
  for (const auto* piece : {"\x1b", "[", "6", "\xc3"}) {
    EXPECT_EQ(reader.next(), std::nullopt);
    reader.add(piece);
    if (std::string_view(piece) == "6") {
      EXPECT_TRUE(reader.undecided());
      reader.add("~");
      EXPECT_EQ(reader.next(), Key{KeyKind::page_down});
    }
  }
  EXPECT_EQ(reader.next(), std::nullopt);
  reader.add("\xa9");
  EXPECT_EQ(reader.next(), (Key{KeyKind::text, "é"}));
}

TEST(KeyReader, EscapeIsAKeyOnceNothingFollows) {
  KeyReader reader;
  reader.add("\x1b");
  EXPECT_EQ(reader.next(), std::nullopt);
  EXPECT_TRUE(reader.undecided());
  reader.end();
  EXPECT_EQ(reader.next(), Key{KeyKind::escape});
  reader.add("\x1b");
  EXPECT_EQ(reader.next(), std::nullopt) << "the next one may be the beginning of a key again";
  EXPECT_EQ(keys_of("\x1bq"), (std::vector<Key>{{KeyKind::escape}, {KeyKind::text, "q"}}));
}

// Whatever comes, in whatever pieces: it is read to its end.
TEST(KeyReader, GetsOverAnyBytes) {
  constexpr std::string_view kLetters = "\x1b[O;5~Aq\x80\xc3\xe2\xff\r\x7f";
  const auto count = kLetters.size();
  for (std::size_t sequence = 0; sequence < count * count * count * count; ++sequence) {
    KeyReader reader;
    std::size_t keys = 0;
    for (std::size_t rest = sequence, piece = 0; piece < 4; ++piece, rest /= count) {
      reader.add(kLetters.substr(rest % count, 1));
      keys += read_all(reader).size();
    }
    for (int times = 0; reader.undecided() && times < 4; ++times) {
      reader.end();
      keys += read_all(reader).size();
    }
    EXPECT_FALSE(reader.undecided()) << sequence;
    EXPECT_LE(keys, 4U);
  }
}

}  // namespace
}  // namespace paceline
