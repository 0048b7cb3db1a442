// What the stories of this suite are played on: a machine, real or simulated, an agent on it, and the
// server's end of its connection, all turned by hand.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "conformance/course.hpp"

namespace paceline::conformance {

// When an agent comes back.
enum class Return { at_once, after_the_end };

class Stage {
 public:
  explicit Stage(const ProcessKey& worker) : server(worker), worker_(worker) {}
  virtual ~Stage() = default;
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  // Lets time pass until the server has heard that. False: it never did.
  bool until(bool (ServerByHand::*heard)() const) {
    return pass([&] { return (server.*heard)(); });
  }
  virtual void start() = 0;
  // With a notice, once the worker does not heed it, and a kill a second later.
  void stop();
  void forget();
  // The agent goes, its workers go on, and another one comes.
  virtual void restart(Return when) = 0;

  // What of the worker lived when the server heard that it was gone; empty: nothing.
  [[nodiscard]] virtual std::string lived_on() const { return {}; }

  ServerByHand server;

 protected:
  // The worker that runs has come to where it waits.
  virtual bool waits() { return true; }
  virtual bool pass(const std::function<bool()>& condition) = 0;
  [[nodiscard]] const ProcessKey& worker() const { return worker_; }

 private:
  ProcessKey worker_;
};

// What befalls a worker between its start and its end, and its course where nothing fails.
struct Story {
  std::string_view name;
  Course plain;
  void (*play)(Stage& stage);
};

// From the start until the worker is forgotten. Answers what the server heard.
Course play(const Story& story, Stage& stage);

void ends_by_itself(Stage& stage);
void is_killed_at_its_grace(Stage& stage);
void outlives_its_agent(Stage& stage);
void ends_without_an_agent(Stage& stage);

}  // namespace paceline::conformance
