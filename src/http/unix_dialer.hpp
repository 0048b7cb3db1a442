// The way to a server through the unix socket at a path, however long the path is.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "http/transport.hpp"

namespace paceline {

class UnixDialer final : public Dialer {
 public:
  explicit UnixDialer(std::string path) : path_(std::move(path)) {}

  [[nodiscard]] Result<std::unique_ptr<ClientStream>> dial() const override;

 private:
  std::string path_;
};

}  // namespace paceline
