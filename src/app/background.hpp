// A thread that does work in pieces whenever it is woken, and yields to everything else on the
// machine.
//
//   Background background([&] { return shadow.work(); });
//   shadow.on_work([&] { background.wake(); });
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace paceline {

class Background {
 public:
  // `work` does one piece, on this thread alone, and returns whether it did any.
  explicit Background(std::function<bool()> work);
  // Waits for the piece it is at.
  ~Background();
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

  // Cheap; may be called from any thread.
  void wake();

 private:
  void run();
  // False: it is to end.
  bool wait();
  [[nodiscard]] bool ending();

  std::function<bool()> work_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool woken_ = false;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace paceline
