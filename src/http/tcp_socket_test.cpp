#include "http/tcp_socket.hpp"

#include <gtest/gtest.h>

namespace paceline {
namespace {

TEST(TcpAddress, IsAPortOrAnAddressWithOne) {
  EXPECT_EQ(parse_tcp_address("9464"), (TcpAddress{"127.0.0.1", 9464}));
  EXPECT_EQ(parse_tcp_address("0.0.0.0:0"), (TcpAddress{"0.0.0.0", 0}));
  EXPECT_EQ(parse_tcp_address("[::1]:9464"), (TcpAddress{"::1", 9464}));
  EXPECT_EQ(to_string(TcpAddress{"::1", 9464}), "[::1]:9464");
  for (const auto* wrong : {"", ":", ":9464", "65536", "-1", "9464 ", "localhost:9464", "::1:9464",
                            "[127.0.0.1]:9464", "[]:1", "1.2.3.4:", "1.2.3.4:x"})
    EXPECT_EQ(parse_tcp_address(wrong).error().code, ErrorCode::invalid) << wrong;
}

TEST(TcpSocket, TellsThePortItWasGivenAndWhetherOneIsTaken) {
  const auto socket = listen_tcp({"127.0.0.1", 0});
  ASSERT_TRUE(socket.has_value());
  const auto address = tcp_address_of(socket->get());
  EXPECT_EQ(address.host, "127.0.0.1");
  EXPECT_NE(address.port, 0);
  EXPECT_EQ(listen_tcp(address).error().code, ErrorCode::conflict);
  EXPECT_EQ(listen_tcp({"203.0.113.7", 0}).error().code, ErrorCode::invalid);
}

}  // namespace
}  // namespace paceline
