// What must hold of machines that join, watched from outside: it hears what people did, what the server
// answered, and what came of whom to the engine.
//
//   - nobody joins by an invitation that is used up, over or revoked; no number of a node's identity is
//     given twice, and no name to two machines
//   - what a node says that was removed, or by an identity that is not its newest, is heard by nobody
//   - no two machines speak as one node while both are there
//   - whoever is a node is not refused; and is asked for a new certificate before the old one runs out
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "faults/scene.hpp"
#include "joining/node_book.hpp"

namespace paceline::faults {

class NodeWatch {
 public:
  explicit NodeWatch(Scene& scene) : scene_(scene) {}

  // ---- what people did ----
  void invited(const std::string& token, std::uint32_t uses, WallTime until);
  void revoked(const std::string& token);
  // The server said so.
  void removed(const std::string& node);
  // Nobody knows whether it is.
  void removal_in_doubt(const std::string& node);

  // ---- what the server did ----
  // `servers`: its time.
  void joined(const std::string& token, const Newcomer& as, std::uint64_t serial, WallTime servers);
  // By its book, somebody who showed this.
  void refused(const std::string& node, std::uint64_t serial);
  // The machine may speak as the node; `another_is_there`: and so does another one.
  void greeted(const std::string& node, std::string_view machine, bool another_is_there);
  // What it says came to the engine.
  void heard(const std::string& node, std::uint64_t serial);

 private:
  struct Token {
    std::uint32_t uses = 0;
    WallTime until{};
    bool revoked = false;
    std::set<std::pair<std::string, std::string>> by;  // name and key of those who joined by it
  };
  struct Held {
    std::uint64_t serial = 0;  // the newest
    std::string key;
    bool removed = false, in_doubt = false;
  };

  void wrong(std::string what);

  Scene& scene_;
  std::map<std::string, Token> tokens_;
  std::map<std::string, Held> nodes_;
};

}  // namespace paceline::faults
