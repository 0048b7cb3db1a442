// A small training that tells which samples each rank saw and which weights came out.
//
//   training EPOCHS FOLDER|- [samples=N] [pause=SECONDS] [max_local=N] [wide=RANK] [fails=RANK] [twice]
//                        [weighted] [by_hand] [weightless=N] [forgets] [hurry=FILE] [evaluates=N] [tell]
//                        [dies=RANK where=N] [holds=FILE] [ends=STEP] [short] [carries[=2]] [publish=FILE]
//                        [micro=N] [exact[=2]] [chance[=N]] [threads=N] [notices]
//                        [leaves=STEP] [batch=N] [rate=X] [late=RANK] [spoils] [in_order]
//                        [pair] [unfreezes[=2]] [outside] [before] [freezes=STEP] [melts=STEP]
//                        [rests=STEP] [alternates]
//
//   pause      of each step        hurry   until that file is there
//   max_local  samples of a piece  fails   that rank throws in its fifth step
//   evaluates  after each N steps  wide    that rank builds another model
//   tell       all ranks tell weights
//   dies       that rank is killed in its fifth step: where=1 before backward(), 2 before the optimizer's
//              step, 3 before job.step(), 4 in the evaluation after it
//   short      the loop over an epoch's batches is left after the first
//   ends       the program leaves its loops after that step
//   holds      in the evaluation after the fourth step ranks wait until that file is there
//   carries    steps are counted in what is carried; 2: something more is carried too late
//   twice      backward() runs twice on a batch
//   weighted   samples count by their class, of which job.weight() is told, but not with by_hand
//   weightless in that step nothing counts
//   forgets    job.weight() is not called for the second batch
//   chance     the model has dropout and batch norm, and points are moved by chance: 1 those of a batch at
//              once, 2 each by itself, 3 by a generator of the dataset's own
//   notices    a buffer counts the batches that the model has seen
//   exact      2: only in the first epoch
//   leaves     a notice comes in that step    in_order  samples are not shuffled
//   rate       of the optimizer, after job.checkpoint()
//   late       that rank sets another one when it has met the others
//   spoils     the weights, after job.checkpoint()
//   pair       two more models under the same loss, of which one uses a layer for some samples alone
//   unfreezes  the first layer is trained from the second epoch on; 2: from the middle of the fifth step on
//   freezes    the first layer is trained up to that step      melts  it is trained from then on
//   rests      nothing of the first of the pair is trained from that step on
//   alternates the first of the pair is under the loss of each third step alone
//   outside    the optimizer has a parameter that is in no model
//   before     the program evaluates and publishes before it trains
#include <torch/torch.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <paceline/torch.hpp>
#include <random>
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

struct Sample {
  torch::Tensor point, class_of_it;
  std::size_t index;
};

// Of a square, and whether they lie in a circle.
struct Drawn {
  explicit Drawn(std::int64_t count) {
    auto chance = at::make_generator<at::CPUGeneratorImpl>(1);
    points = torch::rand({count, 2}, chance) * 2 - 1;
    classes = (points.square().sum(1) < 0.6).to(torch::kLong);
  }
  torch::Tensor points, classes;
};

class Points : public torch::data::datasets::BatchDataset<Points, Batch> {
 public:
  Points(const Drawn& drawn, bool by_chance) : drawn_(drawn), by_chance_(by_chance) {}
  Batch get_batch(c10::ArrayRef<std::size_t> indices) override {
    const std::vector<std::int64_t> numbers(indices.begin(), indices.end());
    const auto which = torch::tensor(numbers, torch::kLong);
    auto points = drawn_.points.index_select(0, which);
    if (by_chance_) points = points + 0.1 * torch::randn_like(points);
    return {points, drawn_.classes.index_select(0, which), indices.vec()};
  }
  c10::optional<std::size_t> size() const override {
    return static_cast<std::size_t>(drawn_.classes.size(0));
  }

 private:
  Drawn drawn_;
  bool by_chance_;
};

