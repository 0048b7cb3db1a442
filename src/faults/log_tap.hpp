// What the program logs, handed to whoever listens on the thread that logs it; nothing is printed.
//
//   const LogTap tap;                                       // one for the whole program
//   const LogTap::Listening ear([](std::string_view line) { … });  // on this thread
#pragma once

#include <functional>
#include <memory>
#include <string_view>

namespace spdlog {
class logger;
}

namespace paceline::faults {

class LogTap {
 public:
  using Listener = std::function<void(std::string_view line)>;

  LogTap();
  ~LogTap();
  LogTap(const LogTap&) = delete;
  LogTap& operator=(const LogTap&) = delete;

  // At most one on a thread at a time.
  class Listening {
   public:
    explicit Listening(Listener listener);
    ~Listening();
    Listening(const Listening&) = delete;
    Listening& operator=(const Listening&) = delete;
  };

 private:
  std::shared_ptr<spdlog::logger> before_;
};

}  // namespace paceline::faults
