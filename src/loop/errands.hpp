// Errands that stand in line: each is done in the one thread that they share, in the order in which they came, and
// its outcome is brought back to the loop. So what they work on needs no lock.
//
//   Errands errands(io);
//   errands.add([&store] { return store.offer(…); }, [this](Result<OfferedShip> offered) { … });
//   auto bytes = co_await errands.run([path] { return read(path); });
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <cstddef>
#include <memory>
#include <optional>
#include <utility>

#include "loop/wakeup.hpp"

namespace paceline {

class Errands {
 public:
  // REQUIRES: `io` outlives it; one thread runs `io` and makes every call.
  explicit Errands(boost::asio::io_context& io) : io_(io) {}
  Errands(const Errands&) = delete;
  Errands& operator=(const Errands&) = delete;
  // Waits for the end of the one that is under way. The others are not done, and nothing is brought back any more.
  ~Errands() {
    *alive_ = false;
    if (!thread_) return;
    thread_->stop();
    thread_->join();
  }

  // Calls work() in the thread, then done(what it returned) on the loop. What `done` holds is there until then.
  template <class Work, class Done>
  void add(Work work, Done done) {
    if (!thread_) thread_.emplace(1);
    ++*left_;
    boost::asio::post(*thread_, [&io = io_, alive = alive_, left = left_, work = std::move(work),
                                 done = std::move(done)]() mutable {
      boost::asio::post(io, [alive = std::move(alive), left = std::move(left), outcome = work(),
                             done = std::move(done)]() mutable {
        --*left;
        if (*alive) done(std::move(outcome));
      });
    });
  }

  // The same for a coroutine of the loop.
  template <class Work>
  auto run(Work work) -> boost::asio::awaitable<decltype(work())> {
    using Made = decltype(work());
    const auto outcome = std::make_shared<std::optional<Made>>();
    Wakeup back(io_);
    add(std::move(work), [outcome, back](Made made) mutable {
      outcome->emplace(std::move(made));
      back.tell();
    });
    while (!*outcome) co_await back.wait();
    co_return std::move(**outcome);
  }

  // Something is under way or in line.
  [[nodiscard]] bool busy() const { return *left_ > 0; }

 private:
  boost::asio::io_context& io_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // both are the loop's alone
  std::shared_ptr<std::size_t> left_ = std::make_shared<std::size_t>(0);
  std::optional<boost::asio::thread_pool> thread_;
};

}  // namespace paceline
