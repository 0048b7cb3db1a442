// Which nodes have a job's logs, and whether they may send them: those that a worker of it was placed
// on. The state knows where a job's workers are, not where they were; so that is kept beside the logs,
// a line for each node in DIR/logs/<job>/nodes, written as a gang is formed there.
//
//   LogPlaces places(controller, dir, "box");
//   places.right("gpu-3", {JobId{7}, 0});
//   places.nodes(JobId{7});                  // {"gpu-3", "gpu-4"}
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "link/bytes_door.hpp"
#include "model/ids.hpp"
#include "model/job.hpp"
#include "scheduler/controller.hpp"

namespace paceline {

class LogPlaces {
 public:
  using Names = std::set<std::string, std::less<>>;

  // `directory`: the server's. `own_node`: the server's machine, whose workers write there
  // themselves; empty: there is none. REQUIRES: the controller has recovered, and outlives it.
  LogPlaces(Controller& controller, std::filesystem::path directory, std::string own_node);

  // What a node may do with a log. `later` while a worker of the server's own machine writes it.
  [[nodiscard]] LogRight right(std::string_view node, const LogName& log) const;
  // Of a job: the nodes, but the server's own, that its workers were placed on.
  [[nodiscard]] Names nodes(JobId job) const;
  // On which node this process runs; nothing: it is no worker of a gang now.
  [[nodiscard]] std::optional<std::string> node_of(const ProcessKey& process) const;
  [[nodiscard]] bool is_up(std::string_view node) const;
  [[nodiscard]] const std::string& own_node() const { return own_node_; }

 private:
  // Of a job that is not over.
  struct Place {
    Names nodes;                     // noted
    std::set<std::int32_t> written;  // numbers of the logs that the server's own machine writes now
  };

  void look(std::span<const JobId> touched);
  void look(const Job& job);
  void look(const Job& job, const Gang& gang, Place& place);
  void note(const Job& job, std::string_view node, Place& place);
  [[nodiscard]] std::filesystem::path file_of(JobId job) const;
  [[nodiscard]] Names noted(JobId job) const;

  Controller& controller_;
  std::filesystem::path directory_;
  std::string own_node_;
  std::map<JobId, Place> places_;
  std::shared_ptr<void> commits_;
};

}  // namespace paceline
