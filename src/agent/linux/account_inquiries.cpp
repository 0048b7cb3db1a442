#include "agent/linux/account_inquiries.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

namespace paceline::agent {
namespace {

constexpr std::chrono::milliseconds kLookFirst{1};
constexpr std::chrono::milliseconds kLookMax{50};
constexpr std::chrono::seconds kLate{10};

}  // namespace

AccountInquiries::AccountInquiries(boost::asio::io_context& io, Find find)
    : find_(std::move(find)), look_(io) {}

bool AccountInquiries::is_asked(const std::string& user) const {
  return std::ranges::find(asked_, user, &Asked::user) != asked_.end();
}

void AccountInquiries::ask(const std::string& user, Answered answered) {
  auto asked = std::ranges::find(asked_, user, &Asked::user);
  if (asked == asked_.end()) asked = asked_.emplace(asked, user);
  asked->answered.push_back(std::move(answered));
  begin();
  look_after(kLookFirst);
}

void AccountInquiries::look_after(std::chrono::milliseconds wait) {
  wait_ = wait;
  look_.after(wait, [this] { look(); });
}

// Whoever is told may ask again.
void AccountInquiries::look() {
  std::vector<std::pair<FoundUid, std::vector<Answered>>> told;
  std::erase_if(asked_, [&](Asked& each) {
    const auto found = each.inquiry ? each.inquiry->answer() : std::nullopt;
    if (found) told.emplace_back(*found, std::move(each.answered));
    return found.has_value();
  });
  begin();
  warn_of_late();
  if (!asked_.empty()) look_after(std::min(2 * wait_, kLookMax));
  for (const auto& [found, answered] : told)
    for (const Answered& tell : answered) tell(found);
}

void AccountInquiries::begin() {
  std::size_t begun = 0;
  for (Asked& each : asked_) {
    if (begun++ == kInquiriesMax) return;
    if (each.inquiry) continue;
    each.since = Steady::now();
    each.inquiry.emplace([find = find_, user = each.user] { return find(user); });
  }
}

void AccountInquiries::warn_of_late() {
  const auto now = Steady::now();
  for (Asked& each : asked_) {
    if (!each.inquiry || each.late || now - each.since < kLate) continue;
    each.late = true;
    spdlog::warn(
        "The name service of this machine doesn't say whether there is an account '{}': "
        "what needs it waits ('getent passwd {}').",
        each.user, each.user);
  }
}

}  // namespace paceline::agent
