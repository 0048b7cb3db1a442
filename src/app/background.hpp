// A thread that does work in pieces whenever it is woken. It yields to everything else on the machine,
// unless somebody waits for what it does.
//
//   Background background([&] { return shadow.work(); });
//   shadow.on_work([&] { background.wake(); });
#pragma once

#include <semaphore.h>

#include <atomic>
#include <functional>
#include <thread>

namespace paceline {

enum class Yields { to_all, no };

class Background {
 public:
  // `work` does one piece, on this thread alone, and returns whether it did any.
  explicit Background(std::function<bool()> work, Yields yields = Yields::to_all);
  // Waits for the piece it is at.
  ~Background();
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

  // May be called from any thread. Takes no lock: this thread, which everybody else goes before, may
  // be kept from running at any point.
  void wake();

 private:
  void run();
  void wait();

  std::function<bool()> work_;
  Yields yields_;
  sem_t awake_{};  // at most 1
  std::atomic<bool> woken_ = false;
  std::atomic<bool> ending_ = false;
  std::thread thread_;
};

}  // namespace paceline