// Each by itself, moved by LibTorch's generator.
class Samples : public torch::data::datasets::Dataset<Samples, Sample> {
 public:
  explicit Samples(const Drawn& drawn) : drawn_(drawn) {}
  Sample get(std::size_t index) override {
    const auto at = static_cast<std::int64_t>(index);
    return {drawn_.points[at] + 0.1 * torch::randn({2}), drawn_.classes[at], index};
  }
  c10::optional<std::size_t> size() const override {
    return static_cast<std::size_t>(drawn_.classes.size(0));
  }

 private:
  Drawn drawn_;
};

// All of a batch, moved by a generator of its own.
class OwnPoints : public torch::data::datasets::BatchDataset<OwnPoints, Batch> {
 public:
  explicit OwnPoints(const Drawn& drawn) : points_(drawn, false) {}
  void seed(std::uint64_t seed) { chance_.seed(seed); }
  Batch get_batch(c10::ArrayRef<std::size_t> indices) override {
    auto batch = points_.get_batch(indices);
    std::uniform_real_distribution<float> somewhere(-0.1F, 0.1F);
    auto moved = batch.points.accessor<float, 2>();
    for (std::int64_t i = 0; i < moved.size(0); ++i)
      for (std::int64_t j = 0; j < 2; ++j) moved[i][j] += somewhere(chance_);
    return batch;
  }
  c10::optional<std::size_t> size() const override { return points_.size(); }

 private:
  Points points_;
  std::mt19937_64 chance_;
};

Batch collated(std::vector<Sample> samples) {
  std::vector<torch::Tensor> points, classes;
  Batch batch;
  for (const auto& each : samples) {
    points.push_back(each.point);
    classes.push_back(each.class_of_it);
    batch.indices.push_back(each.index);
  }
  batch.points = torch::stack(points);
  batch.classes = torch::stack(classes);
  return batch;
}

class NetImpl : public torch::nn::Module {
 public:
  struct Options {
    int width = 8;
    bool by_chance = false, notices = false;
  };
  explicit NetImpl(const Options& options)
      : first(register_module("first", torch::nn::Linear(2, options.width))),
        second(register_module("second", torch::nn::Linear(options.width, 2))),
        never_used(register_module("never_used", torch::nn::Linear(3, 3))),
        options_(options) {
    using namespace torch::nn;
    if (options.by_chance)
      norm_ = Sequential(BatchNorm1d(options.width), Dropout(0.3));
    else
      norm_ = Sequential(LayerNorm(LayerNormOptions({options.width})));
    register_module("norm", norm_);
    seen_ = register_buffer("seen", torch::zeros({1}));
  }
  torch::Tensor forward(const torch::Tensor& x) {
    if (options_.notices) seen_.add_(1);
    return second(norm_->forward(torch::relu(first(x))));
  }

  torch::nn::Linear first, second, never_used;

 private:
  Options options_;
  torch::nn::Sequential norm_;
  torch::Tensor seen_;
};
TORCH_MODULE(Net);

class SideImpl : public torch::nn::Module {
 public:
  SideImpl()
      : all_(register_module("all", torch::nn::Linear(2, 2))),
        few_(register_module("few", torch::nn::Linear(2, 2))) {}
  // Each `every`th sample goes through both layers.
  torch::Tensor forward(const Batch& batch, std::size_t every) {
    std::vector<std::int64_t> rows;
    for (std::size_t i = 0; i < batch.indices.size(); ++i)
      if (batch.indices[i] % every == 0) rows.push_back(static_cast<std::int64_t>(i));
    const auto scores = all_(batch.points);
    if (rows.empty()) return scores;
    const auto which = torch::tensor(rows, torch::kLong);
    return scores.index_add(0, which, few_(batch.points.index_select(0, which)));
  }

 private:
  torch::nn::Linear all_, few_;
};
TORCH_MODULE(Side);

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

