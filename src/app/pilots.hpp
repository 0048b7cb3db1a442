// Slurm is asked on a thread of its own, now and then; what follows from its answer (pilots/pilot_keeper.hpp)
// is done on the loop's. Nothing but the settings is kept beside that, in DIR/slurm, so a server that starts
// anew goes on.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/api.hpp"
#include "api/book_file.hpp"
#include "api/slurm.hpp"
#include "clock/clock.hpp"
#include "loop/errand.hpp"
#include "loop/timer.hpp"
#include "pilots/pilot_keeper.hpp"
#include "slurm/provider.hpp"

namespace paceline {

class Pilots final : public SlurmDesk {
 public:
  struct Options {
    std::filesystem::path directory;  // the server's
    std::string program;              // path of paceline, as nodes have it
    std::uint32_t uid = 0;            // the server's
    RemoteAccess remote;              // REQUIRES: machines may join
  };

  // Reads what is kept. `io`, `clock` and `controller` outlive it. Errors: those of BookFile.
  static Result<std::unique_ptr<Pilots>> open(boost::asio::io_context& io, Clock& clock,
                                              Controller& controller,
                                              std::unique_ptr<NodeProvider> provider,
                                              Options options);

  [[nodiscard]] SlurmStatus status() const override;
  void connect(PilotSettings settings, std::function<void(Result<void>)> done) override;
  Result<void> disconnect(const Principal& by) override;
  // Nodes that may still be asked for beside those that are there.
  [[nodiscard]] ComingNodes coming() const { return keeper_.coming(); }
  [[nodiscard]] SlurmCost cost() const override;
  [[nodiscard]] std::vector<std::string> why(const Job& job) const override {
    return keeper_.why(job);
  }

 private:
  Pilots(boost::asio::io_context& io, Clock& clock, Controller& controller,
         std::unique_ptr<NodeProvider> provider, Options options);

  Result<void> read(const Json& json);
  Result<void> keep(const std::optional<PilotSettings>& settings, bool leaving,
                    std::uint32_t since);
  void settle_connect(const PilotSettings& settings, const Result<bool>& proven,
                      const std::function<void(Result<void>)>& done);

  void look_in(Duration span);
  void look();
  void take(const Result<std::vector<Pilot>>& listed);
  void send(std::vector<PilotKeeper::Request> requests);
  void hear(const std::vector<PilotKeeper::Answer>& answers);

  Controller& controller_;
  std::unique_ptr<NodeProvider> provider_;
  Options options_;
  BookFile file_;
  std::string server_;  // by which its pilots are called
  PilotKeeper keeper_;
  Timer timer_;
  Errand errand_, connecting_;
};

}  // namespace paceline
