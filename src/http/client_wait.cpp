#include "http/client_wait.hpp"

#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <limits>

#include "base/check.hpp"

namespace paceline {

Waited wait_for_events(int descriptor, short events, std::chrono::steady_clock::time_point deadline,
                       const std::function<int()>& interrupted) {
  using std::chrono::milliseconds;
  const auto left = std::chrono::ceil<milliseconds>(deadline - std::chrono::steady_clock::now());
  if (left <= milliseconds{0}) return Waited::too_long;
  std::array<pollfd, 2> fds = {pollfd{descriptor, events, 0},
                               pollfd{interrupted ? interrupted() : -1, POLLIN, 0}};
  const auto ms = std::min<std::int64_t>(left.count(), std::numeric_limits<int>::max());
  const int polled = ::poll(fds.data(), fds.size(), static_cast<int>(ms));
  check(polled >= 0 || errno == EINTR || errno == ENOMEM, "two descriptors can be polled");
  return fds[1].revents != 0 ? Waited::interrupted : Waited::ready;
}

}  // namespace paceline
