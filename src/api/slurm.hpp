// What the API knows of the nodes that Slurm brings, whoever keeps them.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "model/job.hpp"
#include "model/principal.hpp"
#include "slurm/keeping.hpp"
#include "wire/json.hpp"
#include "wire/json_writer.hpp"

namespace paceline {

struct SlurmStatus {
  std::optional<PilotSettings> settings = {};  // nothing: it isn't connected
  bool leaving = false;
  bool proven = false;       // a node of Slurm's reached the server
  std::string problem = {};  // what stands in the way now, in a sentence or two; empty: nothing
  std::vector<KnownPilot> pilots = {};  // that are not over
};

// What leaving Slurm would cost now.
struct SlurmCost {
  std::size_t pilots = 0;
  std::vector<JobId> jobs = {};  // that are on their nodes
  double loses_slot_seconds = 0;
};

class SlurmDesk {
 public:
  virtual ~SlurmDesk() = default;

  [[nodiscard]] virtual SlurmStatus status() const = 0;
  // Asks Slurm whether it would, then keeps the settings in place of earlier ones. `done` is called
  // later. Errors: of validate() and NodeProvider; conflict: the server is root's, or asks already.
  virtual void connect(PilotSettings settings, std::function<void(Result<void>)> done) = 0;
  // Gives all pilots back once their jobs left them; again changes nothing. Errors: storage.
  virtual Result<void> disconnect(const Principal& by) = 0;
  [[nodiscard]] virtual SlurmCost cost() const = 0;
  // What Slurm has to do with a waiting job, in sentences.
  [[nodiscard]] virtual std::vector<std::string> why(const Job& job) const = 0;
};

// {"partition", "account", "nodes_max", …}, as keys of the object that is open.
void write_settings(JsonWriter& json, const PilotSettings& settings);
// From the object that is being read; what is absent stays. Errors of the reader.
void read_settings(ObjectReader& reader, PilotSettings& settings);

}  // namespace paceline
