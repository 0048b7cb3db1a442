#include "cli/words/units.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <string>

namespace paceline {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

TEST(ParseDuration, ReadsUnits) {
  EXPECT_EQ(parse_duration("90s"), Duration(seconds{90}));
  EXPECT_EQ(parse_duration("10m"), Duration(minutes{10}));
  EXPECT_EQ(parse_span("10m"), Duration(minutes{10}));
  EXPECT_EQ(parse_span("0s"), Duration::zero());
  EXPECT_FALSE(parse_duration("0s"));
  EXPECT_EQ(parse_duration("2h"), Duration(hours{2}));
  EXPECT_EQ(parse_duration("1d"), Duration(hours{24}));
  EXPECT_EQ(parse_duration("1w"), Duration(hours{168}));
  EXPECT_EQ(parse_duration("1h30m"), Duration(minutes{90}));
  EXPECT_EQ(parse_duration("1.5h"), Duration(minutes{90}));
  EXPECT_EQ(parse_duration("500ms"), Duration(milliseconds{500}));
}

TEST(ParseDuration, RefusesEverythingElse) {
  for (const auto* text : {"", "90", "h", "-1h", "+1h", "1h30", "1 h", "1H", "1y", "1..5h", "0s",
                           "1e3s", "999999999999d", "inf", "1h-30m", "h1"}) {
    EXPECT_FALSE(parse_duration(text)) << text;
  }
  EXPECT_EQ(parse_duration("90").error().message, "'90' is not a duration with its unit.");
  EXPECT_EQ(parse_duration("90").error().hint, "Write 90s, 10m, 2h, 1d or 1h30m.");
}

TEST(ParseBytes, ReadsUnits) {
  EXPECT_EQ(parse_bytes("512M"), 512ULL << 20);
  EXPECT_EQ(parse_bytes("8G"), 8ULL << 30);
  EXPECT_EQ(parse_bytes("8GiB"), 8ULL << 30);
  EXPECT_EQ(parse_bytes("8GB"), 8'000'000'000ULL);
  EXPECT_EQ(parse_bytes("1.5T"), 3ULL << 39);
  EXPECT_EQ(parse_bytes("100B"), 100ULL);
}

TEST(ParseBytes, RefusesEverythingElse) {
  for (const auto* text :
       {"", "8", "G", "-8G", "8 G", "8g", "8Gib", "0G", "0.1B", "99999999999T", "8G8"}) {
    EXPECT_FALSE(parse_bytes(text)) << text;
  }
}

TEST(ParseWhole, KeepsItsBounds) {
  EXPECT_EQ(parse_whole("100", {0, 100}), 100);
  for (const auto* text : {"", "101", "-1", "1.0", "1 ", " 1", "0x1", "99999999999999999999"}) {
    EXPECT_FALSE(parse_whole(text, {0, 100})) << text;
  }
  EXPECT_EQ(parse_whole("ten", {0, 100}).error().message,
            "'ten' is not a whole number from 0 to 100.");
}

TEST(ParseSignal, ReadsNamesAndNumbers) {
  EXPECT_EQ(parse_signal("SIGTERM"), 15);
  EXPECT_EQ(parse_signal("usr1"), 10);
  EXPECT_EQ(parse_signal("sigusr2"), 12);
  EXPECT_EQ(parse_signal("2"), 2);
  for (const auto* text : {"", "SIG", "FOO", "0", "65", "-1"})
    EXPECT_FALSE(parse_signal(text)) << text;
}

TEST(ParseExpect, ReadsLengthsAndSamples) {
  EXPECT_EQ(parse_expect("2h")->duration, Duration(hours{2}));
  EXPECT_EQ(parse_expect("60000 samples")->samples, 60000U);
  EXPECT_EQ(parse_expect("1sample")->samples, 1U);
  for (const auto* text : {"", "60000", "0 samples", "samples", "-5 samples", "5 epochs"}) {
    EXPECT_FALSE(parse_expect(text)) << text;
  }
}

TEST(ParseDeadline, ReadsPointsInTime) {
  const WallTime now = wall_from_us(1'000'000);
  const auto at = [&](std::string_view text) {
    return to_seconds(parse_deadline(text, now).value());
  };
  EXPECT_EQ(at("+2h"), 7201.0);
  EXPECT_EQ(at("2025-11-20T18:00:00Z"), 1763661600.0);
  EXPECT_EQ(at("2025-11-20 19:00:00+01:00"), 1763661600.0);
  EXPECT_EQ(at("2025-11-20t12:30:00.125-05:30"), 1763661600.0);
  EXPECT_EQ(at("2024-02-29T00:00:00z"), 1709164800.0);
}

TEST(ParseDeadline, RefusesEverythingElse) {
  const WallTime now = wall_from_us(1'763'661'600'000'000);
  for (const auto* text :
       {"", "+", "+2", "tomorrow", "2025-11-20", "2026-11-20T18:00:00", "2026-02-29T00:00:00Z",
        "2026-13-01T00:00:00Z", "2026-11-20T24:00:00Z", "2026-11-20T18:00:00+24:00",
        "2026-11-20T18:00:00.Z", "2026-11-20T18:00:00Zz"}) {
    EXPECT_FALSE(parse_deadline(text, now)) << text;
  }
  EXPECT_EQ(parse_deadline("2025-11-20T18:00:00Z", now).error().message,
            "'2025-11-20T18:00:00Z' is over.");
}

TEST(ParseId, ReadsPositiveNumbers) {
  EXPECT_EQ(parse_id("7"), 7U);
  for (const auto* text : {"", "0", "-7", "7a", "4294967296"}) EXPECT_FALSE(parse_id(text)) << text;
}

RC_GTEST_PROP(ParseDuration, ReadsBackWhatItsWordsSay, ()) {
  const auto h = *rc::gen::inRange(0, 1000);
  const auto m = *rc::gen::inRange(0, 60);
  const auto s = *rc::gen::inRange(1, 60);
  const auto text = std::to_string(h) + "h" + std::to_string(m) + "m" + std::to_string(s) + "s";
  RC_ASSERT(parse_duration(text) == Duration(hours{h} + minutes{m} + seconds{s}));
}

RC_GTEST_PROP(Units, AreReadOrRefusedWhateverTheyAre, ()) {
  using namespace std::string_literals;
  const auto alphabet = "0123456789.smhdwGMKTiB +-:TZe\0\xff"s;
  const auto text = *rc::gen::container<std::string>(rc::gen::elementOf(alphabet));
  if (const auto duration = parse_duration(text)) RC_ASSERT(*duration > Duration{});
  if (const auto bytes = parse_bytes(text)) RC_ASSERT(*bytes > 0U);
  if (const auto at = parse_deadline(text, WallTime{})) RC_ASSERT(*at > WallTime{});
  if (const auto cores = parse_cores(text)) RC_ASSERT(std::isfinite(*cores));
  (void)parse_expect(text);
  (void)parse_signal(text);
  (void)parse_id(text);
}

}  // namespace
}  // namespace paceline
