"""Machines that join a server; gangs over machines; agents, servers and networks that go away."""

import os
import re
import shutil
import sys
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from lab import BINARY, Lab
from machines import Relay, skip_unless_permitted

# Every rank adds its number to a sum at rank 0, which tells it to all: as a training does, and without a framework.
SUM = """
import os, socket, sys
rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
at = (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
if rank == 0:
    door = socket.create_server(("", at[1]))
    peers = [door.accept()[0] for _ in range(size - 1)]
    total = sum(int(peer.recv(16)) for peer in peers)
    for peer in peers: peer.sendall(str(total).encode())
else:
    import time
    while True:
        try: peer = socket.create_connection(at, 5); break
        except OSError: time.sleep(0.1)
    peer.sendall(str(rank).encode())
    total = int(peer.recv(16))
print(f"rank {rank} of {size} on {socket.gethostname()} by {at[0]}: {total}", flush=True)
print("hostfile", open(os.environ["PACELINE_HOSTFILE"]).read().splitlines(), "of", os.environ["PACELINE_HOSTS"].split(","), flush=True)
"""

# Counts, tells its steps, and saves what it has when it is asked to stop.
COUNT = """
import json, os, signal, sys, time
last = int(sys.argv[1])
for i in range(1, last + 1):
    print(f"line {i}", flush=True)
    print(json.dumps({"paceline": {"step": i, "total_steps": last}}), flush=True)
    time.sleep(0.1)
"""


def lines_of(text):
    return [int(number) for number in re.findall(r"^(?:\[\d+\] )?line (\d+)$", text, re.M)]


class FiveMinutes(Lab):
    def test_two_machines_are_under_one_queue(self):
        self.join("gpu-1", "--slots", "2")
        nodes = {node["name"]: node["state"] for node in self.json("nodes")["nodes"]}
        self.assertEqual(nodes, {"box": "up", "gpu-1": "up"})
        (self.folder / "sum.py").write_text(SUM)
        job = self.submit("--slots", "3", "--", "python3", "sum.py")
        self.until_state(job, "COMPLETED", "FAILED")
        logs = self.call("logs", job).stdout
        self.assertEqual(self.state(job), "COMPLETED", logs + self.told())
        said = sorted(re.findall(r"rank (\d) of 3 on (\S+) by (\S+): (\d+)", logs))
        self.assertEqual([line[0] for line in said], ["0", "1", "2"], logs)
        self.assertEqual({line[1] for line in said}, {"box", "gpu-1"}, "it ran on both")
        self.assertEqual({line[3] for line in said}, {"3"})
        self.assertNotIn("127.0.0.1", {line[2] for line in said})
        machines = set(re.findall(r"hostfile (\[.*\]) of (\[.*\])", logs))
        self.assertEqual(len(machines), 1, "all ranks have the same: " + logs)
        (hostfile, hosts), = machines
        self.assertEqual(hostfile.replace(" slots=", ":"), hosts)
        self.assertEqual(sorted(re.findall(r"slots=(\d)", hostfile)), ["1", "2"], hostfile)

    def test_a_directory_travels_to_both(self):
        gpu = self.join("gpu-1", "--slots", "2")
        work = self.folder / "work"
        work.mkdir()
        (work / "sum.py").write_text(SUM)
        job = self.submit("--ship", "--workdir", work, "--slots", "3", "--", "sh", "-c", "pwd; exec python3 sum.py")
        shutil.rmtree(work)
        self.until_state(job, "COMPLETED", "FAILED")
        logs = self.call("logs", job).stdout
        self.assertEqual(self.state(job), "COMPLETED", logs + self.told())
        for directory in (self.directory, gpu.directory):
            self.assertIn(f"{directory}/jobs/{job}-", logs)
            self.until(lambda: not list((directory / "jobs").iterdir()), f"{directory} keeps the job's directory")

    def test_another_directory_of_that_name_is_none(self):
        gpu = self.join("gpu-1", "--slots", "2")
        work, copy = self.folder / "work", self.folder / "copy"
        work.mkdir()
        (work / "data.txt").write_text("here")
        shutil.copytree(work, copy)
        (copy / "data.txt").write_text("there")

        def run(*words):
            job = self.call("submit", "--parsable", *words, "--slots-per-worker", "2", "--", "cat", "data.txt", cwd=work).stdout.strip()
            self.until_state(job, "COMPLETED", "FAILED")
            return self.call("logs", job).stdout, self.call("why", job).stdout

        self.assertIn("here", run()[0], "it is the same one")
        gpu.machine.run("mount", "--bind", copy, work)
        logs, why = run()
        self.assertNotIn("there", logs)
        self.assertIn(f"On gpu-1: The directory '{work}' is not the one that the job was submitted in", why)
        self.assertIn("there", run("--workdir", work)[0], "a copy that is named")
        self.assertIn("here", run("--ship")[0])

    def test_the_place_is_what_the_invitation_says(self):
        line = self.invite("--rack", "r7", "--label", "disk=nvme")
        self.join("gpu-1", "--slots", "1", "--rack", "r1", line=line)
        node = self.node("gpu-1")
        self.assertEqual((node["rack"], node["labels"]), ("r7", {"disk": "nvme"}))


