"""The whole program as its users feel it: submissions, starts, restarts, memory. Prints one JSON line per measurement."""

import json
import multiprocessing
import os
import socket
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "script"))
from box import Box

BINARY = os.environ.get("PACELINE_BINARY", ROOT / "build/release/paceline")
CLIENTS, SUBMISSIONS = 8, 4000
STORED_JOBS = 10_000


def report(name, value, unit):
    print(json.dumps({"name": name, "value": round(value, 3), "unit": unit}), flush=True)


def percentile(values, p):
    return sorted(values)[min(len(values) - 1, int(len(values) * p))]


class Connection:
    """One keep-alive connection to the server's socket."""

    def __init__(self, directory):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(f"{directory}/paceline.sock")
        self.rest = b""

    def post(self, path, body):
        text = json.dumps(body).encode()
        return self.ask("POST", path, f"Content-Type: application/json\r\nContent-Length: {len(text)}\r\n", text)

    def ask(self, method, path, header="", body=b""):
        self.socket.sendall(f"{method} {path} HTTP/1.1\r\nHost: paceline\r\n{header}\r\n".encode() + body)
        return self.answer()

    def get(self, path):
        return self.ask("GET", path)

    def answer(self):
        while b"\r\n\r\n" not in self.rest:
            self.receive()
        head, _, self.rest = self.rest.partition(b"\r\n\r\n")
        lines = head.lower().split(b"\r\n")
        length = next(int(line.split(b":")[1]) for line in lines if line.startswith(b"content-length"))
        while len(self.rest) < length:
            self.receive()
        body, self.rest = self.rest[:length], self.rest[length:]
        status = int(lines[0].split()[1])
        if status >= 300:
            raise RuntimeError(f"{status}: {body.decode()}")
        return json.loads(body)

    def receive(self):
        data = self.socket.recv(65536)
        if not data:
            raise RuntimeError("the server closed the connection")
        self.rest += data


def submission(command, hold=False, **spec):
    return {"spec": {"name": "bench", "workers": "1", "hold": hold, **spec},
            "launch": {"command": command, "directory": "/", "environment": dict(os.environ), "umask": 18}}


def submit_many(directory, count):
    connection, body, seconds = Connection(directory), submission(["true"], hold=True), []
    for _ in range(count):
        start = time.perf_counter()
        connection.post("/v1/jobs", body)
        seconds.append(time.perf_counter() - start)
    return seconds


