// A host for tests: it keeps claims as a disk would, notes every action and lets the test say what
// is observed.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "agent/host.hpp"

namespace paceline::agent {

class NotingHost final : public Host {
 public:
  NodeSpec describe() override { return node; }
  std::string boot_id() override { return "boot-1"; }
  std::vector<Claim> claims() override {
    std::vector<Claim> all;
    for (const auto& [key, claim] : kept) all.push_back(claim);
    return all;
  }
  void perform(const Action& action) override {
    actions.push_back(action);
    if (const auto* start = std::get_if<Start>(&action)) {
      kept.try_emplace(start->worker.key,
                       Claim{start->worker.key, 0, {}, false, start->worker.slots});
    } else if (const auto* notice = std::get_if<GiveNotice>(&action)) {
      kept.at(notice->key).noticed = true;
    } else if (const auto* discard = std::get_if<Discard>(&action)) {
      kept.erase(discard->key);
    }
  }
  void stored(const ProcessKey& key, std::uint64_t report) override {
    stored_reports.emplace_back(key, report);
  }
  void on_observation(std::function<void(Observation)> handler) override {
    tell = std::move(handler);
  }

  // The claim's file says so, and the agent hears of it.
  void runs(const ProcessKey& key, std::int64_t pid) {
    kept.at(key).pid = pid;
    tell(WorkerRuns{key, pid});
  }
  void gone(const WorkerGone& end) {
    kept.at(end.key).gone = end;
    tell(end);
  }

  template <class Kind>
  [[nodiscard]] std::size_t count() const {
    return static_cast<std::size_t>(
        std::count_if(actions.begin(), actions.end(),
                      [](const Action& action) { return std::holds_alternative<Kind>(action); }));
  }

  NodeSpec node{"box", "10.0.0.1", "", 4, 0, std::vector<SlotSpec>(4)};
  std::map<ProcessKey, Claim> kept;
  std::vector<Action> actions;
  std::vector<std::pair<ProcessKey, std::uint64_t>> stored_reports;
  std::function<void(Observation)> tell;
};

}  // namespace paceline::agent
