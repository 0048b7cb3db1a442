// A store that keeps nothing: a simulation is over when its process is.
#pragma once

#include "store/store.hpp"

namespace paceline::sim {

class NullStore : public Store {
 public:
  Result<State> load() override { return State(); }
  Result<void> append(const Batch&) override { return {}; }
  Result<void> checkpoint(const State&, std::span<const JobId>) override { return {}; }
  Result<void> prove() override { return {}; }
  Result<std::vector<Entry>> entries(std::uint64_t, std::size_t) override {
    return std::vector<Entry>();
  }
  Result<std::uint64_t> first_entry() override { return 1; }
  Result<std::vector<Job>> forgotten(JobId, std::size_t) override { return std::vector<Job>(); }
  Result<std::vector<Progressed>> unjournalled() override { return std::vector<Progressed>(); }
  Result<LaunchSpec> launch(JobId) override { return LaunchSpec(); }
  Result<std::vector<std::pair<JobId, Notify>>> notify(JobId) override {
    return std::vector<std::pair<JobId, Notify>>();
  }
  Result<PointPage> points(JobId, std::string_view, std::uint64_t, std::size_t) override {
    return PointPage();
  }
  Result<std::uint64_t> passed_over(JobId) override { return 0; }
  Result<std::uint64_t> newest_report(const ProcessKey&) override { return 0; }
  Result<std::optional<JobId>> find_submission(std::uint32_t, std::string_view, Time) override {
    return std::nullopt;
  }
  Result<std::optional<EndedJob>> first_ended(Kept) override { return std::nullopt; }
  Result<bool> thin(JobId) override { return true; }
  Result<bool> drop(JobId, Time) override { return true; }
  Result<std::optional<Remains>> remains(JobId) override { return std::nullopt; }
  Result<bool> tidy(const JournalBounds&) override { return false; }
  Result<Pruned> prune(std::uint64_t) override { return Pruned(); }
};

}  // namespace paceline::sim
