"""A server on a machine with real NVIDIA GPUs: what it says of them, what its jobs see of them, and what becomes of both when
programs go wrong. Trains with the PyTorch that `python3` has; skipped where there is no GPU or no PyTorch that reaches it."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "script"), str(ROOT / "tests/e2e")]
import in_place_test
from box import Box

BINARY = Path(os.environ.get("PACELINE_BINARY", ROOT / "build/release/paceline"))
PATIENCE = 120  # seconds
MIB = 1 << 20

SEES = """
import json, os, torch
properties = torch.cuda.get_device_properties(int(os.environ.get("LOCAL_RANK", 0)))
free, total = torch.cuda.mem_get_info()
print("SEES", json.dumps({"uuid": "GPU-" + str(properties.uuid), "count": torch.cuda.device_count(), "free": free / total,
                          "visible": os.environ["CUDA_VISIBLE_DEVICES"], "own": os.environ["PACELINE_DEVICES"]}))
"""

# Holds a part of the memory, and says so.
HOLDS = """
import sys, time, torch
held = torch.ones(int(0.6 * torch.cuda.mem_get_info()[1]), dtype=torch.uint8, device="cuda")
torch.cuda.synchronize()
print("holds", flush=True)
time.sleep(600)
"""

COUNTS = """
import time, torch
x = torch.rand(512, 512, device="cuda")
for step in range(100000):
    x = (x @ x).softmax(1)
    torch.cuda.synchronize()
    print("step", step, flush=True)
    time.sleep(0.02)
"""

# Writes where nothing is: the driver ends the program's context, and logs Xid 31 of it.
STRAYS = """
import ctypes
cuda = ctypes.CDLL("libcuda.so.1")
def call(name, *arguments):
    code = getattr(cuda, name)(*arguments)
    if code:
        raise SystemExit(f"{name}: {code}")
context, device = ctypes.c_void_p(), ctypes.c_int()
call("cuInit", 0)
call("cuDeviceGet", ctypes.byref(device), 0)
call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
call("cuCtxSetCurrent", context)
source = b'''.version 7.0
.target sm_70
.address_size 64
.visible .entry stray() { .reg .u64 %a; .reg .u32 %v; mov.u64 %a, 4096; mov.u32 %v, 7; st.global.u32 [%a], %v; ret; }
'''
module, function = ctypes.c_void_p(), ctypes.c_void_p()
call("cuModuleLoadData", ctypes.byref(module), source)
call("cuModuleGetFunction", ctypes.byref(function), module, b"stray")
call("cuLaunchKernel", function, 1, 1, 1, 1, 1, 1, 0, None, None, None)
call("cuCtxSynchronize")
"""

# Saves now and then and when it is given notice, and goes on from there.
SAVES = """
import os, signal, sys, time, torch
path = sys.argv[1]
state = torch.load(path) if os.path.exists(path) else {"step": 0, "x": torch.zeros(1000, device="cuda")}
print("from", state["step"], flush=True)
noticed = []
signal.signal(signal.SIGTERM, lambda *_: noticed.append(True))
while state["step"] < 4000:
    state["x"] += 1
    state["step"] += 1
    time.sleep(0.005)
    if noticed or state["step"] % 200 == 0:
        torch.save(state, path + ".new")
        os.replace(path + ".new", path)
    if noticed:
        sys.exit(75)
assert state["x"].is_cuda and float(state["x"].min()) == float(state["x"].max()) == 4000
print("whole", flush=True)
"""


def smi(fields):
    """Of each GPU these fields, as nvidia-smi says them."""
    done = subprocess.run(["nvidia-smi", f"--query-gpu={fields}", "--format=csv,noheader,nounits"], capture_output=True, text=True)
    return [line.split(", ") for line in done.stdout.splitlines()]


def reaches_a_gpu():
    try:
        return bool(smi("uuid")) and subprocess.run(
            ["python3", "-c", "import torch, sys; sys.exit(not torch.cuda.is_available())"], capture_output=True).returncode == 0
    except OSError:
        return False


def skip_without_a_gpu():
    if not reaches_a_gpu():
        raise unittest.SkipTest("no NVIDIA GPU, or no PyTorch that reaches it")


class GpuBox(Box):
    """Its slots are the machine's GPUs."""

    def up(self, *options):
        with open(self.log, "ab") as log:
            self.server = subprocess.Popen([self.binary, "up", *options], env=self.environment, stdin=subprocess.DEVNULL, stdout=log,
                                           stderr=log)
        self.until(lambda: self.call("nodes", check=False).returncode == 0, 30, "the server does not answer",
                    unless=lambda: self.server.poll() is not None)


