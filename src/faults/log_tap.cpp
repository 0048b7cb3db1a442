#include "faults/log_tap.hpp"

#include <spdlog/details/null_mutex.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>

#include <utility>

#include "base/check.hpp"

namespace paceline::faults {
namespace {

thread_local LogTap::Listener heard;

class Sink final : public spdlog::sinks::base_sink<spdlog::details::null_mutex> {
 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    if (heard) heard({message.payload.data(), message.payload.size()});
  }
  void flush_() override {}
};

}  // namespace

LogTap::LogTap() : before_(spdlog::default_logger()) {
  auto logger = std::make_shared<spdlog::logger>("faults", std::make_shared<Sink>());
  logger->set_level(spdlog::level::warn);
  spdlog::set_default_logger(std::move(logger));
}

LogTap::~LogTap() { spdlog::set_default_logger(before_); }

LogTap::Listening::Listening(Listener listener) {
  check(!heard, "one listens on a thread at a time");
  heard = std::move(listener);
}

LogTap::Listening::~Listening() { heard = {}; }

}  // namespace paceline::faults
