#include "policy/reservation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <span>

#include "estimate/remaining.hpp"

namespace paceline {
namespace {

constexpr int kHalvings = 6;  // of how many jobs have to leave: one too many costs little

// Reads whole numbers one after the other.
class Numbers {
 public:
  explicit Numbers(std::string_view text) : at_(text.data()), end_(text.data() + text.size()) {}

  template <class T>
  bool read(T& into, char after) {
    const auto [next, wrong] = std::from_chars(at_, end_, into);
    if (wrong != std::errc{}) return false;
    at_ = next;
    if (at_ != end_ && *at_ == after) {
      ++at_;
      return true;
    }
    return at_ == end_;
  }
  [[nodiscard]] bool over() const { return at_ == end_; }

 private:
  const char* at_;
  const char* end_;
};

// A running job, and when it is likely to be gone.
struct Leaving {
  bool unknown = false;
  Time at;  // where unknown, its start: of such jobs the one that began last leaves first
  JobId job;
  friend bool operator<(const Leaving& a, const Leaving& b) {
    if (a.unknown != b.unknown) return b.unknown;
    if (a.at != b.at) return a.unknown ? b.at < a.at : a.at < b.at;
    return a.job < b.job;
  }
};

Time began(const Job& job, Time now) {
  return job.current && job.current->started_at ? *job.current->started_at : now;
}

std::vector<JobId> leaving_in_order(const Draft& draft) {
  const auto& [state, now] = draft.snapshot();
  std::vector<Leaving> leaving;
  leaving.reserve(state.active().size());
  for (const QueueKey& key : state.active()) {
    const Job& job = state.job(key.job);
    const auto end = likely_end(state.nodes(), job, now);
    leaving.push_back({!end, end ? *end : began(job, now), job.id});
  }
  std::sort(leaving.begin(), leaving.end());
  std::vector<JobId> jobs;
  jobs.reserve(leaving.size());
  for (const Leaving& each : leaving) jobs.push_back(each.job);
  return jobs;
}

bool is_usable(const State& state, SlotId slot) {
  const Node* node = state.find_node(slot.node);
  return node != nullptr && node->up && slot.index < node->spec.slots.size() &&
         node->spec.slots[slot.index].usable;
}

void add_node(const State& state, NodeId node, std::vector<SlotId>& slots) {
  const auto count = static_cast<std::uint32_t>(state.find_node(node)->spec.slots.size());
  for (std::uint32_t index = 0; index < count; ++index) {
    if (is_usable(state, {node, index})) slots.push_back({node, index});
  }
}

}  // namespace

std::string Reservation::text() const {
  std::string text =
      fmt::format("{} {} {} {} {} ", job.value, workers, to_us(since), renewals, to_us(due));
  for (const SlotId slot : slots)
    fmt::format_to(std::back_inserter(text), "{}:{},", slot.node.value, slot.index);
  return text;
}

std::optional<Reservation> Reservation::parse(std::string_view text) {
  Reservation read;
  std::int64_t since = 0, due = 0;
  Numbers numbers(text);
  if (!numbers.read(read.job.value, ' ') || !numbers.read(read.workers, ' ') ||
      !numbers.read(since, ' ') || !numbers.read(read.renewals, ' ') || !numbers.read(due, ' '))
    return std::nullopt;
  read.since = time_from_us(since);
  read.due = time_from_us(due);
  while (!numbers.over()) {
    SlotId slot;
    if (!numbers.read(slot.node.value, ':') || !numbers.read(slot.index, ',')) return std::nullopt;
    read.slots.push_back(slot);
  }
  return read;
}

std::optional<Time> likely_end(const std::vector<Node>& nodes, const Job& job, Time now) {
  std::optional<Duration> left = remaining(nodes, job, now);
  if (job.spec->max_duration) {
    const bool runs = job.state == JobState::running || job.state == JobState::resizing;
    const Duration ran =
        job.ran + (runs && now > job.changed_at ? now - job.changed_at : Duration{});
    left = std::min(left.value_or(Duration::max()),
                    std::max(Duration::zero(), *job.spec->max_duration - ran));
  }
  if (!left) return std::nullopt;
  return now + *left;
}

Outlook outlook(const Draft& draft, const std::vector<SlotId>& slots) {
  const auto& [state, now] = draft.snapshot();
  Outlook look{0, now, {}, {}};
  std::optional<JobId> same;
  for (const SlotId slot : slots) {
    const auto holder = occupant(state.slot(slot));
    look.free += holder ? 0U : 1U;
    if (!holder || holder == same) continue;
    same = holder;
    const Job& job = state.job(*holder);
    const auto end = likely_end(state.nodes(), job, now);
    if (!end) look.youngest_unknown = std::max(look.youngest_unknown, began(job, now));
    const bool later = look.at && (!end || !look.last || *look.at < *end);
    if (!later) continue;
    look.at = end;
    look.last = holder;
  }
  return look;
}

std::optional<Reservation> reserve(const Draft& draft, const Job& job, std::int32_t workers,
                                   Keeps keeps) {
  const State& state = draft.snapshot().state;
  const std::vector<JobId> leaving = leaving_in_order(draft);
  const auto fit = [&](std::size_t count) {
    return draft.fit_without(job.id, workers, std::span(leaving).first(count));
  };
  std::size_t low = 0;
  std::int64_t slots = draft.free_for(job.id);
  for (; low < leaving.size() && slots < job.slots(workers); ++low)
    slots += static_cast<std::int64_t>(slots_left_by(state, state.job(leaving[low])).size());
  std::size_t high = low;
  auto seats = fit(high);
  while (!seats && high < leaving.size()) {
    low = high + 1;
    high = std::min(leaving.size(), std::max(2 * high, low));
    seats = fit(high);
  }
  if (!seats) return std::nullopt;
  for (int i = 0; i < kHalvings && low < high; ++i) {
    const std::size_t middle = (low + high) / 2;
    if (auto earlier = fit(middle)) {
      seats = std::move(earlier);
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  Reservation made{job.id, workers, draft.snapshot().now, 0, {}, {}};
  for (const Seat& seat : *seats) {
    if (keeps == Keeps::nodes || job.spec->exclusive)
      add_node(state, seat.node, made.slots);
    else
      for (const std::uint32_t index : seat.slots) made.slots.push_back({seat.node, index});
  }
  std::sort(made.slots.begin(), made.slots.end());
  made.slots.erase(std::unique(made.slots.begin(), made.slots.end()), made.slots.end());
  made.due = outlook(draft, made.slots).at.value_or(Time{});
  return made;
}

bool holds(const State& state, const Reservation& reservation) {
  return std::all_of(reservation.slots.begin(), reservation.slots.end(),
                     [&](SlotId slot) { return is_usable(state, slot); });
}

}  // namespace paceline
