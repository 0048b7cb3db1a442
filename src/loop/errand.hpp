// Does what blocks in a thread of its own, and brings the outcome back to the loop.
//
//   Errand errand(io);
//   errand.run([dialer] { return dialer->dial(); },
//              [this](Result<std::unique_ptr<ClientStream>> dialled) { … });
#pragma once

#include <boost/asio/io_context.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "files/fd.hpp"

namespace paceline {

class Errand {
 public:
  // REQUIRES: `io` outlives it; one thread runs `io` and makes every call.
  explicit Errand(boost::asio::io_context& io);
  Errand(const Errand&) = delete;
  Errand& operator=(const Errand&) = delete;
  // Interrupts the work and waits for its end; nothing is brought back any more.
  ~Errand();

  // A descriptor that can be read once all waits of the work shall end; good for as long as this is.
  [[nodiscard]] std::function<int()> interrupted() const;

  // Calls work() in the thread, then done(what it returned) on the loop. REQUIRES: it is not busy.
  template <class Work, class Done>
  void run(Work work, Done done) {
    using Outcome = decltype(work());
    auto outcome = std::make_shared<std::optional<Outcome>>();
    start([work = std::move(work), outcome] { outcome->emplace(work()); },
          [done = std::move(done), outcome] { done(std::move(**outcome)); });
  }
  [[nodiscard]] bool busy() const { return thread_.joinable(); }

 private:
  void start(std::function<void()> work, std::function<void()> done);

  boost::asio::io_context& io_;
  UniqueFd interrupt_;
  std::thread thread_;
  std::shared_ptr<Errand*> self_;  // for what is on its way back: emptied with this
};

}  // namespace paceline
