// Puts the copy of a checkpoint that the server keeps where its job looks for it, with the rights of the job's
// user and no others. What stands there is replaced as a whole.
//
//   if (!lies_there(path, ship, uid)) …       // have it brought and unpacked
//   lay_checkpoint({unpacked, path, uid});
//
// May block for as long as the user's file system does.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.hpp"

namespace paceline::agent {

// Is what lies at `path` just what the ship holds?
bool lies_there(const std::string& path, const std::string& ship, std::uint32_t uid);

struct Laying {
  std::string
      from;  // a directory of the user's that holds the checkpoint under its name, and goes then
  std::string path;  // absolute: where it is to lie
  std::uint32_t uid = 0;
};
// Errors: storage, forbidden: with what the system says.
Result<void> lay_checkpoint(const Laying& laying);

}  // namespace paceline::agent
