#include "api/book_file.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "files/temp_folder_testing.hpp"
#include "trust/sha256.hpp"

namespace paceline {
namespace {

class BookFileTest : public ::testing::Test {
 protected:
  [[nodiscard]] std::filesystem::path path() const { return folder_.path() / "words"; }
  [[nodiscard]] BookFile file() const {
    return {path(), {.what = "words", .remedy = "say them again"}};
  }
  // What is read; nothing: nothing is there.
  [[nodiscard]] Result<std::optional<Json>> loaded() const {
    std::optional<Json> found;
    const auto read = file().load([&](const Json& json) -> Result<void> {
      found = json;
      return {};
    });
    if (!read) return fail(read.error());
    return found;
  }
  [[nodiscard]] std::string text() const {
    std::ifstream in(path(), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void write(std::string_view text) const {
    std::ofstream(path(), std::ios::binary) << text;
    ASSERT_EQ(::chmod(path().c_str(), 0600), 0);
  }

  TempFolder folder_;
};

constexpr std::string_view kWords = R"({"words":["one","two"]})";

TEST_F(BookFileTest, GivesBackWhatItKept) {
  EXPECT_EQ(*loaded(), std::nullopt);
  ASSERT_TRUE(file().save(kWords));
  EXPECT_EQ(*loaded(), Json::parse(kWords));
  struct stat info {};
  ASSERT_EQ(::stat(path().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600U);
}

TEST_F(BookFileTest, AnOlderServersHasNoSum) {
  write(std::string(kWords) + "\n");
  EXPECT_EQ(*loaded(), Json::parse(kWords));
}

// A byte that is another one makes it refused, wherever it stands.
TEST_F(BookFileTest, DamageAtEveryByteIsFound) {
  ASSERT_TRUE(file().save(kWords));
  const auto whole = text();
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (const char other : {'\0', '0', '\n', static_cast<char>(whole[at] ^ 1)}) {
      if (whole[at] == other) continue;
      auto damaged = whole;
      damaged[at] = other;
      write(damaged);
      const auto read = loaded();
      ASSERT_FALSE(read) << at;
      EXPECT_EQ(read.error().code, ErrorCode::data);
    }
  }
}

// What is left after a cut is all of it, or is refused.
TEST_F(BookFileTest, ACutAtEveryByteLosesNothingUnseen) {
  ASSERT_TRUE(file().save(kWords));
  const auto whole = text();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    write(whole.substr(0, size));
    const auto read = loaded();
    if (size == kWords.size() || size == kWords.size() + 1)
      EXPECT_EQ(*read, Json::parse(kWords));
    else
      EXPECT_EQ(read.error().code, ErrorCode::data) << size;
  }
}

TEST_F(BookFileTest, TheSentenceSaysWhatToDo) {
  write("{");
  const auto read = loaded();
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().message.find("The words in"), std::string::npos) << read.error().message;
  EXPECT_NE(read.error().hint.find("say them again"), std::string::npos) << read.error().hint;
}

TEST_F(BookFileTest, WhatIsRefusedIsData) {
  ASSERT_TRUE(file().save(kWords));
  const auto read = file().load(
      [](const Json&) -> Result<void> { return fail(ErrorCode::invalid, "No such words."); });
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, ErrorCode::data);
  EXPECT_NE(read.error().message.find("No such words."), std::string::npos);
}

TEST_F(BookFileTest, KeepsWhatWasThereWhereItCannotBeReplaced) {
  ASSERT_TRUE(file().save(kWords));
  const std::string large = "\"" + std::string(17 << 20, 'x') + "\"";
  EXPECT_EQ(file().save(large).error().code, ErrorCode::conflict);
  EXPECT_EQ(*loaded(), Json::parse(kWords));
  std::filesystem::remove_all(folder_.path());
  EXPECT_EQ(file().save(kWords).error().code, ErrorCode::storage);
}

// A server that died while it replaced the file leaves a piece beside it.
TEST_F(BookFileTest, APieceLeftByACrashIsNotRead) {
  ASSERT_TRUE(file().save(kWords));
  std::ofstream(path().string() + ".4711.part") << "{";
  EXPECT_EQ(*loaded(), Json::parse(kWords));
  ASSERT_TRUE(file().save("{}"));
  EXPECT_EQ(*loaded(), Json::object());
}

}  // namespace
}  // namespace paceline
