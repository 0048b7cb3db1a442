#include "app/up.hpp"

#include "app/box.hpp"
#include "app/log.hpp"
#include "app/move_in.hpp"
#include "app/resident.hpp"

namespace paceline {
namespace {

constexpr int kExitDirectory = 73;
constexpr int kExitData = 78;

int exit_code_of(ErrorCode code) {
  if (code == ErrorCode::data) return kExitData;
  if (code == ErrorCode::invalid) return 64;
  if (code == ErrorCode::not_found) return 66;
  return kExitDirectory;
}

}  // namespace

int up(const UpOptions& options, const Build& build) {
  log_to_stderr(options.log_level);
  const Residence residence{.detach = options.detach,
                            .log = options.directory + "/server.log",
                            .open = [&] { return Box::open(options, build); },
                            .exit_code = exit_code_of};
  if (auto moved = move_in(options); !moved) return complain(residence, moved.error());
  return reside(residence);
}

}  // namespace paceline
