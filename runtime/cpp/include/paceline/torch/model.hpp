// What ranks compare and share of models.
#pragma once

#include <torch/torch.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "paceline/runtime.hpp"

namespace paceline::detail {

using Module = ::torch::nn::Module;

// A model as programs hold it: `Net net;` of TORCH_MODULE(Net), a shared_ptr, or the module itself.
template <class Contained>
std::shared_ptr<Module> module_of(const ::torch::nn::ModuleHolder<Contained>& holder) {
  return holder.ptr();
}
template <class Contained>
std::shared_ptr<Module> module_of(const std::shared_ptr<Contained>& module) {
  return module;
}
inline std::shared_ptr<Module> module_of(Module& module) {
  return {&module, [](Module*) {}};
}

// Its parameters and buffers, by name.
inline std::map<std::string, at::Tensor> tensors_of(const Module& module) {
  std::map<std::string, at::Tensor> tensors;
  for (const auto& named : {module.named_parameters(), module.named_buffers()})
    for (const auto& each : named)
      if (each.value().defined()) tensors[each.key()] = each.value();
  return tensors;
}

// "10x20 Float".
inline std::string shape_of(const at::Tensor& tensor) {
  std::string shape;
  for (const auto size : tensor.sizes()) shape += (shape.empty() ? "" : "x") + std::to_string(size);
  return (shape.empty() ? "scalar" : shape) + " " + c10::toString(tensor.scalar_type());
}
// A line for each tensor: "fc.weight (10x20 Float)".
inline std::string description_of(const Module& module) {
  std::string text;
  for (const auto& [name, tensor] : tensors_of(module))
    text += name + " (" + shape_of(tensor) + ")\n";
  return text;
}

// The first line in which two descriptions differ, of each; empty where it has no more.
inline std::pair<std::string, std::string> first_difference(const std::string& one,
                                                            const std::string& other) {
  const auto differ = std::mismatch(one.begin(), one.end(), other.begin(), other.end());
  const auto line = [](const std::string& text, std::size_t at) {
    const auto before = at == 0 ? text.npos : text.rfind('\n', at - 1);
    const auto begin = before == text.npos ? 0 : before + 1;
    return text.substr(begin, text.find('\n', begin) - begin);
  };
  const auto at = static_cast<std::size_t>(differ.first - one.begin());
  return {line(one, at), line(other, at)};
}

// A sentence, the same on every rank, that names the first tensor that ranks have otherwise; empty: they
// have the same.
inline std::string difference(Group& group, const Module& model) {
  const auto own = description_of(model);
  const auto first = group.broadcast_bytes(own, 0);
  std::int64_t other = own == first ? group.size() : group.rank();
  group.all_reduce(std::span(&other, 1), Op::min);
  if (other == group.size()) return {};
  const auto its = group.broadcast_bytes(own, static_cast<int>(other));
  const auto [mine, theirs] = first_difference(first, its);
  const auto rank = "rank " + std::to_string(other);
  if (!mine.empty() && !theirs.empty())
    return "The ranks built different models: rank 0 has " + mine + ", " + rank + " has " + theirs +
           " in its place.";
  return "The ranks built different models: only " +
         (theirs.empty() ? "rank 0 has " + mine : rank + " has " + theirs) + ".";
}

// Every rank's parameters and buffers become the root's.
inline void share_model(Group& group, const Module& model, int root) {
  const ::torch::NoGradGuard no_grad;
  for (const auto& [_, tensor] : tensors_of(model)) {
    const auto room =
        tensor.detach().to(at::kCPU).contiguous();  // itself, where it is that already
    group.broadcast(std::span(static_cast<std::byte*>(room.data_ptr()), room.nbytes()), root);
    if (!room.is_alias_of(tensor)) tensor.detach().copy_(room);
  }
}

// Buffers that each rank keeps for itself, as batch norm's statistics, become their mean.
inline void average_buffers(Group& group, const Module& model) {
  const ::torch::NoGradGuard no_grad;
  std::vector<at::Tensor> buffers, flats;
  for (const auto& each : model.buffers())
    if (each.defined() && each.is_floating_point()) buffers.push_back(each);
  if (group.size() == 1 || buffers.empty()) return;
  for (const auto& each : buffers) flats.push_back(each.reshape(-1).to(at::kCPU, at::kDouble));
  const auto flat = ::torch::cat(flats);
  group.all_reduce(std::span(flat.data_ptr<double>(), static_cast<std::size_t>(flat.numel())),
                   Op::mean);
  std::int64_t begin = 0;
  for (auto& each : buffers) {
    each.copy_(flat.narrow(0, begin, each.numel()).view_as(each));
    begin += each.numel();
  }
}

// What Module::save() wrote, into the tensors that there are: where a program put them, they stay.
inline void load(Module& module, ::torch::serialize::InputArchive& archive) {
  const ::torch::NoGradGuard no_grad;
  const auto fill = [&](auto& named, bool is_buffer) {
    if (!named.value().defined()) return;
    at::Tensor saved;
    archive.read(named.key(), saved, is_buffer);
    named.value().copy_(saved);
  };
  for (auto& each : module.named_parameters(false)) fill(each, false);
  for (auto& each : module.named_buffers(false)) fill(each, true);
  for (auto& child : module.named_children()) {
    if (!child.value()->is_serializable()) continue;
    ::torch::serialize::InputArchive nested;
    archive.read(child.key(), nested);
    load(*child.value(), nested);
  }
}

}  // namespace paceline::detail
