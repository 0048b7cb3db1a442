#include "agent/linux/environment.hpp"

#include <gmock/gmock.h>

#include <map>

namespace paceline::agent {
namespace {

using ::testing::Contains;

std::map<std::string, std::string> environment(const WorkerLaunch& worker,
                                               const WorkerFacts& facts) {
  std::map<std::string, std::string> all;
  for (const std::string& entry : build_environment(worker, facts))
    all[entry.substr(0, entry.find('='))] = entry.substr(entry.find('=') + 1);
  return all;
}

// Rank 1 of two, the second generation of job 7; others had the first numbers.
WorkerLaunch worker() {
  WorkerLaunch launch;
  launch.key = {JobId{7}, Generation{2}, 4};
  launch.rank = 1;
  launch.attempt = 3;
  launch.restart_count = 4;
  launch.retries = 5;
  launch.world_size = launch.local_world_size = 2;
  launch.local_rank = 1;
  launch.slots = {2, 3};
  launch.slots_per_worker = 2;
  launch.job_name = "digits";
  launch.user = "ann";
  launch.addresses = {"10.0.0.1", "10.0.0.2"};
  launch.launch.command = {"python3", "train.py"};
  return launch;
}

WorkerFacts facts() {
  WorkerFacts facts;
  facts.server_directory = "/var/lib/paceline";
  facts.socket = "/var/lib/paceline/run/7.2.1.sock";
  facts.marker = "PACELINE_WORKER=7.2.1@/var/lib/paceline/agent/workers/7.2.1";
  facts.port = 20000;
  return facts;
}

TEST(Environment, IsWhatTorchrunWouldSet) {
  const auto all = environment(worker(), facts());
  const std::map<std::string, std::string> expected{{"MASTER_ADDR", "10.0.0.1"},
                                                    {"MASTER_PORT", "20000"},
                                                    {"RANK", "1"},
                                                    {"WORLD_SIZE", "2"},
                                                    {"LOCAL_RANK", "1"},
                                                    {"LOCAL_WORLD_SIZE", "2"},
                                                    {"GROUP_RANK", "0"},
                                                    {"GROUP_WORLD_SIZE", "1"},
                                                    {"ROLE_NAME", "default"},
                                                    {"ROLE_RANK", "1"},
                                                    {"ROLE_WORLD_SIZE", "2"},
                                                    {"TORCHELASTIC_RUN_ID", "paceline-7"},
                                                    {"TORCHELASTIC_RESTART_COUNT", "4"},
                                                    {"TORCHELASTIC_MAX_RESTARTS", "5"},
                                                    {"TORCHELASTIC_USE_AGENT_STORE", "False"}};
  for (const auto& entry : expected) EXPECT_THAT(all, Contains(entry));
}

TEST(Environment, TellsTensorFlowAndJaxTheGang) {
  const auto all = environment(worker(), facts());
  EXPECT_EQ(all.at("TF_CONFIG"), R"({"cluster": {"worker": ["10.0.0.1:20002", "10.0.0.2:20003"]}, )"
                                 R"("task": {"type": "worker", "index": 1}})");
  EXPECT_EQ(all.at("JAX_COORDINATOR_ADDRESS"), "10.0.0.1:20001");
  EXPECT_EQ(all.at("JAX_NUM_PROCESSES"), "2");
  EXPECT_EQ(all.at("JAX_PROCESS_ID"), "1");
}

TEST(Environment, TellsPacelinesOwnThings) {
  WorkerLaunch launch = worker();
  launch.checkpoint = "/home/ann/a.pt";
  const auto all = environment(launch, facts());
  const std::map<std::string, std::string> expected{
      {"PACELINE_JOB_ID", "7"},
      {"PACELINE_JOB_NAME", "digits"},
      {"PACELINE_GENERATION", "2"},
      {"PACELINE_ATTEMPT", "3"},
      {"PACELINE_RANK", "1"},
      {"PACELINE_WORLD_SIZE", "2"},
      {"PACELINE_HOSTS", "10.0.0.1:2,10.0.0.2:2"},
      {"PACELINE_SLOTS", "2,3"},
      {"PACELINE_SLOTS_PER_WORKER", "2"},
      {"PACELINE_SOCKET", "/var/lib/paceline/run/7.2.1.sock"},
      {"PACELINE_DIR", "/var/lib/paceline"},
      {"PACELINE_CHECKPOINT", "/home/ann/a.pt"},
      {"PACELINE_WORKER", "7.2.1@/var/lib/paceline/agent/workers/7.2.1"}};
  for (const auto& entry : expected) EXPECT_THAT(all, Contains(entry));
  launch.checkpoint.clear();
  launch.launch.environment["PACELINE_CHECKPOINT"] = "of an outer job";
  EXPECT_FALSE(environment(launch, facts()).contains("PACELINE_CHECKPOINT"));
  launch.launch.environment["PACELINE_HOSTFILE"] = "of an outer job";
  EXPECT_FALSE(environment(launch, facts()).contains("PACELINE_HOSTFILE"));
  WorkerFacts with_file = facts();
  with_file.hostfile = "/var/lib/paceline/run/7.2.1.hostfile";
  EXPECT_EQ(environment(launch, with_file).at("PACELINE_HOSTFILE"), with_file.hostfile);
}

TEST(Environment, OfTheNextGenerationHasTheGangsSecretStill) {
  WorkerLaunch launch = worker();
  launch.launch.environment["PACELINE_GANG_SECRET"] = "a=b";
  const auto secret = gang_secret(build_environment(launch, facts()));
  EXPECT_EQ(secret, "a=b");
  EXPECT_EQ(gang_environment(JobId{7}, {}, {}, secret).at("PACELINE_GANG_SECRET"), "a=b");
  EXPECT_EQ(
      gang_environment(JobId{7}, {}, {}, gang_secret({"PATH=/bin"})).count("PACELINE_GANG_SECRET"),
      0U);
}

TEST(Environment, NamesEachMachineOfTheGangOnce) {
  WorkerLaunch launch = worker();
  launch.addresses = {"10.0.0.1", "10.0.0.1", "fd00::2"};
  launch.world_size = 3;
  EXPECT_EQ(environment(launch, facts()).at("PACELINE_HOSTS"), "10.0.0.1:4,[fd00::2]:2");
  EXPECT_EQ(hostfile_of(launch), "10.0.0.1 slots=4\nfd00::2 slots=2\n");
  launch.addresses.clear();
  EXPECT_EQ(environment(launch, facts()).at("PACELINE_HOSTS"), "127.0.0.1:6");
}

TEST(Environment, LetsPythonFindThePackageAfterTheOwnersOwn) {
  WorkerLaunch launch = worker();
  auto with_runtime = facts();
  EXPECT_FALSE(environment(launch, with_runtime).contains("PYTHONPATH"));
  with_runtime.runtime = "/usr/lib/paceline/python";
  EXPECT_EQ(environment(launch, with_runtime).at("PYTHONPATH"), "/usr/lib/paceline/python");
  launch.launch.environment["PYTHONPATH"] = "/home/ann/lib";
  EXPECT_EQ(environment(launch, with_runtime).at("PYTHONPATH"),
            "/home/ann/lib:/usr/lib/paceline/python");
}

TEST(Environment, KeepsTheOwnersAndOverridesOnlyTheContract) {
  WorkerLaunch launch = worker();
  launch.launch.environment = {{"RANK", "9"},
                               {"COLOR", "blue"},
                               {"OMP_NUM_THREADS", "3"},
                               {"PYTHONUNBUFFERED", "0"},
                               {"PATH", "/opt/venv/bin"},
                               {"USER", "bob"}};
  const auto all = environment(launch, facts());
  EXPECT_EQ(all.at("RANK"), "1");
  EXPECT_EQ(all.at("COLOR"), "blue");
  EXPECT_EQ(all.at("OMP_NUM_THREADS"), "3");
  EXPECT_EQ(all.at("PYTHONUNBUFFERED"), "0");
  EXPECT_EQ(all.at("PATH"), "/opt/venv/bin");
  EXPECT_EQ(all.at("USER"), "bob");
}

TEST(Environment, GivesACpuSlotOneThread) {
  WorkerLaunch launch = worker();
  launch.slots_per_worker = 1;
  EXPECT_EQ(environment(launch, facts()).at("OMP_NUM_THREADS"), "1");
  launch.slots_per_worker = 4;
  EXPECT_EQ(environment(launch, facts()).at("OMP_NUM_THREADS"), "4");
  launch.launch.command = {"torchrun", "--nproc-per-node", "4", "t.py"};
  EXPECT_EQ(environment(launch, facts()).at("OMP_NUM_THREADS"), "1");
  WorkerFacts on_gpu = facts();
  on_gpu.slot_kind = SlotKind::gpu;
  EXPECT_FALSE(environment(launch, on_gpu).contains("OMP_NUM_THREADS"));
}

TEST(Environment, ALauncherInsideFindsAPortOfItsOwn) {
  EXPECT_EQ(environment(worker(), facts()).at("PET_MASTER_PORT"), "20003");
}

TEST(Environment, JaxTakesTheWorkersOwnOfTheDevicesThatItIsShown) {
  WorkerLaunch second = worker();
  second.launch.environment["JAX_LOCAL_DEVICE_IDS"] = "7";
  WorkerFacts on_gpus = facts();
  on_gpus.slot_kind = SlotKind::gpu;
  on_gpus.devices = {"GPU-b"};
  on_gpus.visible_devices = {"GPU-a", "GPU-b"};
  const auto all = environment(second, on_gpus);
  EXPECT_EQ(all.at("CUDA_VISIBLE_DEVICES"), "GPU-a,GPU-b");
  EXPECT_EQ(all.at("NVIDIA_VISIBLE_DEVICES"), "GPU-a,GPU-b");
  EXPECT_EQ(all.at("PACELINE_DEVICES"), "GPU-b");
  EXPECT_EQ(all.at("JAX_LOCAL_DEVICE_IDS"), "1");
  on_gpus.visible_devices = on_gpus.devices;
  EXPECT_FALSE(environment(second, on_gpus).contains("JAX_LOCAL_DEVICE_IDS"));
}

TEST(Environment, ShowsTheLeasedDevicesAlone) {
  WorkerFacts on_gpus = facts();
  on_gpus.slot_kind = SlotKind::gpu;
  on_gpus.devices = on_gpus.visible_devices = {"GPU-a", "GPU-b"};
  const auto all = environment(worker(), on_gpus);
  EXPECT_EQ(all.at("CUDA_VISIBLE_DEVICES"), "GPU-a,GPU-b");
  EXPECT_EQ(all.at("CUDA_DEVICE_ORDER"), "PCI_BUS_ID");
  EXPECT_EQ(all.at("NVIDIA_VISIBLE_DEVICES"), "GPU-a,GPU-b");
}

TEST(Environment, HidesDevicesFromCpuSlotsOnlyWhereThereAreSome) {
  WorkerLaunch launch = worker();
  launch.launch.environment["CUDA_VISIBLE_DEVICES"] = "0";
  EXPECT_EQ(environment(launch, facts()).at("CUDA_VISIBLE_DEVICES"), "0");
  WorkerFacts beside_gpus = facts();
  beside_gpus.machine_has_gpus = true;
  EXPECT_EQ(environment(launch, beside_gpus).at("CUDA_VISIBLE_DEVICES"), "");
  EXPECT_EQ(environment(launch, beside_gpus).at("NVIDIA_VISIBLE_DEVICES"), "void");
}

TEST(Environment, LeadsTrainerStatusPastAProxy) {
  WorkerFacts with_status = facts();
  with_status.status_url = "http://127.0.0.1:20008/v1/workers/7.2.1/status";
  with_status.status_token = "/var/lib/paceline/run/7.2.1.token";
  WorkerLaunch launch = worker();
  EXPECT_FALSE(environment(launch, with_status).contains("no_proxy"));
  launch.launch.environment = {{"http_proxy", "http://proxy:3128"}, {"NO_PROXY", "intra.net"}};
  const auto all = environment(launch, with_status);
  EXPECT_EQ(all.at("KUBEFLOW_TRAINER_SERVER_URL"), with_status.status_url);
  EXPECT_EQ(all.at("KUBEFLOW_TRAINER_SERVER_TOKEN"), with_status.status_token);
  EXPECT_EQ(all.at("no_proxy"), "127.0.0.1");
  EXPECT_EQ(all.at("NO_PROXY"), "intra.net,127.0.0.1");
}

TEST(Environment, AHugeGangNeedsNoPortPerRank) {
  WorkerLaunch launch = worker();
  launch.world_size = 129;
  EXPECT_FALSE(environment(launch, facts()).contains("TF_CONFIG"));
}

}  // namespace
}  // namespace paceline::agent