class APathThatIsBlocked(Lab):
    """Two machines that both reach the server, and a gang over the two."""
    place = ("--slots", "1", "--label", "trains=yes")

    def train(self):
        (self.folder / "sum.py").write_text(SUM)
        return self.submit("--slots", "2", "--affinity", "label:trains=yes", "--", "python3", "sum.py")

    def until_refused(self, job, problem):
        told = re.compile(rf"gpu-[12] can't reach gpu-[12] at 10\.77\.0\.\d, port \d+: {problem}\. Let the ports 20000 to ")

        def why():
            return self.call("why", job).stdout
        self.until(lambda: told.search(why()), "why does not tell who can't reach whom", told=why)
        nodes = self.json("nodes")["nodes"]
        self.assertEqual([(node["state"], node["refusal"]) for node in nodes], [("up", None)] * 3, "no machine is held back")

    def until_it_has_trained(self, job):
        self.until_state(job, "COMPLETED", "FAILED")
        self.assertEqual(self.state(job), "COMPLETED", self.call("logs", job).stdout + self.told())
        self.assertEqual(self.json("show", job)["retries_used"], 0)

    def test_a_gang_waits_until_it_is_open(self):
        first, second = (self.join(name, *self.place) for name in ("gpu-1", "gpu-2"))
        first.machine.part(second.machine)
        job = self.train()
        self.until_refused(job, "no answer")
        single = self.submit("--affinity", "label:trains=yes", "--", "true")
        self.until_state(single, "COMPLETED")
        first.machine.meet(second.machine)
        self.until_it_has_trained(job)

    def test_another_machine_at_that_address_is_not_the_node(self):
        self.join("gpu-1", *self.place)
        second = self.join("gpu-2", *self.place, "--advertise", self.box.address)
        job = self.train()
        self.until_refused(job, "another program or machine answers there")
        second.agent.kill()
        second.options = self.place
        second.begin()
        self.until_it_has_trained(job)


class WhatListens(Lab):
    def ports(self, node):
        """At which others reach that machine, by any protocol."""
        doors = [line.split()[4].rsplit(":", 1) for line in node.machine.run("ss", "-Hlntu").stdout.splitlines()]
        return {int(port) for address, port in doors if not address.startswith("127.") and address != "[::1]"}

    def test_only_ports_of_gangs_do(self):
        nodes = [self.join(name, "--slots", "1", "--label", "trains=yes") for name in ("gpu-1", "gpu-2")]
        of_gangs = range(20000, int(nodes[0].machine.run("cat", "/proc/sys/net/ipv4/ip_local_port_range").stdout.split()[0]))
        idle = [self.ports(node) for node in nodes]
        for ports in idle:
            self.assertLessEqual(len(ports), 1, "the one by which it is tried whether they reach each other")
            self.assertLessEqual(ports, set(of_gangs))
        waits = SUM.replace("peers = [", "print('listens', flush=True)\n    import time\n    while not os.path.exists('go'): time.sleep(0.05)\n    peers = [")
        (self.folder / "sum.py").write_text(waits)
        job = self.submit("--slots", "2", "--affinity", "label:trains=yes", "--workdir", self.folder, "--", "python3", "sum.py")
        self.until(lambda: "listens" in self.call("logs", job).stdout, "it does not train", told=lambda: self.call("why", job).stdout)
        trains = [self.ports(node) for node in nodes]
        self.assertNotEqual(trains, idle, "rank 0 listens")
        for ports in trains:
            self.assertLessEqual(ports, set(of_gangs))
        (self.folder / "go").touch()
        self.until_state(job, "COMPLETED")
        self.until(lambda: [self.ports(node) for node in nodes] == idle, "a port is left open")


