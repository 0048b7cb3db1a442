"""Machines that lend their slots to another one's server: an agent with a directory of its own, over TLS on loopback."""

import contextlib
import os
import shutil
import signal
import stat
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from boxes import FAKETIME
from elsewhere_test import Laptop
from people import BINARY, OWNER, SECRET, SharedBox, add_people
from agents import SECONDS, Agent, address_of, invite

THERE = {"affinity": ["label:site=there"]}


def setUpModule():
    add_people()


class BoxWithAgents(SharedBox):
    options = ("--listen", "127.0.0.1:0")

    def setUp(self):
        super().setUp()
        self.address = address_of(self.box)

    def invite(self, *options):
        """The token, and the address, of the line to paste."""
        return invite(self.box, "--label", "site=there", *options)

    def agent(self, source=None):
        directory = tempfile.mkdtemp(prefix="paceline-agent-")
        os.chmod(directory, 0o711)
        if source:
            shutil.copytree(source.directory, directory, dirs_exist_ok=True,
                            ignore=lambda at, names: [n for n in names if n in ("run", "agent.lock", "stacks.sock")])
        agent = Agent(BINARY, directory)
        self.addCleanup(agent.close)
        return agent

    def joined(self, name="other", lease="15m"):
        token, address = self.invite()
        agent = self.agent()
        agent.start("--join", address, "--token", "-", "--node", name, "--slots", "2", "--lease", lease, token=token)
        self.until(lambda: self.state(name) == "up", f"{name} is not up: {agent.said()}")
        return agent

    def node(self, name):
        nodes = self.box.json("nodes")["nodes"]
        return next((node for node in nodes if node["name"] == name), None)

    def state(self, name):
        node = self.node(name)
        return node and node["state"]

    def job(self, job):
        return self.get(OWNER, f"/v1/jobs/{job}")

    def await_state(self, job, *states):
        self.until(lambda: self.job(job)["state"] in states, f"job {job} is {self.job(job)['state']}, not {states}")
        return self.job(job)


