// Both ends of a connection for bytes, joined in memory: what a node sends and what the server makes
// of it, through ends at any byte, and from nodes that lie.
#include "link/bytes_door.hpp"

#include <gmock/gmock.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <cerrno>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "files/log_times_reader.hpp"
#include "files/log_times_writer.hpp"
#include "link/byte_pipe.hpp"
#include "link/bytes_testing.hpp"
#include "link/log_sender.hpp"
#include "loop/errands.hpp"
#include "ship/store.hpp"
#include "trust/sha256.hpp"

namespace paceline {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
namespace asio = boost::asio;

// A stream as a test speaks it.
class Spoken {
 public:
  Spoken(asio::io_context& io, std::shared_ptr<ServerStream> stream)
      : io_(io), state_(std::make_shared<State>()) {
    state_->stream = std::move(stream);
    asio::co_spawn(io_, listen(state_), asio::detached);
  }
  ~Spoken() { close(); }
  Spoken(Spoken&&) = default;
  Spoken& operator=(Spoken&&) = delete;

  void say(std::string text) {
    state_->out += text;
    if (!std::exchange(state_->speaking, true)) asio::co_spawn(io_, speak(state_), asio::detached);
  }
  // Did everything go out?
  [[nodiscard]] bool said_all() const { return state_->out.empty(); }
  std::string heard() { return std::exchange(state_->heard, {}); }
  [[nodiscard]] bool ended() const { return state_->ended; }
  void close() {
    if (state_) state_->stream->close();
  }

 private:
  struct State {
    std::shared_ptr<ServerStream> stream;
    std::string out, heard;
    bool speaking = false, ended = false;
  };
  static ServerStream::Awaitable<void> listen(std::shared_ptr<State> state) {
    std::string bytes(16 << 10, '\0');
    ServerStream::Failure failure;
    while (!failure) {
      const auto count = co_await state->stream->read_some(asio::buffer(bytes), failure);
      state->heard.append(bytes, 0, count);
    }
    state->ended = true;
  }
  static ServerStream::Awaitable<void> speak(std::shared_ptr<State> state) {
    ServerStream::Failure failure;
    while (!state->out.empty() && !failure) {
      const std::string some = state->out.substr(0, 16 << 10);  // more is said meanwhile
      const asio::const_buffer piece(some.data(), some.size());
      const auto count = co_await state->stream->write_some({&piece, 1}, failure);
      state->out.erase(0, count);
    }
    state->speaking = false;
  }

  asio::io_context& io_;
  std::shared_ptr<State> state_;
};

class BytesDoorTest : public ::testing::Test {
 protected:
  void SetUp() override { open(); }
  void TearDown() override {
    door_.reset();
    run_until_quiet();
  }

  // A server, new in the same directory where there was one.
  void open() {
    door_.reset();
    run_until_quiet();
    BytesDoor::Options options{
        .intake = {.directory = server_.directory(),
                   .write = [this](int fd, const char* bytes,
                                   std::size_t size) { return write(fd, bytes, size); }},
        .right = [this](std::string_view node, const LogName& log) { return right(node, log); },
        .wall = [this] { return wall_; },
        .beat = beat_,
        .silence = silence_,
        .attach_within = attach_within_,
        .retry = 1ms,
        .last_words = 0ms};
    options.ships = server_.directory() / "ships";
    options.reading = &reading_;
    options.ship = [this](std::string_view node, JobId job) -> Result<ShipRight> {
      if (node != "gpu-3" || job != JobId{7})
        return fail(ErrorCode::forbidden, "The job has no business there.");
      return ShipRight{1000, {ship_}};
    };
    door_.emplace(io_, std::move(options));
  }
  ssize_t write(int fd, const char* bytes, std::size_t size) {
    if (room_ == 0) return errno = ENOSPC, -1;
    const auto count = ::write(fd, bytes, std::min(size, room_));
    if (room_ != kUnbounded) room_ -= static_cast<std::size_t>(count);
    return count;
  }
  LogRight right(std::string_view node, const LogName& log) {
    const auto uid = static_cast<std::uint32_t>(::getuid());
    if (node != "gpu-3") return {LogState::unwanted, uid, false};
    const auto known = states_.find(log.job);
    return {known == states_.end() ? LogState::taken : known->second, uid, over_};
  }