class WorkOnANode(Lab):
    """Everything that a person does with a job works with one that runs on another machine."""

    server_options = ("--label", "site=here")

    def setUp(self):
        super().setUp()
        self.gpu = self.join("gpu-1", "--slots", "2")
        (self.folder / "count.py").write_text(COUNT)

    def on_node(self, *words, submit=("submit", "--parsable")):
        """Two slots are only there."""
        return self.call(*submit, "--slots-per-worker", "2", *words).stdout.strip()

    def test_logs_reports_and_the_end(self):
        job = self.on_node("--", "python3", "count.py", "20")
        followed = self.call("logs", "-f", job).stdout
        self.assertEqual(lines_of(followed), list(range(1, 21)))
        self.until_state(job, "COMPLETED")
        self.assertEqual(self.json("show", job)["progress"]["step"], 20)
        failed = self.on_node("--retry", "0", "--", "sh", "-c", "echo last words; exit 7")
        self.assertEqual(self.call("wait", failed, check=False).returncode, 7)
        self.assertIn("last words", self.call("logs", failed).stdout)

    def test_cancel_and_pause(self):
        job = self.on_node("--", "sleep", "600")
        self.until_state(job, "RUNNING")
        self.call("pause", job)
        self.until_state(job, "PAUSED")
        self.call("resume", job)
        self.until_state(job, "RUNNING")
        self.call("cancel", job)
        self.until_state(job, "CANCELLED")
        self.until(lambda: not self.sleepers(), "the process is left")

    def sleepers(self):
        return self.gpu.machine.run("pgrep", "-f", "sleep 600", check=False).stdout.split()

    def test_the_agent_is_killed_and_started_again(self):
        job = self.on_node("--", "python3", "count.py", "60")
        self.until(lambda: lines_of(self.call("logs", job).stdout), "no line comes")
        self.gpu.agent.kill()
        self.gpu.begin()
        self.assertEqual(self.call("wait", job, check=False).returncode, 0, self.told())
        self.assertEqual(lines_of(self.call("logs", job).stdout), list(range(1, 61)))
        self.assertEqual(self.json("show", job)["attempt"], 1)

    def test_the_server_is_killed_and_started_again(self):
        job = self.on_node("--", "python3", "count.py", "60")
        self.until_state(job, "RUNNING")
        self.server.kill()
        self.up()
        self.assertEqual(self.call("wait", job, check=False).returncode, 0, self.told())
        self.assertEqual(lines_of(self.call("logs", job).stdout), list(range(1, 61)))
        self.assertEqual(self.json("show", job)["attempt"], 1)

    def test_the_servers_machine_is_switched_off_and_on(self):
        there = self.on_node("--workdir", self.folder, "--", "sh", "-c",
                             "i=0; until test -e enough; do i=$((i + 1)); echo line $i; sleep 0.1; done")
        here = self.submit("--affinity", "label:site=here", "--", "sleep", "600")
        self.until_state(here, "RUNNING")
        self.until(lambda: lines_of(self.call("logs", there).stdout), "no line comes")
        self.box.cut()  # as by a switch at the wall: nobody is told
        self.box.power_off()
        self.until(lambda: "dialled again" in self.gpu.said(), "nobody notices")
        self.box.power_on()
        self.box.heal()
        (self.folder / "boot").write_text("11111111-2222-3333-4444-555555555555\n")
        self.box.run("mount", "--bind", self.folder / "boot", "/proc/sys/kernel/random/boot_id")
        self.up()
        self.until(lambda: self.node("gpu-1")["state"] == "up", "it is not found again")
        self.until(lambda: (self.state(here), self.json("show", here)["attempt"]) == ("RUNNING", 2), "what ran on the box does not start anew")
        (self.folder / "enough").touch()
        self.assertEqual(self.call("wait", there, check=False).returncode, 0, self.told())
        lines = lines_of(self.call("logs", there).stdout)
        self.assertEqual(lines, list(range(1, len(lines) + 1)))
        self.assertEqual((self.json("show", there)["attempt"], self.json("show", there)["retries_used"]), (1, 0))
        self.assertEqual(self.json("show", here)["retries_used"], 0)
        self.assertIn("The machine was restarted while the worker ran.", self.call("events").stdout)
        self.call("cancel", here)

    def test_the_network_is_cut_for_longer_than_anybody_waits(self):
        for both in (True, False):
            with self.subTest(both_ways=both):
                job = self.on_node("--", "python3", "count.py", "300")
                self.until(lambda: lines_of(self.call("logs", job).stdout), "no line comes")
                self.gpu.machine.cut(incoming=both)
                self.until(lambda: self.node("gpu-1")["state"] != "up", "nobody notices")
                self.gpu.machine.heal()
                self.until(lambda: self.node("gpu-1")["state"] == "up", "it does not come back")
                self.assertEqual(self.call("wait", job, check=False).returncode, 0, self.told())
                self.until(lambda: len(lines_of(self.call("logs", job).stdout)) >= 300, "lines are missing")
                self.assertEqual(lines_of(self.call("logs", job).stdout), list(range(1, 301)))
                self.assertEqual(self.json("show", job)["attempt"], 1)


    def test_a_machine_that_is_off_holds_nobody(self):
        job = self.on_node("--", "sleep", "600")
        self.until_state(job, "RUNNING")
        self.assertIn("isn't off", self.call("node", "remove", "gpu-1", "--is-off", "--yes", check=False).stderr)
        self.gpu.machine.power_off()
        self.until(lambda: self.node("gpu-1")["state"] != "up", "nobody notices")
        self.assertEqual(self.state(job), "RUNNING", "it waits for its machine")
        self.call("node", "remove", "gpu-1", "--is-off", "--yes")
        self.until_state(job, "PENDING")
        self.assertIn("root said that node gpu-1 is off", self.call("events").stdout)
        self.assertEqual([event["by"] for event in self.events() if event["kind"] == "node_off"], ["root"])
        self.assertEqual(self.node("gpu-1")["off_by"], "root")
        self.join("gpu-2", "--slots", "2")
        self.until_state(job, "RUNNING")
        self.call("cancel", job)


