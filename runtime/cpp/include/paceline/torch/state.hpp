// What a checkpoint has of a training: an archive of LibTorch's, in which model0 is what
// Module::save() wrote.
#pragma once

#include <torch/torch.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "paceline/order.hpp"
#include "paceline/torch/carried.hpp"
#include "paceline/torch/chance.hpp"
#include "paceline/torch/checkpoint.hpp"
#include "paceline/torch/error.hpp"
#include "paceline/torch/gradients.hpp"
#include "paceline/torch/model.hpp"
#include "paceline/torch/named.hpp"

namespace paceline::detail {

struct Distributed {
  std::shared_ptr<Module> module;
  std::shared_ptr<Gradients> gradients;  // none until it is known of which kind
  std::vector<bool> summed_elsewhere;    // a newcomer's: of each parameter whether others sum it

  static constexpr int kSummed = 1, kNeedsGradient = 2;
  // For those that join, a digit of each parameter.
  [[nodiscard]] std::string trains() const {
    std::string text;
    for (const auto& each : module->parameters()) {
      const bool is_summed = gradients && gradients->is_trained(text.size());
      const int digit = (is_summed ? kSummed : 0) + (each.requires_grad() ? kNeedsGradient : 0);
      text += static_cast<char>('0' + digit);
    }
    return text;
  }
  // What trains() says elsewhere, of the same model, holds here, too. REQUIRES: there are no gradients yet.
  void train_as(const std::string& text) {
    summed_elsewhere.clear();
    for (std::size_t i = 0; const auto& each : module->parameters()) {
      const int digit = text.at(i++) - '0';
      summed_elsewhere.push_back((digit & kSummed) != 0);
      each.set_requires_grad((digit & kNeedsGradient) != 0);
    }
  }
};

// Models compute as for an evaluation: in eval mode, without gradients. Then each of their modules is in its
// own mode again.
class Evaluating {
 public:
  explicit Evaluating(const std::vector<Distributed>& models) {
    for (const auto& each : models) {
      note(each.module);
      for (const auto& inside : each.module->modules(/*include_self=*/false)) note(inside);
      each.module->eval();
    }
  }
  Evaluating(const Evaluating&) = delete;
  Evaluating& operator=(const Evaluating&) = delete;
  ~Evaluating() {
    // From the outside in: train() sets those inside, too.
    for (const auto& [module, trained] : modes_)
      if (module->is_training() != trained) module->train(trained);
  }

 private:
  void note(const std::shared_ptr<Module>& module) {
    modes_.emplace_back(module, module->is_training());
  }

  std::vector<std::pair<std::shared_ptr<Module>, bool>> modes_;
  ::torch::NoGradGuard no_grad_;
};

// How far a training has come, and in which data.
struct Standing {
  std::int64_t steps = 0, samples = 0, epoch = 0;
  std::int64_t order_epoch = 0, position = 0, length = 0, seed = 0;
  int ranks = 0;  // that a checkpoint is of: it has the chance of each
};

struct State {
  std::vector<Distributed> models;
  std::vector<Carried> carried;
  Named named;

  // `record`: of where the training stands, for the next resume's audit; `chance`: of each rank.
  [[nodiscard]] std::string packed(const Standing& standing, const std::string& record,
                                   const std::vector<std::string>& chance) const {
    OutputArchive archive;
    archive.write("format", c10::IValue(kFormat));
    archive.write("description", c10::IValue(description()));
    write_all(archive, "model", models,
              [](const auto& each, auto& nested) { each.module->save(nested); });
    write_all(archive, "carried", carried,
              [](const auto& each, auto& nested) { each.save(nested); });
    if (const auto bytes = named.packed(); !bytes.empty())
      archive.write("named", tensor_of(bytes), true);
    const auto& at = standing;
    archive.write("standing", c10::IValue(std::vector<std::int64_t>{at.steps, at.samples, at.epoch,
                                                                    at.order_epoch, at.position,
                                                                    at.length, at.seed}));
    archive.write("record", tensor_of(record), true);
    for (std::size_t rank = 0; rank < chance.size(); ++rank)
      archive.write("chance" + std::to_string(rank), tensor_of(chance[rank]), true);
    return bytes_of(archive);
  }

