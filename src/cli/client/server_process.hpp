// The process of a server, to be waited for: its answer that it stops comes before its end, and until
// then nobody else can begin on its directory.
//
//   const ServerProcess process(socket);   // before it is asked to stop
//   …
//   process.wait(std::chrono::minutes{1});
#pragma once

#include <chrono>
#include <string>

#include "files/fd.hpp"

namespace paceline {

class ServerProcess {
 public:
  // Which listens at that socket. One that can't be seen from here (another container's) is not waited
  // for.
  explicit ServerProcess(const std::string& socket);

  // False: it is still there.
  [[nodiscard]] bool wait(std::chrono::milliseconds most) const;

 private:
  UniqueFd process_;
};

}  // namespace paceline
