"""Checkpoints that lie on one machine alone: the server keeps a copy, and a start elsewhere finds it."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from agents_test import BoxWithAgents, setUpModule  # noqa: F401
from elsewhere_test import Laptop
from people import OWNER

# Counts, saves after each step, and says where it begins and leaves.
COUNTS = r"""
n=0
if [ -n "$PACELINE_CHECKPOINT" ]; then n=$(cat "$PACELINE_CHECKPOINT"); fi
echo "begins at $n by ${PACELINE_CHECKPOINT:-nothing}"
mkdir -p saved
trap 'echo leaves at $n; exit 75' TERM
while test "$n" -lt 10000; do
  n=$((n + 1))
  echo $n > saved/part && mv saved/part saved/last.txt
  sleep 0.2
done
"""


class KeptCheckpointsTest(BoxWithAgents):
    def setUp(self):
        super().setUp()
        home = tempfile.mkdtemp(prefix="paceline-laptop-")
        self.addCleanup(shutil.rmtree, home, ignore_errors=True)
        self.laptop = Laptop(home)
        token = self.box.call("token", "create", "--user", "paceline-owner", "--role", "user").stdout
        self.assertEqual(self.laptop.call("login", self.address, "--name", "lab", given=token).returncode, 0)
        self.work = Path(home) / "work"
        self.work.mkdir()
        (self.work / "count.sh").write_text(COUNTS)

    def counting(self, *words):
        return self.counting_in("--ship", "--workdir", self.work, *words)

    def counting_in(self, *words):
        said = self.laptop.call("submit", "--affinity", "label:site=there",
                                "--checkpoint", "saved/*.txt", "--grace", "10s", *words, "--", "sh", "count.sh")
        self.assertEqual(said.returncode, 0, said.stderr)
        job = next(int(word) for word in said.stdout.split() if word.isdigit())
        self.await_state(job, "RUNNING")
        return job

    def checkpoint(self, job):
        return self.job(job)["checkpoint"] or {}

    def copies(self):
        """Of its checkpoints, with the server: a ship each, beside that of its directory."""
        return len([path for path in self.box.directory.joinpath("ships").rglob("*") if path.parent.name == "ships" and path.is_file()]) - 1

    def begins(self, job):
        """(step, path) of each start."""
        lines = [line.split() for line in self.laptop.call("logs", str(job)).stdout.splitlines() if "begins at" in line]
        return [(int(line[line.index("at") + 1]), line[-1]) for line in lines]

    def test_a_drained_node_hands_its_checkpoint_on(self):
        self.joined("first")
        job = self.counting()
        self.until(lambda: self.checkpoint(job).get("kept"), f"it is not kept: {self.checkpoint(job)}")
        self.assertEqual(self.checkpoint(job)["node"], "first")
        self.assertIn("kept by the server", self.laptop.call("show", str(job)).stdout)
        self.until(lambda: 1 <= self.copies() <= 2, "not just the newest two are kept")
        second = self.joined("second")
        self.box.call("drain", "first", "--yes")
        self.until(lambda: len(self.begins(job)) == 2, f"it did not move: {self.laptop.call('why', str(job)).stdout}")
        step, path = self.begins(job)[1]
        inside = Path(path).relative_to(Path(second.directory) / "jobs")
        self.assertRegex(str(inside), rf"^{job}-[0-9a-f]+/saved/last\.txt$")
        left = next(line.split()[-1] for line in self.laptop.call("logs", str(job)).stdout.splitlines() if "leaves at" in line)
        self.assertEqual(step, int(left), "a step that it had saved is lost")
        self.assertEqual(os.stat(Path(path)).st_uid, OWNER)
        self.laptop.call("cancel", str(job))
        self.await_state(job, "CANCELLED")
        self.until(lambda: self.copies() == 0, "copies of a job that is over stay")

    def test_a_lost_machine_costs_what_was_not_sent_yet_and_no_more(self):
        first = self.joined("first", lease="10s")
        job = self.counting()
        self.joined("second")
        self.until(lambda: self.checkpoint(job).get("kept"), f"it is not kept: {self.checkpoint(job)}")
        first.end(signal.SIGKILL)
        self.until(lambda: len(self.begins(job)) == 2, f"it did not start: {self.laptop.call('why', str(job)).stdout}")
        self.assertGreaterEqual(self.begins(job)[1][0], 1)
        self.assertEqual(self.job(job)["retries_used"], 0)

    def kept_where_nothing_travels(self):
        """The agents of both nodes, and a job whose directory both have, on the first."""
        (self.home / "count.sh").write_text(COUNTS)
        first = self.joined("first")
        job = self.counting_in("--workdir", self.home)
        self.joined("second")
        self.until(lambda: self.checkpoint(job).get("kept"), f"it is not kept: {self.checkpoint(job)}")
        return first, job

    def restore(self):
        """Makes a server of a backup in place of the one that made it, with that by which machines know it."""
        archive = self.work / "saved.tar"
        self.box.call("backup", str(archive))
        self.box.down()
        for path in self.box.directory.iterdir():
            if path.is_dir() and not path.is_symlink() and path.name not in ("trust", "tokens"):
                shutil.rmtree(path)
            elif path.name not in ("trust", "tokens", "nodes"):
                path.unlink()
        subprocess.run(["tar", "-xf", archive, "-C", self.box.directory], check=True)
        self.box.up("--listen", self.address)

    # Copies are not in a backup.
    def test_a_server_made_of_a_backup_is_sent_another_copy(self):
        _, job = self.kept_where_nothing_travels()
        self.box.call("drain", "first", "--keep", "--yes")
        self.restore()
        self.until(lambda: any(step > 0 for step, _ in self.begins(job)), f"it did not start: {self.laptop.call('why', str(job)).stdout}")
        self.assertEqual(self.job(job)["retries_used"], 0)

    def test_what_only_a_lost_machine_and_the_server_before_had_is_lost(self):
        first, job = self.kept_where_nothing_travels()
        first.end(signal.SIGKILL)
        self.restore()
        self.until(lambda: self.checkpoint(job)["unkept"], f"its copy is said to be there: {self.checkpoint(job)}")
        self.until(lambda: self.state("first") == "lost", "first is not lost")
        self.box.call("node", "remove", "first", "--is-off", "--yes")
        self.until(lambda: self.begins(job), f"it did not start: {self.laptop.call('why', str(job)).stdout}")
        self.assertEqual(self.begins(job), [(0, "nothing")])

    def test_a_node_that_retires_before_it_has_sent_a_checkpoint_holds_no_job_up(self):
        self.box.kill()
        self.box.up("--listen", self.address, "--limit", "absent-nodes-age=1s")
        first = self.joined("first")
        (self.work / "count.sh").write_text(COUNTS.replace("trap '", "trap 'truncate -s 6G saved/part; mv saved/part saved/last.txt; "))
        job = self.counting()
        self.joined("second")
        self.box.call("drain", "first", "--yes")
        self.until(lambda: "has sent its newest checkpoint" in self.laptop.call("why", str(job)).stdout, "it does not wait for it")
        first.end(signal.SIGKILL)
        self.until(lambda: len(self.begins(job)) == 2, f"it did not start: {self.laptop.call('why', str(job)).stdout}")

    def test_what_is_too_large_ties_its_job_to_its_node(self):
        self.box.kill()
        self.box.up("--listen", self.address, "--limit", "checkpoint-size=1M")
        self.joined("first")
        (self.work / "count.sh").write_text(COUNTS.replace("echo $n > saved/part",
                                                           "(echo $n; head -c 2000000 /dev/zero) > saved/part"))
        job = self.counting()
        self.until(lambda: self.checkpoint(job).get("unkept"), f"nothing is said: {self.checkpoint(job)}")
        self.assertIn("checkpoint-size", self.checkpoint(job)["unkept"])
        self.assertIn("on first alone", self.laptop.call("show", str(job)).stdout)
        self.joined("second")
        self.box.call("drain", "first", "--yes", "--within", "1s")
        self.await_state(job, "PENDING")
        self.until(lambda: "needs node first, where its newest checkpoint lies" in self.laptop.call("why", str(job)).stdout,
                   self.laptop.call("why", str(job)).stdout)
        self.box.kill()
        self.box.up("--listen", self.address, "--limit", "checkpoint-size=8M")
        self.until(lambda: self.checkpoint(job)["kept"], f"it isn't asked for once more: {self.checkpoint(job)}")
        self.await_state(job, "RUNNING")
        self.assertIsNone(self.checkpoint(job)["unkept"])

    def test_who_wants_none_kept_has_none(self):
        self.joined("first")
        job = self.counting("--checkpoint-store", "none")
        self.until(lambda: self.checkpoint(job), "it saves nothing")
        self.assertIsNone(self.checkpoint(job)["kept"])
        self.assertEqual(self.job(job)["checkpoint_store"], "none")

    def test_nobody_but_its_node_sends_one(self):
        self.joined("first")
        job = self.counting()
        target = f"/v1/checkpoints?job={job}&born=1&number=0&report=1"
        self.assertEqual(self.ask(OWNER, "POST", target, "{}")[0], 403)
        self.assertEqual(self.ask(0, "POST", target, "{}")[0], 409, "it is not the server's own machine's")


if __name__ == "__main__":
    unittest.main()