// Nine digits are all bits.
void tell(const char* what, const std::vector<torch::Tensor>& tensors) {
  std::printf("%s", what);
  for (const auto& each : tensors) {
    const auto flat = each.detach().reshape(-1);
    for (std::int64_t i = 0; i < flat.numel(); ++i) std::printf(" %.9g", flat[i].item<double>());
  }
  std::printf("\n");
}
void tell_weights(const torch::nn::Module& module, const std::vector<Side>& sides = {}) {
  auto weights = module.parameters();
  for (const auto& side : sides)
    for (const auto& each : side->parameters()) weights.push_back(each);
  tell("WEIGHTS", weights);
  tell("BUFFERS", module.buffers());
}

void tell_accuracy(const paceline::Job& job, const paceline::Metrics& found) {
  job.report(found);
  std::printf("ACCURACY %.9g\n", found.at("accuracy"));
}

}  // namespace

int main(int argc, char** argv) {
  std::map<std::string, int> given;
  double pause = 0, rate = 0.01;
  std::string hurry, holds, publish;
  for (int i = 3; i < argc; ++i) {
    const std::string word = argv[i];
    const auto equals = word.find('=');
    const auto value = equals == word.npos ? "1" : word.substr(equals + 1);
    if (word.starts_with("pause=")) pause = std::atof(value.c_str());
    if (word.starts_with("hurry=")) hurry = value;
    if (word.starts_with("holds=")) holds = value;
    if (word.starts_with("publish=")) publish = value;
    if (word.starts_with("rate=")) rate = std::atof(value.c_str());
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
  const NetImpl::Options options{is_asked_of("wide") ? 9 : 8, given.contains("chance"),
                                 given.contains("notices")};
  Net net(options);
  net->never_used->eval();  // as what is fine-tuned has parts that don't train
  const auto train_first = [&](bool is_trained) {
    for (const auto& each : net->first->parameters()) each.set_requires_grad(is_trained);
  };
  if (given.contains("unfreezes") || given.contains("melts")) train_first(false);
  auto trained = net->parameters();
  if (given.contains("outside")) trained.push_back(torch::zeros({5}, torch::requires_grad()));
  torch::optim::Adam optimizer(trained, 0.01);
  job.distribute(net, optimizer);
  std::vector<Side> sides;
  if (given.contains("pair")) sides = {Side(), Side()};
  std::vector<torch::Tensor> of_sides;
  for (const auto& side : sides)
    for (const auto& each : side->parameters()) of_sides.push_back(each);
  torch::optim::SGD side_optimizer(of_sides, 0.1);
  if (!sides.empty()) {
    job.distribute(sides[0]);
    job.distribute(sides[1], side_optimizer);
  }
  std::int64_t counted = 0;
  auto began = "in generation " + std::to_string(job.generation());
  auto history = torch::zeros({1});
  Net mean(NetImpl::Options{});
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

  optimizer.param_groups().front().options().set_lr(rate);
  if (given.contains("spoils")) net->second->weight.data().mul_(100);

  int batches = 0;
  const Drawn drawn(given.contains("samples") ? given["samples"] : 604);
  const Points points(drawn, false);
  const auto measure = [&](const Batch& batch) {
    die(4, 5);
    while (!holds.empty() && job.steps() == 4 && !std::filesystem::exists(holds))
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    const auto right = (net(batch.points).argmax(1) == batch.classes).sum().item<double>();
    return paceline::Sums{{{"accuracy", right}}, static_cast<double>(batch.indices.size())};
  };
  const auto train = [&](std::uint64_t epoch, const Batch& batch) {
    std::string seen;
    for (const auto index : batch.indices) seen += " " + std::to_string(index);
    std::printf("SAW %d %d%s\n", static_cast<int>(epoch), static_cast<int>(job.generation()),
                seen.c_str());
    if (given["unfreezes"] == 2 && job.steps() == 4) train_first(true);
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
    const std::size_t first_side = given.contains("alternates") && job.steps() % 3 != 0 ? 1 : 0;
    for (std::size_t i = first_side; i < sides.size(); ++i)
      loss = loss +
             torch::nn::functional::cross_entropy(sides[i](batch, i == 0 ? 1 : 20), batch.classes);
    optimizer.zero_grad();
    side_optimizer.zero_grad();
    die(1, 4);
    loss.backward({}, true);
    if (given.contains("twice")) loss.backward();
    die(2, 4);
    optimizer.step();
    side_optimizer.step();
    die(3, 4);
    if (given.contains("leaves") &&
        job.steps() + 1 == static_cast<std::uint64_t>(given["leaves"]) && job.rank() == 0)
      std::raise(SIGTERM);
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
    const auto has_come_to = [&](const char* what) {
      return given.contains(what) && job.steps() == static_cast<std::uint64_t>(given[what]);
    };
    if (has_come_to("freezes")) train_first(false);
    if (has_come_to("melts")) train_first(true);
    if (has_come_to("rests"))
      for (const auto& each : sides[0]->parameters()) each.set_requires_grad(false);
    std::printf("STEPS %d %d\n", static_cast<int>(before), static_cast<int>(job.steps()));
    if (given.contains("evaluates") && job.steps() > before &&
        job.steps() % static_cast<std::uint64_t>(given["evaluates"]) == 0)
      tell_accuracy(job, job.evaluate(measure, points, 100));
    rest();
  };
  const auto is_over = [&] {
    const auto end = static_cast<std::uint64_t>(given.contains("ends") ? given["ends"] : 0);
    return job.should_stop() || (end > 0 && job.steps() == end);
  };
  const auto train_with = [&](std::uint64_t epoch, auto dataset, int threads) {
    const paceline::BatchOptions asked{
        .global_batch_size =
            given.contains("batch") ? static_cast<std::size_t>(given["batch"]) : kBatch,
        .max_local = static_cast<std::size_t>(given["max_local"]),
        .seed = 1,
        .shuffle = !given.contains("in_order"),
        .micro = static_cast<std::size_t>(given["micro"]),
        .exact = given.contains("exact") && (given["exact"] == 1 || epoch == 0),
        .workers =
            static_cast<std::size_t>(given.contains("threads") ? given["threads"] : threads)};
    for (const auto& batch : job.batches(dataset, asked)) {
      train(epoch, batch);
      if (is_over() || given.contains("short")) break;
    }
  };
  const auto train_an_epoch = [&](std::uint64_t epoch) {
    using Collate = torch::data::transforms::Collate<Batch, std::vector<Sample>>;
    if (!given.contains("chance"))
      return train_with(epoch, points, given.contains("micro") ? 0 : 2);
    if (given["chance"] == 1) return train_with(epoch, Points(drawn, true), 0);
    if (given["chance"] == 2) return train_with(epoch, Samples(drawn).map(Collate(collated)), 0);
    train_with(epoch, OwnPoints(drawn), 2);
  };

  if (given.contains("before")) {
    tell_accuracy(job, job.evaluate(measure, points, 100));
    std::printf("PUBLISHED %s\n", job.publish(net, publish).c_str());
  }
  for (const auto epoch : job.epochs(static_cast<std::uint64_t>(std::atoi(argv[1])))) {
    if (given["unfreezes"] == 1 && epoch == 1) train_first(true);
    if (is_asked_of("late")) optimizer.param_groups().front().options().set_lr(0.5);
    train_an_epoch(epoch);
    tell_accuracy(job, job.evaluate(measure, points, 100));
    TORCH_CHECK(net->is_training() && !net->never_used->is_training(), "of another mode");
    if (is_over()) break;
  }
  if (given.contains("carries"))
    std::printf("CARRIED %d %d %d %d %s\n", static_cast<int>(job.steps()),
                static_cast<int>(counted), history.item<int>(), mean->first->bias[0].item<int>(),
                began.c_str());
  if (job.rank() == 0 || given.contains("tell")) tell_weights(*net, sides);
  if (!publish.empty()) {
    Net read(options);
    torch::load(read, job.publish(net, publish));
    if (job.rank() == job.size() - 1) tell_weights(*read);
  }
  job.finish();
}
