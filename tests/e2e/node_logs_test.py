"""Logs and terminals of workers on another machine: an agent with a directory of its own, over TLS on loopback."""

import json
import signal
import socket
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from people import BINARY, OWNER, SharedBox, add_people
from agents import Agent, address_of, invite

THERE = {"affinity": ["label:site=there"]}
LINES = 20_000
# Says so many lines, then waits to be told to go on, and says as many again.
WRITER = f"""
import os, time
for half in range(2):
    for number in range({LINES}):
        print(f"line {{half * {LINES} + number:06}}", flush=number % 100 == 0)
    print(end="", flush=True)
    while half == 0 and not os.path.exists("go"):
        time.sleep(0.02)
"""
TELLS_ITS_TIME = """
import http.client, os, socket
connection = http.client.HTTPConnection("paceline")
connection.sock = socket.socket(socket.AF_UNIX)
connection.sock.connect(os.environ["PACELINE_SOCKET"])
connection.request("POST", "/v1/timeline", '{"rank": 0, "size": 1, "generation": 1, "from_us": 1000, '
                   '"spans": [["compute", 1, 0, 9]]}')
assert connection.getresponse().status == 200
"""


def setUpModule():
    add_people()


class NodeLogsTest(SharedBox):
    options = ("--listen", "127.0.0.1:0")

    def setUp(self):
        super().setUp()
        self.address = address_of(self.box)
        token, address = invite(self.box, "--label", "site=there")
        self.agent = Agent(BINARY, tempfile.mkdtemp(prefix="paceline-agent-"))
        self.addCleanup(self.agent.close)
        self.agent.directory.chmod(0o711)
        self.agent.start("--join", address, "--token", "-", "--node", "other", "--slots", "2", token=token)
        self.until(lambda: any(n["name"] == "other" and n["state"] == "up" for n in self.box.json("nodes")["nodes"]),
                   "the node is not up")

    def state(self, job):
        return self.get(OWNER, f"/v1/jobs/{job}")["state"]

    def lines(self, text):
        return [line for line in text.splitlines() if line.startswith("line ")]

    def log_of(self, job):
        path = self.box.directory / "logs" / str(job) / "rank0.log"
        return path.read_text() if path.exists() else ""

    def test_who_follows_before_it_begins_sees_its_first_line(self):
        for number in range(3):
            job = self.submit(OWNER, THERE, ["sh", "-c", "echo begun; exec sleep 1000"])
            told = Path(self.home) / f"followed.{number}"
            with open(told, "wb") as file:
                follower = subprocess.Popen([str(BINARY), "logs", "-f", str(job)], env=self.box.environment, stdin=subprocess.DEVNULL,
                                            stdout=file, stderr=file)
            self.addCleanup(lambda follower=follower: (follower.kill(), follower.wait()))
            self.until(lambda: "begun" in self.box.call("logs", str(job)).stdout, "it does not begin")
            self.until(lambda told=told: "begun" in told.read_text(), f"who follows job {job} is told nothing")
            self.box.call("cancel", str(job))

    def test_a_log_comes_whole_through_ends_of_agent_and_server(self):
        job = self.submit(OWNER, THERE, ["/usr/bin/python3", "-c", WRITER])
        first, all_of_them = ([f"line {number:06}" for number in range(count)] for count in (LINES, 2 * LINES))
        self.until(lambda: self.lines(self.log_of(job)) == first, "the first half did not come")
        self.agent.end(signal.SIGKILL)
        self.assertEqual(self.lines(self.box.call("logs", str(job)).stdout), first, "read while its machine is off")
        (self.home / "go").touch()
        self.agent.start()
        self.box.kill()
        self.box.up("--listen", self.address)
        self.until(lambda: self.state(job) == "COMPLETED", "the job is not over")
        self.assertEqual(self.lines(self.box.call("logs", "-f", str(job)).stdout), all_of_them)
        self.assertEqual(self.log_of(job), (self.agent.directory / "logs" / str(job) / "rank0.log").read_text())

    def test_a_timeline_comes_with_the_log(self):
        job = self.submit(OWNER, THERE, ["/usr/bin/python3", "-c", TELLS_ITS_TIME])
        self.until(lambda: self.state(job) == "COMPLETED", "the job is not over")
        trace = json.loads(self.box.call("timeline", str(job)).stdout)
        names = [event["args"]["name"] for event in trace["traceEvents"] if event["name"] == "process_name"]
        self.assertEqual(names, ["rank 0 on other"])
        spans = [(event["name"], event["ts"], event["dur"]) for event in trace["traceEvents"] if event["ph"] == "X"]
        self.assertEqual(spans, [("compute", 1000, 9)])

    def test_stacks_are_told(self):
        job = self.submit(OWNER, THERE, ["sleep", "600"])
        self.until(lambda: self.state(job) == "RUNNING", "the job does not run")
        rank, = self.get(OWNER, f"/v1/jobs/{job}/stacks")["ranks"]
        self.assertEqual((rank["rank"], rank["node"]), (0, "other"))
        for part in ("(sleep)", "-- threads", "-- native"):
            self.assertIn(part, rank["text"])
        self.agent.end(signal.SIGKILL)
        self.until(lambda: "problem" in self.get(OWNER, f"/v1/jobs/{job}/stacks")["ranks"][0], "an agent that is gone tells stacks")
        self.assertEqual(self.box.call("stacks", "--rank", "7", str(job), check=False).returncode, 76)
        self.agent.start()

    def test_who_follows_is_told_the_end_with_the_last_line(self):
        for number in range(5):
            job = self.submit(OWNER, THERE, ["sh", "-c", f"echo line {number}"])
            self.assertEqual(self.lines(self.box.call("logs", "-f", str(job)).stdout), [f"line {number}"])

    def test_a_terminal_is_attached_to(self):
        job = self.submit(OWNER, {**THERE, "pty": True}, ["sh", "-c", "read word; echo heard $word"])
        self.until(lambda: self.state(job) == "RUNNING", "the job does not run")
        with socket.socket(socket.AF_UNIX) as terminal:
            terminal.settimeout(30)
            terminal.connect(str(self.socket))
            terminal.sendall(f"GET /v1/jobs/{job}/attach HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\n"
                             "Upgrade: paceline-pty\r\n\r\nbird\n".encode())
            heard = b""
            while piece := terminal.recv(4096):
                heard += piece
        self.assertIn(b"101 Switching Protocols", heard)
        self.assertIn(b"heard bird", heard)
        self.until(lambda: self.state(job) == "COMPLETED", "the job is not over")


if __name__ == "__main__":
    unittest.main()
