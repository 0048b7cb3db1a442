// What the threads of a job's workers are in, at this moment.
#include <fmt/format.h>

#include <map>
#include <utility>

#include "api/context.hpp"
#include "api/worker_output.hpp"
#include "http/query.hpp"

namespace paceline {
namespace {

constexpr std::uint32_t kStacksRankMax = kLogRanksMax - 1;

struct AskedRank {
  std::int32_t rank = 0;
  std::string node;
  ProcessKey worker;
};

// The answer, once all workers have told.
class StacksPage : public std::enable_shared_from_this<StacksPage> {
 public:
  StacksPage(const Job& job, std::vector<AskedRank> asked, std::shared_ptr<Exchange> exchange)
      : job_(job.id),
        generation_(job.current->generation),
        asked_(std::move(asked)),
        exchange_(std::move(exchange)) {}

  void begin(WorkerOutput& output) {
    for (const AskedRank& each : asked_)
      output.stacks(each.worker,
                    [self = shared_from_this(), rank = each.rank](Result<std::string> told) {
                      self->take(rank, std::move(told));
                    });
  }

 private:
  void take(std::int32_t rank, Result<std::string> told) {
    told_.emplace(rank, std::move(told));
    if (told_.size() == asked_.size()) exchange_->reply({.body = text()});
  }

  [[nodiscard]] std::string text() const {
    JsonWriter json;
    json.begin_object().field("job", job_.value).field("generation", generation_.value);
    json.key("ranks").begin_array();
    for (const auto& [rank, node, _] : asked_) {
      json.begin_object().field("rank", rank).field("node", node);
      const auto& told = told_.at(rank);
      if (told)
        json.field("text", *told);
      else
        json.field("problem", told.error().message);
      json.end_object();
    }
    json.end_array().end_object();
    return json.take();
  }

  JobId job_;
  Generation generation_;
  std::vector<AskedRank> asked_;
  std::shared_ptr<Exchange> exchange_;
  std::map<std::int32_t, Result<std::string>> told_;  // by rank
};

Error does_not_run(const Job& job, std::optional<std::uint32_t> rank) {
  const auto id = job.id.value;
  return {ErrorCode::conflict,
          rank ? fmt::format("Rank {} of job {} does not run now.", *rank, id)
               : fmt::format("Job {} does not run now.", id),
          fmt::format("'paceline why {}' says how it is.", id), Retry::may_help};
}

Result<std::vector<AskedRank>> asked_of(const Job& job, std::optional<std::uint32_t> only,
                                        const State& state) {
  std::vector<AskedRank> asked;
  for (std::int32_t rank = 0; job.current && rank < job.current->size(); ++rank) {
    const Worker& worker = job.current->workers[static_cast<std::size_t>(rank)];
    if (worker.state != WorkerState::running || (only && *only != static_cast<std::uint32_t>(rank)))
      continue;
    asked.push_back({rank, state.nodes()[worker.seat.node.value].spec.name,
                     job.current->process(job.id, rank)});
  }
  if (asked.empty()) return fail(does_not_run(job, only));
  return asked;
}

void show_stacks(ApiContext& context, const std::shared_ptr<Exchange>& exchange) {
  const auto job = context.job(exchange->request());
  if (!job) return exchange->refuse(job.error());
  std::optional<std::uint32_t> rank;
  QueryReader query(exchange->request());
  query.whole("rank", rank, 0, kStacksRankMax);
  if (auto done = query.finish(); !done) return exchange->refuse(done.error());
  auto asked = asked_of(**job, rank, context.state());
  if (!asked) return exchange->refuse(asked.error());
  std::make_shared<StacksPage>(**job, std::move(*asked), exchange)->begin(*context.options.output);
}

}  // namespace

void add_stacks_route(Routes& routes, const SharedContext& context) {
  routes.add("GET", "/v1/jobs/{id}/stacks", Action::read_private,
             [context](const auto& exchange) { show_stacks(*context, exchange); });
}

}  // namespace paceline
