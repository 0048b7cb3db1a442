// One worker's course as a server hears of it from an agent, whatever host that stands on:
//
//   {"runs", "exited with 0"}    {"the node is held back", "refused"}    {"failed to start"}
#pragma once

#include <string>
#include <vector>

#include "agent/agent.hpp"

namespace paceline::conformance {

using Course = std::vector<std::string>;
std::string to_text(const Course& course);

// A server's end made by hand: asks, answers at once that all it heard is stored, and keeps what it
// heard of one worker until that is over.
class ServerByHand {
 public:
  explicit ServerByHand(const ProcessKey& worker) : worker_(worker) {}

  // The agent of the machine, or one that comes in the place of the last.
  void connect(agent::Agent& agent);
  void say(ServerMessage message);
  void step(Time now);

  [[nodiscard]] const Course& course() const { return course_; }
  [[nodiscard]] bool runs() const { return runs_; }
  [[nodiscard]] bool over() const { return over_; }
  [[nodiscard]] bool runs_or_over() const { return runs_ || over_; }
  // The last message of the worker's end.
  [[nodiscard]] const std::string& message() const { return message_; }

 private:
  void hear(const AgentMessage& message);
  void hear_running();
  void hear_node(const NodeSpec& node);

  ProcessKey worker_;
  agent::Agent* agent_ = nullptr;
  std::vector<AgentFrame> frames_;
  Session session_;
  std::uint64_t number_ = 0, taken_ = 0;
  Course course_;
  std::string message_;
  bool runs_ = false, over_ = false, held_back_ = false;
};

}  // namespace paceline::conformance
