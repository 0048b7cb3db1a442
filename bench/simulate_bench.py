"""`paceline simulate` at its defaults: seconds and events per second on the Philly trace, memory, and the cost per event as
traces grow. Prints one JSON line per measurement. The Philly trace is looked for in $PACELINE_TRACES/philly."""

import json
import os
import random
import resource
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BINARY = os.environ.get("PACELINE_BINARY", ROOT / "build/release/paceline")
CLUSTER = "64x8"
PHILLY_POLICIES = ("fifo", "sjf", "srtf", "las", "elastic-fifo", "afs")
REPEATED = 3  # the fastest counts: whatever else the machine does only takes time
GROWING_POLICIES = ("fifo", "sjf")
GROWING_JOBS = (1_000, 10_000, 100_000, 1_000_000)


def report(name, value, unit):
    print(json.dumps({"name": name, "value": round(value, 3), "unit": unit}), flush=True)


def simulate(trace, policy):
    """The run, and the peak of its memory in MB."""
    done = subprocess.run([BINARY, "simulate", "--trace", trace, "--cluster", CLUSTER, "--policy", policy, "-o", "json"],
                          capture_output=True, text=True, check=True)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    return json.loads(done.stdout)["runs"][0], peak


def generate(path, jobs):
    """A queue that builds up and drains: sizes and lengths as uneven as real ones."""
    chance = random.Random(jobs)
    with open(path, "w") as file:
        file.write("job_id,submission_time,duration,num_gpu\n")
        at = 0.0
        for job in range(jobs):
            at += chance.expovariate(1 / 30)
            slots = chance.choices((1, 2, 4, 8, 16, 32), (70, 8, 9, 9, 3, 1))[0]
            file.write(f"job-{job},{at:.0f},{int(chance.lognormvariate(7.5, 1.8)) + 1},{slots}\n")


def main():
    philly = Path(os.environ.get("PACELINE_TRACES", "/nonexistent")) / "philly/philly.csv.xz"
    if philly.exists():
        rounds = [{policy: simulate(philly, policy) for policy in PHILLY_POLICIES} for _ in range(REPEATED)]
        fifo = None
        for policy in PHILLY_POLICIES:
            run, peak = min((each[policy] for each in rounds), key=lambda each: each[0]["wall_seconds"])
            seconds = run["wall_seconds"]
            fifo = fifo or seconds
            report(f"simulate_philly/{policy}", seconds, "s")
            report(f"simulate_philly/{policy}, fifo", seconds / fifo, "times")
            report(f"simulate_philly_events/{policy}", run["events"] / seconds, "1/s")
        report("simulate_philly_memory", peak, "MB")  # of the largest
    with tempfile.TemporaryDirectory() as directory:
        for jobs in GROWING_JOBS:
            trace = Path(directory) / f"{jobs}.csv"
            generate(trace, jobs)
            for policy in GROWING_POLICIES:
                run, _ = simulate(trace, policy)
                report(f"simulate_event/{policy}/{jobs}", 1e6 * run["wall_seconds"] / run["events"], "us")


if __name__ == "__main__":
    main()
