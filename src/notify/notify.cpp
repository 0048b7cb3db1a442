#include "notify/notify.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/utf8.hpp"

namespace paceline {
namespace {

constexpr std::string_view kMail = "mailto:";
constexpr std::array<std::string_view, 7> kKindWords = {"started", "delivered", "final",  "ended",
                                                        "failed",  "requeued",  "stalled"};

tl::unexpected<Error> no_address(std::string_view what) {
  return fail(ErrorCode::invalid, fmt::format("That is no address for messages: {}.", what),
              "Write ada@lab.example or mailto:ada@lab.example, or https://hooks.lab.example/ID.");
}

bool is_letter_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool consists_of(std::string_view text, std::string_view besides) {
  return !text.empty() && std::ranges::all_of(text, [&](char c) {
    return is_letter_or_digit(c) || besides.find(c) != std::string_view::npos;
  });
}

// No "?subject=", no "%0a", no quotes: nothing that a mailer could take for more than one address.
bool is_mailbox(std::string_view text) {
  const auto at = text.find('@');
  if (at == std::string_view::npos || at > 64) return false;
  const auto domain = text.substr(at + 1);
  return consists_of(text.substr(0, at), "._+=-") && !text.starts_with('-') &&
         consists_of(domain, ".-") && !domain.starts_with('.') && !domain.starts_with('-');
}

// Printable ASCII without what means something to a shell's or a configuration file's quotes.
bool is_hook(std::string_view text) {
  const auto scheme = text.find("://");
  const auto host = text.substr(scheme + 3);
  const auto end = std::min(host.find_first_of("/?#"), host.size());
  if (end == 0) return false;
  return std::ranges::all_of(host, [](char c) {
    return c > 0x20 && c < 0x7F &&
           std::string_view("\"\\'`<>{}|^").find(c) == std::string_view::npos;
  });
}

}  // namespace

std::string_view to_string(MessageKind kind) {
  return kKindWords.at(static_cast<std::size_t>(kind));
}

Result<MessageKind> parse_message_kind(std::string_view text) {
  for (const auto kind : kMessageKinds)
    if (to_string(kind) == text) return kind;
  return fail(ErrorCode::invalid,
              fmt::format("There are no messages '{}'.", printable(text.substr(0, 64))),
              "There are started, delivered, final, ended, failed, requeued and stalled.");
}

MessageKinds usual_kinds() {
  return {MessageKind::delivered, MessageKind::final, MessageKind::ended, MessageKind::failed,
          MessageKind::stalled};
}

bool is_mail(std::string_view address) { return address.starts_with(kMail); }

Result<std::string> parse_address(std::string_view text) {
  if (text.size() > kAddressBytesMax) return no_address("it is too long");
  if (text.starts_with("https://") || text.starts_with("http://")) {
    if (is_hook(text)) return std::string(text);
    return no_address("it has no host, or a character that must be written as %XX");
  }
  const auto mailbox = is_mail(text) ? text.substr(kMail.size()) : text;
  if (is_mailbox(mailbox)) return std::string(kMail).append(mailbox);
  return no_address("it is neither one mail address nor a web hook");
}

Result<void> validate(const Notify& notify) {
  if (notify.to.size() > kAddressesMax) {
    return fail(ErrorCode::invalid,
                fmt::format("A job has at most {} addresses for messages.", kAddressesMax),
                "Name a mailing list.");
  }
  for (const auto& address : notify.to) {
    const auto parsed = parse_address(address);
    if (!parsed) return fail(parsed.error());
    if (*parsed != address) return no_address("it has no 'mailto:' in front");
  }
  if (notify.stalled_after >= std::chrono::seconds{1} && notify.stalled_after <= kStalledAfterMax)
    return {};
  return fail(ErrorCode::invalid, "A job is stalled after one second to 366 days without a report.",
              "Write 30m, or 2h.");
}

}  // namespace paceline