  // Everything that can happen now does.
  void run_until_quiet() {
    do {
      io_.restart();
      while (io_.poll() > 0) {
      }
    } while (reading_.busy());
  }
  template <class Condition>
  [[nodiscard]] bool eventually(Condition condition) {
    const auto until = std::chrono::steady_clock::now() + 10s;
    while (!condition() && std::chrono::steady_clock::now() < until) {
      io_.restart();
      io_.run_for(1ms);
    }
    return condition();
  }
  Spoken dial(const std::string& node = "gpu-3") { return {io_, door_->open({.id = node})}; }
  Spoken greeted(const std::string& node = "gpu-3") {
    auto spoken = dial(node);
    spoken.say(encode(BytesHello{kBytesVersion, "a1", wall_}));
    run_until_quiet();
    EXPECT_EQ(spoken.heard(), encode(BytesWelcome{}));
    return spoken;
  }
  std::string answer(Spoken& spoken, const std::string& text) {
    spoken.say(text);
    run_until_quiet();
    return spoken.heard();
  }

  LogSender& new_sender() {
    return sender_.emplace(
        LogSender::Options{.directory = node_.directory(),
                           .machine = "a1",
                           .in_use = [this](JobId job) { return in_use_.contains(job); },
                           .remove =
                               [this](JobId job) {
                                 removed_.push_back(job);
                                 std::filesystem::remove_all(node_.path_of({job, 0}).parent_path());
                               }});
  }
  // Lines to the sender, and bytes of it to the server, `bytes_max` at most; until neither says
  // anything. True: it was cut there.
  bool converse(Spoken& spoken, std::size_t bytes_max = kUnbounded) {
    BytesReader reader;
    for (bool news = true; news;) {
      news = false;
      sender_->look(now_);
      while (auto bytes = sender_->next()) {
        news = true;
        const bool cut = bytes->size() > bytes_max;
        spoken.say(bytes->substr(0, bytes_max));
        bytes_max -= std::min(bytes_max, bytes->size());
        run_until_quiet();
        if (cut) return true;
      }
      run_until_quiet();
      reader.feed(spoken.heard());
      std::string line;
      while (reader.next_line(line).value_or(false)) {
        const auto read =
            line.empty() ? Result<ServerLine>(BytesWelcome{}) : decode_server_line(line);
        if (const auto* standing = std::get_if<LogStanding>(&*read)) {
          sender_->take(*standing, now_);
          news = true;
        }
        if (const auto* flush = std::get_if<FlushAsked>(&*read)) {
          sender_->take(*flush, now_);
          news = true;
        }
      }
    }
    return false;
  }
  // A whole connection. True: it was cut after so many bytes.
  bool connect(std::size_t bytes_max = kUnbounded) {
    auto spoken = dial();
    const auto hello = sender_->begin(wall_);
    spoken.say(hello.substr(0, bytes_max));
    run_until_quiet();
    return hello.size() > bytes_max || converse(spoken, bytes_max - hello.size());
  }

