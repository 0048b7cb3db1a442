#include "files/random_name.hpp"

#include <fmt/format.h>
#include <sys/random.h>

#include <array>

#include "base/check.hpp"

namespace paceline {

std::string random_name() {
  std::array<std::uint64_t, 2> random{};
  check(::getrandom(random.data(), sizeof random, 0) == sizeof random,
        "the kernel has random bytes");
  return fmt::format("{:016x}{:016x}", random[0], random[1]);
}

}  // namespace paceline
