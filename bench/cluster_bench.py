"""More than one machine, over TLS on loopback: what a job on another node costs beside one here, what a thousand agents cost the server,
how fast a log comes, how fast a directory travels to eight of them, how fast a gang starts on all of 512 nodes, and how fast they are
back after a restart. Few agents are real processes; many are bench/cluster_agents.cpp. Prints one JSON line per measurement."""

import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path

from serve_bench import BINARY, ROOT, Connection, percentile, start_seconds, submission
from serve_bench import report as report_any
from agents import Agent, address_of, invite
from box import Box, Failed

PAIRS = 40  # of starts, here and there in turns
LOG_MB = 512
SHIP_FILES, SHIP_NODES, SHIPS = 100, 8, 3  # files of 1 MB each
MANY = 1_000  # agents, of so many slots each:
SLOTS = 8
IDLE_SECONDS = 30
NODES, GANG = 512, 512
GANGS, RESTARTS = 5, 3
HERE, THERE = (["label:site=" + site] for site in ("here", "there"))


def report(name, value, unit):
    report_any(f"cluster {name}", value, unit)


@contextmanager
def listening(slots=2):
    box = Box(BINARY, slots=slots)
    try:
        box.up("--listen", "127.0.0.1:0", "--label", "site=here")
        yield box
    finally:
        box.close()


# ---- one agent ----

@contextmanager
def one_agent(box, name="other", slots=2):
    """A process of its own, joined under that name."""
    directory = tempfile.mkdtemp(prefix="paceline-agent-")
    os.chmod(directory, 0o711)
    agent = Agent(BINARY, directory)
    try:
        token, address = invite(box, "--label", "site=there")
        root = ["--serve-root"] if os.geteuid() == 0 else []
        agent.start("--join", address, "--token", "-", "--node", name, "--slots", str(slots), *root, token=token)
        box.until(lambda: any(node["name"] == name and node["state"] == "up" for node in box.json("nodes")["nodes"]), 60,
                  "the agent's node is not up", told=agent.said)
        yield agent
    finally:
        agent.close()


def measure_starts(box):
    """In turns, so that both meet the same machine."""
    connection, seconds = Connection(box.directory), {"here": [], "there": []}
    for _ in range(PAIRS):
        for name, where in (("here", HERE), ("there", THERE)):
            seconds[name] += start_seconds(
                box, 1, lambda command: connection.post("/v1/jobs", submission(command, affinity=where))["id"])
    p50 = {name: 1000 * percentile(taken, 0.5) for name, taken in seconds.items()}
    report("submit_to_process_p50, on the box", p50["here"], "ms")
    report("submit_to_process_p50, on another node", p50["there"], "ms")
    report("submit_to_process_p50, more on another node", p50["there"] - p50["here"], "ms")


def memory_mb(pid):
    """What a process has in memory, by the kernel's names: Rss, Pss (pages that several share counted in parts), Private_Dirty."""
    lines = re.findall(r"^(\w+):\s+(\d+) kB$", Path(f"/proc/{pid}/smaps_rollup").read_text(), re.M)
    return {name: int(kib) / 1024 for name, kib in lines}


def measure_agent(box, agent):
    """Resident memory is mostly pages of programs and libraries, which all processes share that use them."""
    def tell(how):
        held = memory_mb(agent.process.pid)
        report(f"agent_{how}", held["Rss"], "MB")
        report(f"agent_{how}, its part", held["Pss"], "MB")
        report(f"agent_{how}, private", held["Private_Clean"] + held["Private_Dirty"], "MB")

    time.sleep(2)  # its next heartbeats
    tell("idle")
    job = Connection(box.directory).post("/v1/jobs", submission(["sleep", "600"], affinity=THERE))["id"]
    box.wait_state(job, "RUNNING")
    time.sleep(2)
    tell("one_worker")
    box.call("cancel", str(job))
    box.wait_state(job, "CANCELLED")


