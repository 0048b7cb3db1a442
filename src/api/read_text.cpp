#include "api/read_text.hpp"

#include <fmt/format.h>

#include <array>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/steady_timer.hpp>
#include <utility>

namespace paceline {
namespace {

namespace asio = boost::asio;

struct Reading {
  Reading(asio::io_context& io, std::shared_ptr<ServerStream> from)
      : end(io), stream(std::move(from)) {}
  asio::steady_timer end;
  std::shared_ptr<ServerStream> stream;
  bool late = false;
};

ServerStream::Awaitable<Result<std::string>> read_all(Reading& reading, TextBounds bounds) {
  std::string text;
  std::array<char, 16384> piece;
  ServerStream::Failure failure;
  while (!failure) {
    const auto count = co_await reading.stream->read_some(asio::buffer(piece), failure);
    text.append(piece.data(), count);
    if (text.size() > bounds.bytes_max)
      co_return fail(ErrorCode::too_large,
                     fmt::format("More than {} bytes were told.", bounds.bytes_max));
  }
  if (reading.late)
    co_return fail(ErrorCode::unavailable,
                   fmt::format("There was no whole answer within {} s.",
                               std::chrono::ceil<std::chrono::seconds>(bounds.within).count()),
                   {}, Retry::may_help);
  co_return text;
}

ServerStream::Awaitable<void> run(std::shared_ptr<Reading> reading, TextBounds bounds,
                                  std::function<void(Result<std::string>)> told) {
  auto text = co_await read_all(*reading, bounds);
  reading->end.cancel();
  reading->stream->close();
  told(std::move(text));
}

}  // namespace

void read_text(asio::io_context& io, std::shared_ptr<ServerStream> stream, TextBounds bounds,
               std::function<void(Result<std::string>)> told) {
  const auto reading = std::make_shared<Reading>(io, std::move(stream));
  reading->end.expires_after(bounds.within);
  reading->end.async_wait([reading](const boost::system::error_code& error) {
    if (error) return;
    reading->late = true;
    reading->stream->close();
  });
  asio::co_spawn(io, run(reading, bounds, std::move(told)), asio::detached);
}

}  // namespace paceline
