#include "api/local_output.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <utility>

#include "api/log_files.hpp"
#include "api/log_order.hpp"
#include "api/read_text.hpp"
#include "http/socket_listener.hpp"

namespace paceline {
namespace {

constexpr std::chrono::milliseconds kLogTick{100};

}  // namespace

LocalOutput::LocalOutput(boost::asio::io_context& io, std::filesystem::path directory)
    : io_(io), directory_(std::move(directory)), ticker_(io, kLogTick) {}

void LocalOutput::ranks(JobId job, LogKind kind, const LogStart& start,
                        Told<std::map<std::int32_t, std::uint64_t>> told) {
  const LogFiles files(directory_, job, kind);
  std::map<std::int32_t, std::uint64_t> starts;
  for (const auto rank : files.ranks()) starts[rank] = files.begin(rank, start);
  told(std::move(starts));
}

void LocalOutput::read(const LogsWanted& wanted, Told<std::vector<LogChunk>> told) {
  // Others get their turn before the next ones.
  boost::asio::post(io_, [told = std::move(told),
                          chunks = read_in_order(LogFiles(directory_, wanted.job, wanted.kind),
                                                 wanted)]() mutable { told(std::move(chunks)); });
}

// Files are looked at again and again: all that follow share one beat.
ListenToken LocalOutput::follow(JobId, std::function<void()> look) {
  return ticker_.listen(std::move(look));
}

void LocalOutput::attach(const ProcessKey& worker, Told<std::shared_ptr<ServerStream>> told) {
  told(open(worker, WorkerDoor::terminal));
}

void LocalOutput::stacks(const ProcessKey& worker, Told<std::string> told) {
  auto stream = open(worker, WorkerDoor::stacks);
  if (!stream) return told(fail(std::move(stream.error())));
  read_text(io_, std::move(*stream), {kStacksBytesMax, kStacksWithin}, std::move(told));
}

Result<std::shared_ptr<ServerStream>> LocalOutput::open(const ProcessKey& worker, WorkerDoor door) {
  auto fd = open_door(directory_, worker, door);
  if (!fd) return fail(std::move(fd.error()));
  return serve_socket(io_, std::move(*fd));
}

}  // namespace paceline
