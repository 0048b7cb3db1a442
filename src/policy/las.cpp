#include "policy/las.hpp"

#include "policy/attained_service.hpp"
#include "policy/parameters.hpp"
#include "policy/shares.hpp"

namespace paceline {

Result<LasParameters> read_las(const Parameters& parameters) {
  LasParameters read;
  ParameterReader reader(parameters);
  reader.whole("queues", read.queues, 1, 16).real("threshold", read.threshold, 1e-3, 1e12);
  if (auto ok = reader.real("promote", read.promote, 0, 1e6).finish(); !ok) return fail(ok.error());
  return read;
}

Result<std::unique_ptr<Policy>> Las::make(const Parameters& parameters) {
  auto read = read_las(parameters);
  if (!read) return fail(read.error());
  return std::make_unique<Las>(*read);
}

void Las::decide(const Snapshot& snapshot, Draft& draft) const {
  if (snapshot.state.waiting().empty()) return;
  AttainedService service(snapshot, draft, parameters_);
  Shares shares(snapshot, draft, service.order(), Sizes::wanted);
  shares.all_in_order(service.running(), service.apart());
  settle(snapshot, draft, shares.wishes(), {Owed::no, "had less service"});
  fill(snapshot, draft, service.order(), Sizes::wanted);
  service.revisit();
  say_why_waiting(snapshot, draft, Sizes::wanted, "jobs that had less service");
}

}  // namespace paceline
