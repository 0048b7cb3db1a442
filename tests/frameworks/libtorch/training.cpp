// A small training that tells which samples each rank saw and which weights came out.
//
//   training EPOCHS FOLDER|- [samples=N] [pause=SECONDS] [max_local=N] [wide=RANK] [fails=RANK] [twice]
//                        [weighted] [by_hand] [weightless=N] [forgets] [hurry=FILE] [evaluates=N] [tell]
//                        [dies=RANK where=N] [carries[=2]]
//
//   pause      of each step        hurry   until that file is there
//   max_local  samples of a piece  fails   that rank throws in its fifth step
//   evaluates  after each N steps  wide    that rank builds another model
//   tell       all ranks tell weights
//   dies       that rank is killed in its fifth step: where=1 before backward(), 2 before the optimizer's
//              step, 3 before job.step(), 4 in the evaluation after it
//   carries    steps are counted in what is carried; 2: something more is carried too late
//   twice      backward() runs twice on a batch
//   weighted   samples count by their class, of which job.weight() is told, but not with by_hand
//   weightless in that step nothing counts
//   forgets    job.weight() is not called for the second batch
#include <torch/torch.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <paceline/torch.hpp>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

namespace {

constexpr std::size_t kBatch = 30;

struct Batch {
  torch::Tensor points, classes;
  std::vector<std::size_t> indices;
};

// Points of a square, and whether they lie in a circle.
class Points : public torch::data::datasets::BatchDataset<Points, Batch> {
 public:
  explicit Points(std::int64_t count) {
    auto chance = at::make_generator<at::CPUGeneratorImpl>(1);
    points_ = torch::rand({count, 2}, chance) * 2 - 1;
    classes_ = (points_.square().sum(1) < 0.6).to(torch::kLong);
  }
  Batch get_batch(c10::ArrayRef<std::size_t> indices) override {
    const std::vector<std::int64_t> numbers(indices.begin(), indices.end());
    const auto which = torch::tensor(numbers, torch::kLong);
    return {points_.index_select(0, which), classes_.index_select(0, which), indices.vec()};
  }
  c10::optional<std::size_t> size() const override {
    return static_cast<std::size_t>(classes_.size(0));
  }

 private:
  torch::Tensor points_, classes_;
};

class NetImpl : public torch::nn::Module {
 public:
  explicit NetImpl(int width)
      : first(register_module("first", torch::nn::Linear(2, width))),
        norm(register_module("norm", torch::nn::LayerNorm(torch::nn::LayerNormOptions({width})))),
        second(register_module("second", torch::nn::Linear(width, 2))) {
    register_module("never_used", torch::nn::Linear(3, 3));
  }
  torch::Tensor forward(const torch::Tensor& x) { return second(norm(torch::relu(first(x)))); }

  torch::nn::Linear first;
  torch::nn::LayerNorm norm;
  torch::nn::Linear second;
};
TORCH_MODULE(Net);

// The mean in which a sample of class 1 counts thrice and each fifth sample nothing, and what it is of.
std::pair<torch::Tensor, double> weighted_loss(const torch::Tensor& scores, const Batch& batch) {
  auto counts = (1 + 2 * batch.classes).to(torch::kFloat);
  for (std::size_t i = 0; i < batch.indices.size(); ++i)
    if (batch.indices[i] % 5 == 0) counts[static_cast<std::int64_t>(i)] = 0;
  const auto losses = torch::nn::functional::cross_entropy(
      scores, batch.classes,
      torch::nn::functional::CrossEntropyFuncOptions().reduction(torch::kNone));
  return {(losses * counts).sum() / counts.sum(), counts.sum().item<double>()};
}

void tell_weights(const torch::nn::Module& module) {
  std::printf("WEIGHTS");
  for (const auto& each : module.parameters()) {
    const auto flat = each.detach().reshape(-1);
    for (std::int64_t i = 0; i < flat.numel(); ++i) std::printf(" %.9g", flat[i].item<double>());
  }
  std::printf("\n");
}

void tell_accuracy(const paceline::Job& job, const paceline::Metrics& found) {
  job.report(found);
  std::printf("ACCURACY %.9g\n", found.at("accuracy"));
}

}  // namespace

