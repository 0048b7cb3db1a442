// A group as its users see it: operations of several threads one after the other, those that were
// started on a thread of its own, and a failure that ends all.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "collectives.hpp"

namespace paceline::runtime {

class Group {
 public:
  using Operation = std::function<Outcome<void>(Collectives&)>;

  explicit Group(std::unique_ptr<Links> links);
  ~Group();
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  [[nodiscard]] const Links& links() const { return *links_; }
  Outcome<void> connect(std::span<const std::string> endpoints);
  // Learns the endpoints where all members meet, and connects.
  Outcome<void> meet(const Venue& venue);
  [[nodiscard]] bool connected() const { return connected_; }

  // After those that were started before.
  Outcome<void> run(const Operation& operation);
  std::uint64_t start(Operation operation);
  // Nothing: no such ticket.
  std::optional<Outcome<void>> wait(std::uint64_t ticket);
  void abort(std::string reason);

 private:
  struct Started {
    std::uint64_t ticket;
    Operation operation;
  };

  Outcome<void> form(const std::function<Outcome<void>()>& connect);
  Outcome<void> alone(const std::function<Outcome<void>()>& act);
  Outcome<void> perform(const Operation& operation);
  void work();

  std::unique_ptr<Links> links_;
  Collectives collectives_;
  std::atomic<bool> connected_ = false;

  std::mutex mutex_;  // of what follows
  std::condition_variable changed_;
  std::deque<Started> started_;
  std::map<std::uint64_t, std::optional<Outcome<void>>> results_;  // by ticket; nothing: not yet
  std::uint64_t tickets_ = 0;
  bool busy_ = false;  // an operation runs
  bool ends_ = false;
  std::thread thread_;  // once something was started
};

}  // namespace paceline::runtime
