// Where a server asks for the stacks of a worker (worker_stacks.hpp): a unix socket of the agent's own
// user. A client writes the worker's name as its claim has it ("7.1.0"), ends the line, and reads text
// until the end.
#pragma once

#include <boost/asio/io_context.hpp>
#include <functional>
#include <memory>
#include <string>

#include "agent/linux/worker_stacks.hpp"
#include "base/result.hpp"
#include "model/ids.hpp"

namespace paceline::agent {

class StacksDoor {
 public:
  // False: no such worker runs here.
  using Collect = std::function<bool(const ProcessKey& worker, WorkerStacks::Told told)>;
  static constexpr std::size_t kClientsMax = 64;

  // Errors: conflict, storage. REQUIRES: `io` outlives it.
  static Result<std::unique_ptr<StacksDoor>> open(boost::asio::io_context& io,
                                                  const std::string& path, Collect collect);
  ~StacksDoor();
  StacksDoor(const StacksDoor&) = delete;
  StacksDoor& operator=(const StacksDoor&) = delete;

 private:
  struct Impl;
  explicit StacksDoor(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<Impl> impl_;
};

}  // namespace paceline::agent