  static constexpr std::size_t kUnbounded = std::string::npos;
  TestLogs server_, node_;
  asio::io_context io_;
  Errands reading_{io_};
  std::size_t room_ = kUnbounded;
  std::map<JobId, LogState> states_;
  bool over_ = false;
  WallTime wall_ = wall_from_us(1'700'000'000'000'000);
  std::chrono::milliseconds beat_ = 15s, silence_ = 45s, attach_within_ = 5s;
  LogSender::Instant now_{};
  std::set<JobId> in_use_;
  std::vector<JobId> removed_;
  std::string ship_ = std::string(64, 'a');
  std::optional<BytesDoor> door_;
  std::optional<LogSender> sender_;
};

// ---- directories that travel ----

TEST_F(BytesDoorTest, ANodeGetsWhatTravelsWithItsJobsAndNothingElse) {
  const std::string other(64, 'b'), digest = to_hex(sha256("one"));
  Manifest manifest{{{"a.py", 0644, 3, digest}}, {}, {}};
  ASSERT_TRUE(tidy_manifest(manifest));
  ShipStore store({.directory = server_.directory() / "ships"});
  const auto offered = store.offer(1000, manifest);
  ASSERT_TRUE(offered);
  ASSERT_TRUE(store.take(1000, {digest, 0, 3}, "one"));
  ship_ = offered->name;
  auto mine = greeted();
  const auto text = to_text(manifest);
  EXPECT_EQ(
      answer(mine, encode(ShipWanted{JobId{7}, ship_, 0})),
      encode(ShipPart{JobId{7}, ship_, 0, static_cast<std::uint32_t>(text.size()), text.size()}) +
          text);
  EXPECT_EQ(answer(mine, encode(ShipWanted{JobId{7}, digest, 1})),
            encode(ShipPart{JobId{7}, digest, 1, 2, 3}) + "ne");
  EXPECT_THAT(answer(mine, encode(ShipWanted{JobId{7}, other, 0})), HasSubstr("No such file"));
  EXPECT_THAT(answer(mine, encode(ShipWanted{JobId{8}, ship_, 0})), HasSubstr("no business"));
  auto stranger = greeted("gpu-4");
  EXPECT_THAT(answer(stranger, encode(ShipWanted{JobId{7}, ship_, 0})), HasSubstr("no business"));
  EXPECT_EQ(answer(mine, encode(ShipDamaged{JobId{7}, digest})), "");
  EXPECT_TRUE(store.has(1000, ship_)) << "it is as it should be, whatever the node says";
  std::ofstream(server_.directory() / "ships/1000/files" / digest) << "two";
  EXPECT_EQ(answer(mine, encode(ShipDamaged{JobId{7}, digest})), "");
  EXPECT_FALSE(store.has(1000, ship_));
  EXPECT_THAT(answer(mine, encode(ShipWanted{JobId{7}, digest, 0})),
              HasSubstr("not there any more"));
}

// With job 7 travels one file.
class ShippedTest : public BytesDoorTest {
 protected:
  void SetUp() override {
    BytesDoorTest::SetUp();
    const Manifest manifest{{{"a.py", 0644, 3, digest_}}, {}, {}};
    ShipStore store({.directory = server_.directory() / "ships"});
    const auto offered = store.offer(1000, manifest);
    ASSERT_TRUE(offered && store.take(1000, {digest_, 0, 3}, "one"));
    ship_ = offered->name;
    text_ = to_text(manifest);
    std::filesystem::remove(file());
    std::filesystem::create_directories(file() / "can't be read");
  }
  void mend() const {
    std::filesystem::remove_all(file());
    std::ofstream(file()) << "one";
  }
  [[nodiscard]] std::filesystem::path file() const {
    return server_.directory() / "ships/1000/files" / digest_;
  }
  [[nodiscard]] std::string asked() const {
    return encode(ShipWanted{JobId{7}, digest_, 0}) + encode(ShipWanted{JobId{7}, ship_, 0});
  }

