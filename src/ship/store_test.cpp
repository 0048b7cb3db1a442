#include "ship/store.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "files/temp_folder_testing.hpp"
#include "trust/sha256.hpp"

namespace paceline {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::uint32_t kAnn = 1000, kBob = 1001;

Manifest manifest_of(const std::map<std::string, std::string>& files) {
  Manifest manifest;
  for (const auto& [path, text] : files)
    manifest.files.push_back({path, 0644, text.size(), to_hex(sha256(text))});
  EXPECT_TRUE(tidy_manifest(manifest));
  return manifest;
}

class ShipStoreTest : public ::testing::Test {
 protected:
  ShipStore::Options options() {
    return {
        .directory = folder_.path() / "ships",
        .in_use = [this](std::uint32_t, const std::string& name) { return in_use_.contains(name); },
        .now = [this] { return now_; }};
  }
  static Result<bool> put(ShipStore& store, std::uint32_t uid, const std::string& text) {
    return store.take(uid, {to_hex(sha256(text)), 0, static_cast<std::uint32_t>(text.size())},
                      text);
  }
  // Offers it and sends what is missing, as for a job that is submitted then; answers its name.
  std::string ship(ShipStore& store, std::uint32_t uid,
                   const std::map<std::string, std::string>& files) {
    const auto offered = store.offer(uid, manifest_of(files));
    EXPECT_TRUE(offered) << (offered ? "" : offered.error().message);
    if (!offered) return {};
    for (const auto& [path, text] : files) EXPECT_TRUE(put(store, uid, text));
    EXPECT_TRUE(store.has(uid, offered->name));
    store.touch(uid, offered->name);
    return offered->name;
  }
  [[nodiscard]] std::filesystem::path file(std::uint32_t uid, const std::string& text) const {
    return folder_.path() / "ships" / std::to_string(uid) / "files" / to_hex(sha256(text));
  }