  // Models, and of ranks that lack it what is carried, become the root's. Each rank calls it.
  void share(Group& group, int root, bool lacks, const at::Device& device) {
    for (const auto& each : models) detail::share_model(group, *each.module, root);
    for (const auto& each : carried) {
      OutputArchive archive;
      if (group.rank() == root) each.save(archive);
      const auto bytes =
          group.broadcast_bytes(group.rank() == root ? bytes_of(archive) : std::string(), root);
      if (!lacks) continue;
      InputArchive its;
      its.load_from(bytes.data(), bytes.size(), device);
      each.load(its);
    }
  }

  // What a checkpoint has beside the state.
  struct Restored {
    Standing standing;
    std::string record;                    // empty: an older one has none
    std::vector<std::string> differences;  // of names, a sentence each without its end
  };
  // Models, what is carried, and this rank's chance become those of a checkpoint. Throws PacelineError.
  Restored restore(const Found& found, const at::Device& device, int rank) {
    const auto path = found.path.string();
    try {
      InputArchive archive;
      archive.load_from(found.bytes.data(), found.bytes.size(), device);
      Restored restored{restore(archive, path, rank), {}, {}};
      at::Tensor bytes;
      restored.differences =
          named.load(archive.try_read("named", bytes, true) ? text_of(bytes) : "", device);
      if (archive.try_read("record", bytes, true)) restored.record = text_of(bytes);
      return restored;
    } catch (const c10::Error& error) {
      throw PacelineError(
          path + " is no whole checkpoint of this kind of training: " +
          std::string(error.what_without_backtrace()).substr(0, 200) +
          ". Remove it to go on from an older one, and unset PACELINE_CHECKPOINT if it "
          "names it.");
    }
  }

 private:
  static constexpr const char* kFormat = "paceline-libtorch-1";

  // What has to be the same for a checkpoint to fit, a line each.
  [[nodiscard]] std::string description() const {
    std::string text;
    for (const auto& each : models) text += description_of(*each.module);
    for (const auto& each : carried) text += each.kind + "\n";
    return text;
  }

  template <class Things, class Write>
  static void write_all(OutputArchive& archive, const std::string& name, const Things& things,
                        Write write) {
    for (std::size_t i = 0; i < things.size(); ++i) {
      OutputArchive nested(archive.compilation_unit());
      write(things[i], nested);
      archive.write(name + std::to_string(i), nested);
    }
  }
  template <class Things, class Read>
  static void read_all(InputArchive& archive, const std::string& name, const Things& things,
                       Read read) {
    for (std::size_t i = 0; i < things.size(); ++i) {
      InputArchive nested;
      archive.read(name + std::to_string(i), nested);
      read(things[i], nested);
    }
  }

  void expect_fit(InputArchive& archive, const std::string& path) const {
    c10::IValue format, described;
    archive.read("format", format);
    if (format.toStringRef() != kFormat)
      throw PacelineError(path + " is of another kind of training. Choose another folder.");
    archive.read("description", described);
    const auto before = described.toStringRef(), now = description();
    if (before == now) return;
    const auto [its, ours] = first_difference(before, now);
    throw PacelineError(path + " is of another model: it has " + (its.empty() ? "no more" : its) +
                        ", this training " + (ours.empty() ? "no more" : ours) +
                        ". Choose another folder.");
  }

  Standing restore(InputArchive& archive, const std::string& path, int rank) {
    expect_fit(archive, path);
    read_all(archive, "model", models,
             [](const auto& each, auto& nested) { load(*each.module, nested); });
    read_all(archive, "carried", carried,
             [](const auto& each, auto& nested) { each.load(nested); });
    c10::IValue standing;
    archive.read("standing", standing);
    const auto numbers = standing.toIntVector();
    const int ranks = ranks_in(archive);
    at::Tensor chance;
    if (archive.try_read("chance" + std::to_string(rank), chance, true))
      restore_chance(chance);
    else  // there were fewer ranks
      ::torch::manual_seed(seed_of(numbers.at(1), rank));
    return {numbers.at(0), numbers.at(1), numbers.at(2), numbers.at(3),
            numbers.at(4), numbers.at(5), numbers.at(6), ranks};
  }

  static int ranks_in(InputArchive& archive) {
    int ranks = 0;
    for (at::Tensor one; archive.try_read("chance" + std::to_string(ranks), one, true);) ++ranks;
    return ranks;
  }
};

}  // namespace paceline::detail
