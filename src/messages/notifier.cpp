#include "messages/notifier.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/digest.hpp"

namespace paceline {
namespace {

constexpr Duration kRetry = std::chrono::seconds{5};
constexpr Duration kDay = std::chrono::hours{24};
constexpr std::size_t kBatchMax = 100'000;  // while the disk is full

// A hook that is asked for in other words is another one.
std::string key_of(const OperatorHook& hook) {
  Digest digest;
  digest.add(std::string_view(hook.to));
  for (const auto kind : hook.on) digest.add(to_string(kind));
  for (const auto& user : hook.users) digest.add(std::string_view(user));
  return fmt::format("{:016x}", digest.value());
}

// The numbers of one kind and job, of one server.
std::string id_of(std::string_view identity, const Job& job, const News& news) {
  auto id = fmt::format("{}-{}-{}", identity, job.id.value, to_string(news.kind));
  return news.number == 0 ? id : fmt::format("{}-{}", id, news.number);
}

}  // namespace

Notifier::Notifier(const State& state, Store& store, std::unique_ptr<MessageOutbox> outbox,
                   Options options)
    : state_(state), store_(store), outbox_(std::move(outbox)), options_(std::move(options)) {}

Result<void> Notifier::begin(Time now) {
  heard_from_ = now;
  const auto begun = outbox_->begun(now);
  if (!begun) return fail(begun.error());
  begun_ = *begun;
  std::vector<std::string> keys;
  for (const auto& hook : options_.hooks) keys.push_back(key_of(hook));
  auto since = outbox_->hooks_since(keys, now);
  if (!since) return fail(since.error());
  hooks_since_ = std::move(*since);
  auto told = outbox_->told();
  if (!told) return fail(told.error());
  told_ = std::move(*told);
  auto asked = store_.notify(JobId{1});
  if (!asked) return fail(asked.error());
  asked_.insert(asked->begin(), asked->end());
  for (const auto& [job, what] : told_)
    if (state_.find_job(job) == nullptr) batch_.forgotten.push_back(job);
  for (const JobId job : batch_.forgotten) told_.erase(job);
  if (options_.hooks.empty()) {
    for (const auto& [job, what] : asked_)
      if (const Job* known = state_.find_job(job)) look(*known, now);
  } else {
    for (const Job& job : state_.jobs()) look(job, now);
  }
  keep(now);
  return {};
}

void Notifier::take(std::span<const Entry> entries, std::span<const JobId> touched, Time now) {
  for (const Entry& entry : entries) {
    const auto* event = std::get_if<Event>(&entry.body);
    if (event == nullptr) continue;
    if (const auto* submitted = std::get_if<JobSubmitted>(event)) {
      learn(submitted->job);
      break;  // it and those after it
    }
  }
  for (const JobId id : touched)
    if (const Job* job = state_.find_job(id)) look(*job, now);
  for (const Entry& entry : entries) {
    if (const auto* left = forgotten_by(entry))
      std::ranges::for_each(left->jobs, [&](JobId job) { forget(job); });
  }
  if (!batch_.messages.empty() || !batch_.told.empty()) keep(now);
}

void Notifier::learn(JobId from) {
  auto asked = store_.notify(from);
  if (!asked) return spdlog::error("{} {}", asked.error().message, asked.error().hint);
  for (auto& [job, what] : *asked) asked_.insert_or_assign(job, std::move(what));
}

std::vector<Notifier::Recipient> Notifier::recipients(const Job& job) const {
  std::vector<Recipient> found;
  if (const auto asked = asked_.find(job.id); asked != asked_.end()) {
    for (const auto& to : asked->second.to)
      found.push_back({to, asked->second.on, asked->second.stalled_after, begun_, job.spec->uid});
  }
  for (std::size_t i = 0; i < options_.hooks.size(); ++i) {
    const auto& hook = options_.hooks[i];
    if (hook.users.empty() || hook.users.contains(job.spec->user))
      found.push_back({hook.to, hook.on, kStalledAfter, hooks_since_[i], Sender()});
  }
  return found;
}

void Notifier::look(const Job& job, Time now) {
  if (options_.hooks.empty() && !asked_.contains(job.id)) return;
  const auto told = told_.find(job.id);
  for (const News& news : news_of(job, told == told_.end() ? Told() : told->second))
    tell(job, news, now);
  watch_for_stall(job, now);
}

// What nobody wants to know is not noted down, either.
void Notifier::tell(const Job& job, const News& news, Time now) {
  bool wanted = false;
  for (const auto& to : recipients(job)) {
    if (!news.is_among(to.on) || news.at < to.since) continue;
    if (news.only && *news.only != to.audience()) continue;
    wanted = true;
    if (!may_make(job, to.sender, now)) continue;
    batch_.messages.push_back(made(job, news, to, now));
    ++in_batch_[to.sender];
  }
  if (!wanted) return;
  mark(told_[job.id], news);
  batch_.told.emplace_back(job.id, told_[job.id]);
}

// Each with their own span. The newest report may be known one progress-interval late.
std::vector<News> Notifier::stalls(const Job& job) const {
  const Duration late = std::chrono::seconds{options_.limits.progress_interval};
  const auto known = told_.find(job.id);
  const Told told = known == told_.end() ? Told() : known->second;
  std::vector<News> found;
  for (const auto& to : recipients(job)) {
    if (!to.on.contains(MessageKind::stalled)) continue;
    const auto stall = stall_of(job, told, to.audience(), to.stalled_after + late, heard_from_);
    if (stall && stall->at >= to.since && std::ranges::count(found, *stall) == 0)
      found.push_back(*stall);
  }
  return found;
}

void Notifier::watch_for_stall(const Job& job, Time now) {
  take_out_of_line(job.id);
  std::optional<Time> next;
  for (const News& stall : stalls(job)) {
    const Time at = std::max(stall.at, now);
    next = std::min(next.value_or(at), at);
  }
  if (!next) return;
  stalls_[job.id] = *next;
  line_.insert({*next, job.id});
}

void Notifier::take_out_of_line(JobId job) {
  const auto before = stalls_.find(job);
  if (before == stalls_.end()) return;
  line_.erase({before->second, job});
  stalls_.erase(before);
}

std::optional<Time> Notifier::due() const {
  std::optional<Time> at = retry_at_;
  if (!line_.empty()) at = std::min(at.value_or(line_.begin()->first), line_.begin()->first);
  return at;
}

void Notifier::step(Time now) {
  while (!line_.empty() && line_.begin()->first <= now) {
    const JobId id = line_.begin()->second;
    take_out_of_line(id);
    const Job* job = state_.find_job(id);
    if (job == nullptr) continue;
    for (const News& stall : stalls(*job))
      if (stall.at <= now) tell(*job, stall, now);
    watch_for_stall(*job, now);
  }
  if (!batch_.messages.empty() || !batch_.told.empty() || (retry_at_ && *retry_at_ <= now))
    keep(now);
}

void Notifier::forget(JobId job) {
  asked_.erase(job);
  take_out_of_line(job);
  if (told_.erase(job) > 0) batch_.forgotten.push_back(job);
}

// What is over a limit is not made, and counts as told.
bool Notifier::may_make(const Job& job, Sender sender, Time now) {
  const auto here = in_batch_[sender];
  const auto waiting = outbox_->waiting(sender) + here;
  const bool fits = sender ? waiting < options_.limits.waiting_messages_per_user &&
                                 outbox_->made_since(sender, now - kDay) + here <
                                     options_.limits.messages_per_user
                           : waiting < kOperatorMessagesMax;
  if (fits) return true;
  if (const auto before = warned_.find(sender);
      before == warned_.end() || now - before->second >= kDay) {
    warned_[sender] = now;
    spdlog::warn("Messages {} are left out: they are over a limit ('paceline limits').",
                 sender ? fmt::format("about jobs of {}", job.spec->user)
                        : std::string("to the operator's web hooks"));
  }
  return false;
}

Outgoing Notifier::made(const Job& job, const News& news, const Recipient& to, Time now) const {
  const bool mail = is_mail(to.to);
  Outgoing message{
      id_of(outbox_->identity(), job, news), to.to, job.id, news.kind, to.sender, now, {}, 0};
  const Telling telling{job,
                        news,
                        options_.reason(job),
                        options_.server,
                        message.id,
                        shown(state_.clock_marks(), news.at)};
  message.payload = mail ? mail_text(telling, options_.from, std::string_view(to.to).substr(7))
                         : hook_body(telling);
  return message;
}

// While the disk takes nothing they wait here.
void Notifier::keep(Time now) {
  retry_at_.reset();
  if (batch_.messages.empty() && batch_.told.empty() && batch_.forgotten.empty()) return;
  if (auto kept = outbox_->add(batch_); !kept) {
    spdlog::error("{} {}", kept.error().message, kept.error().hint);
    if (batch_.messages.size() > kBatchMax) batch_.messages.resize(kBatchMax);
    retry_at_ = now + kRetry;
    return;
  }
  const bool any = !batch_.messages.empty();
  batch_ = {};
  in_batch_.clear();
  if (any) on_new_();
}

}  // namespace paceline
