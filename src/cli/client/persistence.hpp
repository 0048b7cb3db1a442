// Trying again while the server is away, as over its restart: after longer and longer waits, telling the
// user once. Jobs go on without the server, so whoever follows one waits for as long as it takes.
//
//   Persistence patience(console);
//   for (;;) {
//     auto answer = api.get(target);
//     if (answer) { patience.over(); … }
//     else if (!patience.again(answer.error())) return fail(answer.error());
//   }
#pragma once

#include "base/result.hpp"
#include "base/time.hpp"
#include "cli/words/console.hpp"

namespace paceline {

class Persistence {
 public:
  explicit Persistence(Console& console) : console_(console) {}

  // After a failure: pauses and returns true; false if trying again can't help or a signal arrived.
  bool again(const Error& error);
  // After a success: tells that the server is back, if its absence was told.
  void over();

 private:
  Console& console_;
  Duration pause_{};
  bool told_ = false;
};

}  // namespace paceline
