#include "api/access.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/check.hpp"

namespace paceline {
namespace {

struct Row {
  Action action;
  std::array<Whose, 4> whose;  // by role
  std::string_view refusal;    // told where it is nobody's
};

constexpr auto kNone = Whose::nobodys;
constexpr auto kOwn = Whose::own;
constexpr auto kAll = Whose::anybodys;

// clang-format off
constexpr std::array kTable = {
  //                          viewer user  operator admin
  Row{Action::see,          {kAll,  kAll, kAll,    kAll}, "Nothing here is shown to you."},
  Row{Action::read_private, {kNone, kOwn, kOwn,    kAll}, "You see what all may see, and nothing of jobs' insides."},
  Row{Action::submit,       {kNone, kOwn, kOwn,    kAll}, "You may look, but not submit jobs."},
  Row{Action::cancel,       {kNone, kOwn, kAll,    kAll}, "You may look, but not cancel jobs."},
  Row{Action::control,      {kNone, kOwn, kOwn,    kAll}, "You may look, but not change jobs."},
  Row{Action::attach,       {kNone, kOwn, kOwn,    kAll}, "You may look, but not use jobs' terminals."},
  Row{Action::set_rules,    {kNone, kNone, kAll,   kAll}, "The rules of a shared server are its operators' to set."},
  Row{Action::set_policy,   {kNone, kNone, kAll,   kAll}, "The policies of a shared server are its operators' to choose."},
  Row{Action::load_policy,  {kNone, kNone, kAll,   kAll}, "The policies of a shared server are its operators' to choose."},
  Row{Action::prune_journal, {kNone, kNone, kNone, kAll}, "The journal of a shared server is its administrators' to prune."},
  Row{Action::give_tokens,  {kNone, kNone, kNone,  kAll}, "Tokens for a shared server are its administrators' to give."},
  Row{Action::shut_down,    {kNone, kNone, kNone,  kAll}, "A shared server is its administrators' to end."},
};
// clang-format on

const Row& row(Action action) {
  const auto found = std::ranges::find(kTable, action, &Row::action);
  check(found != kTable.end(), "every action has its row");
  return *found;
}

}  // namespace

Whose whose(const Principal& principal, Action action) {
  auto most = Whose::nobodys;
  for (const auto role : principal.roles) {
    most = std::max(most, row(action).whose.at(static_cast<std::size_t>(role)));
  }
  return most;
}

Result<void> allowed(const Principal& principal, Action action) {
  if (whose(principal, action) != Whose::nobodys) return {};
  return fail(ErrorCode::forbidden, std::string(row(action).refusal),
              "Ask root, or whoever has a token with that role.");
}

Result<void> allowed(const Principal& principal, Action action, const Job& job) {
  if (auto any = allowed(principal, action); !any) return any;
  if (whose(principal, action) == Whose::anybodys || owns(principal, job)) return {};
  return fail(ErrorCode::forbidden,
              fmt::format("Job {} belongs to {}.", job.id.value, job.spec->user),
              "Only its owner and root may do that.");
}

bool owns(const Principal& principal, const Job& job) {
  return principal.uid && *principal.uid == job.spec->uid;
}

}  // namespace paceline