class AgentsTest(BoxWithAgents):
    def test_a_machine_joins_by_one_line_and_runs_jobs(self):
        agent = self.joined()
        node = self.node("other")
        self.assertEqual((len(node["slots"]), node["labels"], node["joined"]), (2, {"site": "there"}, True))
        self.assertRegex(agent.said(), r"Paceline \S+: other lends 2 CPU slots .* to 127\.0\.0\.1:\d+\n")
        job = self.submit(OWNER, {"workers": 2, **THERE}, ["sh", "-c", "(id -u; pwd) > where.$RANK"])
        self.await_state(job, "COMPLETED")
        for rank in range(2):
            self.assertEqual((self.home / f"where.{rank}").read_text(), f"{OWNER}\n{self.home}\n")

    def test_an_agent_that_was_killed_takes_up_its_workers(self):
        agent = self.joined()
        job = self.submit(OWNER, THERE, ["sh", "-c", "echo x >> begun; while ! test -e go; do sleep 0.05; done"])
        self.await_state(job, "RUNNING")
        for number in (signal.SIGKILL, signal.SIGTERM):
            agent.end(number)
            agent.start()
            self.until(lambda: "takes up 1 worker" in agent.said(), agent.said())
        self.assertIn("1 worker goes on under its supervisors", agent.said())
        self.until(lambda: self.state("other") == "up", "other is not up")
        (self.home / "go").touch()
        self.await_state(job, "COMPLETED")
        self.assertEqual((self.home / "begun").read_text(), "x\n")

    def test_a_server_that_is_to_end_all_jobs_waits_for_no_silent_machine(self):
        agent = self.joined()
        job = self.submit(OWNER, THERE, ["sleep", "1000"])
        self.await_state(job, "RUNNING")
        agent.end(signal.SIGKILL)
        self.until(lambda: self.state("other") == "lost", "other is not lost")
        self.assertIn("ran with 1 worker when node other was last heard of", self.box.call("why", str(job)).stdout)
        self.assertIn(f"Job {job} still runs", self.box.call("down", "--jobs").stdout)
        self.box.server.wait(timeout=SECONDS)

    def test_a_machine_that_hears_of_no_server_ends_its_workers_and_their_job_starts_elsewhere(self):
        agent = self.joined(lease="10s")
        script = ["sh", "-c", "trap '' TERM; echo $$ >> begun; while ! test -e go; do sleep 0.05; done"]
        moves = self.submit(OWNER, {"affinity": ["label:site=there~1s"], "retry": 0}, script)
        stays = self.submit(OWNER, {**THERE, "on_disconnect": "continue"}, script)
        for job in (moves, stays):
            self.await_state(job, "RUNNING")
        self.assertEqual(self.node("other")["lease_seconds"], 10)
        started = {int(line) for line in (self.home / "begun").read_text().split()}
        agent.end(signal.SIGKILL)
        self.until(lambda: self.state("other") == "lost", "other is not lost")
        self.assertIn("hears of no server for 10s ends its workers", self.box.call("why", str(moves)).stdout)
        self.assertNotIn("ends its workers", self.box.call("why", str(stays)).stdout)
        self.until(lambda: sum(Path(f"/proc/{pid}").exists() for pid in started) == 1, "none was ended, or both")
        self.assertEqual(len((self.home / "begun").read_text().split()), 2, "it began again before it was ended")
        self.until(lambda: len((self.home / "begun").read_text().split()) == 3, "it did not begin again")
        self.assertEqual(self.job(moves)["retries_used"], 0)
        agent.start("--lease", "10s")
        self.until(lambda: self.state("other") == "up", "other is not up")
        (self.home / "go").touch()
        for job in (moves, stays):
            self.await_state(job, "COMPLETED")
        self.assertEqual(len((self.home / "begun").read_text().split()), 3)

    def test_a_server_that_starts_anew_is_found_again(self):
        self.joined()
        job = self.submit(OWNER, THERE, ["sh", "-c", "echo x >> begun; while ! test -e go; do sleep 0.05; done"])
        self.await_state(job, "RUNNING")
        self.box.kill()
        self.box.up("--listen", self.address)
        self.until(lambda: self.state("other") == "up", "other is not up")
        (self.home / "go").touch()
        self.await_state(job, "COMPLETED")
        self.assertEqual((self.home / "begun").read_text(), "x\n")

    def test_a_node_that_was_removed_is_told_so(self):
        agent = self.joined()
        self.box.call("node", "remove", "other", "--yes")
        self.until(lambda: "other" in agent.said() and "removed" in agent.said(), agent.said())
        self.assertIsNone(agent.process.poll())
        self.until(lambda: self.node("other") is None, "other is listed still")

    def test_a_token_serves_once_and_the_same_line_again_does_no_harm(self):
        token, address = self.invite()
        words = ("--join", address, "--token", "-", "--slots", "2")
        first, second = self.agent(), self.agent()
        first.start(*words, "--node", "one", token=token)
        self.until(lambda: self.state("one") == "up", first.said())
        second.start(*words, "--node", "two", token=token)
        self.assertNotEqual(second.process.wait(timeout=SECONDS), 0)
        self.assertRegex(second.said(), r"paceline: .*used up")
        first.end()
        first.start(*words, "--node", "one", token=token)
        self.until(lambda: first.said().count("Paceline ") == 2, first.said())
        self.until(lambda: self.state("one") == "up", first.said())

    def test_a_copy_of_a_machine_is_refused_and_the_first_goes_on(self):
        first = self.joined()
        job = self.submit(OWNER, THERE, ["sh", "-c", "while ! test -e go; do sleep 0.05; done"])
        self.await_state(job, "RUNNING")
        copy = self.agent(first)
        boot = Path(copy.directory) / "boot"
        boot.write_text("11111111-2222-3333-4444-555555555555\n")
        shutil.rmtree(copy.directory / "agent/workers")
        copy.start(within=("unshare", "--mount", "sh", "-c",
                           f'mount --bind {boot} /proc/sys/kernel/random/boot_id && exec "$@"', "sh"))
        self.until(lambda: "Two machines show the identity of node 'other'" in copy.said(), copy.said())
        self.assertIn("paceline node remove other", copy.said())
        self.assertEqual(self.state("other"), "up")
        (self.home / "go").touch()
        self.await_state(job, "COMPLETED")
        self.assertEqual(first.said().count("Connected to the server"), 1)

    def test_one_directory_has_one_agent(self):
        agent = self.joined()
        second = Agent(BINARY, agent.directory)
        second.log = agent.directory.with_suffix(".second")
        self.addCleanup(lambda: second.log.unlink(missing_ok=True))
        second.start()
        self.assertNotEqual(second.process.wait(timeout=SECONDS), 0)
        self.assertIn(f"An agent already runs on {agent.directory} (pid {agent.process.pid}).", second.said())

    def test_what_an_agent_needs_to_join_is_said(self):
        for words, given, said in (((), "", "This machine has not joined a server."),
                                   (("--join", self.address, "--token", "plj_x"), "", "A token is never an argument"),
                                   (("--lease", "1s"), "", "--lease is a time from 10s to a year."),
                                   (("--join", self.address, "--token", "-"), "plj_x", "token")):
            agent = self.agent()
            agent.start(*words, token=given)
            self.assertEqual(agent.process.wait(timeout=SECONDS), 64, agent.said())
            self.assertIn(said, agent.said())


