// The elastic runtime for LibTorch: a program for one device trains on all devices of its job, and goes
// on with another number of them, in place or after a start.
//
//   int main() {
//     auto job = paceline::init();                        // outside of Paceline: one process, the same code
//     Net net;                                            // of TORCH_MODULE(Net)
//     torch::optim::Adam optimizer(net->parameters(), 0.01);
//     net->to(job.device());
//     job.distribute(net, optimizer);
//     job.checkpoint("checkpoints", 30);                  // goes on from the newest
//     for (auto epoch : job.epochs(20)) {
//       for (auto& batch : job.batches(train_set, {.global_batch_size = 100, .seed = 1})) {
//         auto loss = torch::nll_loss(net(batch.data), batch.target);
//         optimizer.zero_grad();
//         loss.backward();                                // gradients: the mean over all 100 samples
//         optimizer.step();
//         job.step(loss);                                 // stops, notices and checkpoints happen here
//       }
//       job.report(job.evaluate(count_correct, test_set));  // Sums count_correct(batch)
//       if (job.should_stop()) break;
//     }
//     job.finish();
//   }
//
// `train_set` is any dataset of LibTorch that has a size: what job.batches() gives is what its get_batch()
// returns. Needs C++20, LibTorch and libpaceline: find_package(Torch), find_package(Paceline), and the
// target Paceline::runtime.
#pragma once

#include "paceline/torch/job.hpp"    // IWYU pragma: export
#include "paceline/torch/loops.hpp"  // IWYU pragma: export