int main(int argc, char** argv) {
  std::map<std::string, int> given;
  double pause = 0;
  std::string hurry;
  for (int i = 3; i < argc; ++i) {
    const std::string word = argv[i];
    const auto equals = word.find('=');
    const auto value = equals == word.npos ? "1" : word.substr(equals + 1);
    if (word.starts_with("pause=")) pause = std::atof(value.c_str());
    if (word.starts_with("hurry=")) hurry = value;
    given[word.substr(0, equals)] = std::atoi(value.c_str());
  }
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  torch::set_num_threads(1);

  auto job = paceline::init(std::chrono::minutes(2));
  const auto is_asked_of = [&](const char* what) {
    return given.contains(what) && given[what] == job.rank();
  };
  const auto die = [&](int where, std::uint64_t steps) {
    if (is_asked_of("dies") && given["where"] == where && job.generation() == 1 &&
        job.steps() == steps)
      std::raise(SIGKILL);
  };
  const auto rest = [&] {
    if (hurry.empty() || !std::filesystem::exists(hurry))
      std::this_thread::sleep_for(std::chrono::duration<double>(pause));
  };
  torch::manual_seed(static_cast<std::uint64_t>(job.rank()) + 1);  // ranks start from rank 0's
  Net net(is_asked_of("wide") ? 9 : 8);
  torch::optim::Adam optimizer(net->parameters(), 0.01);
  job.distribute(net, optimizer);
  std::int64_t counted = 0;
  auto began = "in generation " + std::to_string(job.generation());
  auto history = torch::zeros({1});
  Net mean(8);
  if (given.contains("carries")) {
    job.carry("counted", counted);
    job.carry("began", began);
    job.carry("history", history);
    job.carry("mean", mean);
  }
  if (std::string(argv[2]) != "-") job.checkpoint(argv[2], 0.2);

  job.on_resize(
      [](int old_size, int new_size) { std::printf("RESIZED %d %d\n", old_size, new_size); });

  if (given.contains("carries") && given["carries"] == 2) job.carry("late", counted);

  int batches = 0;
  const Points points(given.contains("samples") ? given["samples"] : 604);
  const auto measure = [&](const Batch& batch) {
    die(4, 5);
    const auto right = (net(batch.points).argmax(1) == batch.classes).sum().item<double>();
    return paceline::Sums{{{"accuracy", right}}, static_cast<double>(batch.indices.size())};
  };
  for (const auto epoch : job.epochs(static_cast<std::uint64_t>(std::atoi(argv[1])))) {
    for (const auto& batch :
         job.batches(points, {.global_batch_size = kBatch,
                             .max_local = static_cast<std::size_t>(given["max_local"]),
                             .seed = 1,
                             .workers = 2})) {
      std::string seen;
      for (const auto index : batch.indices) seen += " " + std::to_string(index);
      std::printf("SAW %d %d%s\n", static_cast<int>(epoch), static_cast<int>(job.generation()),
                  seen.c_str());
      if (is_asked_of("fails") && job.steps() == 4) throw std::runtime_error("no more of this");
      auto loss = torch::nn::functional::cross_entropy(net(batch.points), batch.classes);
      if (given.contains("weighted")) {
        double count = 0;
        std::tie(loss, count) = weighted_loss(net(batch.points), batch);
        if (given.contains("weightless") && job.steps() == 4) count = 0;
        ++batches;
        if (!given.contains("by_hand") && !(given.contains("forgets") && batches == 2))
          job.weight(count);
      }
      optimizer.zero_grad();
      die(1, 4);
      loss.backward({}, true);
      if (given.contains("twice")) loss.backward();
      die(2, 4);
      optimizer.step();
      die(3, 4);
      const auto before = job.steps();
      ++counted;
      history = history + 1;
      mean->first->bias.data().fill_(static_cast<double>(counted));
      job.step(loss);
      if (given.contains("carries")) {
        if (job.steps() > before)
          job.commit();
        else
          job.restore();
      }
      std::printf("STEPS %d %d\n", static_cast<int>(before), static_cast<int>(job.steps()));
      if (given.contains("evaluates") &&
          job.steps() % static_cast<std::uint64_t>(given["evaluates"]) == 0)
        tell_accuracy(job, job.evaluate(measure, points, 100));
      rest();
      if (job.should_stop()) break;
    }
    tell_accuracy(job, job.evaluate(measure, points, 100));
    if (job.should_stop()) break;
  }
  if (given.contains("carries"))
    std::printf("CARRIED %d %d %d %d %s\n", static_cast<int>(job.steps()),
                static_cast<int>(counted), history.item<int>(), mean->first->bias[0].item<int>(),
                began.c_str());
  if (job.rank() == 0 || given.contains("tell")) tell_weights(*net);
  if (given.contains("publish")) {
    Net read(8);
    torch::load(read, job.publish(net, "models/net.pt"));
    if (job.rank() == job.size() - 1) tell_weights(*read);
  }
  job.finish();
}
