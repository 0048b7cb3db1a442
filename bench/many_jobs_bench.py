"""1,000,000 short jobs through one server: $PACELINE_BENCH_JOBS less 20,000 on a made-up machine, then 20,000 true ones on this.

What a person feels then: memory, a restart, and how long lists and pages take. One JSON line per measurement.
"""

import json
import os
import subprocess
import threading
import time
from pathlib import Path

from serve_bench import BINARY, ROOT, Connection, percentile, report, resident_mb, submission
from box import Box

JOBS = int(os.environ.get("PACELINE_BENCH_JOBS", 1_000_000))
TRUE_JOBS = min(20_000, JOBS // 2)
AT_ONCE = 500
LOOKS = 500
WAITING = 5
RULED = 300
PATHS = {"queue": "/v1/jobs?limit=100", "users": "/v1/users", "show": "/v1/jobs/{}"}


def fill(directory):
    """Leaves the database of a server that has run all but the true jobs. The most memory that it held meanwhile, in MB."""
    environment = os.environ | {"PACELINE_BENCH_DIR": str(directory), "PACELINE_BENCH_JOBS": str(JOBS - TRUE_JOBS)}
    done = subprocess.run([ROOT / "build/release/bench/forgetting_bench", "--benchmark_format=json"], env=environment, check=True,
                          stdout=subprocess.PIPE)
    return json.loads(done.stdout)["benchmarks"][0]["resident_mb"]


class Watch:
    """The most memory that the server held while this was open."""

    def __init__(self, box):
        self.box, self.most, self.over = box, 0, threading.Event()
        self.thread = threading.Thread(target=self._look)

    def _look(self):
        while not self.over.wait(0.2):
            self.most = max(self.most, resident_mb(self.box.server.pid))

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()


def run_true_jobs(box):
    connection, body, last = Connection(box.directory), submission(["true"]), 0
    for first in range(0, TRUE_JOBS, AT_ONCE):
        for _ in range(min(AT_ONCE, TRUE_JOBS - first)):
            last = connection.post("/v1/jobs", body)["id"]
        box.call("wait", str(last))
    return last


def measure_looks(box, newest):
    connection = Connection(box.directory)
    for name, path in PATHS.items():
        seconds = []
        for i in range(LOOKS):
            begun = time.perf_counter()
            connection.get(path.format(1 + i * 7919 % newest))
            seconds.append(time.perf_counter() - begun)
        report(f"many_jobs {name}_p99", 1000 * percentile(seconds, 0.99), "ms")


def measure_forecasts(box):
    """Jobs that wait, and are told when they start."""
    connection = Connection(box.directory)
    jobs = [connection.post("/v1/jobs", submission(["sleep", "600"], slots_per_worker=4))["id"] for _ in range(WAITING + 1)]
    told = {job["id"] for job in connection.get(f"/v1/expected?after={jobs[0] - 1}")["jobs"] if job["expected_start"]}
    report("many_jobs expected_told", len(told & set(jobs[1:])), "jobs")
    box.call("cancel", *map(str, jobs))


def measure_rule():
    """How many jobs a day the rule of `--keep` lets go of: the database is bounded where no more are submitted."""
    with Box(BINARY, slots=4) as box:
        connection, body = Connection(box.directory), submission(["true"])
        last = [connection.post("/v1/jobs", body)["id"] for _ in range(RULED)][-1]
        box.call("wait", str(last))
        time.sleep(2)
        box.kill()
        begun = time.perf_counter()
        box.up("--keep", "1s", "--limit", "ended-jobs-age=1s")
        connection = Connection(box.directory)
        box.until(lambda: not connection.get("/v1/jobs?all=1&limit=1")["jobs"], 120, "jobs are still there")
        report("many_jobs dropped_a_day", RULED / (time.perf_counter() - begun) * 86_400, "jobs")


def main():
    box = Box(BINARY, slots=4)
    most_before = fill(box.directory)
    with box, Watch(box) as watch:
        begun = time.perf_counter()
        newest = run_true_jobs(box)
        report("many_jobs true_jobs_per_second", TRUE_JOBS / (time.perf_counter() - begun), "1/s")
        box.kill()
        begun = time.perf_counter()
        box.up()
        report("many_jobs restart", time.perf_counter() - begun, "s")
        measure_looks(box, newest)
        measure_forecasts(box)
        report("many_jobs resident", max(most_before, watch.most), "MB")
        report("many_jobs database", Path(box.directory, "paceline.db").stat().st_size / newest, "bytes a job")
    measure_rule()


if __name__ == "__main__":
    main()
