#include "api/node_output.hpp"

#include <boost/asio/steady_timer.hpp>
#include <string>
#include <utility>
#include <vector>

#include "api/read_text.hpp"

namespace paceline {
namespace {

constexpr std::chrono::milliseconds kAskAgain{50};

}  // namespace

// The nodes of a job that are awaited, for a while. One that is up but sends no logs now is asked
// again: it dials in anew after a cut.
class NodeOutput::Gathering : public std::enable_shared_from_this<Gathering> {
 public:
  Gathering(boost::asio::io_context& io, const LogPlaces& places, BytesDoor& door, JobId job,
            std::function<void()> done)
      : places_(places), door_(door), job_(job), done_(std::move(done)), end_(io), again_(io) {}

  void begin(const LogPlaces::Names& nodes, std::chrono::milliseconds within) {
    awaited_ = nodes.size();
    end_.expires_after(within);
    end_.async_wait([self = shared_from_this()](const boost::system::error_code& error) {
      if (!error) self->end();
    });
    for (const auto& node : nodes) ask(node);
  }

 private:
  void ask(const std::string& node) {
    door_.flush(node, job_, [self = shared_from_this(), node](bool whole) {
      if (whole || !self->places_.is_up(node)) return self->came();
      self->cut_off_.push_back(node);
      self->wait();
    });
  }
  void wait() {
    if (done_ == nullptr || std::exchange(waits_, true)) return;
    again_.expires_after(kAskAgain);
    again_.async_wait([self = shared_from_this()](const boost::system::error_code& error) {
      self->waits_ = false;
      if (error) return;
      for (const auto& node : std::exchange(self->cut_off_, {})) self->ask(node);
    });
  }
  void came() {
    if (--awaited_ == 0) end();
  }
  void end() {
    end_.cancel();
    again_.cancel();
    if (const auto told = std::exchange(done_, nullptr)) told();
  }

  const LogPlaces& places_;
  BytesDoor& door_;
  JobId job_;
  std::function<void()> done_;
  std::size_t awaited_ = 0;
  std::vector<std::string> cut_off_;
  bool waits_ = false;
  boost::asio::steady_timer end_, again_;
};

void NodeOutput::gather(JobId job, std::chrono::milliseconds within, std::function<void()> done) {
  const auto nodes = places_.nodes(job);
  if (nodes.empty()) return here_->gather(job, within, std::move(done));
  std::make_shared<Gathering>(io_, places_, door_, job, std::move(done))->begin(nodes, within);
}

void NodeOutput::attach(const ProcessKey& worker, Told<std::shared_ptr<ServerStream>> told) {
  const auto node = places_.node_of(worker);
  if (!node || *node == places_.own_node()) return here_->attach(worker, std::move(told));
  door_.attach(*node, worker, WorkerDoor::terminal, std::move(told));
}

void NodeOutput::stacks(const ProcessKey& worker, Told<std::string> told) {
  const auto node = places_.node_of(worker);
  if (!node || *node == places_.own_node()) return here_->stacks(worker, std::move(told));
  door_.attach(*node, worker, WorkerDoor::stacks,
               [&io = io_, told = std::move(told)](Result<std::shared_ptr<ServerStream>> stream) {
                 if (!stream) return told(fail(std::move(stream.error())));
                 read_text(io, std::move(*stream), {kStacksBytesMax, kStacksWithin}, told);
               });
}

}  // namespace paceline
