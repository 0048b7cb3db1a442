"""A job's directory that travels: from the box and from a laptop, to the server's own machine and to machines that joined."""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from agents_test import THERE, BoxWithAgents, setUpModule  # noqa: F401
from elsewhere_test import Laptop
from people import BINARY, OTHER, OWNER

SECONDS = 60
NAMES = {OWNER: "paceline-owner", OTHER: "paceline-other"}
SAYS = "echo I am $(id -u) in $(pwd); ls -A; cat data.txt"


class ShipsTest(BoxWithAgents):
    def setUp(self):
        super().setUp()
        self.laptop = self.logged_in(OWNER)
        self.work = self.laptop.home / "work"
        self.write("data.txt", "one\n")
        self.write("src/a.py", "print('a')\n")

    def logged_in(self, user):
        home = tempfile.mkdtemp(prefix="paceline-laptop-")
        self.addCleanup(shutil.rmtree, home, ignore_errors=True)
        laptop = Laptop(home)
        token = self.box.call("token", "create", "--user", NAMES[user], "--role", "user").stdout
        login = laptop.call("login", self.address, "--name", "lab", given=token)
        self.assertEqual(login.returncode, 0, login.stderr)
        return laptop

    def write(self, path, text):
        path = self.work / path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def run_there(self, *words, command=SAYS, laptop=None):
        laptop = laptop or self.laptop
        return laptop.call("run", "--ship", "--workdir", self.work, *words, "--", "sh", "-c", command)

    def lines(self, run):
        """What the job said."""
        return [line for line in run.stdout.splitlines() if not line.startswith("--- ")]

    def files(self, directory, kind="files"):
        return sorted(path for path in Path(directory).rglob("*") if path.parent.name == kind)

    def directories(self, directory):
        return sorted(path.name for path in (Path(directory) / "jobs").glob("*"))

    def test_a_laptops_directory_runs_on_the_servers_machine_as_its_user(self):
        run = self.run_there()
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("Ships 2 files, ", run.stderr)
        self.assertIn(f"I am {OWNER} in {self.box.directory}/jobs/1-", run.stdout)
        self.assertIn("one\n", run.stdout)
        self.until(lambda: not self.directories(self.box.directory), "the directory stays")
        shown = self.get(OWNER, "/v1/jobs/1")["shipped"]
        self.assertEqual((shown["files"], shown["bytes"], len(shown["ship"])), (2, 15, 64))
        self.assertIsNone(self.get(OTHER, "/v1/jobs/1")["shipped"])
        self.assertIn(f"2 files, 15B ({shown['ship'][:12]})", self.laptop.call("show", "1").stdout)

    def test_a_second_job_sends_nothing_and_a_changed_file_alone(self):
        agent = self.joined()
        there = ("--affinity", "label:site=there")
        first = self.run_there(*there)
        self.assertIn(f"I am {OWNER} in {agent.directory}/jobs/1-", first.stdout, first.stderr)
        kept = {path: path.stat().st_mtime_ns for path in self.files(agent.directory / "agent/ships")}
        self.assertEqual(len(kept), 2)
        second = self.run_there(*there)
        self.assertIn("all of it is there already", second.stderr)
        self.assertIn("one\n", second.stdout)
        self.assertEqual({path: path.stat().st_mtime_ns for path in self.files(agent.directory / "agent/ships")}, kept)
        self.write("data.txt", "three\n")
        third = self.run_there(*there)
        self.assertIn("; 6B to send.", third.stderr)
        self.assertIn("three\n", third.stdout)
        self.assertEqual(len(self.files(agent.directory / "agent/ships")), 3)
        for path in (agent.directory / "agent/ships", agent.directory / f"agent/ships/{OWNER}/files"):
            self.assertEqual(path.stat().st_mode & 0o777, 0o700, path)
        self.until(lambda: not self.directories(agent.directory), "directories stay")

    def test_a_machine_keeps_as_much_of_all_users_as_it_is_told(self):
        token, address = self.invite()
        agent = self.agent()
        words = ("--token", "-", "--node", "other", "--slots", "2", "--limit", "ships=1M")
        agent.start("--join", address, *words, token=token)
        self.until(lambda: self.state("other") == "up", agent.said())
        self.write("data.txt", "x" * 700_000)
        kept = agent.directory / "agent/ships"
        for user, laptop in ((OWNER, self.laptop), (OTHER, self.logged_in(OTHER))):
            run = self.run_there("--affinity", "label:site=there", command="wc -c < data.txt", laptop=laptop)
            self.assertEqual(self.lines(run), ["700000"], run.stderr)
            self.assertEqual({path.relative_to(kept).parts[0] for path in self.files(kept)}, {str(user)})

    def test_workers_of_a_gang_share_one_directory(self):
        agent = self.joined()
        run = self.run_there("--affinity", "label:site=there", "--slots", "2",
                             command="echo x > here.$RANK; while [ $(ls here.* | wc -l) -lt 2 ]; do sleep 0.05; done; pwd")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(run.stdout.count(f"{agent.directory}/jobs/1-"), 2, run.stdout)

    def test_what_is_ignored_stays_behind_and_links_stay_links(self):
        self.write("big.ckpt", "x" * 1000)
        self.write(".gitignore", "*.ckpt\n")
        self.write(".pacelineignore", "src/\n")
        os.symlink("data.txt", self.work / "latest")
        (self.work / "out").mkdir()
        run = self.run_there(command="ls -A; readlink latest; test -d out")
        self.assertEqual(self.lines(run), [".gitignore", ".pacelineignore", "data.txt", "latest", "out", "data.txt"], run.stderr)

    def test_a_job_file_names_what_travels(self):
        self.write("job.yaml", "run: ls\nship: [src]\n")
        run = self.laptop.call("run", "-f", self.work / "job.yaml", "--workdir", self.work)
        self.assertEqual((run.returncode, self.lines(run)), (0, ["src"]), run.stderr)
        self.write("job.yaml", "run: ls\nship: [gone]\n")
        refused = self.laptop.call("run", "-f", self.work / "job.yaml", "--workdir", self.work)
        self.assertIn("There is nothing 'gone'", refused.stderr)

    def test_a_link_that_leads_out_is_one_sentence(self):
        os.symlink("/etc", self.work / "etc")
        refused = self.run_there()
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn("The link 'etc' leads out of the directory, to '/etc'.", refused.stderr)
        self.assertEqual(self.box.json("queue", "--all")["jobs"], [])

    def test_what_a_script_wrote_is_there_after_a_restart_on_the_same_node(self):
        run = self.run_there("--retry", "1", command="test -e again && exit 0; touch again; exit 1")
        self.assertEqual(run.returncode, 0, run.stderr)

    def test_another_users_ship_cant_be_named(self):
        self.assertEqual(self.run_there().returncode, 0)
        ship = self.get(OWNER, "/v1/jobs/1")["shipped"]["ship"]
        body = '{"launch": {"command": ["true"], "directory": "/", "shipped": {"ship": "%s"}}}' % ship
        status, text = self.ask(OTHER, "POST", "/v1/jobs", body)
        self.assertEqual(status, 409, text)
        self.assertIn("has not been shipped here", text)
        self.assertEqual(self.ask(OWNER, "POST", "/v1/jobs", body)[0], 201)
        other = self.logged_in(OTHER)
        run = self.run_there(laptop=other)
        self.assertIn("15B to send", run.stderr)
        self.assertIn(f"I am {OTHER} in ", run.stdout)

    def test_plan_sends_nothing(self):
        plan = self.laptop.call("plan", "--ship", "--workdir", self.work, "--", "true")
        self.assertEqual(plan.returncode, 0, plan.stderr)
        self.assertEqual(self.files(self.box.directory / "ships"), [])

    def test_a_damaged_file_is_asked_for_anew(self):
        agent = self.joined()
        there = ("--affinity", "label:site=there")
        self.assertEqual(self.run_there(*there).returncode, 0)
        self.files(agent.directory / "agent/ships")[0].write_text("xxxx")
        self.assertEqual(self.run_there(*there).returncode, 0)
        self.assertEqual(self.run_there().returncode, 0)
        for path in self.files(self.box.directory / "ships"):
            path.write_text("x" * path.stat().st_size)
        lost = self.run_there()
        self.assertNotEqual(lost.returncode, 0)
        self.assertIn("damaged", lost.stdout + lost.stderr)
        self.assertIn("Submit the job again.", lost.stdout + lost.stderr)

    def test_without_it_both_ways_out_are_said(self):
        missing = self.laptop.call("run", "--workdir", self.work.parent / "nowhere", "--", "true")
        self.assertIn("can't be entered", missing.stderr)
        self.assertIn("--ship", missing.stderr)
        self.assertIn("a file system that the nodes share", missing.stderr)

    def test_ships_outlive_the_server_and_a_killed_agent(self):
        agent = self.joined()
        job = self.laptop.call("submit", "--ship", "--parsable", "--workdir", self.work, "--affinity", "label:site=there", "--",
                               "sh", "-c", "pwd; while ! test -e go; do sleep 0.05; done").stdout.strip()
        self.await_state(int(job), "RUNNING")
        self.box.kill()
        agent.end(9)
        self.box.up("--listen", self.address)
        agent.start()
        self.until(lambda: self.state("other") == "up", "other is not up")
        here = next((agent.directory / "jobs").iterdir())
        (here / "go").touch()
        self.await_state(int(job), "COMPLETED")
        self.until(lambda: not self.directories(agent.directory), "the directory stays")
        self.assertIn("all of it is there already", self.run_there().stderr)

    def test_on_the_box_too(self):
        shutil.copytree(self.work, self.home / "work")
        subprocess.run(["chown", "-R", str(OWNER), str(self.home)], check=True)
        run = subprocess.run([str(BINARY), "run", "--ship", "--", "sh", "-c", SAYS], cwd=self.home / "work", user=OWNER, group=OWNER,
                             env=self.box.environment | {"HOME": str(self.home)}, capture_output=True, text=True, timeout=SECONDS)
        self.assertIn(f"I am {OWNER} in {self.box.directory}/jobs/1-", run.stdout, run.stderr)


