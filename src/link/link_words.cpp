#include "link/link_words.hpp"

#include <fmt/format.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "wire/error_json.hpp"
#include "wire/json.hpp"
#include "wire/json_writer.hpp"

namespace paceline {
namespace {

constexpr std::size_t kServerVersionMax = 64;
constexpr double kBeatMin = 0.01, kBeatMax = 60;  // seconds
constexpr std::string_view kRefusal = R"({"error":)";

}  // namespace

std::string encode(const LinkGreeting& greeting) {
  JsonWriter json;
  json.begin_object().field("session", greeting.session.value).field("version", greeting.version);
  json.field("beat_seconds", Duration(greeting.beat)).end_object();
  return json.take();
}

Result<LinkGreeting> decode_greeting(std::string_view line) {
  if (auto why = decode_refusal(line)) return fail(std::move(*why));
  const auto json = parse_json(line);
  if (!json) return fail(ErrorCode::data, "The server's greeting can't be read.");
  std::int64_t session = 0;
  double beat = 0;
  LinkGreeting greeting{};
  ObjectReader reader(*json, "the server's greeting");
  reader.require({"session", "version", "beat_seconds"})
      .whole("session", session, 1, std::numeric_limits<std::int64_t>::max())
      .text("version", greeting.version, kServerVersionMax)
      .real("beat_seconds", beat, kBeatMin, kBeatMax);
  if (auto read = reader.finish(); !read) return fail(ErrorCode::data, read.error().message);
  greeting.session = Session{static_cast<std::uint64_t>(session)};
  greeting.beat = std::chrono::round<std::chrono::milliseconds>(from_seconds(beat));
  return greeting;
}

Error no_frame(std::string_view speaker, const Error& why) {
  return {why.code, fmt::format("The {} said what is no frame: {}", speaker, why.message),
          "If both are of one version, this is a defect of Paceline.", Retry::useless};
}

std::string encode_refusal(const Error& why) { return error_body(why); }

std::optional<Error> decode_refusal(std::string_view line) {
  if (!line.starts_with(kRefusal)) return {};
  return read_error(line);
}

}  // namespace paceline
