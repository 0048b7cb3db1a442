// What serves the nodes that dial in: the API's routes hand it connections whose node is known by its
// certificate, and it takes them over. A node has one connection for words (sessions of frames,
// wire/agent_protocol.hpp), and beside it those for bytes, so that however many bytes are on their way,
// no word waits for them.
//
//   GET /v1/link    Upgrade: paceline-link    → AgentDoor::words(), tunnelled
//   GET /v1/bytes   Upgrade: paceline-bytes   → AgentDoor::bytes(), tunnelled
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "base/time.hpp"
#include "http/transport.hpp"
#include "joining/known_node.hpp"

namespace paceline {

// What is known of the connection of a node that dials in.
struct NodeConnection {
  bool connected = false;
  Time last_heard{};
  std::string version;  // of its program
};

class AgentDoor {
 public:
  virtual ~AgentDoor() = default;

  // The far end of a connection of this node, for Exchange::tunnel(). `version` is its program's
  // ("0.1.0"). Errors: conflict: another version, too far from the server's; another machine that
  // shows the same identity.
  virtual Result<std::shared_ptr<ServerStream>> words(const KnownNode& node,
                                                      std::string_view version) = 0;
  virtual Result<std::shared_ptr<ServerStream>> bytes(const KnownNode& node,
                                                      std::string_view version) = 0;
  // All connections of this node end now.
  virtual void cut(std::string_view node) = 0;
  // Nothing: it has not connected since the server started, or was cut off since.
  [[nodiscard]] virtual std::optional<NodeConnection> connection(std::string_view node) const = 0;
};

}  // namespace paceline
