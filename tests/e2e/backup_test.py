"""`paceline backup`: all that a server knows, as one file, taken while jobs come and go; and a server made of it."""

import os
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import threading
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "script"), str(Path(__file__).resolve().parent)]
from agents import Agent, invite
from box import Box
from boxes import APART, go_apart

BINARY = os.environ.get("PACELINE_BINARY", ROOT / "build/release/paceline")
SMALL_JOURNAL = ["--limit", "journal-entries=100", "--limit", "ended-jobs=5"]


class BackupTest(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="paceline-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def restored(self, archive, *options):
        """A box whose server is made of it."""
        box = Box(BINARY, slots=2)
        self.addCleanup(box.close)
        subprocess.run(["tar", "-xf", archive, "-C", box.directory], check=True)
        box.up(*options)
        return box

    def joined(self, box, name):
        """The agent of another machine that lends it a slot."""
        token, address = invite(box, "--label", "site=there")
        directory = tempfile.mkdtemp(prefix="paceline-agent-")
        os.chmod(directory, 0o711)
        agent = Agent(BINARY, directory)
        self.addCleanup(agent.close)
        agent.start("--join", address, "--token", "-", "--node", name, "--slots", "1", "--serve-root", token=token)
        self.until_node(box, name, "up")
        return agent

    def until_node(self, box, name, state):
        def states():
            return {node["name"]: node["state"] for node in box.json("nodes")["nodes"]}
        box.until(lambda: states().get(name) == state, 60, f"{name} is not {state}", told=lambda: str(states()))

    def test_a_server_is_made_of_what_was_saved_while_jobs_came_and_went(self):
        box = Box(BINARY, slots=2)
        self.addCleanup(box.close)
        box.up()
        for _ in range(60):
            last = box.submit("--", "true")
        box.wait_all(seconds=120)
        box.call("down")
        box.server.wait()
        box.up(*SMALL_JOURNAL)
        box.until(lambda: box.json("journal", "list")["segments"], 60, "nothing is moved into segments")
        over = threading.Event()

        def submit():
            while not over.is_set():
                box.submit("--hold", "--", "true")

        submitting = threading.Thread(target=submit)
        submitting.start()
        try:
            archives = [self.folder / f"{i}.tar.gz" for i in range(5)]
            for archive in archives:
                said = box.call("backup", str(archive)).stdout
                self.assertIn(str(archive), said)
        finally:
            over.set()
            submitting.join()
        saved = []
        for archive in archives:
            again = self.restored(archive)
            jobs = {job["id"]: (job["state"], job["command"], job["submitted_at"]) for job in again.jobs()}
            now = {job["id"]: (job["state"], job["command"], job["submitted_at"]) for job in box.jobs()}
            self.assertEqual({job: now[job] for job in jobs}, jobs)
            self.assertLessEqual(set(range(1, last + 1)), set(jobs))
            saved.append(len(jobs))
            again.wait_state(again.submit("--", "true"), "COMPLETED")
            again.down()
        self.assertEqual(saved, sorted(saved))
        with tarfile.open(archives[-1]) as archive:
            self.assertTrue(any(name.startswith("segments/") for name in archive.getnames()), "the journal was cut")
        self.assertEqual(os.stat(archives[0]).st_mode & 0o777, 0o600)
        self.assertEqual(sorted(self.folder.iterdir()), archives)

    def test_what_ran_starts_again_in_a_server_made_of_it(self):
        box = Box(BINARY, slots=2)
        self.addCleanup(box.close)
        box.up()
        job = box.submit("--", "sleep", "600")
        box.wait_state(job, "RUNNING")
        archive = self.folder / "saved.tar.gz"
        box.call("backup", str(archive))
        box.down()
        again = self.restored(archive)
        again.until(lambda: again.job(job)["attempt"] == 2, 60, "it is not started again")
        self.assertEqual(again.wait_state(job, "RUNNING")["retries_used"], 0)

    # Who joined is not in a backup.
    def test_a_node_of_which_only_the_backup_knows_is_given_up_and_its_name_is_free(self):
        box = Box(BINARY, slots=1)
        self.addCleanup(box.close)
        box.up("--listen", "127.0.0.1:0")
        agent = self.joined(box, "far")
        job = box.submit("--affinity", "label:site=there", "--on-disconnect", "continue", "--", "sleep", "600")
        box.wait_state(job, "RUNNING")
        archive = self.folder / "saved.tar.gz"
        box.call("backup", str(archive))
        agent.end(signal.SIGKILL)
        box.kill()
        again = self.restored(archive, "--listen", "127.0.0.1:0")
        self.until_node(again, "far", "lost")
        self.assertEqual(again.job(job)["state"], "RUNNING")
        again.call("node", "remove", "far", "--is-off", "--yes")
        again.wait_state(job, "PENDING")
        self.joined(again, "far")
        self.assertEqual(again.wait_state(job, "RUNNING")["attempt"], 2)

    def test_a_server_that_does_not_run_is_saved_too(self):
        box = Box(BINARY, slots=2)
        self.addCleanup(box.close)
        box.up()
        job = box.submit("--hold", "--", "true")
        box.down()
        archive = self.folder / "saved.tar"
        box.call("backup", "--dir", str(box.directory), str(archive))
        self.assertEqual([each["id"] for each in self.restored(archive).jobs()], [job])

    def test_what_cannot_be_written_is_said_and_leaves_nothing(self):
        with Box(BINARY, slots=1) as box:
            for wrong, words in ((self.folder / "saved.zip", "doesn't say what it is to be"),
                                 (self.folder / "none/saved.tar", "No such file or directory")):
                done = box.call("backup", str(wrong), check=False)
                self.assertNotEqual(done.returncode, 0)
                self.assertIn(words, done.stderr)
            done = box.call("backup", "--dir", str(self.folder), str(self.folder / "saved.tar"), check=False)
            self.assertIn("paceline.db", done.stderr)
            self.assertEqual(list(self.folder.iterdir()), [])

    def test_a_full_disk_is_said_and_leaves_the_last_backup(self):
        small = self.folder / "small"
        small.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", small], check=True)
        self.addCleanup(subprocess.run, ["umount", small], check=True)
        with Box(BINARY, slots=1) as box:
            kept = small / "saved.tar.gz"
            box.call("backup", str(kept))
            before = kept.read_bytes()
            for _ in range(40):
                box.submit("--hold", "--", "true", *[os.urandom(400).hex() for _ in range(10)])
            done = box.call("backup", str(kept), check=False)
            self.assertNotEqual(done.returncode, 0)
            self.assertRegex(done.stderr, "No space left|full")
            self.assertEqual((kept.read_bytes(), list(small.iterdir())), (before, [kept]))


if __name__ == "__main__":
    if APART not in os.environ:
        go_apart()
    unittest.main()
