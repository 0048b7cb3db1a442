// The agent of a machine that lends its slots to the server of another one.
#pragma once

#include <memory>
#include <string>

#include "app/build.hpp"
#include "app/resident.hpp"
#include "base/result.hpp"
#include "cli/cli.hpp"

namespace paceline {

class AgentBox final : public Resident {
 public:
  // Takes the directory, finds the machine's slots, adopts what still trains, and joins the server
  // where that was asked for. Whether a server that it joined before is there, is not waited for.
  // Errors: conflict (another agent has the directory; it joined another server), invalid, forbidden
  // (its identity ran out), storage, and those of joining.
  static Result<std::unique_ptr<Resident>> open(const AgentOptions& options, const Build& build);
  ~AgentBox() override;

  [[nodiscard]] std::string greeting() const override;
  void run() override;
  [[nodiscard]] std::string farewell() const override;

 private:
  struct Impl;
  explicit AgentBox(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace paceline
