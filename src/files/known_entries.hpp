// What the name service of this machine says of its users, kept for a while: whoever asks waits for a moment at
// most (inquiries.hpp). Where it doesn't answer, what was known before goes on.
//
//   KnownEntries<std::string, Login> logins(find_login, {});
//   const auto login = logins.of("ann", now);
//   if (!login) return fail(login.error());     // nobody knows now
//   if (!*login) …                              // there is no such account
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <map>
#include <optional>
#include <utility>

#include "base/result.hpp"
#include "base/time.hpp"
#include "files/inquiries.hpp"

namespace paceline {

inline constexpr std::size_t kEntriesMax = 1'024;  // that are known at once

// Who can't be looked up now.
inline Error silent_name_service() {
  return {ErrorCode::unavailable, "The name service of this machine doesn't answer.",
          "Try again in a moment. Its administrator sees with 'getent passwd' whether it does.",
          Retry::may_help};
}

template <class Key, class Entry>
class KnownEntries {
 public:
  using Found = std::optional<Entry>;
  using Find = typename Inquiries<Key, Found>::Find;

  enum class Gone { at_once, never };  // what was found, and isn't any more
  struct Rules {
    Duration found_holds = std::chrono::minutes{1};
    Duration none_holds = std::chrono::seconds{1};
    Gone gone = Gone::at_once;
  };

  // `find` is called on other threads, and what it works on is its own: it may outlive this.
  KnownEntries(Find find, Rules rules) : inquiries_(std::move(find)), rules_(rules) {}

  // Errors: unavailable (may_help): nobody knows now.
  Result<Found> of(const Key& key, Time now) {
    const auto before = known_.find(key);
    const bool is_known = before != known_.end();
    if (is_known && now < before->second.until) return before->second.found;
    auto found = inquiries_.answer(key);
    if (!found && !is_known) return fail(silent_name_service());
    if (!found) return before->second.found;
    const Time until = now + (*found ? rules_.found_holds : rules_.none_holds);
    if (is_known && !*found && rules_.gone == Gone::never) found = before->second.found;
    if (!is_known) make_room();
    return known_.insert_or_assign(key, Known{std::move(*found), until}).first->second.found;
  }

 private:
  struct Known {
    Found found;
    Time until;
  };

  void make_room() {
    if (known_.size() < kEntriesMax) return;
    known_.erase(
        std::ranges::min_element(known_, {}, [](const auto& each) { return each.second.until; }));
  }

  Inquiries<Key, Found> inquiries_;
  Rules rules_;
  std::map<Key, Known> known_;
};

}  // namespace paceline