class Names(BoxWithAgents):
    options = (*BoxWithAgents.options, "--node", "front")

    def test_machines_are_called_what_their_owners_say(self):
        self.joined("rear")
        self.assertEqual([node["name"] for node in self.box.json("nodes")["nodes"]], ["front", "rear"])
        for name in ("front", "rear"):
            self.assertRegex(self.box.call("nodes").stdout, rf"(?m)^{name} +up ")
            self.assertIn(name, self.box.call("node", "show", name).stdout)
        job = self.submit(OWNER, THERE, ["sleep", "1000"])
        self.await_state(job, "RUNNING")
        self.assertEqual(self.box.job(job)["nodes"], ["rear"])
        self.box.kill()
        self.box.up(*self.options[:1], self.address, *self.options[2:])
        self.until(lambda: [self.state(name) for name in ("front", "rear")] == ["up", "up"], "they are not back")


@unittest.skipUnless(FAKETIME, "no libfaketime")
class WrongClocks(BoxWithAgents):
    """A machine whose clock is wrong is told so in a sentence, and nothing changes for anybody else."""

    LATE, EARLY, YEARS_EARLY = "-3d", "+400d", "+4000d"  # of what holds a year, and ten

    def clock(self, wrong_by):
        """In its process alone."""
        return ("env", f"LD_PRELOAD={FAKETIME}", f"FAKETIME={wrong_by}", "DONT_FAKE_MONOTONIC=1", "FAKETIME_DONT_FAKE_MONOTONIC=1",
                "NO_FAKE_STAT=1")

    def setUp(self):
        super().setUp()
        self.other = self.joined()
        self.runs = self.submit(OWNER, THERE, ["sleep", "1000"])
        self.await_state(self.runs, "RUNNING")

    def assert_nothing_changed(self):
        self.assertEqual(self.state("other"), "up")
        job = self.job(self.runs)
        self.assertEqual((job["state"], job["attempt"]), ("RUNNING", 1))

    def test_it_joins_once_its_clock_is_right(self):
        token, address = self.invite()
        words = ("--join", address, "--token", "-", "--node", "wrong", "--slots", "1")
        for wrong_by in (self.LATE, self.EARLY, self.YEARS_EARLY):
            agent = self.agent()
            agent.start(*words, token=token, within=self.clock(wrong_by))
            self.assertNotEqual(agent.process.wait(timeout=SECONDS), 0)
            self.assertRegex(agent.said(), r"(?s)does not hold now: .*This machine's clock says \d{4}-")
            self.assertLessEqual(len(agent.said().splitlines()), 2, agent.said())
            self.assertIsNone(self.node("wrong"))
            self.assert_nothing_changed()
        agent.start(*words, token=token)
        self.until(lambda: self.state("wrong") == "up", agent.said())

    def test_one_that_joined_comes_back_once_its_clock_is_right(self):
        agent = self.joined("wrong")
        agent.end()
        agent.start(within=self.clock(self.LATE))
        self.until(lambda: "This machine's clock says" in agent.said(), agent.said())
        self.until(lambda: self.state("wrong") == "lost", agent.said())
        self.assertEqual(agent.said().count("warning The certificate of"), 1, agent.said())
        self.assert_nothing_changed()
        agent.end()
        agent.start()
        self.until(lambda: self.state("wrong") == "up", agent.said())

    def test_a_certificate_that_ran_out_while_it_was_off_is_told_with_what_to_do(self):
        agent = self.joined("off")
        for each in (agent, self.other):
            each.end()
        self.box.kill()
        years_later = self.clock(self.EARLY)
        for name, value in (setting.split("=", 1) for setting in years_later[1:]):
            self.box.environment[name] = value
        self.box.up("--listen", self.address)
        agent.start(within=years_later)
        self.assertNotEqual(agent.process.wait(timeout=SECONDS), 0)
        self.assertRegex(agent.said(), r"The identity of node 'off' ran out on \d{4}-\S+.* by this machine's clock\.")
        self.assertIn("'paceline node remove off' on the server", agent.said())
        self.box.call("node", "remove", "off", "--yes")
        self.until(lambda: self.node("off") is None, "it is listed still")
        token, address = self.invite()
        agent.start("--join", address, "--token", "-", "--node", "off", "--slots", "1", token=token, within=years_later)
        self.until(lambda: self.state("off") == "up", agent.said())


