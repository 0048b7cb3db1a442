// The resume audit: is a training that goes on where it was left?
//
// Each checkpoint holds a record of where the training stood, beside the state that is restored from it.
// After a start, or a resize in place, every rank's record of where it stands now is compared with that one.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "paceline/runtime.hpp"

namespace paceline::detail {

inline constexpr std::uint64_t kLossSteps = 5;      // the first after a resume, for its loss
inline constexpr double kLossJump = 2.0;            // times the loss before: more is told
inline constexpr std::size_t kResumeTextMax = 500;  // bytes, of what Paceline is told

// As Python's %g with so many digits.
inline std::string short_text(double value, int digits = 6) {
  char text[32];
  std::snprintf(text, sizeof text, "%.*g", digits, value);
  return text;
}

// The mean loss of the last ten steps or so.
class RecentLoss {
 public:
  void begin_step() {
    sum_ *= kDecay;
    count_ *= kDecay;
  }
  // The mean over so many of this rank's samples.
  void add(double loss, double count) {
    sum_ += loss * count;
    count_ += count;
  }
  // Of all ranks together; none where no loss was given. Every rank calls it.
  [[nodiscard]] std::optional<double> over_all(Group& group) const {
    std::array<double, 2> sums{sum_, count_};
    group.all_reduce(std::span<double>(sums), Op::sum);
    return sums[1] > 0 ? std::optional(sums[0] / sums[1]) : std::nullopt;
  }

 private:
  static constexpr double kDecay = 0.9;  // of what earlier steps count, from one step to the next

  double sum_ = 0, count_ = 0;
};

// Where a training stands, or stood.
struct Record {
  std::uint64_t step = 0, samples = 0;
  std::uint64_t epoch = 0, position = 0;     // in the data
  std::uint64_t order = 0;                   // a digest of the samples nearby
  std::uint64_t batch = 0;                   // samples of a global batch
  std::vector<std::vector<double>> rates{};  // of each optimizer's groups
  std::optional<double> loss{};

  [[nodiscard]] std::string packed() const {
    std::string bytes;
    for (const auto number : {step, samples, epoch, position, order, batch}) append(bytes, number);
    append(bytes, std::uint64_t{loss ? 1U : 0U});
    append(bytes, loss.value_or(0));
    for (const auto& each : rates) {
      append(bytes, std::uint64_t{each.size()});
      for (const auto rate : each) append(bytes, rate);
    }
    return bytes;
  }
  // REQUIRES: packed() made the bytes.
  static Record unpacked(const std::string& bytes) {
    Record record;
    std::size_t at = 0;
    for (auto* const each : {&record.step, &record.samples, &record.epoch, &record.position,
                             &record.order, &record.batch})
      *each = next<std::uint64_t>(bytes, at);
    const bool has_loss = next<std::uint64_t>(bytes, at) != 0;
    const auto loss = next<double>(bytes, at);
    if (has_loss) record.loss = loss;
    while (at < bytes.size()) {
      auto& rates = record.rates.emplace_back(next<std::uint64_t>(bytes, at));
      for (auto& each : rates) each = next<double>(bytes, at);
    }
    return record;
  }

