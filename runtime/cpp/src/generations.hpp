// Hears over the worker socket what becomes of this worker in its gang's next generations, and tells
// there how far it is.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "descriptor.hpp"
#include "worker_socket.hpp"

namespace paceline::runtime {

class Generations {
 public:
  // `socket`: the worker socket's path. Hears from now on.
  explicit Generations(std::string socket);
  ~Generations();
  Generations(const Generations&) = delete;
  Generations& operator=(const Generations&) = delete;

  // `what`: "ready", this worker can join that generation; "stands", it has met all ranks of it. Said
  // again where Paceline doesn't know it any more.
  void say(const std::string& what, std::uint64_t generation);
  // The newest that was heard.
  [[nodiscard]] std::optional<Next> next() const;
  // The same, once it is of that generation or a later one. Nothing: not within the limit. Who leaves
  // with an earlier one is told of no later one, so that counts, too.
  [[nodiscard]] std::optional<Next> wait_for(std::uint64_t generation,
                                             std::chrono::milliseconds limit) const;

  // While it lives `act` is called once, as soon as that generation is known not to come about.
  // REQUIRES: one at a time; `act` returns soon.
  class CallingOff {
   public:
    CallingOff(Generations& generations, std::uint64_t generation, std::function<void()> act);
    ~CallingOff();
    CallingOff(const CallingOff&) = delete;
    CallingOff& operator=(const CallingOff&) = delete;
    [[nodiscard]] bool happened() const;

   private:
    friend class Generations;
    void look();

    Generations& generations_;
    const std::uint64_t generation_;
    const std::function<void()> act_;
    bool happened_ = false;
  };

 private:
  void hear();
  void take(const GangNews& news);
  void say_again(const GangNews& news);
  [[nodiscard]] bool knows_of(std::uint64_t generation) const;
  // Whether it did not end.
  [[nodiscard]] bool pause(std::chrono::milliseconds time) const;

  const std::string socket_;
  const Descriptor ended_;  // readable once this one ends

  mutable std::mutex mutex_;  // of what follows
  mutable std::condition_variable heard_;
  std::optional<Next> next_;
  std::map<std::string, std::uint64_t> said_;
  CallingOff* calling_off_ = nullptr;
  std::thread thread_;
};

}  // namespace paceline::runtime
