// Makes the messages about jobs, from what the journal did to them, and puts them into the outbox: each once,
// over restarts and crashes, as what was told of a job becomes durable together with its messages, and what
// is to be told is seen in the state (messages/news.hpp).
//
//   Notifier notifier(state, store, std::move(outbox), options);
//   if (auto ok = notifier.begin(now); !ok) …        // before anything else happens to the state
//   notifier.take(entries, touched, now);             // of each durable batch, once it is folded
//   if (auto due = notifier.due()) …; notifier.step(now);
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "messages/outbox.hpp"
#include "messages/text.hpp"
#include "model/limits.hpp"
#include "store/store.hpp"

namespace paceline {

// A web hook of the operator's: about jobs of these users, or of everybody.
struct OperatorHook {
  std::string to;
  MessageKinds on = usual_kinds();
  std::set<std::string> users = {};  // empty: everybody
};

inline constexpr std::size_t kOperatorMessagesMax = 10'000;  // that wait

class Notifier {
 public:
  struct Options {
    std::string server;  // the machine's name
    MailFrom from = {};
    std::vector<OperatorHook> hooks = {};
    Limits limits = {};
    std::function<std::string(const Job&)> reason;  // to its owner, a sentence
  };

  // REQUIRES: state and store outlive it.
  Notifier(const State& state, Store& store, std::unique_ptr<MessageOutbox> outbox,
           Options options);

  // Makes what was missed, if anything was; of the time before the outbox was made, nothing. Errors: storage, data.
  Result<void> begin(Time now);
  void take(std::span<const Entry> entries, std::span<const JobId> touched, Time now);
  [[nodiscard]] std::optional<Time> due() const;
  void step(Time now);

  // Called when there are new messages.
  void on_new(std::function<void()> call) { on_new_ = std::move(call); }
  [[nodiscard]] OutboxSums sums(JobId job) { return outbox_->sums(job); }

 private:
  // One who is told of a job.
  struct Recipient {
    const std::string& to;
    const MessageKinds& on;
    Duration stalled_after;
    Time since;
    Sender sender;

    [[nodiscard]] Audience audience() const {
      return sender ? Audience::owner : Audience::operator_;
    }
  };

  [[nodiscard]] std::vector<Recipient> recipients(const Job& job) const;
  void learn(JobId from);
  void look(const Job& job, Time now);
  void tell(const Job& job, const News& news, Time now);
  [[nodiscard]] std::vector<News> stalls(const Job& job) const;
  void watch_for_stall(const Job& job, Time now);
  void take_out_of_line(JobId job);
  void forget(JobId job);
  [[nodiscard]] bool may_make(const Job& job, Sender sender, Time now);
  [[nodiscard]] Outgoing made(const Job& job, const News& news, const Recipient& to,
                              Time now) const;
  void keep(Time now);

  const State& state_;
  Store& store_;
  std::unique_ptr<MessageOutbox> outbox_;
  Options options_;
  std::function<void()> on_new_ = [] {};
  Time begun_, heard_from_;
  std::vector<Time> hooks_since_;  // of the operator's hooks
  std::map<JobId, Notify> asked_;
  std::map<JobId, Told> told_;
  std::map<JobId, Time> stalls_;           // when each is looked at next
  std::set<std::pair<Time, JobId>> line_;  // the same in order
  OutboxBatch batch_;                      // not kept yet
  std::map<Sender, std::uint64_t> in_batch_;
  std::optional<Time> retry_at_;
  std::map<Sender, Time> warned_;
};

}  // namespace paceline