class WhatIsKept(BoxWithAgents):
    """Of what nobody else is to know, on the server and on a machine that joined it, while a job runs there and its user looks on
    from a laptop."""

    def setUp(self):
        super().setUp()
        self.join_token, address = self.invite()
        self.other = self.agent()
        self.other.start("--join", address, "--token", "-", "--node", "other", "--slots", "2", token=self.join_token)
        self.until(lambda: self.state("other") == "up", self.other.said())
        self.user_token = self.box.call("token", "create", "--user", "paceline-owner", "--role", "user").stdout.strip()
        home = tempfile.mkdtemp(prefix="paceline-laptop-")
        self.addCleanup(shutil.rmtree, home, ignore_errors=True)
        laptop = Laptop(home)
        self.assertEqual(laptop.call("login", self.address, given=self.user_token + "\n").returncode, 0)
        self.job_id = self.submit(OWNER, THERE, ["sh", "-c", "echo begun; env > seen; echo $$ > pid; exec sleep 1000"])
        self.until(lambda: "begun" in laptop.call("logs", str(self.job_id)).stdout, "the job did not begin")
        self.until(lambda: (self.home / "pid").exists() and (self.home / "pid").read_text(), "the job did not begin")
        self.follower = laptop.start("logs", "-f", str(self.job_id))
        self.addCleanup(lambda: (self.follower.kill(), self.follower.communicate()))
        while "begun" not in self.follower.stdout.readline():
            self.assertIsNone(self.follower.poll(), "it follows nothing")

    def files(self):
        """(path, what is in it) of each file of the server's and the agent's, their logs among them."""
        for directory in (self.box.directory, self.other.directory):
            for path in directory.rglob("*"):
                with contextlib.suppress(FileNotFoundError):  # one that goes as it is looked at
                    if path.is_file() and not path.is_symlink():
                        yield path, path.read_bytes()
        yield self.other.log, self.other.log.read_bytes()

    def processes(self):
        """(pid, its arguments, its environment) of every other process of this machine."""
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit() and int(entry.name) != os.getpid():
                with contextlib.suppress(OSError):
                    yield int(entry.name), (entry / "cmdline").read_bytes(), (entry / "environ").read_bytes()

    def test_tokens_are_in_no_file_and_no_process(self):
        running = {pid: (words, variables) for pid, words, variables in self.processes()}
        worker = int((self.home / "pid").read_text())
        for pid in (self.box.server.pid, self.other.process.pid, self.follower.pid, worker):
            self.assertIn(pid, running)
        self.assertIn(SECRET.encode(), running[worker][1], "what is there is not found")
        kept = list(self.files())
        for name in ("paceline.db", "nodes", "tokens", "up.log"):
            self.assertIn(self.box.directory / name, [path for path, _ in kept])
        for token in (self.join_token, self.user_token):
            secret = token[4:50].encode()
            for path, data in kept:
                self.assertNotIn(secret, data, path)
            for pid, (words, variables) in running.items():
                self.assertNotIn(secret, words, f"the arguments of process {pid}")
                self.assertNotIn(secret, variables, f"the environment of process {pid}")
            self.assertNotIn(secret, (self.home / "seen").read_bytes())

    def test_files_with_environments_and_keys_are_their_owners_alone(self):
        for secret in (SECRET, "PRIVATE KEY"):
            found = [path for path, data in self.files() if secret.encode() in data]
            for path in found:
                self.assertEqual(stat.S_IMODE(path.stat().st_mode), 0o600, f"{path} holds {secret}")
            for directory in (self.box.directory, self.other.directory):
                self.assertTrue(any(directory in path.parents for path in found), f"nothing in {directory} holds {secret}")


if __name__ == "__main__":
    unittest.main()
