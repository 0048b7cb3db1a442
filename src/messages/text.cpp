#include "messages/text.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>

#include "base/utf8.hpp"
#include "wire/json_writer.hpp"

namespace paceline {
namespace {

constexpr std::size_t kReasonBytesMax = 1'024;
constexpr std::size_t kBase64Line = 76;
constexpr std::size_t kEncodedWordBytes = 45;  // of text, which make 60 characters

std::string shortened(std::string text, std::size_t bytes_max) {
  if (text.size() <= bytes_max) return text;
  text.resize(bytes_max);
  text.resize(text.size() - utf8_unfinished(text));
  return text + "…";
}

std::string base64(std::string_view text) {
  constexpr std::string_view kLetters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (std::size_t at = 0; at < text.size(); at += 3) {
    const auto byte = [&](std::size_t i) {
      return at + i < text.size() ? std::uint32_t{static_cast<unsigned char>(text[at + i])} : 0;
    };
    const std::uint32_t bits = byte(0) << 16 | byte(1) << 8 | byte(2);
    for (std::size_t i = 0; i < 4; ++i)
      out += i > text.size() - at ? '=' : kLetters[bits >> (18 - 6 * i) & 63];
  }
  return out;
}

bool is_plain(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c >= 0x20 && c < 0x7F; }) &&
         text.find("=?") == std::string_view::npos && text.size() <= 2 * kBase64Line;
}

std::optional<double> value_of(const Telling& telling) {
  const auto& target = telling.job.spec->target;
  if (!target || !telling.job.progress) return std::nullopt;
  const auto found = telling.job.progress->metrics.find(target->metric);
  if (found == telling.job.progress->metrics.end()) return std::nullopt;
  return found->second;
}

std::string target_text(const Telling& telling) {
  const auto& target = telling.job.spec->target;
  const auto value = value_of(telling);
  if (!target) return {};
  return value ? fmt::format(": {} is {:g}", target->metric, *value) : ": " + target->metric;
}

// What happened, behind the job's name.
std::string what_of(const Telling& telling) {
  const auto because = [&](std::string_view what) {
    if (telling.reason.empty()) return std::string(what);
    return fmt::format("{}: {}", what, telling.reason);
  };
  switch (telling.news.kind) {
    case MessageKind::started:
      return fmt::format("runs with {} worker{}", telling.job.workers(),
                         telling.job.workers() == 1 ? "" : "s");
    case MessageKind::delivered:
      return "is good enough to deliver" + target_text(telling);
    case MessageKind::final:
      return "met its target" + target_text(telling);
    case MessageKind::ended:
      return telling.job.state == JobState::cancelled ? "was cancelled" : "is done";
    case MessageKind::failed:
      return because(telling.job.state == JobState::timeout ? "ran out of time" : "failed");
    case MessageKind::requeued:
      return because("waits again");
    case MessageKind::stalled:
      break;
  }
  return "has stalled: it runs and reports nothing";
}

void write_target(JsonWriter& json, const Telling& telling) {
  const auto& target = telling.job.spec->target;
  if (!target) return static_cast<void>(json.null_field("target"));
  json.key("target").begin_object().field("metric", target->metric);
  json.field("direction", to_string(target->direction)).field("deliver", target->deliver);
  json.field("final", target->final).end_object();
}

std::string body_text(const Telling& telling) {
  const Job& job = telling.job;
  std::string text = headline(telling) + "\n\n";
  text += fmt::format("state:  {}\n", to_string(job.state));
  text += fmt::format("user:   {}\n", printable(job.spec->user));
  if (job.spec->target)
    text += fmt::format("target: {}\n", printable(to_string(*job.spec->target)));
  text += fmt::format("server: {}\n\n", printable(telling.server));
  text +=
      fmt::format("More: paceline show {0}, paceline why {0}, paceline logs {0}\n", job.id.value);
  return text;
}

std::string domain_of(std::string_view address) {
  return std::string(address.substr(address.find('@') + 1));
}

}  // namespace

std::string headline(const Telling& telling) {
  const Job& job = telling.job;
  return printable(
      shortened(fmt::format("job {} ({}) {}", job.id.value, job.spec->name, what_of(telling)),
                kReasonBytesMax));
}

std::string hook_body(const Telling& telling) {
  const Job& job = telling.job;
  JsonWriter json;
  json.begin_object().field("version", 1).field("id", telling.id);
  json.field("kind", to_string(telling.news.kind)).field("text", headline(telling));
  json.field("server", telling.server).field("at", telling.at).key("job").begin_object();
  json.field("id", job.id.value).field("name", job.spec->name).field("user", job.spec->user);
  json.field("state", to_string(job.state));
  json.field("reason", printable(shortened(telling.reason, kReasonBytesMax)));
  write_target(json, telling);
  json.field("value", value_of(telling)).end_object().end_object();
  return json.take();
}

std::string mail_text(const Telling& telling, const MailFrom& from, std::string_view to) {
  std::string mail;
  const auto header = [&](std::string_view name, std::string_view value) {
    mail += fmt::format("{}: {}\r\n", name, value);
  };
  header("Date", mail_date(telling.at));
  header("From", fmt::format("Paceline <{}>", from.address));
  header("To", fmt::format("<{}>", to));
  header("Subject", header_text(headline(telling)));
  header("Message-ID", fmt::format("<{}@{}>", telling.id, domain_of(from.address)));
  header("Auto-Submitted", "auto-generated");
  header("X-Paceline-Message", telling.id);
  header("X-Paceline-Kind", to_string(telling.news.kind));
  header("MIME-Version", "1.0");
  header("Content-Type", "text/plain; charset=utf-8");
  header("Content-Transfer-Encoding", "base64");
  mail += "\r\n";
  const auto body = base64(body_text(telling));
  for (std::size_t at = 0; at < body.size(); at += kBase64Line)
    mail += body.substr(at, kBase64Line) + "\r\n";
  return mail;
}

// Code points stay whole in each encoded word.
std::string header_text(std::string_view text) {
  const std::string clean = printable(text);
  if (is_plain(clean)) return clean;
  std::string out;
  for (std::string_view rest = clean; !rest.empty();) {
    auto piece = rest.substr(0, kEncodedWordBytes);
    piece.remove_suffix(utf8_unfinished(piece));
    out += fmt::format("{}=?utf-8?B?{}?=", out.empty() ? "" : "\r\n ", base64(piece));
    rest.remove_prefix(piece.size());
  }
  return out;
}

std::string mail_date(WallTime at) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(at.time_since_epoch()).count();
  return fmt::format("{:%a, %d %b %Y %H:%M:%S} +0000",
                     fmt::gmtime(static_cast<std::time_t>(seconds)));
}

}  // namespace paceline
