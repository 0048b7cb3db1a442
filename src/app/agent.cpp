#include "app/agent.hpp"

#include "app/agent_box.hpp"
#include "app/log.hpp"
#include "app/resident.hpp"
#include "wire/error_json.hpp"

namespace paceline {

int run_agent(const AgentOptions& options, const Build& build) {
  log_to_stderr(options.log_level);
  return reside({.detach = options.detach,
                 .log = options.directory + "/agent.log",
                 .open = [&] { return AgentBox::open(options, build); },
                 .exit_code = [](ErrorCode code) { return exit_code(code); }});
}

}  // namespace paceline
