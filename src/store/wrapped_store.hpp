// A store that passes everything on to another one; a derived class overrides what it changes.
#pragma once

#include "store/store.hpp"

namespace paceline {

class WrappedStore : public Store {
 public:
  explicit WrappedStore(Store& inner) : inner_(inner) {}

  Result<State> load() override { return inner_.load(); }
  Result<void> append(const Batch& batch) override { return inner_.append(batch); }
  Result<void> checkpoint(const State& state, std::span<const JobId> changed) override {
    return inner_.checkpoint(state, changed);
  }
  Result<void> prove() override { return inner_.prove(); }
  Result<std::vector<Entry>> entries(std::uint64_t seq, std::size_t limit) override {
    return inner_.entries(seq, limit);
  }
  Result<std::uint64_t> first_entry() override { return inner_.first_entry(); }
  Result<std::vector<Job>> forgotten(JobId from, std::size_t limit) override {
    return inner_.forgotten(from, limit);
  }
  Result<std::vector<Progressed>> unjournalled() override { return inner_.unjournalled(); }
  Result<LaunchSpec> launch(JobId job) override { return inner_.launch(job); }
  Result<std::vector<std::pair<JobId, Notify>>> notify(JobId from) override {
    return inner_.notify(from);
  }
  Result<std::uint64_t> newest_report(const ProcessKey& process) override {
    return inner_.newest_report(process);
  }
  Result<std::uint64_t> passed_over(JobId job) override { return inner_.passed_over(job); }
  Result<PointPage> points(JobId job, std::string_view name, std::uint64_t from,
                           std::size_t limit) override {
    return inner_.points(job, name, from, limit);
  }
  Result<std::optional<JobId>> find_submission(std::uint32_t uid, std::string_view key,
                                               Time now) override {
    return inner_.find_submission(uid, key, now);
  }
  Result<std::optional<EndedJob>> first_ended(Kept kept) override {
    return inner_.first_ended(kept);
  }
  Result<bool> thin(JobId job) override { return inner_.thin(job); }
  Result<bool> drop(JobId job, Time now) override { return inner_.drop(job, now); }
  Result<std::optional<Remains>> remains(JobId job) override { return inner_.remains(job); }
  Result<bool> tidy(const JournalBounds& bounds) override { return inner_.tidy(bounds); }
  Result<Pruned> prune(std::uint64_t before) override { return inner_.prune(before); }

 protected:
  Store& inner_;
};

}  // namespace paceline
