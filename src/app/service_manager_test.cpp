#include "app/service_manager.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdlib>
#include <string>

#include "files/fd.hpp"

namespace paceline {
namespace {

class ServiceManagerTest : public ::testing::Test {
 protected:
  void TearDown() override { ::unsetenv("NOTIFY_SOCKET"); }

  // A manager that listens at this name; what begins with @ is an abstract one.
  void listen(std::string name) {
    ::setenv("NOTIFY_SOCKET", name.c_str(), 1);
    if (name.front() == '@') name.front() = '\0';
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    name.copy(address.sun_path, sizeof address.sun_path);
    socket_.reset(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
    ASSERT_EQ(::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), size), 0);
  }
  std::string heard() {
    std::array<char, 100> text{};
    const ssize_t n = ::recv(socket_.get(), text.data(), text.size(), 0);
    return n < 0 ? "nothing" : std::string(text.data(), static_cast<std::size_t>(n));
  }

  UniqueFd socket_;
};

TEST_F(ServiceManagerTest, IsToldAtItsSocket) {
  const std::string path = "/tmp/paceline-notify-" + std::to_string(::getpid());
  listen(path);
  tell_service_manager("READY=1");
  EXPECT_EQ(heard(), "READY=1");
  ::unlink(path.c_str());
  tell_service_manager("STOPPING=1");
  EXPECT_EQ(heard(), "nothing") << "a manager that went away harms nobody";
}

TEST_F(ServiceManagerTest, MayHaveAnAbstractName) {
  listen("@paceline-notify-" + std::to_string(::getpid()));
  tell_service_manager("READY=1");
  EXPECT_EQ(heard(), "READY=1");
}

TEST_F(ServiceManagerTest, IsNotLookedForWhereThereIsNone) {
  tell_service_manager("READY=1");
  ::setenv("NOTIFY_SOCKET", std::string(500, 'x').c_str(), 1);
  tell_service_manager("READY=1");
}

}  // namespace
}  // namespace paceline