class AMachineThatIsNotWell(Lab):
    """One of two has a disk of its own, which is full, and then read-only: it says so, and the other serves on."""

    def test_the_other_serves_on(self):
        bad = self.network.machine("gpu-1")
        disk = self.folder / "gpu-1"
        disk.mkdir()
        bad.run("mount", "-t", "tmpfs", "-o", "size=256m,mode=0711", "tmpfs", disk)
        self.join("gpu-1", "--slots", "2", "--label", "trains=yes", "--label", "name=gpu-1", machine=bad)
        self.join("gpu-2", "--slots", "2", "--label", "trains=yes")
        runs = self.submit("--affinity", "label:name=gpu-1", "--", "sleep", "600")
        self.until_state(runs, "RUNNING")

        bad.run("sh", "-c", f"cat /dev/zero > {disk}/ballast", check=False)
        self.assert_unwell("Little room is left on the file system of its directory; make room, also for inodes.")
        bad.run("rm", disk / "ballast")
        self.until(lambda: self.node("gpu-1")["refusal"] is None, "it does not get well")

        bad.run("mount", "--bind", disk, disk)
        bad.run("mount", "-o", "remount,bind,ro", disk)
        self.assert_unwell("The file system of its directory is read-only.")
        bad.run("umount", disk)
        self.until(lambda: self.node("gpu-1")["refusal"] is None, "it does not get well")
        self.assertIn("up", self.row())
        shown = self.json("show", runs)
        self.assertEqual((shown["state"], shown["attempt"]), ("RUNNING", 1), "what runs there is left alone")

    def row(self):
        return re.search(r"(?m)^gpu-1 .*", self.call("nodes").stdout)[0]

    def assert_unwell(self, why):
        self.until(lambda: (self.node("gpu-1")["refusal"] or {}).get("why") == why, "it does not say why",
                   told=lambda: str(self.node("gpu-1")["refusal"]))
        self.assertIn("unhealthy", self.row())
        self.assertIn(f"gpu-1 is unhealthy: {why}\n", self.call("nodes").stdout)
        there = ("--affinity", "label:trains=yes", "--", "sh", "-c", "hostname; sleep 0.3")
        jobs = [self.submit(*there) for _ in range(3)]
        for job in jobs:
            self.until_state(job, "COMPLETED")
            self.assertIn("gpu-2", self.call("logs", job).stdout)


