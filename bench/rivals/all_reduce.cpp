// The all-reduce of libpaceline, of Gloo and of Open MPI, in turns in the same processes: started by mpirun
// for collectives_bench.py. Rank 0 prints one JSON line per measurement.
//
//   mpirun -np 4 all_reduce FOLDER       an empty folder, where Gloo's ranks meet
#include <gloo/allreduce.h>
#include <gloo/allreduce_halving_doubling.h>
#include <gloo/allreduce_ring.h>
#include <gloo/allreduce_ring_chunked.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "paceline/runtime.hpp"

namespace {

using Run = std::function<void()>;

struct Size {
  std::size_t floats;
  int rounds;
};
constexpr Size kSizes[] = {{1'000, 400}, {100'000, 100}, {25'000'000, 7}};
constexpr std::size_t kTensors = 1'000, kSmall = 1'024;  // of 4 KB

struct World {
  int rank = 0, size = 0;
  std::unique_ptr<paceline::Group> group;
  std::shared_ptr<gloo::rendezvous::Context> gloo;
};

// Endpoints differ in length.
std::vector<std::string> all_of(const std::string& mine, int size) {
  constexpr int kRoom = 512;
  std::string padded = mine;
  padded.resize(kRoom);
  std::string all(static_cast<std::size_t>(size) * kRoom, '\0');
  MPI_Allgather(padded.data(), kRoom, MPI_CHAR, all.data(), kRoom, MPI_CHAR, MPI_COMM_WORLD);
  std::vector<std::string> texts;
  for (int rank = 0; rank < size; ++rank)
    texts.emplace_back(all.c_str() + static_cast<std::size_t>(rank) * kRoom);
  return texts;
}

World meet(const std::string& folder) {
  World world;
  MPI_Comm_rank(MPI_COMM_WORLD, &world.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &world.size);
  paceline::Group::Options options;
  options.rank = world.rank;
  options.size = world.size;
  options.secret = "known to this benchmark";
  options.address = "127.0.0.1";
  world.group = std::make_unique<paceline::Group>(options);
  world.group->connect(all_of(world.group->endpoint(), world.size));
  gloo::transport::tcp::attr where;
  where.iface = "lo";
  gloo::rendezvous::FileStore store(folder);
  world.gloo = std::make_shared<gloo::rendezvous::Context>(world.rank, world.size);
  auto device = gloo::transport::tcp::CreateDevice(where);
  world.gloo->connectFullMesh(store, device);
  return world;
}

// Of the slowest rank in each round, the median: milliseconds, one for each.
std::map<std::string, double> in_turns(const std::map<std::string, Run>& runs, int rounds) {
  std::map<std::string, std::vector<double>> taken;
  for (int round = 0; round < rounds; ++round)
    for (const auto& [name, run] : runs) {
      MPI_Barrier(MPI_COMM_WORLD);
      const double begin = MPI_Wtime();
      run();
      double mine = (MPI_Wtime() - begin) * 1e3, slowest = 0;
      MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
      taken[name].push_back(slowest);
    }
  std::map<std::string, double> medians;
  for (auto& [name, each] : taken) {
    std::ranges::nth_element(each, each.begin() + std::ssize(each) / 2);
    medians[name] = each[each.size() / 2];
  }
  return medians;
}

void tell(const World& world, const std::string& name, double value, const char* unit) {
  if (world.rank != 0) return;
  std::printf("{\"name\": \"collectives %s\", \"value\": %.4f, \"unit\": \"%s\"}\n", name.c_str(),
              value, unit);
  std::fflush(stdout);
}

void compare(const World& world, const Size& size) {
  std::vector<float> data(size.floats);
  const std::vector<float*> at{data.data()};
  const auto count = static_cast<int>(size.floats);
  gloo::AllreduceRing<float> ring(world.gloo, at, count);
  gloo::AllreduceRingChunked<float> chunked(world.gloo, at, count);
  gloo::AllreduceHalvingDoubling<float> halved(world.gloo, at, count);
  // Its ring of that kind is left out: with 25 million floats it never ended here.
  const auto bcube = [&] {
    gloo::AllreduceOptions options(world.gloo);
    options.setAlgorithm(gloo::AllreduceOptions::Algorithm::BCUBE);
    options.setReduceFunction([](void* into, const void* a, const void* b, std::size_t n) {
      gloo::sum<float>(into, a, b, n);
    });
    options.setOutput(data.data(), data.size());
    gloo::allreduce(options);
  };
  const auto taken = in_turns(
      {{"ours", [&] { world.group->all_reduce(std::span(data), paceline::Op::sum); }},
       {"mpi",
        [&] {
          MPI_Allreduce(MPI_IN_PLACE, data.data(), count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        }},
       {"gloo ring", [&] { ring.run(); }},
       {"gloo chunked", [&] { chunked.run(); }},
       {"gloo halved", [&] { halved.run(); }},
       {"gloo bcube", bcube}},
      size.rounds);
  double best = taken.at("gloo ring");
  for (const auto& [name, each] : taken)
    if (name.starts_with("gloo")) best = std::min(best, each);
  const std::string what = "all_reduce " + std::to_string(size.floats) + " floats";
  tell(world, what, taken.at("ours"), "ms");
  tell(world, what + ", Gloo's best", best / taken.at("ours"), "times");
  tell(world, what + ", Open MPI", taken.at("mpi") / taken.at("ours"), "times");
}

void compare_fused(const World& world) {
  std::vector<std::vector<float>> tensors(kTensors, std::vector<float>(kSmall));
  const std::vector<std::span<float>> spans(tensors.begin(), tensors.end());
  const auto taken = in_turns({{"fused",
                                [&] {
                                  world.group->all_reduce(std::span<const std::span<float>>(spans),
                                                          paceline::Op::sum);
                                }},
                               {"single",
                                [&] {
                                  for (const auto& each : spans)
                                    world.group->all_reduce(each, paceline::Op::sum);
                                }}},
                              9);
  tell(world, "1000 tensors of 4 KB", taken.at("fused"), "ms");
  tell(world, "1000 tensors of 4 KB, one by one", taken.at("single") / taken.at("fused"), "times");
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  {
    const World world = meet(argv[1]);
    for (const Size& size : kSizes) compare(world, size);
    compare_fused(world);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Finalize();
}
