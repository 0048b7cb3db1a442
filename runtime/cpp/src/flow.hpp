// Bytes that go to one member while others come from another, as fast as both go on.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "descriptor.hpp"
#include "failure.hpp"
#include "head.hpp"
#include "links.hpp"

namespace paceline::runtime {

class Source {
 public:
  virtual ~Source() = default;
  // What can go now. Empty: it depends on what comes, or is done.
  virtual std::span<const std::byte> next() = 0;
  virtual void sent(std::size_t count) = 0;
  [[nodiscard]] virtual bool done() const = 0;
};

class Sink {
 public:
  virtual ~Sink() = default;
  // Where the next bytes go. Not empty until it is done.
  virtual std::span<std::byte> next() = 0;
  virtual void took(std::size_t count) = 0;
  [[nodiscard]] virtual bool done() const = 0;
};

class Bytes final : public Source {
 public:
  explicit Bytes(std::span<const std::byte> bytes) : left_(bytes) {}
  std::span<const std::byte> next() override { return left_; }
  void sent(std::size_t count) override { left_ = left_.subspan(count); }
  [[nodiscard]] bool done() const override { return left_.empty(); }

 private:
  std::span<const std::byte> left_;
};

class Destination final : public Sink {
 public:
  explicit Destination(std::span<std::byte> room) : left_(room) {}
  std::span<std::byte> next() override { return left_; }
  void took(std::size_t count) override { left_ = left_.subspan(count); }
  [[nodiscard]] bool done() const override { return left_.empty(); }

 private:
  std::span<std::byte> left_;
};

struct Sending {
  int to;
  Source& source;
};
struct Receiving {
  int from;
  Sink& sink;
};

// Each with the head before it. Nothing: that direction has nothing.
Outcome<void> flow(Links& links, const Head& head, std::optional<Sending> sending,
                   std::optional<Receiving> receiving);

}  // namespace paceline::runtime
