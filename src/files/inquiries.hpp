// Questions to a name service that may answer late or never: whoever asks waits for a moment at most, and comes
// back later for an answer that was not there in time.
//
//   Inquiries<std::uint32_t, std::optional<std::string>> names(find_name);
//   if (const auto name = names.answer(uid)) …     // nothing: nobody knows yet
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "files/inquiry.hpp"

namespace paceline {

// Of one kind, whose answers are outstanding or not fetched; of others nobody is asked.
inline constexpr std::size_t kInquiriesAtOnce = 64;
// What is waited for an answer; and so long while another one is outstanding.
inline constexpr std::chrono::milliseconds kInquiryMoment{250};
inline constexpr std::chrono::milliseconds kInquiryMomentMore{25};
// An answer that nobody fetched for so long tells of the past.
inline constexpr std::chrono::minutes kInquiryKept{1};

template <class Key, class Answer>
class Inquiries {
 public:
  using Find = std::function<Answer(const Key& key)>;

  // `find` is called on other threads, and what it works on is its own: it may outlive this.
  explicit Inquiries(Find find) : find_(std::move(find)) {}

  // Nothing: nobody knows yet. Who asks for an answer that is outstanding already doesn't wait.
  std::optional<Answer> answer(const Key& key) {
    const bool waits_for_others = drop_old_and_count_outstanding() > 0;
    auto asked = asked_.find(key);
    const bool is_asked = asked != asked_.end();
    if (!is_asked && asked_.size() >= kInquiriesAtOnce) return std::nullopt;
    if (!is_asked) asked = ask(key);
    auto dated = asked->second.answer(is_asked           ? std::chrono::milliseconds{0}
                                      : waits_for_others ? kInquiryMomentMore
                                                         : kInquiryMoment);
    if (!dated) return std::nullopt;
    asked_.erase(asked);
    return std::move(dated->answer);
  }

 private:
  using Steady = std::chrono::steady_clock;
  struct Dated {
    Answer answer;
    Steady::time_point at;
  };
  using Asked = std::map<Key, Inquiry<Dated>>;

  typename Asked::iterator ask(const Key& key) {
    return asked_.try_emplace(key,
                              [find = find_, key] {
                                return Dated{find(key), Steady::now()};
                              })
        .first;
  }

  std::size_t drop_old_and_count_outstanding() {
    const auto now = Steady::now();
    std::size_t outstanding = 0;
    for (auto each = asked_.begin(); each != asked_.end();) {
      const auto dated = each->second.answer();
      if (!dated) ++outstanding;
      const bool is_old = dated && now - dated->at > kInquiryKept;
      each = is_old ? asked_.erase(each) : std::next(each);
    }
    return outstanding;
  }

  Find find_;
  Asked asked_;
};

}  // namespace paceline
