// Removes files that nobody needs any more, on the chores' thread. What can't be removed now is tried
// again every second until it is gone: a claim that stays would be taken for an ended worker's by the
// next agent.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "files/chores.hpp"
#include "loop/timer.hpp"

namespace paceline::agent {

class FileRemover {
 public:
  // Both outlive it.
  FileRemover(boost::asio::io_context& io, Chores& chores);
  ~FileRemover();
  FileRemover(const FileRemover&) = delete;
  FileRemover& operator=(const FileRemover&) = delete;

  // One that is not there is fine.
  void remove(std::vector<std::string> files);

 private:
  struct Left;

  void try_again_soon();

  Chores& chores_;
  Timer again_;
  std::shared_ptr<Left> left_;  // a chore that hangs may outlive the remover
};

}  // namespace paceline::agent
