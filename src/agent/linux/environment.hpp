// The environment of a worker (docs/design.md 7): what the owner's shell had, and over it what a
// training script expects to be told by torchrun, TensorFlow, JAX, Kubeflow and Paceline.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "model/node.hpp"
#include "model/worker.hpp"

namespace paceline::agent {

// What a gang knows each other by over a network (decision 0115).
inline const std::string kGangSecret = "PACELINE_GANG_SECRET";

// What only the machine knows about one worker.
struct WorkerFacts {
  std::string server_directory;  // PACELINE_DIR
  std::string socket;            // PACELINE_SOCKET
  std::string marker;            // "PACELINE_WORKER=7.2.0@/path/of/the/claim"
  std::string status_url;        // of the trainer-status listener; empty: none
  std::string status_token;      // path of the file with its token
  std::string hostfile;          // path of the file with the gang's machines; empty: none
  std::uint32_t port = 0;        // first of the gang's ports, see model/gang_ports.hpp
  std::string runtime;           // the folder with our Python package; empty: none
  SlotKind slot_kind = SlotKind::cpu;
  std::vector<std::string> devices;          // UUIDs of the leased devices; empty for CPU slots
  std::vector<std::string> visible_devices;  // what it is shown: these, or its gang's here in the
                                             // order of local ranks
  bool machine_has_gpus = false;             // then workers on CPU slots see none of them
};

// What of it says where a process stands in its gang, in another generation than it was started for. The
// secret of its gang stays: `secret` is gang_secret() of its first environment.
std::map<std::string, std::string> gang_environment(JobId job, const Membership& membership,
                                                    const GangPlace& place,
                                                    const std::string& secret);

// The gang's machines and the slots on each, a line each by rank, as Open MPI and Horovod read them:
// "10.0.0.1 slots=2".
std::string hostfile_of(const WorkerLaunch& worker);

// Of "NAME=value" entries; empty: it has none.
std::string gang_secret(const std::vector<std::string>& environment);

// "NAME=value" entries, sorted by name. Values of the launch are kept unless the contract sets
// them; OMP_NUM_THREADS, PYTHONUNBUFFERED and PATH are set only where the owner has not,
// PYTHONPATH ends with our package's folder. REQUIRES:
// worker.addresses has world_size entries, or is empty (then all are 127.0.0.1).
std::vector<std::string> build_environment(const WorkerLaunch& worker, const WorkerFacts& facts);

}  // namespace paceline::agent