 private:
  template <class Number>
  static void append(std::string& bytes, Number number) {
    bytes.append(reinterpret_cast<const char*>(&number), sizeof number);
  }
  template <class Number>
  static Number next(const std::string& bytes, std::size_t& at) {
    Number number{};
    std::memcpy(&number, bytes.data() + at, sizeof number);
    at += sizeof number;
    return number;
  }
};

inline std::string rates_text(const Record& record) {
  std::string text;
  for (const auto& optimizer : record.rates)
    for (const auto rate : optimizer) text += (text.empty() ? "" : ", ") + short_text(rate);
  return text.empty() ? "none" : text;
}

// A sentence without its end for each thing in which one of the ranks' records differs from `before`.
// `there`: where that was.
inline std::vector<std::string> differences(const Record& before,
                                            const std::vector<Record>& records,
                                            const std::string& there) {
  std::vector<std::string> found;
  const auto text = [](auto number) { return std::to_string(number); };
  // `same(now)`, `tell(now)`: of a record.
  const auto compare = [&](auto same, auto tell) {
    const auto other = std::find_if_not(records.begin(), records.end(), same);
    if (other == records.end()) return;
    const bool alone = std::any_of(records.begin(), records.end(), same);
    found.push_back((alone ? "on rank " + text(other - records.begin()) + " " : "") + tell(*other));
  };
  compare([&](const Record& now) { return now.step == before.step; },
          [&](const Record& now) {
            return "the training is at step " + text(now.step) + ", " + there + " it was at step " +
                   text(before.step);
          });
  compare([&](const Record& now) { return now.samples == before.samples; },
          [&](const Record& now) {
            return "the training has seen " + text(now.samples) + " samples, " + there +
                   " it had seen " + text(before.samples);
          });
  compare(
      [&](const Record& now) {
        return now.epoch == before.epoch && now.position == before.position;
      },
      [&](const Record& now) {
        return "the data go on at sample " + text(now.position) + " of epoch " + text(now.epoch) +
               ", " + there + " they were at sample " + text(before.position) + " of epoch " +
               text(before.epoch) + ": samples come twice or not at all";
      });
  compare([&](const Record& now) { return now.order == before.order; },
          [&](const Record& /*now*/) {
            return "the samples come in another order than " + there +
                   " (shuffle=?), so some come twice or not at all in this epoch";
          });
  compare([&](const Record& now) { return now.batch == before.batch; },
          [&](const Record& now) {
            return "a global batch has " + text(now.batch) + " samples, " + there + " it had " +
                   text(before.batch) + " samples";
          });
  compare([&](const Record& now) { return now.rates == before.rates; },
          [&](const Record& now) {
            return "the learning rates are " + rates_text(now) + ", " + there + " they were " +
                   rates_text(before) +
                   ": set them by job.steps(), and change none after job.checkpoint()";
          });
  return found;
}

// What an audit came to, as rank 0 tells it.
struct Finding {
  bool agrees = false;
  std::vector<std::string> lines{};  // of the log
  std::string text{};                // for Paceline
};

// Of one resume. Every rank makes the same calls.
class Audit {
 public:
  // `before`: where the training was left. `at`, `there`: where that was, after "resumed at step 12" and
  // in the middle of a sentence.
  Audit(Record before, std::string at, std::string there)
      : before_(std::move(before)), at_(std::move(at)), there_(std::move(there)) {}

  [[nodiscard]] bool compared() const { return compared_; }
  // Of what this rank, or another, has otherwise; nothing: all agrees so far.
  std::optional<Finding> compare(Group& group, const Record& now) {
    std::vector<Record> records;
    for (const auto& each : group.all_gather_bytes(now.packed(), "compares a resume"))
      records.push_back(Record::unpacked(each));
    compared_ = true;
    return differing(differences(before_, records, there_));
  }

  [[nodiscard]] bool is_due(std::uint64_t step) const {
    return compared_ && step >= before_.step + kLossSteps;
  }
  // The training has gone on for a while, with that RecentLoss since the resume. Nothing: there is no more
  // to tell.
  std::optional<Finding> conclude(Group& group, const RecentLoss& recent) {
    const auto loss = recent.over_all(group), before = before_.loss;
    const bool known = loss && before;
    if (known && *before > 0 && !(*loss <= *before * kLossJump))
      return differing({"the loss is " + short_text(*loss, 3) +
                        " in the first steps after the resume, " + short_text(*before, 3) + " " +
                        there_ + ": more than " + short_text(kLossJump) + " times as much"});
    if (!found_.empty()) return {};
    const auto text =
        "step " + std::to_string(before_.step) + " " + at_ +
        ": samples, data position, learning rate agree" +
        (known ? "; loss " + short_text(*loss, 3) + " (" + short_text(*before, 3) + " before)"
               : "");
    return Finding{true, {"resumed at " + text}, text.substr(0, kResumeTextMax)};
  }

 private:
  // With what was found before.
  std::optional<Finding> differing(const std::vector<std::string>& sentences) {
    if (sentences.empty()) return {};
    Finding finding;
    for (const auto& each : sentences) {
      finding.lines.push_back("resume audit: " + each + ".");
      found_ += (found_.empty() ? "" : "; ") + each;
    }
    finding.text = found_.substr(0, kResumeTextMax);
    return finding;
  }

  Record before_;
  std::string at_, there_, found_;
  bool compared_ = false;
};

}  // namespace paceline::detail
