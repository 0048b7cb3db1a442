#include "app/agent.hpp"

#include "app/agent_box.hpp"
#include "app/guest.hpp"
#include "app/log.hpp"
#include "app/resident.hpp"
#include "wire/error_json.hpp"

namespace paceline {

int run_agent(const AgentOptions& options, const Build& build) {
  log_to_stderr(options.log_level);
  const Residence residence{.detach = options.detach,
                            .log = options.directory + "/agent.log",
                            .open = [&] { return AgentBox::open(options, build); },
                            .exit_code = [](ErrorCode code) { return exit_code(code); }};
  if (!options.guest) return reside(residence);
  const auto code = run_as_guest(options.directory, [&] { return reside(residence); });
  return code ? *code : complain(residence, code.error());
}

}  // namespace paceline
