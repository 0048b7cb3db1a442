#include "sim/replay/replay.hpp"

#include <fmt/format.h>

#include <deque>
#include <span>
#include <vector>

#include "plan/apply.hpp"
#include "scheduler/controller.hpp"
#include "scheduler/room.hpp"
#include "sim/null_store.hpp"
#include "wire/entry_json.hpp"

namespace paceline::sim {
namespace {

constexpr std::uint32_t kManyNodes = 1'000'000, kManySlots = 1'000'000;

constexpr std::size_t kPage = 1'000;

// Its wall clock is as far ahead of the time line as the entries say.
class RecordedClock final : public Clock {
 public:
  Time now() override { return now_; }
  WallTime wall() override { return WallTime{(now_ + ahead_).time_since_epoch()}; }
  [[nodiscard]] const Boot* boot() const override { return boot_ ? &*boot_ : nullptr; }
  void set(Time now) { now_ = now; }
  void set(const ClockSet& set) {
    ahead_ += set.by;
    if (set.boot) boot_ = set.boot;
  }

 private:
  Time now_;
  Duration ahead_{};
  std::optional<Boot> boot_;
};

// Tells what it is told to.
class RecordedEngine final : public Engine {
 public:
  Observed observe() override { return std::exchange(news_, {}); }
  void committed() override {}
  void act(const State&, std::span<const JobId>) override {}
  void on_news(std::function<void()>) override {}
  void tell(Event event) { news_.events.push_back(std::move(event)); }

 private:
  Observed news_;
};

// Of a server, as it began.
struct Beginning {
  StateParts parts;
  Rules rules;                   // that it was given, where the journal had others
  std::vector<Progressed> said;  // by jobs, before the server ended that was there before
};

// What a server with that state wrote before its first step.
Beginning beginning_of(std::span<const Entry> recovered, StateParts parts) {
  Beginning beginning{std::move(parts), {}, {}};
  for (const Entry& entry : recovered) {
    const auto* event = std::get_if<Event>(&entry.body);
    if (event == nullptr) continue;
    if (const auto* set = std::get_if<RulesSet>(event)) beginning.rules = set->rules;
    if (const auto* said = std::get_if<Progressed>(event)) beginning.said.push_back(*said);
  }
  return beginning;
}

// Begins with a state and hands out what was appended.
class WrittenStore final : public NullStore {
 public:
  WrittenStore(StateParts parts, std::vector<Progressed> said)
      : parts_(std::move(parts)), said_(std::move(said)) {}
  Result<State> load() override { return State(std::move(parts_)); }
  Result<std::vector<Progressed>> unjournalled() override { return std::exchange(said_, {}); }
  Result<void> append(const Batch& batch) override {
    written_.insert(written_.end(), batch.entries.begin(), batch.entries.end());
    return {};
  }
  std::vector<Entry> take() { return std::exchange(written_, {}); }

 private:
  StateParts parts_;
  std::vector<Progressed> said_;
  std::vector<Entry> written_;
};

// `since`: from the end of the journal before to the server's beginning, as it is replayed.
Controller::Options options_of(const Began& began, const Rules& rules, Duration since) {
  Controller::Options options;
  options.build = began.build;
  options.fold_rules = began.rules;
  options.policy = began.policy;
  options.placement = began.placement;
  options.coalesce = began.coalesce;
  options.protects = began.protects;
  options.hear_out = began.hear_out - since;
  options.rules = rules;
  // What was taken may have been for nodes that were to come, and how many those were is in no entry.
  options.coming = [] { return ComingNodes{kManyNodes, kManySlots}; };
  return options;
}

// One server's life. What refuses a command that the journal holds is kept.
class Server {
 public:
  Server(const Began& began, Beginning beginning, Clock& clock, const PolicyRegistry& registry)
      : began_after_(clock.now() - beginning.parts.at),
        store_(std::move(beginning.parts), std::move(beginning.said)),
        controller_(store_, engine_, clock, registry,
                    options_of(began, beginning.rules, began_after_)) {
    launch_.command = {"replayed"};
    launch_.directory = "/";
  }

  Result<void> recover() { return controller_.recover(); }
  Result<void> step() { return controller_.step(); }
  std::vector<Entry> take_written() { return store_.take(); }
  std::string take_refusal() { return std::exchange(refusal_, {}); }

