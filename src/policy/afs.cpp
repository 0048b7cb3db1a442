#include "policy/afs.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "estimate/scaling.hpp"
#include "policy/pages.hpp"
#include "policy/shares.hpp"

namespace paceline {
namespace {

constexpr double kNone = -1;

// What one job's next step is worth, as the shorter and as the longer of two.
struct Worth {
  double as_shorter = kNone;
  double as_longer = kNone;
};

// "The first after i whose worth as the longer is above x" in logarithmic time.
class LongerTree {
 public:
  explicit LongerTree(std::size_t size) {
    while (width_ < size) width_ *= 2;
    most_.assign(2 * width_, kNone);
  }

  // For many at once; combine() makes the tree know them.
  void put(std::size_t i, double value) { most_[width_ + i] = value; }
  // REQUIRES: first < last.
  void combine(std::size_t first, std::size_t last) {
    std::size_t from = width_ + first, to = width_ + last - 1;
    while (from /= 2) {
      to /= 2;
      for (std::size_t node = from; node <= to; ++node)
        most_[node] = std::max(most_[2 * node], most_[2 * node + 1]);
    }
  }

  void set(std::size_t i, double value) {
    most_[i += width_] = value;
    while (i /= 2) {
      const double most = std::max(most_[2 * i], most_[2 * i + 1]);
      if (std::exchange(most_[i], most) == most) return;
    }
  }

  [[nodiscard]] std::optional<std::size_t> first_above(std::size_t from, double x) const {
    if (from >= width_) return std::nullopt;
    std::size_t node = width_ + from;
    while (!(most_[node] > x)) {
      while (node % 2 == 1) node /= 2;  // up from where nothing is to the right
      if (node == 0) return std::nullopt;
      ++node;
    }
    while (node < width_) {
      node *= 2;
      if (!(most_[node] > x)) ++node;
    }
    return node - width_;
  }

 private:
  std::size_t width_ = 1;
  std::vector<double> most_;
};

class ShareOut {
 public:
  explicit ShareOut(Shares& shares)
      : shares_(shares),
        contenders_(shares.contenders()),
        tree_(contenders_.size()),
        worth_(contenders_.size()),
        newest_(contenders_.size()) {
    scalings_.reserve(contenders_.size());
  }

  // Jobs that the order puts first (larger priorities), each such group with what those before left.
  // Those after it are worth nothing yet.
  void run() {
    for (std::size_t first = 0; first < contenders_.size();) {
      std::size_t last = first;
      while (last < contenders_.size() &&
             contenders_[last].key.first == contenders_[first].key.first)
        ++last;
      share_among(first, last);
      first = last;
    }
  }

 private:
  void share_among(std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) {
      scalings_.emplace_back(*contenders_[i].job);
      worth_[i] = worth_of(i);
      tree_.put(i, worth_[i].as_longer);
    }
    tree_.combine(first, last);
    while (shares_.left() > 0) {
      const auto best = leader(first);
      if (!best) break;
      const std::int32_t more = next(contenders_[*best]);
      if (contenders_[*best].slots(more) > shares_.left()) {
        forget(*best);
        continue;
      }
      shares_.take(contenders_[*best], contenders_[*best].workers + more);
      weigh(*best);
    }
  }

  static std::int32_t next(const Contender& contender) {
    return contender.workers == 0 ? contender.least : contender.step;
  }

  void weigh(std::size_t i) {
    worth_[i] = worth_of(i);
    tree_.set(i, worth_[i].as_longer);
  }

  Worth worth_of(std::size_t i) {
    const Contender& contender = contenders_[i];
    const std::int32_t more = next(contender);
    if (contender.workers + more > contender.most) return {};
    // A first step counts as the smallest size, whether the job waits or can't be resized: else
    // the two kinds would take turns.
    const std::int32_t step = contender.workers == 0 ? contender.job->range.min : more;
    const double now = speed(i, contender.workers);
    const double then = speed(i, contender.workers + step);
    const double gain = (then - now) / static_cast<double>(contender.slots(step));
    if (gain <= 0) return {};
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    const auto slots = static_cast<double>(contender.slots_per_worker);
    return {now > 0 ? gain * slots / now : kInfinity, gain * slots / then};
  }

  // What it gains by one step is mostly where the next one begins.
  double speed(std::size_t i, std::int32_t workers) {
    if (newest_[i].first != workers) newest_[i] = {workers, scalings_[i].speed(workers)};
    return newest_[i].second;
  }

  void forget(std::size_t i) {
    worth_[i] = {};
    tree_.set(i, kNone);
  }

  // From the shortest on, a job that beats the leader so far leads; of two without anything the
  // shorter keeps the lead, since nothing exceeds its infinite worth.
  std::optional<std::size_t> leader(std::size_t first) const {
    auto best = tree_.first_above(first, kNone);
    auto better = best;
    while (better) {
      best = better;
      better = tree_.first_above(*best + 1, worth_[*best].as_shorter);
    }
    return best;
  }

  Shares& shares_;
  std::vector<Contender>& contenders_;
  std::vector<Scaling> scalings_;
  LongerTree tree_;
  std::vector<Worth> worth_;
  std::vector<std::pair<std::int32_t, double>> newest_;  // size and speed that were asked for last
};

}  // namespace

PolicyInfo Afs::info() {
  return {.name = "afs",
          .summary = "Each slot to the job whose next worker shortens the mean completion most.",
          .text = policy_page("afs"),
          .elastic = true,
          .make = make_plain<Afs>,
          .preempts = true};
}

void Afs::decide(const Snapshot& snapshot, Draft& draft) const {
  Shares shares(snapshot, draft, kShortest, Sizes::smallest);
  shares.all_that_could_start();
  ShareOut(shares).run();
  settle(snapshot, draft,
         {.wishes = shares.wishes(),
          .precedence = "shortens the mean completion more",
          .rest = Rest{kShortest, Sizes::smallest, "jobs that shorten the mean completion more"}});
}

}  // namespace paceline