class ANarrowLine(Lab):
    def test_a_log_that_fills_it_holds_up_nothing_that_is_said(self):
        gpu = self.join("gpu-1", "--slots", "4")
        gpu.machine.narrow("1mbit")
        there = ("--slots-per-worker", "2")
        talks = self.submit(*there, "--", "sh", "-c", "seq 100000000 | head -c 20000000; sleep 600")
        self.until(lambda: self.size_at_the_server(talks) > 200_000, "no log comes")
        begun = time.monotonic()
        for _ in range(10):
            job = self.submit(*there, "--", "sleep", "600")
            self.until_state(job, "RUNNING")
            self.call("cancel", job)
            self.until_state(job, "CANCELLED")
            self.assertEqual(self.node("gpu-1")["state"], "up")
        self.assertLess(time.monotonic() - begun, 40, "the log alone takes 160 s")
        self.assertLess(self.size_at_the_server(talks), 10_000_000, "it is on its way still")
        self.call("cancel", talks)

    def test_files_and_checkpoints_that_fill_it_hold_up_nothing_either(self):
        """A directory on its way there and a checkpoint on its way here, each too large for the time that this takes."""
        there = ("--affinity", "label:site=there")
        gpu = self.join("gpu-1", "--slots", "4", "--label", "site=there", "--lease", "10s")
        gpu.machine.narrow("1mbit")
        work = self.folder / "work"
        (work / "saved").mkdir(parents=True)
        (work / "data").write_bytes(os.urandom(20_000_000))
        saves = self.submit(*there, "--workdir", work, "--checkpoint", "saved/*.bin", "--", "sh", "-c",
                            "head -c 20000000 /dev/urandom > saved/part; mv saved/part saved/last.bin; sleep 600")
        self.until(lambda: self.json("show", saves)["checkpoint"], "it saves nothing")
        ships = self.submit(*there, "--ship", "--workdir", work, "--", "sleep", "600")
        stays = self.submit(*there, "--", "sleep", "600")
        self.until_state(stays, "RUNNING")
        begun, before = time.monotonic(), gpu.machine.carried()
        for _ in range(5):
            job = self.submit(*there, "--", "sleep", "600")
            self.until_state(job, "RUNNING")
            self.call("cancel", job)
            self.until_state(job, "CANCELLED")
            self.assertEqual(self.node("gpu-1")["state"], "up")
        self.assertLess(time.monotonic() - begun, 40, "each of the two alone takes 160 s")
        self.until(lambda: time.monotonic() - begun > 15, "")  # longer than its lease
        for way, (first, last) in {"come": (before[0], gpu.machine.carried()[0]), "go": (before[1], gpu.machine.carried()[1])}.items():
            self.assertGreater((last - first) / (time.monotonic() - begun), 125_000 / 2, f"it isn't full of bytes that {way}")
        self.assertNotEqual(self.state(ships), "RUNNING", "its files are on their way still")
        self.assertFalse(self.json("show", saves)["checkpoint"]["kept"], "it is on its way still")
        for job in (stays, saves):
            shown = self.json("show", job)
            self.assertEqual((shown["state"], shown["attempt"], shown["retries_used"]), ("RUNNING", 1, 0))
        for job in (saves, ships, stays):
            self.call("cancel", job)
            self.until_state(job, "CANCELLED")

    def size_at_the_server(self, job):
        return len(self.call("logs", job).stdout)