def submit_concurrently(directory, count):
    """Returns submissions per second and every latency, from CLIENTS processes with a connection each."""
    with multiprocessing.get_context("fork").Pool(CLIENTS) as pool:
        start = time.perf_counter()
        parts = pool.starmap(submit_many, [(directory, count // CLIENTS)] * CLIENTS)
        passed = time.perf_counter() - start
    return count / passed, [seconds for part in parts for seconds in part]


def resident_mb(pid):
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    return 0.0


def start_seconds(box, times, submit):
    """How long after the start of a submission its script's first line is executed: `submit(command)` gives the job's number."""
    stamp, seconds = box.directory / "stamp", []
    for _ in range(times):
        stamp.unlink(missing_ok=True)
        start = time.time()
        job = submit(["bash", "-c", f"echo $EPOCHREALTIME > {stamp}.new && mv {stamp}.new {stamp}"])
        while not stamp.exists():
            time.sleep(0.001)
        seconds.append(float(stamp.read_text()) - start)
        box.wait_state(job, "COMPLETED")
    return seconds


def measure_start_latency(box, times=40):
    connection = Connection(box.directory)
    seconds = start_seconds(box, times, lambda command: connection.post("/v1/jobs", submission(command))["id"])
    report("submit_to_process_p50", 1000 * percentile(seconds, 0.5), "ms")
    report("submit_to_process_p99", 1000 * percentile(seconds, 0.99), "ms")
    seconds = start_seconds(box, times, lambda command: submit_from_shell(box, command))
    report("submit_to_first_line_p50", 1000 * percentile(seconds, 0.5), "ms")


def submit_from_shell(box, command):
    told = subprocess.run([BINARY, "submit", "--parsable", "--", *command], env=box.environment, stdout=subprocess.PIPE, check=True)
    return int(told.stdout)


def measure_short_jobs(box, count=1000):
    connection, body = Connection(box.directory), submission(["true"])
    start = time.time()
    first = connection.post("/v1/jobs", body)["id"]
    for _ in range(count - 1):
        connection.post("/v1/jobs", body)
    last = first + count - 1
    box.call("wait", str(last))
    ended = [job["ended_at"] for job in box.wait_all(seconds=120) if job["id"] >= first]
    report("true_jobs_per_second", count / (max(ended) - start), "1/s")


def command_ms(environment, *command, times=200):
    """The median of how long a command takes, as a shell would start it."""
    seconds = []
    for _ in range(times):
        start = time.perf_counter()
        subprocess.run([str(word) for word in command], env=environment, stdout=subprocess.DEVNULL, check=True)
        seconds.append(time.perf_counter() - start)
    return 1000 * statistics.median(seconds)


def submit_by_command(environment, times):
    for _ in range(times):
        command_ms(environment, BINARY, "submit", "--hold", "--", "true", times=1)


def measure_commands(box, shells=4, each=100):
    empty = command_ms(box.environment, "/bin/true")
    report("version_over_empty", command_ms(box.environment, BINARY, "version") - empty, "ms")
    report("submit_over_empty", command_ms(box.environment, BINARY, "submit", "--hold", "--", "true") - empty, "ms")
    start = time.perf_counter()
    with multiprocessing.get_context("fork").Pool(shells) as pool:
        pool.starmap(submit_by_command, [(box.environment, each)] * shells)
    report("submissions_of_four_shells", shells * each / (time.perf_counter() - start), "1/s")


def measure_expected(box):
    """The first answer of when they start, with thousands of jobs in line, and how long a submission waits meanwhile."""
    connection, body = Connection(box.directory), submission(["sleep", "3600"], expect_seconds=60)
    for _ in range(STORED_JOBS):
        connection.post("/v1/jobs", body)
    with multiprocessing.get_context("fork").Pool(1) as pool:
        meanwhile = pool.apply_async(submit_many, (box.directory, 200))
        start = time.perf_counter()
        told = connection.get("/v1/expected")
        report("expected_10000_jobs", 1000 * (time.perf_counter() - start), "ms")
        report("submit_p99_while_expected", 1000 * percentile(meanwhile.get(), 0.99), "ms")
    report("expected_10000_jobs_told", sum(bool(job["expected_start"]) for job in told["jobs"]), "jobs")


def measure_restart(box):
    box.kill()
    start = time.perf_counter()
    box.up()
    report("restart_with_10000_jobs", time.perf_counter() - start, "s")


def main():
    os.sync()  # what earlier benchmarks wrote would be on the disk's way
    with Box(BINARY, slots=2) as box:
        report("server_idle", resident_mb(box.server.pid), "MB")
        measure_start_latency(box)
        measure_short_jobs(box)
        measure_commands(box)
    with Box(BINARY, slots=2) as box:
        report("submit_p99_one_client", 1000 * percentile(submit_many(box.directory, 1000), 0.99), "ms")
        rate, seconds = submit_concurrently(box.directory, SUBMISSIONS)
        report("submissions_per_second", rate, "1/s")
        report("submit_p99_concurrent", 1000 * percentile(seconds, 0.99), "ms")
        submit_concurrently(box.directory, STORED_JOBS - SUBMISSIONS - 1000)
        report("server_10000_jobs", resident_mb(box.server.pid), "MB")
        measure_restart(box)
        report("server_10000_jobs_restarted", resident_mb(box.server.pid), "MB")
    with Box(BINARY, slots=2, policy="fifo") as box:
        measure_expected(box)


if __name__ == "__main__":
    main()