def measure_logs(box):
    """From when the worker begins to write to when the follower has all of it."""
    go, size = box.directory / "go", LOG_MB << 20
    script = f"while [ ! -e {go} ]; do sleep 0.01; done; yes '{'x' * 99}' | head -c {size}"
    job = Connection(box.directory).post("/v1/jobs", submission(["bash", "-c", script], affinity=THERE))["id"]
    box.wait_state(job, "RUNNING")
    follower = subprocess.Popen([BINARY, "logs", "-f", str(job)], env=box.environment, stdout=subprocess.PIPE, bufsize=0)
    begun, got = time.perf_counter(), 0
    go.touch()
    while got < size and (piece := os.read(follower.stdout.fileno(), 1 << 20)):
        got += len(piece)
    seconds = time.perf_counter() - begun
    if got < size or follower.wait() != 0:
        raise Failed(f"logs -f brought {got} of {size} bytes, and ended with {follower.wait()}")
    report("logs_follow", size / 1e6 / seconds, "MB/s")


# ---- a directory that travels ----

def fill(directory):
    """With files that nobody has yet."""
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir()
    for number in range(SHIP_FILES):
        (directory / f"{number}.bin").write_bytes(os.urandom(1_000_000))
    os.sync()  # nobody waits for what was left behind to be written


def ship(box, directory):
    """Seconds from the command to when a job runs in a copy on every node. A job for each: nodes of one machine share their ports."""
    begun, connection = time.perf_counter(), Connection(box.directory)
    jobs = [int(box.call("submit", "--parsable", "--ship", "--workdir", str(directory), "--affinity", *THERE, "--", "sleep", "600").stdout)]
    more = submission(["sleep", "600"], affinity=THERE)
    more["launch"]["shipped"] = {"ship": connection.get(f"/v1/jobs/{jobs[0]}")["shipped"]["ship"]}
    jobs += [connection.post("/v1/jobs", more)["id"] for _ in range(SHIP_NODES - 1)]
    box.until(lambda: all(connection.get(f"/v1/jobs/{job}")["state"] == "RUNNING" for job in jobs), 120, "the directory is not everywhere")
    seconds = time.perf_counter() - begun
    for job in jobs:
        box.call("cancel", str(job))
        box.wait_state(job, "CANCELLED")
    return seconds


def copy_to_each(directory, folder):
    """The same by rsync, one node after the other."""
    begun = time.perf_counter()
    for number in range(SHIP_NODES):
        subprocess.run(["rsync", "-a", f"{directory}/", folder / str(number)], check=True)
    seconds = time.perf_counter() - begun
    for number in range(SHIP_NODES):
        shutil.rmtree(folder / str(number))
    return seconds


def shipped_files(box, agents):
    """What server and nodes keep, each file with its size and when it was written."""
    stores = [box.directory / "ships", *(agent.directory / "agent/ships" for agent in agents)]
    files = (path for store in stores for path in store.glob("*/files/*") if path.suffix != ".copy")  # not yet whole
    return {path: (path.stat().st_size, path.stat().st_mtime_ns) for path in files}


def settled_files(box, agents):
    """The same, once nodes have copied into their stores what they gave to their jobs as it came."""
    before, now = None, shipped_files(box, agents)
    while before != now:
        time.sleep(1)
        before, now = now, shipped_files(box, agents)
    return now


def measure_ships():
    if not shutil.which("rsync"):
        print("There is no rsync to compare --ship with: see script/bootstrap.", file=sys.stderr)
        return
    with listening() as box, ExitStack() as stack, tempfile.TemporaryDirectory(prefix="paceline-ship-") as folder:
        agents = [stack.enter_context(one_agent(box, f"node-{number}", slots=1)) for number in range(SHIP_NODES)]
        directory, taken = Path(folder) / "work", {"ship": [], "rsync": []}
        for _ in range(SHIPS):
            fill(directory)
            taken["rsync"].append(copy_to_each(directory, Path(folder)))
            os.sync()
            taken["ship"].append(ship(box, directory))
        kept = settled_files(box, agents)
        again = ship(box, directory)
        sent = sum(size for path, (size, at) in shipped_files(box, agents).items() if kept.get(path) != (size, at))
        seconds = {name: statistics.median(each) for name, each in taken.items()}
        report("ship_100mb_to_8_nodes", seconds["ship"], "s")
        report("ship_100mb_to_8_nodes, by rsync", seconds["rsync"], "s")
        report("ship_100mb_to_8_nodes, of rsync's time", seconds["ship"] / seconds["rsync"], "x")
        report("ship_again", again, "s")
        report("ship_again, sent", sent, "bytes")


# ---- many agents ----

