#include "api/foreign_looks.hpp"

#include <fmt/format.h>

#include "base/utf8.hpp"
#include "model/job_spec.hpp"

namespace paceline {

void ForeignLooks::note(const Principal& by, const Job& job, Action action, Time now) {
  const bool looks = action == Action::read_private || action == Action::attach;
  if (!looks || owns(by, job)) return;
  const auto is_old = [&](Time told) { return now - told >= kAgainAfter; };
  if (is_old(swept_)) {
    std::erase_if(told_, [&](const auto& look) { return is_old(look.second); });
    swept_ = now;
  }
  const auto user =
      by.user.empty() && by.uid ? fmt::format("Account {}", *by.uid) : printable(by.user);
  const auto [told, first] = told_.try_emplace({user, job.id, action}, now);
  if (!first && !is_old(told->second)) return;
  told->second = now;
  say_(fmt::format("{} {} job {} of {}.", user,
                   action == Action::attach ? "attaches to" : "looks into", job.id.value,
                   printable(job.spec->user)));
}

}  // namespace paceline
