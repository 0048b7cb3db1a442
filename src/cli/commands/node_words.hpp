// How nodes and their slots are told of, wherever they are.
#pragma once

#include <string>

#include "cli/words/document.hpp"
#include "cli/words/table.hpp"

namespace paceline {

// "job 7", "job 7, ending", "free", "unusable, used by pid 4711"
std::string slot_use(const Document& slot);
// "0-1 job 7; 2 job 5; 3 free" in runs of equal use.
std::string uses_of(const Document::array_t& slots);
// "80G"; "-": it has none.
std::string memory_of(const Document& object);
// "disk=nvme,team=vision"
std::string labels_of(const Document& node);
// "up", "lost", "refusing", "unhealthy", "draining", "drained", "set aside", "removed"
Cell node_state(const Document& node);
// "drains for a new kernel until 18:00:00: jobs 3 and 7 are there still"; "": it doesn't, and won't.
std::string drain_words(const Document& node, double now);
// Does the node start nothing for now?
bool refuses(const Document& node);
// When its last word came: "3s ago"; "-": it is the server's own, or has not connected.
std::string heard_words(const Document& node);
// "-" in the place of nothing.
std::string or_dash(std::string text);

}  // namespace paceline
