#include "wire/words.hpp"

#include "base/check.hpp"

namespace paceline {

std::string_view to_string(Request request) {
  switch (request) {
    case Request::cancel:
      return "cancel";
    case Request::pause:
      return "pause";
    case Request::resume:
      return "resume";
  }
  check(false, "a request is one of its enumerators");
  return {};
}

std::string_view to_string(Role role) {
  switch (role) {
    case Role::viewer:
      return "viewer";
    case Role::user:
      return "user";
    case Role::operator_:
      return "operator";
    case Role::admin:
      return "admin";
    case Role::newcomer:
      return "newcomer";
    case Role::node:
      return "node";
  }
  check(false, "a role is one of its enumerators");
  return {};
}

std::string_view to_string(KnownBy known_by) {
  switch (known_by) {
    case KnownBy::unix_socket:
      return "unix_socket";
    case KnownBy::token:
      return "token";
    case KnownBy::certificate:
      return "certificate";
  }
  check(false, "how somebody is known is one of its enumerators");
  return {};
}

std::string_view to_string(WorkerState state) {
  switch (state) {
    case WorkerState::assigned:
      return "assigned";
    case WorkerState::running:
      return "running";
    case WorkerState::ended:
      return "ended";
  }
  check(false, "a worker's state is one of its enumerators");
  return {};
}

std::string_view to_string(Warning warning) {
  switch (warning) {
    case Warning::no_rendezvous:
      return "no_rendezvous";
    case Warning::no_directory:
      return "no_directory";
  }
  check(false, "a warning is one of its enumerators");
  return {};
}

std::string_view to_string(Keeping keeping) {
  switch (keeping) {
    case Keeping::kept:
      return "kept";
    case Keeping::unkept:
      return "unkept";
    case Keeping::shared:
      return "shared";
    case Keeping::lost:
      return "lost";
  }
  check(false, "what became of a checkpoint is one of its enumerators");
  return {};
}

}  // namespace paceline