@unittest.skipUnless(os.environ.get("PACELINE_TEST_ALL"), "only with script/test --all")
class MachineTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        skip_without_a_gpu()

    def setUp(self):
        self.home = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="paceline-gpu-")))
        self.box = GpuBox(BINARY, slots=None)
        self.addCleanup(self.box.close)
        self.box.up()
        [node] = self.box.json("nodes")["nodes"]
        self.gpus = len(node["slots"])

    def script(self, text):
        path = self.home / f"{len(list(self.home.iterdir()))}.py"
        path.write_text(text)
        return str(path)

    def submit(self, text, *options, arguments=(), slots=1):
        return self.box.submit("--slots", str(slots), *options, "--", "python3", self.script(text), *arguments)

    def slots(self):
        [node] = self.box.json("nodes")["nodes"]
        return node["slots"]

    def logs(self, job):
        return self.box.call("logs", str(job)).stdout

    def until(self, happened, what):
        self.box.until(happened, PATIENCE, what)

    def until_says(self, job, words):
        self.until(lambda: words in self.logs(job), f"job {job} does not say '{words}'")

    def ended(self, job):
        return self.box.wait_state(job, "COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", seconds=PATIENCE)

    def completed(self, job):
        shown = self.ended(job)
        self.assertEqual(shown["state"], "COMPLETED", self.logs(job) + json.dumps(shown, indent=1))

    def sees(self, **options):
        job = self.submit(SEES, **options)
        self.completed(job)
        return [json.loads(line.split("SEES ", 1)[1]) for line in self.logs(job).splitlines() if "SEES " in line]

    def hold_all(self):
        """A job on every GPU."""
        jobs = [self.submit(HOLDS) for _ in range(self.gpus)]
        for job in jobs:
            self.until_says(job, "holds")
        return jobs

    def test_every_gpu_is_a_slot(self):
        told = sorted((slot["uuid"], slot["model"]) for slot in self.slots())
        self.assertEqual(told, sorted((uuid, name) for uuid, name in smi("uuid,name")))
        for slot in self.slots():
            self.assertEqual((slot["kind"], slot["state"], slot["note"]), ("gpu", "free", None))
            [total] = [int(mib) for uuid, mib in smi("uuid,memory.total") if uuid == slot["uuid"]]
            self.assertAlmostEqual(slot["memory_bytes"] / MIB, total, delta=total / 20)
        self.assertIn(smi("name")[0][0], self.box.call("nodes", "-o", "wide").stdout)

    def test_a_worker_computes_on_its_own_gpu(self):
        [seen] = self.sees()
        self.assertEqual(seen["uuid"], seen["own"])
        self.assertEqual((seen["count"], seen["visible"]), (1, seen["own"]))
        workers = self.sees(slots=self.gpus)
        self.assertEqual(len({worker["uuid"] for worker in workers}), self.gpus)
        self.assertTrue(all(worker["uuid"] == worker["own"] for worker in workers), workers)

    def test_a_model_of_gpu_can_be_asked_for(self):
        [[name], *_] = smi("name")
        word = name.split()[1].lower()  # "NVIDIA H100 80GB HBM3"
        job = self.submit(SEES, "--devices", word)
        self.completed(job)
        refused = self.box.call("submit", "--devices", "v999", "--", "true", check=False)
        self.assertNotEqual(refused.returncode, 0)

    def test_a_second_job_waits_for_the_gpu_of_the_first(self):
        first, *_ = self.hold_all()
        second = self.submit(SEES)
        self.assertEqual(self.box.job(second)["state"], "PENDING")
        self.box.call("cancel", str(first))
        self.completed(second)
        [seen] = [json.loads(line.split("SEES ", 1)[1]) for line in self.logs(second).splitlines() if "SEES " in line]
        self.assertGreater(seen["free"], 0.9)

    def test_memory_of_a_killed_worker_is_free_for_the_next(self):
        jobs = self.hold_all()
        for pid in self.box.processes():
            if b"python3" in Path(f"/proc/{pid}/cmdline").read_bytes():
                os.kill(pid, signal.SIGKILL)
        for job in jobs:
            self.assertEqual(self.ended(job)["state"], "FAILED")
        for worker in self.sees(slots=self.gpus):
            self.assertGreater(worker["free"], 0.9)

    def test_a_stranger_on_a_gpu_is_named_and_waited_for(self):
        stranger = subprocess.Popen(["python3", "-c", HOLDS], stdout=subprocess.PIPE, text=True)
        self.addCleanup(stranger.stdout.close)
        self.addCleanup(stranger.wait)
        self.addCleanup(stranger.kill)
        self.assertEqual(stranger.stdout.readline().strip(), "holds")
        self.until(lambda: any(slot["state"] == "unusable" for slot in self.slots()), "the stranger's GPU is not set aside")
        [taken] = [slot for slot in self.slots() if slot["state"] == "unusable"]
        self.assertRegex(taken["note"], rf"in use by process {stranger.pid} of \S+: python3 -c")
        job = self.submit(SEES, slots=self.gpus)
        self.assertEqual(self.box.job(job)["state"], "PENDING")
        self.assertRegex(self.box.call("why", str(job)).stdout, r"in use|unusable|other")
        stranger.kill()
        self.completed(job)

    def test_a_job_of_a_paused_worker_goes_on(self):
        job = self.submit(COUNTS)
        self.until_says(job, "step 20")
        self.box.call("pause", str(job))
        self.box.wait_state(job, "PAUSED")
        before = self.logs(job)
        self.box.call("resume", str(job))
        steps = before.count("step")
        self.until_says(job, f"step {steps + 20}")
        self.box.call("cancel", str(job))
        self.assertEqual(self.ended(job)["state"], "CANCELLED")

    def test_a_program_that_writes_astray_costs_no_gpu(self):
        job = self.submit(STRAYS)
        self.assertEqual(self.ended(job)["state"], "FAILED", self.logs(job))
        self.assertRegex(self.logs(job), r"cuCtxSynchronize: (700|719)")
        self.assertEqual(len(self.sees(slots=self.gpus)), self.gpus)
        self.assertEqual({slot["note"] for slot in self.slots()}, {None})

    def test_a_job_saves_on_notice_and_goes_on(self):
        saved = self.home / "saved.pt"
        job = self.submit(SAVES, "--checkpoint", str(saved), arguments=[str(saved)])
        self.until(lambda: self.box.job(job)["checkpoint"], f"job {job} keeps no checkpoint")
        [node] = self.box.json("nodes")["nodes"]
        self.box.call("drain", node["name"], "--within", "0s", "--yes")
        self.box.wait_state(job, "PENDING", seconds=PATIENCE)
        self.box.call("undrain", node["name"])
        self.completed(job)
        self.assertRegex(self.logs(job), r"from [1-9]")
        self.assertIn("whole", self.logs(job))

    def test_a_training_outlives_its_server(self):
        job = self.submit(COUNTS)
        self.until_says(job, "step 20")
        pids = self.box.processes()
        self.box.kill()
        self.box.up()
        self.assertEqual(self.box.job(job)["state"], "RUNNING")
        self.assertLessEqual(set(self.box.processes()), set(pids))
        steps = self.logs(job).count("step")
        self.until_says(job, f"step {steps + 20}")
        [slot] = [slot for slot in self.slots() if slot["state"] == "leased"]
        self.assertEqual(slot["job"], job)

    def test_two_servers_do_not_share_a_gpu(self):
        self.hold_all()
        other = GpuBox(BINARY, slots=None)
        self.addCleanup(other.close)
        other.up()
        [node] = other.json("nodes")["nodes"]
        self.assertEqual({slot["state"] for slot in node["slots"]}, {"unusable"})
        self.assertTrue(all("another Paceline server" in slot["note"] for slot in node["slots"]), node["slots"])

    def test_an_example_learns_on_the_gpu(self):
        job = self.box.submit("--slots", "1", "--target", "accuracy >= 0.5", "--", "python3", str(ROOT / "examples/text/train.py"),
                              "--epochs", "40")
        self.completed(job)
        self.assertEqual(self.box.job(job)["state"], "COMPLETED")


@unittest.skipUnless(os.environ.get("PACELINE_TEST_ALL"), "only with script/test --all")
class InPlaceTest(in_place_test.InPlaceTest):
    """The slots are CPUs, and all workers share the first GPU."""
    python, longer = "python3", 6
    script_text = f"""
import os
os.environ["CUDA_VISIBLE_DEVICES"] = "0"
{in_place_test.SCRIPT}
assert job.device.type == "cuda"
"""

    @classmethod
    def setUpClass(cls):
        skip_without_a_gpu()


if __name__ == "__main__":
    unittest.main()
