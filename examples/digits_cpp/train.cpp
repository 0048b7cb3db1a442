// Learns to read digits that it draws by itself: a small convolutional network, on all devices of its
// job. Start it alone or under Paceline. Reports train_loss, and on held-out digits loss and accuracy.
//
//   train [--epochs N] [--batch N] [--samples N] [--held-out N] [--learning-rate X] [--seed N]
//         [--checkpoint-dir DIR] [--checkpoint-every SECONDS] [--evaluate-every STEPS]
#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <map>
#include <paceline/torch.hpp>
#include <string>

#include "digits.hpp"

namespace {

namespace F = torch::nn::functional;

class Options {
 public:
  Options(int argc, char** argv) {
    for (int i = 1; i < argc; i += 2) {
      const auto found = given_.find(argv[i]);
      if (found == given_.end() || i + 1 == argc) refuse(argv[i]);
      found->second = argv[i + 1];
    }
  }
  const std::string& text(const std::string& name) const { return given_.at(name); }
  double number(const std::string& name) const { return std::atof(text(name).c_str()); }
  std::uint64_t whole(const std::string& name) const {
    return std::strtoull(text(name).c_str(), nullptr, 10);
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    std::cerr << "train: " << what << " is no option with a value. The options are:";
    for (const auto& [name, _] : given_) std::cerr << " " << name;
    std::cerr << std::endl;
    std::exit(2);
  }

  std::map<std::string, std::string> given_{
      {"--epochs", "5"},        {"--batch", "128"},           {"--samples", "10000"},
      {"--held-out", "2000"},   {"--learning-rate", "0.002"}, {"--seed", "0"},
      {"--checkpoint-dir", ""}, {"--checkpoint-every", "5"},  {"--evaluate-every", "50"}};
};

torch::nn::Sequential network() {
  using namespace torch::nn;
  return Sequential(Conv2d(Conv2dOptions(1, 8, 3).padding(1)), ReLU(), MaxPool2d(2),
                    Conv2d(Conv2dOptions(8, 16, 3).padding(1)), ReLU(), MaxPool2d(2), Flatten(),
                    Linear(16 * 7 * 7, 32), ReLU(), Linear(32, 10));
}

// Rises over the first steps, then falls in a straight line to a twentieth. By the step, not by a
// scheduler: LibTorch can't save one.
void set_learning_rate(torch::optim::Optimizer& optimizer, double highest, double step,
                       double steps) {
  const double rising = std::min(1.0, (step + 1) / (0.03 * steps));
  const double rate = highest * rising * (1.0 - 0.95 * std::min(1.0, step / steps));
  for (auto& group : optimizer.param_groups()) group.options().set_lr(rate);
}

}  // namespace

int main(int argc, char** argv) {
  const Options options(argc, argv);
  torch::set_num_threads(1);
  auto job = paceline::init();
  const Digits train_set(options.whole("--samples"), 1), test_set(options.whole("--held-out"), 2);

  torch::manual_seed(options.whole("--seed"));
  auto net = network();
  net->to(job.device());
  const double highest_rate = options.number("--learning-rate");
  torch::optim::AdamW optimizer(net->parameters(), torch::optim::AdamWOptions(highest_rate));
  job.distribute(net, optimizer);
  if (const auto& folder = options.text("--checkpoint-dir"); !folder.empty())
    job.checkpoint(folder, options.number("--checkpoint-every"));

  const auto scored = [&](const torch::data::Example<>& batch) {
    return net->forward((batch.data.to(job.device()) - 0.25) * 4);  // about mean 0, deviation 1
  };
  const auto measure = [&](const torch::data::Example<>& batch) {
    const auto scores = scored(batch), classes = batch.target.to(job.device());
    const auto sum = F::CrossEntropyFuncOptions().reduction(torch::kSum);
    const auto right = (scores.argmax(1) == classes).sum().item<double>();
    const auto loss = F::cross_entropy(scores, classes, sum).item<double>();
    return paceline::Sums{{{"loss", loss}, {"accuracy", right}},
                          static_cast<double>(classes.size(0))};
  };

  const auto epochs = options.whole("--epochs");
  const auto steps = static_cast<double>(epochs) *
                     std::ceil(options.number("--samples") / options.number("--batch"));
  const paceline::BatchOptions batches{.global_batch_size = options.whole("--batch"),
                                       .seed = options.whole("--seed")};
  for ([[maybe_unused]] const auto epoch : job.epochs(epochs)) {
    for (const auto& batch : job.batches(train_set, batches)) {
      set_learning_rate(optimizer, highest_rate, static_cast<double>(job.steps()), steps);
      const auto loss = F::cross_entropy(scored(batch), batch.target.to(job.device()));
      optimizer.zero_grad();
      loss.backward();
      optimizer.step();
      job.step(loss);
      if (job.should_stop()) break;
      if (job.steps() % options.whole("--evaluate-every") == 0)
        job.report(job.evaluate(measure, test_set));
    }
    if (job.should_stop()) break;
  }
  job.report(job.evaluate(measure, test_set));
  job.finish();
}
