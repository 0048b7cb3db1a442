#include "app/resident.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

#include "app/detach.hpp"
#include "app/service_manager.hpp"

namespace paceline {
namespace {

Result<void> greet(const Residence& residence, const Resident& resident, Detached& detached) {
  const auto greeting = resident.greeting();
  if (residence.detach)
    return detached.serve(residence.log, greeting + "  its messages: " + residence.log + "\n");
  fmt::print("{}", greeting);
  return {};
}

}  // namespace

int complain(const Residence& residence, const Error& error) {
  fmt::print(stderr, "paceline: {}\n", error.message);
  if (!error.hint.empty()) fmt::print(stderr, "          {}\n", error.hint);
  return residence.exit_code(error.code);
}

int reside(const Residence& residence) {
  Detached detached;
  if (residence.detach) {
    const auto is_typed = detached.begin();
    if (!is_typed) return complain(residence, is_typed.error());
    if (*is_typed) return detached.wait();
  }
  const auto resident = residence.open();
  if (!resident) return complain(residence, resident.error());
  if (const auto greeted = greet(residence, **resident, detached); !greeted)
    return complain(residence, greeted.error());
  std::fflush(stdout);
  tell_service_manager("READY=1");
  (*resident)->run();
  tell_service_manager("STOPPING=1");
  if (::isatty(STDOUT_FILENO) == 1) fmt::print("\n");  // below the ^C
  fmt::print("{}", (*resident)->farewell());
  return 0;
}

}  // namespace paceline
