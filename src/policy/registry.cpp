#include "policy/registry.hpp"

#include <fmt/format.h>

#include "base/nearest.hpp"
#include "policy/elastic_fifo.hpp"
#include "policy/fifo.hpp"
#include "policy/round_robin.hpp"

namespace paceline {
namespace {

template <class P>
Result<std::unique_ptr<Policy>> make_plain(const Parameters&) {
  return std::make_unique<P>();
}

constexpr std::string_view kFifoText =
    "fifo: jobs start in arrival order; the head of the line blocks those behind it.\n"
    "Larger priority first, then who came first. Each job starts with the workers it wants; sizes never change.\n"
    "Source: the FIFO of Schedulearn (2023), with a queue and leased slots.\n"
    "Needs: nothing. Parameters: none.\n";

constexpr std::string_view kElasticFifoText =
    "elastic-fifo: everybody trains, then every slot is used.\n"
    "Minimum sizes in arrival order (a job whose minimum doesn't fit is passed over), then the rest is spread one worker\n"
    "at a time, never over a maximum. Running jobs shrink towards their share so that a waiting one can start, and grow when\n"
    "slots are free and the growth gains more than it costs. Nobody who runs is stopped.\n"
    "Source: Elastic-FIFO of Voda (2023), without its two defects.\n"
    "Needs: jobs that acknowledge checkpoints; others keep their size. Parameters: none.\n";

constexpr std::string_view kRoundRobinText =
    "round-robin: nodes take turns, full ones are skipped.\n"
    "A job goes whole to the next node with room for it; one larger than any node is spread over as few as possible.\n"
    "Arrival order, the head of the line blocks; sizes never change.\n"
    "Source: Schedulearn (2023).\n"
    "Needs: nothing. Parameters: none.\n";

}  // namespace

PolicyRegistry::PolicyRegistry()
    : policies_{
          {"fifo", "Arrival order at the wanted size; the head of the line blocks.", kFifoText, false, {}, make_plain<Fifo>},
          {"elastic-fifo", "Minimum sizes in arrival order, then the rest spread one worker at a time.", kElasticFifoText,
           true, {}, make_plain<ElasticFifo>},
          {"round-robin", "Nodes take turns; full ones are skipped.", kRoundRobinText, false, {}, make_plain<RoundRobin>},
      } {}

Result<const PolicyInfo*> PolicyRegistry::find(std::string_view name) const {
  std::vector<std::string_view> names;
  for (const auto& info : policies_) {
    if (info.name == name) return &info;
    names.push_back(info.name);
  }
  const auto near = nearest(name, names);
  return fail(ErrorCode::not_found, fmt::format("There is no policy '{}'.", name),
              near ? fmt::format("Did you mean '{}'? 'paceline policy list' shows all.", *near)
                   : "'paceline policy list' shows all.");
}

Result<std::unique_ptr<Policy>> PolicyRegistry::make(std::string_view name, const Parameters& parameters) const {
  auto info = find(name);
  if (!info) return fail(info.error());
  Parameters filled = (*info)->defaults;
  for (const auto& [key, value] : parameters) {
    if (!filled.contains(key)) {
      return fail(ErrorCode::invalid, fmt::format("The policy {} has no parameter '{}'.", name, key),
                  fmt::format("'paceline policy show {}' names its parameters.", name));
    }
    filled[key] = value;
  }
  return (*info)->make(filled);
}

}  // namespace paceline
