#include "group.hpp"

#include <utility>

namespace paceline::runtime {

Group::Group(std::unique_ptr<Links> links) : links_(std::move(links)), collectives_(*links_) {}

Group::~Group() {
  bool waits = false;
  {
    const std::scoped_lock lock(mutex_);
    ends_ = true;
    waits = busy_ || !started_.empty();
  }
  if (waits) abort("it closed the group while an operation ran");
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

Outcome<void> Group::connect(std::span<const std::string> endpoints) {
  return form([&] { return links_->connect(endpoints); });
}

Outcome<void> Group::meet(const Venue& venue) {
  return form([&]() -> Outcome<void> {
    auto endpoints = links_->meet(venue);
    if (!endpoints) return fail(std::move(endpoints.error()));
    return links_->connect(*endpoints);
  });
}

Outcome<void> Group::form(const std::function<Outcome<void>()>& connect) {
  return alone([&]() -> Outcome<void> {
    auto done = connect();
    if (done) done = collectives_.begin();
    if (!done && done.error().cause != PACELINE_BAD_ARGUMENT)
      return fail(links_->break_off(std::move(done.error())));
    connected_ = done.has_value();
    return done;
  });
}

Outcome<void> Group::perform(const Operation& operation) {
  auto done = operation(collectives_);
  if (!done) return fail(links_->break_off(std::move(done.error())));
  return done;
}

Outcome<void> Group::run(const Operation& operation) {
  return alone([&] { return perform(operation); });
}

Outcome<void> Group::alone(const std::function<Outcome<void>()>& act) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !busy_ && started_.empty(); });
  busy_ = true;
  lock.unlock();
  auto done = act();
  lock.lock();
  busy_ = false;
  changed_.notify_all();
  return done;
}

std::uint64_t Group::start(Operation operation) {
  const std::scoped_lock lock(mutex_);
  const auto ticket = ++tickets_;
  results_[ticket] = std::nullopt;
  started_.push_back({ticket, std::move(operation)});
  if (!thread_.joinable()) thread_ = std::thread([this] { work(); });
  changed_.notify_all();
  return ticket;
}

std::optional<Outcome<void>> Group::wait(std::uint64_t ticket) {
  std::unique_lock lock(mutex_);
  const auto found = results_.find(ticket);
  if (found == results_.end()) return std::nullopt;
  changed_.wait(lock, [&] { return found->second.has_value(); });
  auto result = std::move(*found->second);
  results_.erase(found);
  return result;
}

void Group::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock,
                  [this] { return (!started_.empty() && !busy_) || (ends_ && started_.empty()); });
    if (started_.empty()) return;
    busy_ = true;
    const auto& [ticket, operation] = started_.front();
    lock.unlock();
    auto done = perform(operation);
    lock.lock();
    results_[ticket] = std::move(done);
    started_.pop_front();
    busy_ = false;
    changed_.notify_all();
  }
}

// What runs notices; if nothing does, the others are told here.
void Group::abort(std::string reason) {
  links_->abort(std::move(reason));
  std::unique_lock lock(mutex_);
  if (busy_ || !started_.empty()) return;
  if (auto known = links_->look(); !known) links_->break_off(std::move(known.error()));
}

}  // namespace paceline::runtime