  const std::string digest_ = to_hex(sha256("one"));
  std::string text_;
};

TEST_F(ShippedTest, WhatCannotBeReadForNowIsReadAgainAndAnsweredInOrder) {
  auto spoken = greeted();
  EXPECT_EQ(answer(spoken, asked()), "");
  mend();
  std::string heard;
  EXPECT_TRUE(eventually([&] { return (heard += spoken.heard()).ends_with(text_); }));
  const auto size = static_cast<std::uint32_t>(text_.size());
  EXPECT_EQ(heard, encode(ShipPart{JobId{7}, digest_, 0, 3, 3}) + "one" +
                       encode(ShipPart{JobId{7}, ship_, 0, size, text_.size()}) + text_);
}

TEST_F(ShippedTest, WhatCannotBeReadForLongEndsTheConnectionSoThatItIsAskedForAnew) {
  auto spoken = greeted();
  spoken.say(asked());
  EXPECT_TRUE(eventually([&] { return spoken.ended(); }));
  EXPECT_THAT(spoken.heard(), AllOf(HasSubstr("refused"), HasSubstr("can't be read")));
  mend();
  auto next = greeted();
  EXPECT_THAT(answer(next, asked()), HasSubstr("one"));
}

// ---- logs ----

TEST_F(BytesDoorTest, LogsOfManyJobsComeAsTheyGrow) {
  new_sender();
  auto spoken = dial();
  spoken.say(sender_->begin(wall_));
  for (int round = 0; round < 3; ++round) {
    for (std::uint32_t job = 1; job <= 20; ++job)
      for (std::int32_t number = 0; number < 3; ++number)
        node_.append({JobId{job}, number}, numbered_lines(round * 10, round * 10 + 10));
    converse(spoken);
    for (std::uint32_t job = 1; job <= 20; ++job)
      for (std::int32_t number = 0; number < 3; ++number)
        ASSERT_EQ(server_.text_of({JobId{job}, number}), numbered_lines(0, round * 10 + 10));
    EXPECT_EQ(sender_->unacknowledged(), 0U);
  }
}

TEST_F(BytesDoorTest, ALargeLogComesInBoundedPieces) {
  const auto text = numbered_lines(0, 1'000'000);
  node_.append(kLog, text);
  new_sender();
  auto spoken = dial();
  spoken.say(sender_->begin(wall_));
  run_until_quiet();
  spoken.heard();
  sender_->look(now_);
  spoken.say(sender_->next().value_or(""));
  run_until_quiet();
  sender_->take({kLog, 0, LogState::taken, false}, now_);
  std::size_t sent = 0;
  while (auto bytes = sender_->next()) {
    EXPECT_LE(bytes->size(), kPieceBytesMax + 512);
    sent += bytes->size();
    spoken.say(*bytes);
  }
  EXPECT_LE(sender_->unacknowledged(), kUnacknowledgedMax);
  EXPECT_GE(sent, kUnacknowledgedMax / 2);
  ASSERT_TRUE(eventually([&] { return spoken.said_all(); }));
  converse(spoken);
  EXPECT_EQ(server_.text_of(kLog), text);
}

// The connection is cut after every byte of what goes over it, and either side may have begun anew.
TEST_F(BytesDoorTest, NothingIsDoubledOrLostWhereverAConnectionIsCut) {
  const auto text = numbered_lines(0, 12);
  node_.append(kLog, text);
  new_sender();
  std::size_t cut = 0;
  while (connect(cut)) {
    if (cut % 3 == 1) new_sender();
    if (cut % 3 == 2) open();
    const auto there = server_.text_of(kLog);
    ASSERT_TRUE(text.starts_with(there)) << there;
    if (there == text) {
      node_.append({JobId{7}, 1}, "another\n");
    }
    ++cut;
    ASSERT_LT(cut, 2'000U);
  }
  EXPECT_GT(cut, 100U);
  EXPECT_EQ(server_.text_of(kLog), text);
}

TEST_F(BytesDoorTest, GoesOnWhereTheServerIs) {
  node_.append(kLog, "one\n");
  new_sender();
  connect();
  node_.append(kLog, "two\n");
  open();
  new_sender();
  connect();
  EXPECT_EQ(server_.text_of(kLog), "one\ntwo\n");
}

TEST_F(BytesDoorTest, SaysWhatTheNodeRemoved) {
  node_.append(kLog, std::string(4096, 'a') + std::string(8192, 'b') + std::string(4096, 'c'));
  node_.punch(kLog, 4096, 8192);
  new_sender();
  connect();
  EXPECT_EQ(server_.text_of(kLog), std::string(4096, 'a') + "\n--- 8192 bytes were removed ---\n" +
                                       std::string(4096, 'c'));
}

// A node that lost power may have less than it sent.
TEST_F(BytesDoorTest, GoesOnWithALogThatBecameShorter) {
  node_.append(kLog, "one\ntwo\n");
  new_sender();
  connect();
  std::filesystem::resize_file(node_.path_of(kLog), 4);
  new_sender();
  connect();
  node_.append(kLog, "three\n");
  new_sender();
  connect();
  EXPECT_EQ(server_.text_of(kLog), "one\ntwo\nthree\n");
}

TEST_F(BytesDoorTest, AFullDiskHoldsTheNodeBackUntilThereIsRoom) {
  const auto text = numbered_lines(0, 200'000);
  node_.append(kLog, text);
  new_sender();
  room_ = 1000;
  auto spoken = dial();
  spoken.say(sender_->begin(wall_));
  converse(spoken);
  EXPECT_FALSE(spoken.said_all()) << "no more than the pipe holds is taken";
  EXPECT_EQ(server_.text_of(kLog), text.substr(0, 1000));
  EXPECT_TRUE(door_->is_open("gpu-3"));
  room_ = kUnbounded;
  ASSERT_TRUE(eventually([&] {
    converse(spoken);
    return server_.text_of(kLog).size() >= text.size();
  }));
  EXPECT_TRUE(server_.text_of(kLog) == text) << "nothing is doubled or lost";
}

TEST_F(BytesDoorTest, LogsThatNobodyWantsAreForgotten) {
  node_.append(kLog, "one\n");
  node_.append({JobId{8}, 0}, "eight\n");
  states_[JobId{7}] = LogState::unwanted;
  new_sender();
  connect();
  EXPECT_EQ(removed_, (std::vector<JobId>{JobId{7}}));
  EXPECT_EQ(server_.text_of(kLog), "");
  EXPECT_EQ(server_.text_of({JobId{8}, 0}), "eight\n");
  states_[JobId{8}] = LogState::unwanted;
  in_use_.insert(JobId{8});
  new_sender();
  connect();
  EXPECT_EQ(removed_.size(), 1U) << "a process still writes it";
}

TEST_F(BytesDoorTest, LogsOfAJobThatIsOverGoAnHourAfterAllOfThemCame) {
  node_.append(kLog, "one\n");
  over_ = true;
  new_sender();
  connect();
  now_ += 59min;
  connect();
  EXPECT_TRUE(removed_.empty());
  now_ += 2min;
  connect();
  EXPECT_EQ(removed_, (std::vector<JobId>{JobId{7}}));
}

TEST_F(BytesDoorTest, ALogThatCannotComeNowIsAskedForLater) {
  node_.append(kLog, "one\n");
  states_[JobId{7}] = LogState::later;
  new_sender();
  auto spoken = dial();
  spoken.say(sender_->begin(wall_));
  converse(spoken);
  states_.clear();
  converse(spoken);
  EXPECT_EQ(server_.text_of(kLog), "");
  now_ += 31s;
  converse(spoken);
  EXPECT_EQ(server_.text_of(kLog), "one\n");
}

TEST_F(BytesDoorTest, ANewerConnectionTakesThePlaceOfAnOlderOne) {
  auto older = greeted();
  answer(older, encode(LogAsked{kLog}));
  auto newer = greeted();
  EXPECT_TRUE(older.ended());
  EXPECT_FALSE(newer.ended());
  auto others = greeted("gpu-4");
  EXPECT_FALSE(newer.ended());
  door_->cut("gpu-3");
  run_until_quiet();
  EXPECT_TRUE(newer.ended());
  EXPECT_FALSE(others.ended());
  EXPECT_FALSE(door_->is_open("gpu-3"));
}

TEST_F(BytesDoorTest, TellsOnceAllThatIsThereHasCome) {
  const auto text = numbered_lines(0, 300'000);
  node_.append(kLog, text);
  new_sender();
  auto spoken = dial();
  spoken.say(sender_->begin(wall_));
  run_until_quiet();
  std::optional<std::size_t> there;
  door_->flush("gpu-3", kLog.job, [&](bool whole) {
    EXPECT_TRUE(whole);
    there = server_.text_of(kLog).size();
  });
  run_until_quiet();
  EXPECT_FALSE(there);
  converse(spoken);
  EXPECT_EQ(there, text.size());
  there.reset();
  door_->flush("gpu-3", JobId{99}, [&](bool) { there = 0; });
  converse(spoken);
  EXPECT_EQ(there, 0U) << "of which it has no log";
}

TEST_F(BytesDoorTest, OfANodeThatIsGoneNothingMoreIsAwaited) {
  std::vector<bool> told;
  const auto flush = [&] {
    door_->flush("gpu-3", kLog.job, [&](bool whole) { told.push_back(whole); });
  };
  flush();
  EXPECT_THAT(told, ElementsAre(false));
  auto spoken = greeted();
  flush();
  flush();
  EXPECT_EQ(told.size(), 1U);
  spoken.close();
  run_until_quiet();
  EXPECT_THAT(told, ElementsAre(false, false, false));
}

// ---- nodes that lie ----

TEST_F(BytesDoorTest, ANodeWritesNoLogOfAJobThatItHasNoPartIn) {
  auto spoken = greeted("gpu-4");
  EXPECT_EQ(answer(spoken, encode(LogAsked{kLog})),
            encode(LogStanding{kLog, 0, LogState::unwanted, false}));
  EXPECT_EQ(answer(spoken, encode(PieceHead{kLog, 0, 0, 2, wall_, false}) + "x\n"),
            encode(LogStanding{kLog, 0, LogState::later, false}));
  EXPECT_FALSE(std::filesystem::exists(server_.path_of(kLog)));
  EXPECT_FALSE(spoken.ended());
}

TEST_F(BytesDoorTest, OfOneNodeTooManyForALogThatLogAloneDoesNotCome) {
  const auto uid = static_cast<std::uint32_t>(::getuid());
  const auto piece = [&](const LogName& log) { return PieceHead{log, 0, 0, 2, wall_, false}; };
  for (std::size_t i = 0; i < kLogSourcesMax; ++i)
    ASSERT_TRUE(
        door_->intake().take(log_source("other", std::to_string(i)), piece(kLog), uid, "x\n"));
  auto spoken = greeted();
  EXPECT_THAT(answer(spoken, encode(LogAsked{kLog}) + encode(piece(kLog)) + "x\n"),
              HasSubstr(encode(LogStanding{kLog, 0, LogState::later, false})));
  const LogName another{kLog.job, 1};
  EXPECT_THAT(answer(spoken, encode(LogAsked{another}) + encode(piece(another)) + "x\n"),
              HasSubstr(encode(LogStanding{another, 2, LogState::taken, false})));
  EXPECT_FALSE(spoken.ended());
}

TEST_F(BytesDoorTest, RefusesWhatIsNotSpokenSo) {
  const std::vector<std::pair<std::string, std::string>> said{
      {"nonsense\n", "JSON"},
      {std::string(70'000, 'x'), "too long"},
      {encode(BytesHello{2, "a1", {}}), "version 2"},
      {encode(LogAsked{kLog}), "begins with"},
      {encode(PieceHead{kLog, 0, 0, 1, {}, false}) + "x", "begins with"},
      {encode(TicketShown{"guessed"}), "Nobody waits"},
      {encode(BytesHello{1, "a1", {}}) + encode(BytesHello{1, "a1", {}}), "begins with"},
      {encode(BytesHello{1, "a1", {}}) + encode(TicketShown{"guessed"}), "begins with"},
      {encode(BytesHello{1, "a1", {}}) + std::string(70'000, ' '), "too long"},
      {encode(BytesHello{1, "a1", {}}) + encode(LogAsked{kLog}) +
           encode(PieceHead{kLog, 9, 9, 1, {}, false}) + "x",
       "doesn't go on"},
  };
  for (const auto& [text, sentence] : said) {
    auto spoken = dial();
    const auto heard = answer(spoken, text);
    EXPECT_THAT(heard, HasSubstr("refused")) << text.substr(0, 80);
    EXPECT_THAT(heard, HasSubstr(sentence)) << text.substr(0, 80);
    EXPECT_TRUE(eventually([&] { return spoken.ended(); })) << text.substr(0, 80);
  }
  EXPECT_EQ(server_.text_of(kLog), "");
}

TEST_F(BytesDoorTest, TimesThatANodeTellsAreHeldAgainstTheServersClock) {
  auto spoken = dial();
  const auto node_wall = wall_ - 1h;  // its clock is an hour behind
  spoken.say(encode(BytesHello{kBytesVersion, "a1", node_wall}) + encode(LogAsked{kLog}));
  spoken.say(encode(PieceHead{kLog, 0, 0, 2, node_wall - 5s, false}) + "x\n");
  spoken.say(encode(PieceHead{kLog, 2, 2, 2, node_wall + 5h, false}) + "y\n");
  run_until_quiet();
  const LogTimesReader times(times_path(server_.path_of(kLog).string()));
  EXPECT_EQ(times.after(0, 8), (std::vector<LogTime>{{to_us(wall_ - 5s), 2}, {to_us(wall_), 4}}));
}

TEST_F(BytesDoorTest, ANodeThatSaysNothingIsGone) {
  beat_ = 1ms;
  silence_ = 250ms;
  open();
  auto unspoken = dial();
  auto spoken = greeted();
  EXPECT_TRUE(eventually([&] { return spoken.ended() && unspoken.ended(); }));
  EXPECT_THAT(spoken.heard(), HasSubstr("\n")) << "the server said that it is there";
}

// ---- terminals ----

TEST_F(BytesDoorTest, ATerminalComesByAConnectionOfItsOwn) {
  const ProcessKey worker{JobId{7}, Generation{1}, 0};
  auto spoken = greeted();
  std::shared_ptr<ServerStream> terminal;
  door_->attach("gpu-3", worker, WorkerDoor::terminal,
                [&](auto told) { terminal = std::move(told.value()); });
  run_until_quiet();
  const auto heard = spoken.heard();
  const auto asked = std::get<DoorAsked>(*decode_server_line(heard.substr(0, heard.size() - 1)));
  EXPECT_EQ(asked.worker, worker);
  auto foreign = dial("gpu-4");
  EXPECT_THAT(answer(foreign, encode(TicketShown{asked.ticket})), HasSubstr("Nobody waits"));
  auto shown = dial();
  shown.say(encode(TicketShown{asked.ticket}) + "$ ");
  run_until_quiet();
  ASSERT_TRUE(terminal);
  Spoken client(io_, terminal);
  client.say("ls\n");
  run_until_quiet();
  EXPECT_EQ(client.heard(), "$ ");
  EXPECT_EQ(shown.heard(), "ls\n");
  auto again = dial();
  EXPECT_THAT(answer(again, encode(TicketShown{asked.ticket})), HasSubstr("Nobody waits"));
  shown.say("bye");
  run_until_quiet();
  shown.close();
  run_until_quiet();
  EXPECT_EQ(client.heard(), "bye");
  EXPECT_TRUE(client.ended());
}

TEST_F(BytesDoorTest, ATerminalThatCannotBeReachedIsSaidInASentence) {
  attach_within_ = 5ms;
  open();
  std::vector<std::string> said;
  const auto attach = [&](const char* node) {
    door_->attach(node, {JobId{7}, Generation{1}, 0}, WorkerDoor::terminal, [&](auto told) {
      EXPECT_EQ(told.error().code, ErrorCode::unavailable);
      said.push_back(told.error().message);
    });
    run_until_quiet();
  };
  attach("gpu-9");
  EXPECT_THAT(said.at(0), HasSubstr("'gpu-9' can't be reached: it isn't connected"));
  auto spoken = greeted();
  attach("gpu-3");
  const auto line = spoken.heard();
  const auto asked = std::get<DoorAsked>(*decode_server_line(line.substr(0, line.size() - 1)));
  answer(spoken, encode(NoDoor{asked.ticket, "nobody listens there"}));
  EXPECT_THAT(said.at(1), HasSubstr("nobody listens there"));
  attach("gpu-3");
  EXPECT_TRUE(eventually([&] { return said.size() == 3; }));
  EXPECT_THAT(said.at(2), HasSubstr("it doesn't answer"));
}

TEST_F(BytesDoorTest, ADoorIsAskedForAgainByANewerConnection) {
  auto older = greeted();
  bool attached = false;
  door_->attach("gpu-3", {JobId{7}, Generation{1}, 0}, WorkerDoor::stacks,
                [&](auto told) { attached = told.has_value(); });
  run_until_quiet();
  const auto asked = older.heard();
  auto newer = dial();
  newer.say(encode(BytesHello{kBytesVersion, "a1", wall_}));
  run_until_quiet();
  EXPECT_THAT(newer.heard(), HasSubstr(asked));
  const auto line = std::string_view(asked).substr(0, asked.size() - 1);
  EXPECT_EQ(std::get<DoorAsked>(*decode_server_line(line)).door, WorkerDoor::stacks);
  auto shown = dial();
  shown.say(encode(TicketShown{std::get<DoorAsked>(*decode_server_line(line)).ticket}));
  run_until_quiet();
  EXPECT_TRUE(attached);
}

TEST_F(BytesDoorTest, ACutNodesTerminalsEnd) {
  auto spoken = greeted();
  std::shared_ptr<ServerStream> terminal;
  door_->attach("gpu-3", {JobId{7}, Generation{1}, 0}, WorkerDoor::terminal,
                [&](auto told) { terminal = std::move(told.value()); });
  run_until_quiet();
  const auto line = spoken.heard();
  const auto asked = std::get<DoorAsked>(*decode_server_line(line.substr(0, line.size() - 1)));
  auto shown = dial();
  shown.say(encode(TicketShown{asked.ticket}));
  run_until_quiet();
  Spoken client(io_, terminal);
  door_->cut("gpu-3");
  run_until_quiet();
  EXPECT_TRUE(shown.ended());
  EXPECT_TRUE(client.ended());
}

}  // namespace
}  // namespace paceline