class SmallShips(BoxWithAgents):
    options = ("--listen", "127.0.0.1:0", "--limit", "ship-size=1M")

    def test_over_the_limit_is_one_sentence(self):
        work = self.home / "work"
        work.mkdir()
        (work / "big").write_bytes(b"x" * (1 << 20) + b"y")
        run = self.box.call("submit", "--ship", "--workdir", work, "--", "true", check=False)
        self.assertNotEqual(run.returncode, 0)
        self.assertIn("a ship has at most 1048576 here", run.stderr)


class FewShips(BoxWithAgents):
    options = ("--listen", "127.0.0.1:0", "--limit", "ships-per-user=1M")
    second_user, whose = None, "your jobs"

    def test_one_that_finds_no_room_says_so_and_goes_on_once_there_is(self):
        def submit(name):
            work = self.home / name
            work.mkdir()
            (work / "file").write_bytes(name[:1].encode() * 700_000)
            return ["submit", "--ship", "--hold", "--workdir", work, "--", "true"]

        first = self.box.call(*submit("a")).stdout.split()[-1]
        told = self.home / "told"
        waits = f"of {self.whose} that are not over, and those on their way, leave no room for another one. Waiting"
        how = {"env": self.box.environment, "user": self.second_user, "group": self.second_user}
        with open(told, "wb") as out, subprocess.Popen([BINARY, *submit("b")], stdout=out, stderr=out, **how) as second:
            self.box.until(lambda: waits in told.read_text(), SECONDS,
                           "it does not say why it waits", told=told.read_text)
            self.box.call("cancel", first)
            self.assertEqual(second.wait(SECONDS), 0, told.read_text())
        self.assertNotIn("went away", told.read_text())


class FewShipsOfAll(FewShips):
    """What another user has shipped counts, too."""

    options = ("--listen", "127.0.0.1:0", "--limit", "ships=1M")
    second_user, whose = OWNER, "jobs"


if __name__ == "__main__":
    unittest.main()
