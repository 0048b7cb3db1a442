// Images of digits that are made here: a dot-matrix font, shifted, turned, scaled and noisy.
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <string>
#include <vector>

// float32 [n, 1, 28, 28], 0..1, and int64 [n], 0..9.
class Digits : public torch::data::datasets::BatchDataset<Digits, torch::data::Example<>> {
 public:
  // The same seed draws the same images on every machine.
  Digits(std::uint64_t images, std::uint64_t seed) {
    const auto count = static_cast<std::int64_t>(images);
    auto chance = at::make_generator<at::CPUGeneratorImpl>(seed);
    const auto uniform = [&](double least, double most) {
      return torch::rand({count}, chance) * (most - least) + least;
    };
    classes_ = torch::randint(10, {count}, chance, torch::kLong);
    const auto angle = uniform(-0.35, 0.35), scale = uniform(1.1, 1.9);
    const auto across = torch::cos(angle) * scale, along = torch::sin(angle) * scale;
    const auto rows =
        torch::stack({across, -along, uniform(-0.4, 0.4), along, across, uniform(-0.4, 0.4)}, 1);
    const auto grid =
        torch::nn::functional::affine_grid(rows.view({count, 2, 3}), {count, 1, 28, 28}, false);
    const auto drawn = torch::nn::functional::grid_sample(
        font().index_select(0, classes_), grid,
        torch::nn::functional::GridSampleFuncOptions().align_corners(false));
    images_ = (drawn + torch::randn({count, 1, 28, 28}, chance) * 0.3).clamp_(0, 1);
  }

  torch::data::Example<> get_batch(c10::ArrayRef<std::size_t> indices) override {
    const std::vector<std::int64_t> numbers(indices.begin(), indices.end());
    const auto which = torch::tensor(numbers, torch::kLong);
    return {images_.index_select(0, which), classes_.index_select(0, which)};
  }
  c10::optional<std::size_t> size() const override {
    return static_cast<std::size_t>(classes_.size(0));
  }

 private:
  // [10, 1, 7, 5]
  static torch::Tensor font() {
    const std::string dots[] = {
        ".###."
        "#...#"
        "#..##"
        "#.#.#"
        "##..#"
        "#...#"
        ".###.",
        "..#.."
        ".##.."
        "..#.."
        "..#.."
        "..#.."
        "..#.."
        ".###.",
        ".###."
        "#...#"
        "....#"
        "...#."
        "..#.."
        ".#..."
        "#####",
        "#####"
        "...#."
        "..#.."
        "...#."
        "....#"
        "#...#"
        ".###.",
        "...#."
        "..##."
        ".#.#."
        "#..#."
        "#####"
        "...#."
        "...#.",
        "#####"
        "#...."
        "####."
        "....#"
        "....#"
        "#...#"
        ".###.",
        "..##."
        ".#..."
        "#...."
        "####."
        "#...#"
        "#...#"
        ".###.",
        "#####"
        "....#"
        "...#."
        "..#.."
        ".#..."
        ".#..."
        ".#...",
        ".###."
        "#...#"
        "#...#"
        ".###."
        "#...#"
        "#...#"
        ".###.",
        ".###."
        "#...#"
        "#...#"
        ".####"
        "....#"
        "...#."
        ".##.."};
    std::vector<float> values;
    for (const auto& digit : dots)
      for (const char dot : digit) values.push_back(dot == '#' ? 1.0F : 0.0F);
    return torch::tensor(values).view({10, 1, 7, 5});
  }

  torch::Tensor images_, classes_;
};
