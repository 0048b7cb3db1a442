"""How long a training stands still where its gang changes in place: for ranks that stay, from the end of their last step to the begin
of the next, while one comes, leaves or dies. Real processes with the package, under the agent of its tests; and under torchrun, which
starts all ranks anew. Prints one JSON line per measurement."""

import json
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = Path(os.environ.get("PACELINE_BINARY", ROOT / "build/release/paceline")).parent / "runtime/python"
PYTHON = "/usr/bin/python3"
STATES_MB = 1, 100  # parameters and the optimizer's momentum
RESTARTS = 3  # of torchrun
ROUNDS = 8  # of one that comes, one that leaves, one that comes and dies


def report(name, value, unit="s"):
    print(json.dumps({"name": f"runtime {name}", "value": round(value, 4), "unit": unit}), flush=True)


def work(state_mb):
    sys.path.insert(0, str(PACKAGE))
    import paceline
    import torch

    job = paceline.init()
    torch.set_num_threads(1)
    weights = torch.nn.Parameter(torch.zeros(state_mb * (1 << 20) // 8))
    model = torch.nn.Module()
    model.weights = weights
    optimizer = torch.optim.SGD([weights], lr=0.01, momentum=0.9)
    job.distribute(model, optimizer)
    for _ in job.epochs(1_000_000):
        for batch in job.batches(torch.zeros(1_000, 1), 60):
            print("begins", job.generation, time.monotonic(), flush=True)
            optimizer.zero_grad()
            (weights[:1].sum() * batch.sum()).backward()
            optimizer.step()
            print("ends", job.generation, time.monotonic(), flush=True)
            job.step()


class Training:
    """REQUIRES: close() is called."""

    def __init__(self, state_mb):
        sys.path.insert(0, str(ROOT / "runtime/python/tests"))
        import support
        from fake_agent import Agent

        support.PYTHON = PYTHON
        self.agent = Agent(Path(__file__), state_mb)
        self.agent.start(2)
        self.goes_on()

    def steps(self, what):
        """(generation, when) of rank 0's steps."""
        found = re.findall(rf"^{what} (\d+) (\S+)$", self.agent.ranks[0].output(), re.M)
        return [(int(generation), float(when)) for generation, when in found]

    def goes_on(self):
        """Returns once some steps of the newest generation were done."""
        deadline = time.monotonic() + 120
        while sum(generation == self.agent.generation for generation, _ in self.steps("ends")) < 3:
            if time.monotonic() > deadline:
                raise RuntimeError("the training does not go on:\n" + "\n".join(each.output() for each in self.agent.ranks))
            time.sleep(0.05)

    def pause(self):
        """Of the newest change."""
        before = max(when for generation, when in self.steps("ends") if generation < self.agent.generation)
        return self.begun() - before

    def begun(self):
        return min(when for generation, when in self.steps("begins") if generation == self.agent.generation)

    def dies(self):
        """Seconds from a rank's death to the next step of the others."""
        dies_at = time.monotonic()
        self.agent.kill(len(self.agent.ranks) - 1)
        self.goes_on()
        return self.begun() - dies_at


def work_under_torchrun(steps):
    import torch
    import torch.distributed as dist

    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    dist.init_process_group("gloo")
    gradients = torch.zeros(1 << 17)
    while True:
        with open(steps, "a") as file:
            print(os.environ["TORCHELASTIC_RESTART_COUNT"], time.monotonic(), os.getpid(), file=file)
        dist.all_reduce(gradients)


def torchrun_restart():
    """Seconds from a rank's death to the next step, where torchrun starts all ranks anew: the median."""
    with tempfile.TemporaryDirectory() as folder:
        steps, taken = Path(folder) / "steps", []
        run = subprocess.Popen(
            [PYTHON, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2", "--max_restarts", str(RESTARTS),
             "--monitor_interval", "0.1", "-r", "1", "-t", "1", "--log_dir", folder, __file__, "torchrun", str(steps)],
            env={**os.environ, "OMP_NUM_THREADS": "1"}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            _, pid = first_step(steps, 0)
            for restart in range(1, RESTARTS + 1):
                time.sleep(0.5)
                dies_at = time.monotonic()
                os.kill(pid, signal.SIGKILL)
                begun, pid = first_step(steps, restart)
                taken.append(begun - dies_at)
        finally:
            run.terminate()
            run.wait()
    return statistics.median(taken)


def first_step(steps, restart):
    """When a rank began its first step after so many restarts, and its process."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        lines = steps.read_text().splitlines() if steps.exists() else []
        for count, when, pid in (line.split() for line in lines if line.count(" ") == 2):
            if int(count) == restart:
                return float(when), int(pid)
        time.sleep(0.02)
    raise RuntimeError("torchrun's ranks do not go on")


def main():
    by_torchrun = torchrun_restart()
    report("a rank's death to the next step, torchrun", by_torchrun)
    for state_mb in STATES_MB:
        training = Training(state_mb)
        pauses, deaths = [], []
        try:
            for _ in range(ROUNDS):
                training.agent.resize([0, 1], 1)
                training.goes_on()
                pauses.append(training.pause())
                training.agent.resize([0, 1])
                training.goes_on()
                pauses.append(training.pause())
                training.agent.resize([0, 1], 1)
                training.goes_on()
                pauses.append(training.pause())
                deaths.append(training.dies())
        finally:
            training.agent.close()
        report(f"pause of a resize in place, {state_mb} MB", statistics.median(pauses))
        report(f"pause of a resize in place, {state_mb} MB, longest", max(pauses))
        report(f"a rank's death to the next step, {state_mb} MB", statistics.median(deaths))
        if state_mb == STATES_MB[0]:
            report("torchrun's restart, pauses of a resize in place", by_torchrun / statistics.median(pauses), "times")


if __name__ == "__main__":
    if sys.argv[1:2] == ["torchrun"]:
        work_under_torchrun(sys.argv[2])
    elif len(sys.argv) > 1:
        work(int(sys.argv[1]))
    else:
        main()