  void tell(const Event& event) { engine_.tell(event); }
  void submit(const JobSubmitted& event) {
    controller_.submit({event.spec, launch_, {}},
                       [this](const Result<JobId>& done) { keep_refusal(done); });
  }
  void request(const JobRequested& event) {
    controller_.request(event.job, event.request, event.by, hear());
  }
  void set_range(const RangeSet& event) {
    controller_.set_range(event.job, event.range, event.by, hear());
  }
  void drain(const NodeDrained& event) {
    controller_.drains().drain(name_of(event.node), event.order, event.by, hear());
  }
  void undrain(const NodeUndrained& event) {
    controller_.drains().undrain(name_of(event.node), event.by, hear());
  }
  void set_policy(const PolicySet& event, const std::map<std::string, std::string>& memo) {
    controller_.desk().set({event.name, event.parameters, memo}, event.by, hear());
  }
  void try_policy(const TrialBegan& event) {
    controller_.desk().try_out({event.name, event.parameters}, event.by, hear());
  }
  void end_trial(const TrialEnded& event) { controller_.desk().end_trial(event.by, hear()); }
  void load_policy(const PolicyLoaded& event) {
    if (event.text.empty()) return controller_.desk().forget(event.name, event.by, hear());
    controller_.desk().load(event.name, event.text, event.by, hear());
  }

 private:
  Duration began_after_;
  Done<void> hear() {
    return [this](const Result<void>& done) { keep_refusal(done); };
  }
  [[nodiscard]] std::string name_of(NodeId id) const {
    const Node* node = controller_.state().find_node(id);
    return node == nullptr ? std::string() : node->spec.name;
  }
  void keep_refusal(const auto& done) {
    if (!done && refusal_.empty()) refusal_ = "refused: " + done.error().message;
  }

  RecordedEngine engine_;
  WrittenStore store_;
  Controller controller_;
  LaunchSpec launch_;
  std::string refusal_;
};

// Gives a step's entries that came from outside to the server; its own are passed over.
class Feeder {
 public:
  Feeder(Server& server, std::uint64_t round) : server_(server), round_(round) {}

  void feed(std::span<const Entry> entries) {
    for (std::size_t i = 0; i < entries.size() && !decides(entries[i]); ++i) {
      next_ = i + 1 < entries.size() ? &entries[i + 1] : nullptr;
      if (const auto* event = std::get_if<Event>(&entries[i].body))
        std::visit([&](const auto& one) { give(one, *event); }, *event);
    }
  }

 private:
  // From here on the entries are the round's.
  [[nodiscard]] bool decides(const Entry& entry) const {
    if (const auto* plan = std::get_if<Plan>(&entry.body)) return plan->round != round_;
    return std::holds_alternative<PolicyFailed>(std::get<Event>(entry.body));
  }

  void give(const JobSubmitted& one, const Event&) { server_.submit(one); }
  void give(const JobRequested& one, const Event&) { server_.request(one); }
  void give(const RangeSet& one, const Event&) { server_.set_range(one); }
  void give(const NodeDrained& one, const Event&) { server_.drain(one); }
  void give(const NodeUndrained& one, const Event&) { server_.undrain(one); }
  void give(const DrainBegan&, const Event&) {}
  void give(const PolicyLoaded& one, const Event&) { server_.load_policy(one); }
  void give(const TrialBegan& one, const Event&) { server_.try_policy(one); }
  void give(const TrialEnded& one, const Event&) { server_.end_trial(one); }
  // What a policy is to remember is in a plan of no round after it.
  void give(const PolicySet& one, const Event&) {
    const auto* memo = next_ != nullptr ? std::get_if<Plan>(&next_->body) : nullptr;
    const bool given = memo != nullptr && memo->round == round_;
    server_.set_policy(one, given ? memo->memo : decltype(memo->memo)());
  }
  void give(const TimeLimitReached&, const Event&) {}
  void give(const ClockSet&, const Event&) {}
  void give(const PolicyFailed&, const Event&) {}
  void give(const auto&, const Event& event) { server_.tell(event); }

  Server& server_;
  std::uint64_t round_;
  const Entry* next_ = nullptr;
};

class Player {
 public:
  Player(Store& journal, const PolicyRegistry& registry) : journal_(journal), registry_(registry) {}

  Result<Replay> run() {
    for (;;) {
      auto step = next_step();
      if (!step) return fail(step.error());
      if (step->empty()) break;
      auto played = play(*step);
      if (!played) return fail(played.error());
      if (replay_.difference) return replay_;
    }
    if (server_) return replay_;
    return fail(ErrorCode::data, "No entry of the journal tells what its server decided by.",
                "Only journals of this version of Paceline and later ones can be replayed.");
  }

 private:
  // The entries of one step of the server: of one time. Empty: the end.
  Result<std::vector<Entry>> next_step() {
    std::vector<Entry> step;
    for (;;) {
      if (auto ok = look_ahead(); !ok) return fail(ok.error());
      if (ahead_.empty() || (!step.empty() && begins_step(ahead_.front(), step.back())))
        return step;
      step.push_back(std::move(ahead_.front()));
      ahead_.pop_front();
    }
  }

  static bool begins_step(const Entry& entry, const Entry& before) {
    return entry.at != before.at || entry.began || entry.quiet_round;
  }

