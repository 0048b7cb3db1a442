#include "loop/errand.hpp"

#include <sys/eventfd.h>

#include <boost/asio/post.hpp>
#include <cstdint>

#include "base/check.hpp"

namespace paceline {

Errand::Errand(boost::asio::io_context& io)
    : io_(io),
      interrupt_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      self_(std::make_shared<Errand*>(this)) {}

Errand::~Errand() {
  *self_ = nullptr;
  if (interrupt_) (void)::eventfd_write(interrupt_.get(), 1);
  if (thread_.joinable()) thread_.join();
}

std::function<int()> Errand::interrupted() const {
  return [fd = interrupt_.get()] { return fd; };
}

void Errand::start(std::function<void()> work, std::function<void()> done) {
  check(!busy(), "an errand is run once at a time");
  auto back = [self = self_, done = std::move(done)] {
    if (*self == nullptr) return;
    (*self)->thread_.join();
    done();
  };
  thread_ = std::thread([&io = io_, work = std::move(work), back = std::move(back)]() mutable {
    work();
    boost::asio::post(io, std::move(back));
  });
}

}  // namespace paceline
