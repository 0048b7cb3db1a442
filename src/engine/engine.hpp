// What makes the world like the state and tells what happened in it. Acting is level-triggered: the
// engine compares what the state wants of a job's workers with what it knows of them, so that the
// same call after a crash, or twice, does no harm.
//
// What the state wants, per job:
//   current gang, every seat leased, no stop   → each `assigned` worker is started
//                                                (once per generation and rank, ever)
//   current gang with a stop                   → notice, then after stop->grace kill;
//                                                workers of gangs that are gone: kill
//   PAUSED                                     → frozen, else thawed
//   worker `ended` in the state                → its claim may be discarded
//   should_stop()                              → the script is told
#pragma once

#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "model/event.hpp"
#include "model/progress.hpp"
#include "model/state.hpp"

namespace paceline {

struct Observed {
  std::vector<Event>
      events;  // NodeUp, NodeDown, NodeOff, WorkerStarted, WorkerEnded, CheckpointAcknowledged,
               // Progressed, ModelPublished, JobWarned
  std::vector<MetricPoint> points;
  [[nodiscard]] bool empty() const { return events.empty() && points.empty(); }
};

class Engine {
 public:
  virtual ~Engine() = default;

  // What was observed since the last call, in order. The caller keeps it until it is durable;
  // the engine does not tell it again, except after a crash: what committed() had not confirmed is
  // told anew.
  virtual Observed observe() = 0;

  // Everything that observe() has told so far is durable.
  virtual void committed() = 0;

  // Brings the workers of `jobs` to what the state wants. The first call is the recovery: it names
  // every job that is not over, perhaps none, and teaches the engine the nodes; nothing is observed
  // before it. It is called where a node came, too, perhaps for none.
  virtual void act(const State& state, std::span<const JobId> jobs) = 0;

  // The next checkpoint of these jobs makes a round. So does a job's first, which makes it resizable.
  // Others may be told late, with whatever else happens. Until the next call.
  virtual void await_saves(std::span<const JobId> /*jobs*/) {}

  // That node is not to be heard again before it joins anew: it counts as down as soon as it is not
  // connected. For a node that nobody knows nothing happens.
  virtual void left(std::string_view /*node*/) {}

  // Called whenever observe() has something new.
  virtual void on_news(std::function<void()> wake) = 0;
};

}  // namespace paceline