  TempFolder folder_;
  std::set<std::string> in_use_;
  ShipStore::Instant now_{};
};

TEST_F(ShipStoreTest, TheSameFilesAreSentOnceAndAChangedOneAlone) {
  ShipStore store(options());
  const auto name = ship(store, kAnn, {{"a.py", "one"}, {"b.py", "two"}});
  EXPECT_THAT(store.offer(kAnn, manifest_of({{"a.py", "one"}, {"b.py", "two"}}))->missing,
              IsEmpty());
  const auto changed = store.offer(kAnn, manifest_of({{"a.py", "one"}, {"b.py", "three"}}));
  ASSERT_THAT(changed->missing, SizeIs(1));
  EXPECT_EQ(changed->missing[0].path, "b.py");
  EXPECT_NE(changed->name, name);
  EXPECT_FALSE(store.has(kAnn, changed->name));
  const auto rest = read_ship_bytes(options().directory, kAnn, to_hex(sha256("two")), 1, 10);
  EXPECT_EQ(rest->bytes, "wo");
  EXPECT_EQ(rest->of, 3U);
}

TEST_F(ShipStoreTest, NobodyLearnsWhatAnotherOneHas) {
  ShipStore store(options());
  const auto name = ship(store, kAnn, {{"a.py", "one"}});
  EXPECT_FALSE(store.has(kBob, name));
  EXPECT_THAT(store.offer(kBob, manifest_of({{"a.py", "one"}}))->missing, SizeIs(1));
  EXPECT_FALSE(store.has(kBob, name));
  struct stat info {};
  ASSERT_EQ(::stat(file(kAnn, "one").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600U);
  ASSERT_EQ(::stat(file(kAnn, "one").parent_path().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700U);
}

TEST_F(ShipStoreTest, OutlivesItsServer) {
  std::string name;
  {
    ShipStore store(options());
    name = ship(store, kAnn, {{"a.py", "one"}});
    ASSERT_TRUE(store.offer(kAnn, manifest_of({{"b.py", "half"}})));
    ASSERT_TRUE(store.take(kAnn, {to_hex(sha256("half")), 0, 2}, "ha"));
  }
  ShipStore store(options());
  EXPECT_TRUE(store.has(kAnn, name));
  const auto go_on = store.take(kAnn, {to_hex(sha256("half")), 2, 2}, "lf");
  ASSERT_FALSE(go_on);
  EXPECT_EQ(go_on.error().code, ErrorCode::conflict);
  EXPECT_TRUE(put(store, kAnn, "half"));
}

TEST_F(ShipStoreTest, ADamagedFileIsAskedAnew) {
  ShipStore store(options());
  const auto name = ship(store, kAnn, {{"a.py", "one"}});
  std::ofstream(file(kAnn, "one")) << "on";
  EXPECT_FALSE(store.has(kAnn, name));
  EXPECT_THAT(store.offer(kAnn, manifest_of({{"a.py", "one"}}))->missing, SizeIs(1));
  EXPECT_TRUE(put(store, kAnn, "one"));
  EXPECT_TRUE(store.has(kAnn, name));
}

TEST_F(ShipStoreTest, TakesOnlyWhatWasAskedForAndIsWhatItSaysToBe) {
  ShipStore store(options());
  EXPECT_EQ(put(store, kAnn, "stray").error().code, ErrorCode::conflict);
  ASSERT_TRUE(store.offer(kAnn, manifest_of({{"a.py", "one"}})));
  const auto digest = to_hex(sha256("one"));
  EXPECT_EQ(store.take(kAnn, {digest, 1, 2}, "ne").error().code, ErrorCode::conflict);
  EXPECT_EQ(store.take(kAnn, {digest, 0, 4}, "ones").error().code, ErrorCode::conflict);
  EXPECT_EQ(store.take(kAnn, {digest, 0, 3}, "two").error().code, ErrorCode::invalid);
  EXPECT_TRUE(store.take(kAnn, {digest, 0, 2}, "on"));
  EXPECT_TRUE(store.take(kAnn, {digest, 2, 1}, "e"));
  EXPECT_TRUE(store.has(kAnn, ship_name(to_text(manifest_of({{"a.py", "one"}})))));
}

TEST_F(ShipStoreTest, SeveralSendOneFileAtATime) {
  ShipStore store(options());
  const std::string text = "0123456789";
  const auto digest = to_hex(sha256(text));
  ASSERT_TRUE(store.offer(kAnn, manifest_of({{"a.py", text}})));
  const auto take = [&](std::uint64_t from, std::uint32_t bytes) {
    return store.take(kAnn, {digest, from, bytes}, std::string_view(text).substr(from, bytes));
  };
  EXPECT_EQ(take(0, 4), false);
  EXPECT_EQ(take(4, 2), false);
  EXPECT_EQ(take(0, 4), false) << "another one begins";
  EXPECT_EQ(take(6, 2), false);
  EXPECT_EQ(take(4, 5), false) << "and is further now";
  EXPECT_EQ(take(8, 2), true);
  EXPECT_EQ(take(9, 1), false) << "it is there";
}

TEST_F(ShipStoreTest, OtherBytesFromTheBeginningBeginAnew) {
  ShipStore store(options());
  const auto digest = to_hex(sha256("right"));
  ASSERT_TRUE(store.offer(kAnn, manifest_of({{"a.py", "right"}})));
  EXPECT_EQ(store.take(kAnn, {digest, 0, 3}, "wro"), false);
  EXPECT_EQ(store.take(kAnn, {digest, 0, 2}, "ri"), false);
  EXPECT_EQ(store.take(kAnn, {digest, 2, 3}, "ght"), true);
}

// One of them is wrong, and nobody can tell which before the end.
TEST_F(ShipStoreTest, OtherBytesFurtherOnBeginAnewToo) {
  ShipStore store(options());
  const std::string text = "0123456789";
  const auto digest = to_hex(sha256(text));
  ASSERT_TRUE(store.offer(kAnn, manifest_of({{"a.py", text}})));
  EXPECT_EQ(store.take(kAnn, {digest, 0, 8}, "01234xxx"), false) << "and never goes on";
  EXPECT_EQ(store.take(kAnn, {digest, 0, 4}, "0123"), false);
  EXPECT_EQ(store.take(kAnn, {digest, 4, 4}, "4567").error().code, ErrorCode::conflict);
  EXPECT_EQ(store.take(kAnn, {digest, 0, 4}, "0123"), false);
  EXPECT_EQ(store.take(kAnn, {digest, 4, 4}, "4567"), false);
  EXPECT_EQ(store.take(kAnn, {digest, 8, 2}, "89"), true);
}

TEST_F(ShipStoreTest, BeyondItsBoundTheOldestGoThatNoJobNames) {
  auto bounded = options();
  bounded.bytes_per_user_max = 2'500;
  ShipStore store(bounded);
  const auto text = [](char c) { return std::string(600, c); };
  const auto first = ship(store, kAnn, {{"a", text('a')}});
  const auto second = ship(store, kAnn, {{"b", text('b')}});
  const auto third = ship(store, kAnn, {{"c", text('c')}});
  in_use_ = {first};
  ship(store, kAnn, {{"d", text('d')}});
  EXPECT_TRUE(store.has(kAnn, first));
  EXPECT_FALSE(store.has(kAnn, second));
  EXPECT_FALSE(std::filesystem::exists(file(kAnn, text('b'))));
  EXPECT_TRUE(store.has(kAnn, third));
  EXPECT_LE(store.bytes(kAnn), 2'500U);
  in_use_ = {first, third, ship_name(to_text(manifest_of({{"d", text('d')}})))};
  const auto refused = store.offer(kAnn, manifest_of({{"e", text('e')}}));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::unavailable);
  EXPECT_EQ(store.offer(kAnn, manifest_of({{"f", std::string(2'501, 'f')}})).error().code,
            ErrorCode::too_large);
}

TEST_F(ShipStoreTest, AllUsersTogetherAreBoundedToo) {
  auto bounded = options();
  bounded.bytes_max = 2'000;
  ShipStore store(bounded);
  const auto old = ship(store, kAnn, {{"a", std::string(900, 'a')}});
  ship(store, kBob, {{"b", std::string(900, 'b')}});
  EXPECT_FALSE(store.has(kAnn, old));
}

TEST_F(ShipStoreTest, AFileThatTwoShipsHoldStaysWithTheOther) {
  auto bounded = options();
  bounded.bytes_per_user_max = 2'000;
  ShipStore store(bounded);
  ship(store, kAnn, {{"common", "c"}, {"a", std::string(700, 'a')}});
  const auto second = ship(store, kAnn, {{"common", "c"}, {"b", std::string(700, 'b')}});
  ship(store, kAnn, {{"x", std::string(300, 'x')}});
  EXPECT_TRUE(store.has(kAnn, second));
  EXPECT_FALSE(std::filesystem::exists(file(kAnn, std::string(700, 'a'))));
}

TEST_F(ShipStoreTest, OfFilesThatAreNotWholeAUserHasFew) {
  ShipStore store(options());
  std::map<std::string, std::string> files;
  for (std::ptrdiff_t i = 0; i <= kShipUploadsMax; ++i)
    files.emplace(fmt::format("f{}", i), fmt::format("text {}", i));
  ASSERT_TRUE(store.offer(kAnn, manifest_of(files)));
  const auto begin = [&](const std::string& text) {
    return store.take(kAnn, {to_hex(sha256(text)), 0, 2}, text.substr(0, 2)).has_value();
  };
  const auto end = [&](const std::string& text) {
    return store
        .take(kAnn, {to_hex(sha256(text)), 2, static_cast<std::uint32_t>(text.size() - 2)},
              text.substr(2))
        .has_value();
  };
  for (const auto& [path, text] : files) EXPECT_TRUE(begin(text));
  std::ptrdiff_t ended = 0;
  for (const auto& [path, text] : files) ended += end(text) ? 1 : 0;
  EXPECT_EQ(ended, kShipUploadsMax);
}

TEST_F(ShipStoreTest, IsLostOnceAnythingOfItIs) {
  ShipStore store(options());
  const auto lost = [&](const std::string& name) {
    return is_ship_lost(options().directory, kAnn, name);
  };
  const auto whole = ship(store, kAnn, {{"a.py", "one"}, {"b.py", "two"}});
  EXPECT_FALSE(lost(whole));
  EXPECT_TRUE(is_ship_lost(options().directory, kBob, whole)) << "it is another user's";
  std::filesystem::remove(file(kAnn, "two"));
  EXPECT_TRUE(lost(whole));
  const auto other = ship(store, kAnn, {{"a.py", "one"}});
  std::ofstream(options().directory / std::to_string(kAnn) / "ships" / other) << "damaged";
  EXPECT_TRUE(lost(other));
  std::filesystem::remove_all(options().directory);
  EXPECT_TRUE(lost(whole));
}

// Of those that were begun, and of no others, there is something on the disk.
TEST_F(ShipStoreTest, WhatIsNotWholeGoesWithItsShipOrItsPlace) {
  auto bounded = options();
  bounded.bytes_per_user_max = 40'000;
  ShipStore store(bounded);
  const auto parts = [&] {
    std::size_t count = 0;
    for (const auto& each : std::filesystem::directory_iterator(folder_.path() / "ships" /
                                                                std::to_string(kAnn) / "parts"))
      count += each.is_regular_file() ? 1U : 0U;
    return count;
  };
  for (int i = 0; i < 40; ++i) {
    const std::string text(10'000, static_cast<char>('0' + i));
    ASSERT_TRUE(store.offer(kAnn, manifest_of({{"a", text}})));
    EXPECT_TRUE(store.take(kAnn, {to_hex(sha256(text)), 0, 9'999}, text.substr(0, 9'999)));
    EXPECT_LE(parts(), 3U);
    now_ += 1min;
  }
  std::map<std::string, std::string> files;
  for (std::ptrdiff_t i = 0; i < 2 * kShipUploadsMax; ++i)
    files.emplace(fmt::format("f{}", i), fmt::format("text {}", i));
  ASSERT_TRUE(store.offer(kAnn, manifest_of(files)));
  for (const auto& [path, text] : files)
    EXPECT_TRUE(store.take(kAnn, {to_hex(sha256(text)), 0, 2}, "te"));
  EXPECT_LE(parts(), static_cast<std::size_t>(kShipUploadsMax));
}

TEST_F(ShipStoreTest, WhatWasOfferedCountsBeforeItCame) {
  auto bounded = options();
  bounded.bytes_per_user_max = 2'500;
  ShipStore store(bounded);
  std::vector<std::string> texts;
  for (char c = 'a'; c < 'k'; ++c) {
    texts.emplace_back(600, c);
    const auto offered = store.offer(kAnn, manifest_of({{"x", texts.back()}}));
    EXPECT_EQ(offered.has_value(), texts.size() <= 3) << c;
  }
  std::size_t taken = 0;
  for (const auto& text : texts) taken += put(store, kAnn, text) ? 1U : 0U;
  EXPECT_EQ(taken, 3U) << "of those that came first";
  EXPECT_LE(store.bytes(kAnn), 2'500U);
  bounded.bytes_per_user_max = 10'000;
  bounded.bytes_max = 2'500;
  bounded.directory = folder_.path() / "others";
  ShipStore all(bounded);
  for (std::uint32_t uid = 1; uid <= 10; ++uid)
    EXPECT_EQ(all.offer(uid, manifest_of({{"x", texts[0]}})).has_value(), uid <= 3) << uid;
  taken = 0;
  for (std::uint32_t uid = 1; uid <= 10; ++uid) taken += put(all, uid, texts[0]) ? 1U : 0U;
  EXPECT_EQ(taken, 3U);
}

TEST_F(ShipStoreTest, OfTwoThatDontBothFitTheSecondIsRefusedWhileTheFirstComes) {
  auto bounded = options();
  bounded.bytes_per_user_max = 1'500;
  ShipStore store(bounded);
  const std::string one(900, 'a');
  const auto second = manifest_of({{"x", std::string(900, 'b')}});
  const auto send = [&](std::uint64_t from) {
    return store.take(kAnn, {to_hex(sha256(one)), from, 300}, one.substr(from, 300));
  };
  ASSERT_TRUE(store.offer(kAnn, manifest_of({{"x", one}})));
  for (std::uint64_t from = 0; from < one.size(); from += 300) {
    now_ += 59s;
    const auto refused = store.offer(kAnn, second);
    ASSERT_FALSE(refused) << from;
    EXPECT_EQ(refused.error().code, ErrorCode::unavailable);
    EXPECT_EQ(refused.error().retry, Retry::may_help) << "it may stop coming";
    EXPECT_THAT(refused.error().message, HasSubstr("on their way"));
    EXPECT_EQ(send(from), from == 600);
  }
  const auto first = ship_name(to_text(manifest_of({{"x", one}})));
  EXPECT_FALSE(store.offer(kAnn, second)) << "its job is not submitted yet";
  store.touch(kAnn, first);
  in_use_ = {first};
  EXPECT_EQ(store.offer(kAnn, second).error().retry, Retry::useless);
  in_use_.clear();
  EXPECT_TRUE(store.offer(kAnn, second));
  EXPECT_FALSE(store.has(kAnn, first));
}

TEST_F(ShipStoreTest, WhatStopsComingKeepsItsRoomForAMinute) {
  auto bounded = options();
  bounded.bytes_per_user_max = 1'500;
  ShipStore store(bounded);
  const std::string one(900, 'a');
  const auto second = manifest_of({{"x", std::string(900, 'b')}});
  ASSERT_TRUE(store.offer(kAnn, manifest_of({{"x", one}})));
  now_ += 50s;
  EXPECT_TRUE(store.take(kAnn, {to_hex(sha256(one)), 0, 300}, one.substr(0, 300)));
  now_ += 59s;
  EXPECT_FALSE(store.offer(kAnn, second));
  now_ += 1s;
  EXPECT_TRUE(store.offer(kAnn, second));
}

TEST_F(ShipStoreTest, WhatIsOnItsWayAndInUseIsNotPushedOut) {
  auto bounded = options();
  bounded.bytes_per_user_max = 1'500;
  ShipStore store(bounded);
  const std::string one(900, 'a'), two(900, 'b');
  in_use_ = {ship_name(to_text(manifest_of({{"x", one}})))};
  ASSERT_TRUE(store.offer(kAnn, manifest_of({{"x", one}})));
  EXPECT_EQ(store.offer(kAnn, manifest_of({{"x", two}})).error().code, ErrorCode::unavailable);
  EXPECT_TRUE(put(store, kAnn, one));
  EXPECT_EQ(put(store, kAnn, two).error().code, ErrorCode::conflict) << "it was refused";
  in_use_.clear();
  now_ += 1min;
  EXPECT_TRUE(store.offer(kAnn, manifest_of({{"x", two}})));
  EXPECT_TRUE(put(store, kAnn, two));
}

// Whose files are asked for again, where the ship that held them went for it.
TEST_F(ShipStoreTest, AnOfferKeepsTheFilesThatItShares) {
  auto bounded = options();
  bounded.bytes_per_user_max = 2'500;
  ShipStore store(bounded);
  const std::string common(700, 'c');
  ship(store, kAnn, {{"common", common}, {"a", std::string(700, 'a')}});
  const auto offered =
      store.offer(kAnn, manifest_of({{"common", common}, {"b", std::string(700, 'b')}}));
  ASSERT_TRUE(offered);
  EXPECT_THAT(offered->missing, SizeIs(1));
  EXPECT_TRUE(put(store, kAnn, std::string(700, 'b')));
  EXPECT_TRUE(store.has(kAnn, offered->name));
  EXPECT_FALSE(std::filesystem::exists(file(kAnn, std::string(700, 'a'))));
}

TEST_F(ShipStoreTest, ADigestHasOneLength) {
  ShipStore store(options());
  const std::string text(600, 'a');
  auto lie = manifest_of({{"x", text}});
  lie.files[0].bytes = 1;
  ASSERT_TRUE(store.offer(kAnn, lie)) << "nobody knows better";
  const auto name = ship(store, kAnn, {{"x", text}});
  const auto bytes = store.bytes(kAnn);
  EXPECT_EQ(store.offer(kAnn, lie).error().code, ErrorCode::invalid);
  EXPECT_EQ(store.bytes(kAnn), bytes);
  EXPECT_TRUE(store.has(kAnn, name));
}

TEST_F(ShipStoreTest, WithoutRoomOnTheDiskNothingIsTaken) {
  auto full = options();
  full.room = [](std::uint64_t) -> Result<void> { return fail(ErrorCode::storage, "It is full."); };
  ShipStore store(full);
  EXPECT_EQ(store.offer(kAnn, manifest_of({{"a.py", "one"}})).error().code, ErrorCode::storage);
}

}  // namespace
}  // namespace paceline
