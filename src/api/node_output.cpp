#include "api/node_output.hpp"

#include <boost/asio/steady_timer.hpp>
#include <utility>

namespace paceline {
namespace {

// Some nodes that are awaited, for a while.
struct Gathering {
  Gathering(boost::asio::io_context& io, std::size_t count, std::function<void()> d)
      : left(count), done(std::move(d)), timer(io) {}
  void came() {
    if (--left == 0) end();
  }
  void end() {
    timer.cancel();
    if (const auto told = std::exchange(done, nullptr)) told();
  }

  std::size_t left;
  std::function<void()> done;
  boost::asio::steady_timer timer;
};

}  // namespace

void NodeOutput::gather(JobId job, std::chrono::milliseconds within, std::function<void()> done) {
  const auto nodes = places_.nodes(job);
  if (nodes.empty()) return here_->gather(job, within, std::move(done));
  const auto gathering = std::make_shared<Gathering>(io_, nodes.size(), std::move(done));
  gathering->timer.expires_after(within);
  gathering->timer.async_wait([gathering](const boost::system::error_code& error) {
    if (!error) gathering->end();
  });
  for (const auto& node : nodes) door_.flush(node, job, [gathering] { gathering->came(); });
}

void NodeOutput::attach(const ProcessKey& worker, Told<std::shared_ptr<ServerStream>> told) {
  const auto node = places_.node_of(worker);
  if (!node || *node == places_.own_node()) return here_->attach(worker, std::move(told));
  door_.attach(*node, worker, std::move(told));
}

}  // namespace paceline
