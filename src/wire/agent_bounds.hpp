// What a server believes of an agent's word, whatever the agent is. Each bound is far beyond what a
// sound agent on a sound machine tells; docs/limits.md lists them. What only a script or a program of
// the job can make long or odd (sentences, notes, paths of checkpoints, numbers that are none) is cut; all
// else is refused.
//
//   if (auto ok = hold_to_bounds(message); !ok) …   // the frame is malformed: its connection ends
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/result.hpp"
#include "wire/agent_protocol.hpp"

namespace paceline {

inline constexpr std::size_t kNodeNameMax = 253;    // bytes
inline constexpr std::size_t kDeviceNameMax = 128;  // bytes of a slot's model, and of its UUID
inline constexpr std::size_t kSlotNoteMax = 1024;
inline constexpr std::size_t kUserNameMax = 256;
inline constexpr std::size_t kBootIdMax = 128;
inline constexpr std::size_t kClaimsMax = 65'536;     // that a node holds
inline constexpr std::size_t kEndMessageMax = 4'096;  // bytes of the sentence about a worker's end

// CheckpointPlace::inside as it is believed: without detours, and empty where it leads out of its directory
// or is too long. By its words: nobody follows it but as the job's user.
std::string path_inside(const std::string& told);

// Cuts what may be cut. Errors: data, too_large, invalid (of labels and places: model/label.hpp).
Result<void> hold_to_bounds(AgentMessage& message);

// What an agent believes of its server's word. Errors: data.
Result<void> hold_to_bounds(const ServerMessage& message);

}  // namespace paceline
