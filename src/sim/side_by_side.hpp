// Independent pieces of work on several threads.
#pragma once

#include <cstddef>
#include <functional>

namespace paceline::sim {

// Calls work(i) once for each i below `count`, on at most `threads` threads at a time (0: one per
// core), of which the caller's is one. Once it returned false, no more is begun; what is begun is
// waited for.
void side_by_side(std::size_t count, unsigned threads,
                  const std::function<bool(std::size_t)>& work);

}  // namespace paceline::sim
