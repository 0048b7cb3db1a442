// Worlds as literals: what a test needs of nodes, jobs, spans and endings, in the words people
// type.
//
//   cluster("4x8 h100; 2x4 a100; 1x4 cpu")   → seven nodes: h100-0 … h100-3, a100-0, a100-1, cpu-0
//   job("2..8@4 priority=60 elastic=restart retry=2 grace=10s")
//
// A literal that can't be read throws std::invalid_argument, which fails the test with the word it
// stumbled over.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.hpp"
#include "model/gang.hpp"
#include "model/job_spec.hpp"
#include "model/node.hpp"

namespace paceline::testing {

// Groups of "NODESxSLOTS MODEL", separated by ';'. The model `cpu` makes CPU slots, every other one
// GPUs. After the model: rack=NAME switch=NAME cpus=N memory=GIB islands=N (each node's slots in N link islands)
// only=USER strangers=USER,…;
// any other KEY=VALUE is a label.
//   cluster("2x8 h100 rack=a islands=2; 2x8 h100 rack=b disk=nvme")  → h100-0 … h100-3
std::vector<NodeSpec> cluster(std::string_view text);

// A worker range, then any of: priority=N elastic=auto|restart|no on_disconnect=stop|continue checkpoint_store=server|none slots_per_worker=N cpus=N memory=GIB retry=N
// max_duration=SPAN expect=SPAN samples=N speeds=1:1,2:1.9 after=ID,… target=METRIC>=VALUE grace=SPAN name=WORD
// user=WORD mesh=TENSORxPIPELINE devices=MODEL,… affinity=TERM anti=TERM exclusive unpreemptible
// min_run=SPAN stop_loss=PART resize_loss=PART deadline=SPAN (after a world's beginning) hold.
JobSpec job(std::string_view text);

// "500ms", "10s", "5m", "2h".
Duration span(std::string_view text);

// "0" and "3" are exit codes; else "signal N" or the name of a cause (node_lost, out_of_memory, …).
Ending ending(std::string_view text);

// The parts of `text` between `separator`, without blanks around them; no empty ones.
std::vector<std::string> split(std::string_view text, char separator);

std::int64_t number(std::string_view text);

}  // namespace paceline::testing
