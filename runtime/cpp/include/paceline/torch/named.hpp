// What a program carries along under names, beside its models and optimizers.
#pragma once

#include <torch/torch.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <type_traits>
#include <vector>

#include "paceline/torch/carried.hpp"
#include "paceline/torch/error.hpp"
#include "paceline/torch/model.hpp"

namespace paceline::detail {

template <class Thing>
Carried carried_number(Thing& thing) {
  using Number = std::conditional_t<std::is_floating_point_v<Thing>, double, std::int64_t>;
  return {"number",
          [&thing](OutputArchive& archive) {
            archive.write("value", c10::IValue(static_cast<Number>(thing)));
          },
          [&thing](InputArchive& archive) {
            c10::IValue value;
            archive.read("value", value);
            thing = static_cast<Thing>(value.to<Number>());
          }};
}

inline Carried carried_text(std::string& thing) {
  return {"text", [&thing](OutputArchive& archive) { archive.write("value", c10::IValue(thing)); },
          [&thing](InputArchive& archive) {
            c10::IValue value;
            archive.read("value", value);
            thing = value.toStringRef();
          }};
}

inline Carried carried_tensor(at::Tensor& thing) {
  return {"tensor",
          [&thing](OutputArchive& archive) { archive.write("value", thing.detach(), true); },
          [&thing](InputArchive& archive) {
            at::Tensor value;
            archive.read("value", value, true);
            thing = value.to(thing.device());
          }};
}

template <class Thing>
Carried carried_value(Thing& thing) {
  static_assert(!std::is_base_of_v<::torch::optim::Optimizer, Thing>,
                "an optimizer belongs to job.distribute(), with the model that it updates");
  if constexpr (std::is_arithmetic_v<Thing>)
    return carried_number(thing);
  else if constexpr (std::is_same_v<Thing, std::string>)
    return carried_text(thing);
  else if constexpr (std::is_same_v<Thing, at::Tensor>)
    return carried_tensor(thing);
  else if constexpr (requires { module_of(thing); })
    return {"model", [&thing](OutputArchive& archive) { module_of(thing)->save(archive); },
            [&thing](InputArchive& archive) { load(*module_of(thing), archive); }};
  else
    return carried(thing);
}

class Named {
 public:
  using States = std::map<std::string, std::string>;  // by name, as LibTorch's archives

  // That is a commit, too. REQUIRES: `thing` stays while this is used. Throws PacelineError.
  template <class Thing>
  void add(const std::string& name, Thing& thing) {
    if (things_.contains(name))
      throw PacelineError("job.carry() was given two things named '" + name +
                          "': choose another name.");
    things_.emplace(name, carried_value(thing));
    committed_[name] = state_of(things_.at(name));
  }

  // How all is now, and how it was at the last commit.
  void commit() { committed_ = states(); }
  void restore(const at::Device& device) { put(committed_, device); }

  [[nodiscard]] std::string packed() const {
    std::string bytes;
    for (const auto& [name, its] : states()) {
      append(bytes, name);
      append(bytes, its);
    }
    return bytes;
  }
  // Puts what packed() had there into what is carried; that is a commit, too. Returns a sentence without
  // its end for each name that only one side has.
  std::vector<std::string> load(const std::string& bytes, const at::Device& device) {
    States its;
    for (std::size_t at = 0; at < bytes.size();) {
      const auto name = next(bytes, at);
      its[name] = next(bytes, at);
    }
    put(its, device);
    commit();
    std::vector<std::string> differences;
    for (const auto& [name, _] : things_)
      if (!its.contains(name)) differences.push_back("'" + name + "' begins anew: it is not in");
    for (const auto& [name, _] : its)
      if (!things_.contains(name))
        differences.push_back("'" + name + "' is left out: nothing carries it now, and it is in");
    return differences;
  }

 private:
  static std::string state_of(const Carried& thing) {
    OutputArchive archive;
    thing.save(archive);
    return bytes_of(archive);
  }
  [[nodiscard]] States states() const {
    States states;
    for (const auto& [name, thing] : things_) states[name] = state_of(thing);
    return states;
  }
  void put(const States& states, const at::Device& device) {
    for (const auto& [name, thing] : things_) {
      const auto found = states.find(name);
      if (found == states.end()) continue;
      InputArchive archive;
      archive.load_from(found->second.data(), found->second.size(), device);
      thing.load(archive);
    }
  }

  static void append(std::string& bytes, const std::string& text) {
    const std::uint64_t size = text.size();
    bytes.append(reinterpret_cast<const char*>(&size), sizeof size) += text;
  }
  static std::string next(const std::string& bytes, std::size_t& at) {
    std::uint64_t size = 0;
    std::memcpy(&size, bytes.data() + at, sizeof size);
    const auto text = bytes.substr(at + sizeof size, size);
    at += sizeof size + size;
    return text;
  }

  std::map<std::string, Carried> things_;
  States committed_;
};

}  // namespace paceline::detail
