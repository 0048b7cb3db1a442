// A Source on a thread of its own, so that keys are answered while a server takes its time, is away
// or hangs. It looks every `interval`, and at once when something else is wished for.
//
//   Feed feed(address, std::chrono::seconds{2});
//   feed.wish({.page = 7});
//   poll(feed.fd()) …
//   for (auto& news : feed.take()) board.told(std::move(news));
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/time.hpp"
#include "cli/top/news.hpp"
#include "files/fd.hpp"
#include "http/client.hpp"

namespace paceline {

class Feed {
 public:
  Feed(const ServerAddress& server, Duration interval);
  // Ends whatever it waits for.
  ~Feed();
  Feed(const Feed&) = delete;
  Feed& operator=(const Feed&) = delete;

  void wish(BoardWish wish);
  // Can be read while there is something to take.
  [[nodiscard]] int fd() const { return told_.get(); }
  std::vector<BoardNews> take();

 private:
  void run(ServerAddress server);
  // Waits until then, or until another wish. False: it is over.
  bool wait(std::unique_lock<std::mutex>& lock, std::chrono::steady_clock::time_point until);
  void tell(BoardNews news);

  Duration interval_;
  UniqueFd stop_, told_;
  std::mutex mutex_;
  std::condition_variable changed_;
  BoardWish wish_;
  bool new_wish_ = true, over_ = false;
  std::vector<BoardNews> news_;
  std::thread thread_;
};

}  // namespace paceline
