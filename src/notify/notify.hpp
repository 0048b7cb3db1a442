// What the owner of a job asks to be told of it, and where: private to the owner, and stored mode 0600
// beside the journal, never in it.
//
//   auto to = parse_address("ada@lab.example");   // "mailto:ada@lab.example"
//   Notify notify{{*to}, {MessageKind::failed, MessageKind::final}};
#pragma once

#include <array>
#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"

namespace paceline {

enum class MessageKind {
  started,    // every worker runs, for the first time
  delivered,  // the deliver tier of its target was met
  final,      // the final tier was met
  ended,      // it is over, however it ended
  failed,     // it is over as FAILED or TIMEOUT
  requeued,   // it ran, was stopped or lost, and waits again
  stalled,    // it reported before, and has reported nothing for `stalled_after` of running
};

inline constexpr std::array kMessageKinds = {
    MessageKind::started, MessageKind::delivered, MessageKind::final,  MessageKind::ended,
    MessageKind::failed,  MessageKind::requeued,  MessageKind::stalled};

std::string_view to_string(MessageKind kind);  // as above
// Errors: invalid, with the kinds that there are.
Result<MessageKind> parse_message_kind(std::string_view text);

using MessageKinds = std::set<MessageKind>;

// Where only an address is given: all but started and requeued.
MessageKinds usual_kinds();

inline constexpr Duration kStalledAfter = std::chrono::minutes{30};
inline constexpr Duration kStalledAfterMax = std::chrono::hours{24 * 366};
inline constexpr std::size_t kAddressesMax = 8;
inline constexpr std::size_t kAddressBytesMax = 512;

struct Notify {
  std::vector<std::string> to;  // "mailto:…", "https://…", "http://…"; none: nothing is told
  MessageKinds on = usual_kinds();
  Duration stalled_after = kStalledAfter;

  friend bool operator==(const Notify&, const Notify&) = default;
};

// The address as it is kept: a mail address gets its "mailto:". Errors: invalid: it is neither a mail address
// of plain ASCII nor the address of a web hook, or holds what could end a line or begin a header.
Result<std::string> parse_address(std::string_view text);
bool is_mail(std::string_view address);

// Errors: invalid.
Result<void> validate(const Notify& notify);

}  // namespace paceline
