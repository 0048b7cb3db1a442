#include "http/transport.hpp"

#include <algorithm>
#include <array>

namespace paceline {

ServerStream::Awaitable<bool> write_all(ServerStream& stream, std::string_view head,
                                        std::string_view body) {
  while (!head.empty() || !body.empty()) {
    const std::array<boost::asio::const_buffer, 2> pieces{
        boost::asio::buffer(head.data(), head.size()),
        boost::asio::buffer(body.data(), body.size())};
    ServerStream::Failure failure;
    const auto count = co_await stream.write_some(pieces, failure);
    if (failure) co_return false;
    const auto of_head = std::min(count, head.size());
    head.remove_prefix(of_head);
    body.remove_prefix(count - of_head);
  }
  co_return true;
}

}  // namespace paceline