class Agents:
    """So many agents in one process. All are joined and connected once this is there."""

    def __init__(self, box, nodes):
        self.box, self.nodes = box, nodes
        self.directory = Path(tempfile.mkdtemp(prefix="paceline-agents-"))
        self.process = None

    def __enter__(self):
        try:
            token, address = invite(self.box, "--uses", str(self.nodes))
            with open(self.directory / "told", "wb") as told:
                self.process = subprocess.Popen(
                    [ROOT / "build/release/bench/cluster_agents", address, self.directory / "nodes", str(self.nodes), str(SLOTS)],
                    stdin=subprocess.PIPE, stdout=told)
            self.process.stdin.write(token.encode() + b"\n")
            self.process.stdin.flush()
            self.until('"joined"', 600)
            self.until('"connected"', 120)
            self.box.until(lambda: self.up() == self.nodes, 30, "not all nodes are up")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        if self.process:
            self.process.stdin.close()
            self.process.wait()
        shutil.rmtree(self.directory)

    def until(self, word, seconds):
        self.box.until(lambda: word in (self.directory / "told").read_text(), seconds, f"the agents do not tell that they {word}",
                       unless=lambda: self.process.poll() is not None)

    def up(self):
        """How many of them the server counts as up."""
        nodes = Connection(self.box.directory).get("/v1/nodes")["nodes"]
        return sum(node["joined"] and node["state"] == "up" for node in nodes)


def processor_seconds(pid):
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")


def percent_of_a_core(pid):
    begun, used = time.monotonic(), processor_seconds(pid)
    time.sleep(IDLE_SECONDS)
    return 100 * (processor_seconds(pid) - used) / (time.monotonic() - begun)


def measure_many():
    """While nothing happens all that nodes cost is that both ends say that they are there, and watch for it. So heartbeats are what
    the server takes with all of them less what it takes before the first one has joined."""
    with listening() as box:
        alone = percent_of_a_core(box.server.pid)
        with Agents(box, MANY) as agents:
            time.sleep(10)  # what joining left behind
            crowded = percent_of_a_core(box.server.pid)
            report("server_1000_agents", memory_mb(box.server.pid)["Rss"], "MB")
            report("idle_alone", alone, "% core")
            report("idle_1000_agents", crowded, "% core")
            report("heartbeats_of_1000_nodes", crowded - alone, "% core")
            if agents.up() != MANY:
                raise Failed(f"only {agents.up()} agents are still connected")


def start_gang(connection):
    """Seconds from the submission until every worker is said to run, and the job."""
    begun = time.perf_counter()
    job = connection.post("/v1/jobs", submission(["sleep", "3600"], workers=str(GANG), slots_per_worker=NODES * SLOTS // GANG))["id"]
    while True:
        gang = connection.get(f"/v1/jobs/{job}")["gang"]
        if len(gang) == GANG and all(worker["state"] == "running" for worker in gang):
            return time.perf_counter() - begun, job
        if time.perf_counter() - begun > 60:
            raise Failed(f"the gang is not there: {connection.get(f'/v1/jobs/{job}')['reason']}")
        time.sleep(0.01)


def measure_restart(box, address):
    """Seconds from the server's death until every agent has been welcomed by the next one."""
    begun, said = time.perf_counter(), box.log.stat().st_size
    box.kill()
    box.up("--listen", address, "--label", "site=here")
    box.until(lambda: box.log.read_bytes()[said:].count(b" has connected from ") >= NODES, 60, "not all agents are back")
    return time.perf_counter() - begun


def measure_gangs():
    with listening() as box, Agents(box, NODES) as agents:
        connection, seconds = Connection(box.directory), []
        for _ in range(GANGS):
            taken, job = start_gang(connection)
            seconds.append(taken)
            box.call("cancel", str(job))
            box.wait_state(job, "CANCELLED")
        report("gang_of_512_on_512_nodes", statistics.median(seconds), "s")
        report("gang_of_512_on_512_nodes, longest", max(seconds), "s")
        _, job = start_gang(connection)
        address = address_of(box)
        report("restart_512_agents", statistics.median([measure_restart(box, address) for _ in range(RESTARTS)]), "s")
        kept = box.job(job)
        if agents.up() != NODES or kept["state"] != "RUNNING" or kept["generation"] != 1:
            raise Failed(f"{agents.up()} nodes are up after restarts, and the gang: {kept['reason']}")


def main():
    with listening() as box, one_agent(box) as agent:
        measure_agent(box, agent)
        measure_starts(box)
        measure_logs(box)
    measure_ships()
    measure_many()
    measure_gangs()


if __name__ == "__main__":
    main()
