#include "ship/reader.hpp"

#include <gtest/gtest.h>

#include "files/temp_folder_testing.hpp"

namespace paceline {
namespace {

TEST(ShipReader, ReadsTheFilesOfThatShipAlone) {
  const TempFolder folder;
  ShipStore store({.directory = folder.path() / "ships"});
  const auto keep = [&](const std::string& text) {
    Manifest manifest{{{"a.py", 0644, text.size(), to_hex(sha256(text))}}, {}, {}};
    EXPECT_TRUE(tidy_manifest(manifest));
    const auto offered = store.offer(1000, manifest);
    const auto size = static_cast<std::uint32_t>(text.size());
    EXPECT_TRUE(store.take(1000, {to_hex(sha256(text)), 0, size}, text));
    return ShipOf{1000, offered->name};
  };
  const auto one = keep("one"), two = keep("two");
  ShipReader reader(folder.path() / "ships");
  for (int i = 0; i < 40; ++i) {
    const auto& ship = i % 2 == 0 ? one : two;
    const std::string text = i % 2 == 0 ? "one" : "two", others = i % 2 == 0 ? "two" : "one";
    const auto read = reader.read(ship, to_hex(sha256(text)), 1, 100);
    EXPECT_EQ(read->bytes, text.substr(1));
    EXPECT_EQ(read->of, 3U);
    EXPECT_EQ(reader.read(ship, ship.second, 0, 1)->bytes, "{");
    EXPECT_EQ(reader.read(ship, to_hex(sha256(others)), 0, 1).error().code, ErrorCode::forbidden);
    EXPECT_EQ(reader.read(ship, "../x", 0, 1).error().code, ErrorCode::forbidden);
  }
  EXPECT_TRUE(reader.read(one, to_hex(sha256("one")), 99, 100)->bytes.empty());
  EXPECT_EQ(reader.read({1001, one.second}, one.second, 0, 1).error().code, ErrorCode::not_found);
}

}  // namespace
}  // namespace paceline