class ALineThatFails(Lab):
    """A machine that reaches the server by a line with all the troubles that lines have."""

    def test_what_runs_there_runs_once_and_nothing_is_lost(self):
        relay = Relay(self.network.machine("wire"), self.address, self.folder)
        self.join("gpu-1", "--slots", "4", line=self.invite().replace(self.address, relay.address))
        there = ("--slots-per-worker", "2")
        job = self.submit(*there, "--workdir", self.folder, "--", "sh", "-c",
                          "echo $$ >> starts; i=0; until test -e enough; do i=$((i + 1)); echo line $i; sleep 0.1; done")
        self.until(lambda: lines_of(self.call("logs", job).stdout), "no line comes")

        relay.orders(delay=0.2)
        begun = time.monotonic()
        quick = self.submit(*there, "--", "true")
        self.until_state(quick, "COMPLETED")
        self.assertGreater(time.monotonic() - begun, 0.4, "there and back")
        for way in ("there", "back"):
            begun = time.monotonic()
            relay.orders(delay=0.2, stops=[way])
            self.until(lambda: self.node("gpu-1")["state"] != "up", "nobody notices")
            self.until(lambda: time.monotonic() - begun > 22, "")
            self.assertEqual(self.state(job), "RUNNING", "it waits for its machine")
            relay.orders(delay=0.2)
            self.until(lambda: self.node("gpu-1")["state"] == "up", f"it does not come back after what stopped {way}")
        relay.orders(delay=0.02, breaks=5, repeats=5)
        self.until(lambda: relay.done() == {"breaks": 5, "repeats": 5}, "the line does not break", told=lambda: str(relay.done()))
        self.until(lambda: self.node("gpu-1")["state"] == "up", "it does not come back")

        (self.folder / "enough").touch()
        self.assertEqual(self.call("wait", job, check=False).returncode, 0, self.told())
        lines = lines_of(self.call("logs", job).stdout)
        self.assertGreater(len(lines), 200)
        self.assertEqual(lines, list(range(1, len(lines) + 1)))
        self.assertEqual(len((self.folder / "starts").read_text().split()), 1)
        shown = self.json("show", job)
        self.assertEqual((shown["attempt"], shown["retries_used"]), (1, 0))


class WhoMayJoin(Lab):
    def test_one_sentence_for_each_that_may_not(self):
        line = self.invite()
        token = re.search(r"plj_\w+", line)[0]
        mistyped = token[:-3] + ("aaa" if not token.endswith("aaa") else "bbb")
        self.assertIn("token", self.refusal(line.replace(token, mistyped)))
        self.join("gpu-1", "--slots", "1", line=line)
        self.assertIn("used", self.refusal(line))
        self.assertIn("joined already", self.refusal(self.invite(), "gpu-2", "--node", "gpu-1"))
        self.assertIn("--token -", self.refusal(f"{BINARY} agent --join {self.address} --token {token}"))
        self.assertNotIn(token, self.told())

    def test_a_removed_machine_is_not_heard_any_more(self):
        gpu = self.join("gpu-1", "--slots", "1")
        self.call("node", "remove", "gpu-1", "--yes")
        self.until(lambda: self.node("gpu-1") is None, "the list still has it")
        self.until(lambda: "removed" in gpu.said(), "it isn't told")
        self.assertTrue(gpu.agent.runs())
        again = self.join("gpu-2", "--slots", "1", "--node", "gpu-2")
        self.assertTrue(again.agent.runs())


if __name__ == "__main__":
    skip_unless_permitted()
    unittest.main()
