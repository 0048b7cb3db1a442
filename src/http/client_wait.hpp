// How a client waits for a descriptor: until a deadline, or until it is interrupted.
#pragma once

#include <chrono>
#include <functional>

namespace paceline {

enum class Waited { ready, too_long, interrupted };

// `events` of poll(). `interrupted`: a descriptor that can be read once all waits shall end; -1 or
// empty: there is none. A signal makes it look ready: what is waited for is tried again.
Waited wait_for_events(int descriptor, short events, std::chrono::steady_clock::time_point deadline,
                       const std::function<int()>& interrupted);

}  // namespace paceline