  Result<void> look_ahead() {
    if (!ahead_.empty()) return {};
    auto page = journal_.entries(read_ + 1, kPage);
    if (!page) return fail(page.error());
    for (Entry& entry : *page) {
      if (read_ == 0 && entry.seq > 1) {
        return fail(ErrorCode::data,
                    fmt::format("The journal begins at entry {}: older ones were pruned, and "
                                "nothing can be held again without them.",
                                entry.seq),
                    "Name an export of it from before: 'paceline journal export'.");
      }
      if (entry.seq != ++read_) {
        return fail(ErrorCode::data, fmt::format("Entry {} of the journal is missing.", read_),
                    "Put back a whole copy of it.");
      }
      ahead_.push_back(std::move(entry));
    }
    return {};
  }

  Result<void> play(const std::vector<Entry>& step) {
    if (step.front().began) {
      if (auto ok = begin(step); !ok) return ok;
    }
    if (!server_) {
      set_wall(step);
      fold(step);
      replay_.folded += step.size();
      return {};
    }
    if (auto ok = look_ahead(); !ok) return ok;
    const bool last = ahead_.empty() || ahead_.front().began;
    auto written = held_again(step);
    if (!written) return fail(written.error());
    compare(step, *written, last);
    fold(step);
    return {};
  }

  // Servers that don't tell what they wrote before their first step wrote it in that step, as far as
  // is known.
  Result<void> begin(std::span<const Entry> step) {
    const Entry& first = step.front();
    const Began& began = *first.began;
    const auto recovered = step.first(std::min<std::size_t>(began.recovered, step.size()));
    if (auto placer = make_placer(began.placement); !placer) return fail(placer.error());
    clock_.set(first.quiet_round.value_or(first.at));
    server_.reset();
    auto patience = Patience::parse(began.patience);
    if (!patience) return fail(patience.error());
    patient_.emplace(registry_.with(*patience));
    server_.emplace(began, beginning_of(recovered, state_.parts()), clock_, *patient_);
    ++replay_.servers;
    return server_->recover();
  }

  // What the server writes where it wrote the step's entries. Recovering may have written some.
  Result<std::vector<Entry>> held_again(std::span<const Entry> step) {
    auto written = server_->take_written();
    // Not every server said how many there were; what they are is compared.
    if (step.front().began && !written.empty())
      written.front().began->recovered = step.front().began->recovered;
    if (step.front().quiet_round) {
      clock_.set(*step.front().quiet_round);
      if (auto ok = server_->step(); !ok) return fail(ok.error());
    }
    const auto more = [&] {
      for (Entry& entry : server_->take_written()) written.push_back(std::move(entry));
    };
    more();
    if (written.size() >= step.size()) return written;
    clock_.set(step.front().at);
    set_wall(step.subspan(written.size()));
    Feeder(*server_, state_.round()).feed(step.subspan(written.size()));
    if (auto ok = server_->step(); !ok) return fail(ok.error());
    more();
    return written;
  }

  void set_wall(std::span<const Entry> entries) {
    for (const Entry& entry : entries) {
      const auto* event = std::get_if<Event>(&entry.body);
      const auto* set = event != nullptr ? std::get_if<ClockSet>(event) : nullptr;
      if (set != nullptr) clock_.set(*set);
    }
  }

  // `last` of its server, which may not have lived to write more.
  void compare(std::span<const Entry> step, std::span<const Entry> written, bool last) {
    const std::string refusal = server_->take_refusal();
    for (std::size_t i = 0; i < step.size(); ++i) {
      const std::string recorded = entry_text(step[i]);
      const std::string replayed = i < written.size() ? entry_text(written[i]) : refusal;
      if (recorded != replayed) return differ(step[i].seq, step[i].at, recorded, replayed);
      ++replay_.replayed;
      replay_.plans += std::holds_alternative<Plan>(step[i].body) ? 1U : 0U;
    }
    for (const Entry& extra : written.subspan(step.size())) {
      if (!last) return differ(extra.seq, extra.at, "", entry_text(extra));
      replay_.unwritten += std::holds_alternative<Plan>(extra.body) ? 1U : 0U;
    }
  }

  void differ(std::uint64_t seq, Time at, std::string recorded, std::string replayed) {
    replay_.difference = {seq, at, std::move(recorded), std::move(replayed)};
  }

  void fold(std::span<const Entry> step) {
    for (const Entry& entry : step) apply(state_, entry);
  }

  Store& journal_;
  const PolicyRegistry& registry_;
  RecordedClock clock_;
  State state_;                            // of the recorded entries
  std::optional<PolicyRegistry> patient_;  // as the server's
  std::optional<Server> server_;
  std::deque<Entry> ahead_;
  std::uint64_t read_ = 0;
  Replay replay_;
};

}  // namespace

Result<Replay> replay(Store& journal, const PolicyRegistry& registry) {
  return Player(journal, registry).run();
}

}  // namespace paceline::sim
