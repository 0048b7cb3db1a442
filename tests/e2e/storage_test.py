"""Storage that lies, and directories of somebody else: refused with a sentence, or nothing changed."""

import http.client
import json
import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "script"))
import accounts
from box import Box

BINARY = os.environ.get("PACELINE_BINARY", ROOT / "build/release/paceline")
DATA, DIRECTORY = 78, 73
ANN, BEA = 40001, 40002
LARGE = 70 << 20  # bytes of a database whose pages no start reads


def get(box, path):
    connection = http.client.HTTPConnection("paceline")
    connection.sock = socket.socket(socket.AF_UNIX)
    connection.sock.connect(str(box.directory / "paceline.sock"))
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, json.load(answer)
    finally:
        connection.close()


def until(happened, what, seconds=60):
    deadline = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < deadline, what
        time.sleep(0.02)


class StorageTest(unittest.TestCase):
    def refused(self, box, *options, directory=None):
        """What `up` says, and its exit code."""
        done = subprocess.run([str(BINARY), "up", "--slots", "1", "--dir", str(directory or box.directory), *options],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
        return done.returncode, done.stderr

    def copy(self, box, name):
        """What the server keeps beside its database, as a kill would leave it."""
        target = box.directory / name
        target.mkdir()
        for file in box.directory.glob("paceline.db*"):
            shutil.copy2(file, target)
        return target

    def put_back(self, box, copy):
        for file in box.directory.glob("paceline.db*"):
            file.unlink()
        for file in copy.iterdir():
            shutil.copy2(file, box.directory)

    def test_an_older_copy_is_refused_and_gives_no_number_twice(self):
        with Box(BINARY, slots=1) as box:
            box.wait_state(box.submit("--", "sh", "-c", "echo first"), "COMPLETED")
            old = self.copy(box, "old")
            for _ in range(2):
                box.wait_state(box.submit("--", "sh", "-c", "echo a secret"), "COMPLETED")
            box.kill()
            self.put_back(box, old)
            code, said = self.refused(box)
            self.assertEqual(code, DATA, said)
            self.assertIn("lost its end", said)
            self.assertIn("--accept-older-journal", said)
            box.up("--accept-older-journal")
            self.assertEqual([job["state"] for job in box.jobs()], ["COMPLETED", "CANCELLED", "CANCELLED"])
            self.assertEqual(box.submit("--", "true"), 4)
            box.wait_state(4, "COMPLETED")
            box.kill()
            box.up()
            self.assertEqual(len(box.jobs()), 4)

    def test_an_older_copy_takes_no_old_worker_for_a_new_one(self):
        with Box(BINARY, slots=1) as box:
            first = box.submit("--", "sh", "-c", "sleep 1000")
            box.wait_state(first, "RUNNING")
            told = box.directory / "pid"
            second = box.submit("--", "sh", "-c", f"echo $$ > {told}; sleep 1000")
            old = self.copy(box, "old")
            box.call("cancel", str(first))
            box.wait_state(second, "RUNNING")
            until(lambda: told.exists() and told.read_text(), "the second job has not begun")
            pid = int(told.read_text())
            box.kill()
            self.put_back(box, old)
            box.up("--accept-older-journal")
            until(lambda: not Path(f"/proc/{pid}").exists(), "the worker of before lives")
            box.call("cancel", str(first))
            box.wait_state(second, "RUNNING")
            self.assertGreater(box.job(second)["generation"], 1)
            box.kill()
            replayed = subprocess.run([str(BINARY), "simulate", "--trace", str(box.directory), "--replay"], capture_output=True, text=True)
            self.assertEqual(replayed.returncode, 0, replayed.stdout)

    def test_a_lost_or_cut_write_ahead_log_is_refused(self):
        for harm in (lambda log: log.unlink(), lambda log: os.truncate(log, log.stat().st_size - 1000)):
            with self.subTest(harm=harm), Box(BINARY, slots=1) as box:
                box.wait_state(box.submit("--", "true"), "COMPLETED")
                box.kill()
                harm(box.directory / "paceline.db-wal")
                code, said = self.refused(box)
                self.assertEqual(code, DATA, said)
                self.assertIn("lost its end", said)

    def test_a_deleted_lock_lets_no_second_server_in(self):
        with Box(BINARY, slots=1) as box:
            (box.directory / "paceline.lock").unlink()
            code, said = self.refused(box)
            self.assertEqual(code, DIRECTORY, said)
            self.assertIn(f"Paceline already runs on {box.directory}", said)
            self.assertEqual(get(box, "/healthz")[0], 200)

    def test_damage_that_a_start_passes_over_is_told(self):
        with Box(BINARY, slots=1) as box:
            box.wait_state(box.submit("--", "true"), "COMPLETED")
            box.call("down")
            box.server.wait(timeout=60)
            with sqlite3.connect(box.directory / "paceline.db") as database:
                database.execute("UPDATE journal SET sum = sum + 1 WHERE seq = 2")
            database.close()
            box.up()
            until(lambda: get(box, "/v1/server")[1]["damage"], "the damage is not told")
            self.assertIn("entry 2 of the journal does not match its sum", get(box, "/v1/server")[1]["damage"])
            self.assertIn("entry 2 of the journal", box.log.read_text())
            box.wait_state(box.submit("--", "true"), "COMPLETED")

    def test_pages_found_damaged_meanwhile_end_all_writing(self):
        with Box(BINARY, slots=1) as box:
            box.wait_state(box.submit("--", "true"), "COMPLETED")
            box.call("down")
            box.server.wait(timeout=60)
            with sqlite3.connect(box.directory / "paceline.db") as database:
                database.execute("CREATE TABLE filler (bytes)")
                database.executemany("INSERT INTO filler VALUES (zeroblob(?))", [(LARGE // 10,)] * 10)
                root, = database.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'filler'").fetchone()
                size, = database.execute("PRAGMA page_size").fetchone()
            database.close()  # with its write-ahead log
            with open(box.directory / "paceline.db", "r+b") as file:
                file.seek((root - 1) * size)
                file.write(b"\7" * size)
            box.up()
            until(lambda: get(box, "/readyz")[0] == 503, "it says that it is ready")
            self.assertIn("is corrupt", get(box, "/readyz")[1]["error"]["message"])
            self.assertIn("is corrupt", get(box, "/v1/server")[1]["damage"])
            self.assertIn("is corrupt", box.log.read_text())
            before = get(box, "/v1/server")[1]["seq"]
            self.assertNotEqual(box.call("submit", "--", "true", check=False).returncode, 0)
            self.assertEqual(get(box, "/v1/server")[1]["seq"], before)
            self.assertEqual([job["state"] for job in box.jobs()], ["COMPLETED"])
            self.assertTrue(get(box, "/v1/events?from=1")[1]["events"])

    def test_who_cannot_write_is_not_ready(self):
        with Box(BINARY, slots=1) as box:
            self.assertEqual(get(box, "/readyz")[0], 200)
            with sqlite3.connect(box.directory / "paceline.db", isolation_level=None) as other:
                other.execute("BEGIN IMMEDIATE")
                until(lambda: get(box, "/readyz")[0] == 503, "it says that it is ready")
                other.execute("ROLLBACK")
            other.close()
            until(lambda: get(box, "/readyz")[0] == 200, "it is not ready any more")

    def test_a_job_goes_on_upon_slots_that_are_gone(self):
        with Box(BINARY, slots=4) as box:
            script = "while [ ! -e end ]; do echo '{\"paceline\": {\"step_seconds\": 0.5}}'; sleep 0.1; done"
            first = box.submit("--", "sh", "-c", script)
            wide = box.submit("--slots", "3", "--", "sh", "-c", script)
            for job in (first, wide):
                box.wait_state(job, "RUNNING")
            box.kill()
            box.slots = 1
            box.up()
            until(lambda: box.job(wide)["progress"], "no report arrives")
            self.assertEqual(box.job(wide)["state"], "RUNNING")
            self.assertIn("the node has it no longer", box.call("nodes", "-o", "wide").stdout)
            box.call("why", str(wide))
            box.call("resize", str(wide), "1", check=False)
            for job in (first, wide):
                box.call("cancel", str(job))
                box.wait_state(job, "CANCELLED")
            box.wait_state(box.submit("--", "true"), "COMPLETED")
            self.assertNotIn("no longer", box.call("nodes", "-o", "wide").stdout)


@unittest.skipUnless(os.geteuid() == 0, "only root can be two users")
class UsersTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        try:
            accounts.add({"paceline-ann": ANN, "paceline-bea": BEA})
        except accounts.NotPermitted as refusal:
            raise unittest.SkipTest(str(refusal))

    def setUp(self):
        self.directory = Path(tempfile.mkdtemp(prefix="paceline-users-"))
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)
        self.directory.chmod(0o755)
        self.before = os.umask(0o077)  # as careful administrators have it
        self.addCleanup(os.umask, self.before)

    def call(self, user, *arguments, directory=None):
        done = subprocess.run([str(BINARY), *arguments], user=user, group=user, extra_groups=[], cwd="/",
                              env={"PATH": os.environ["PATH"], "HOME": "/nonexistent",
                                   "PACELINE_DIR": str(directory or self.directory / "server")},
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
        return done.returncode, done.stdout, done.stderr

    def test_what_root_makes_is_passable_for_others_and_what_is_theirs_is_private(self):
        binary_reachable = self.call(ANN, "version")[0] == 0
        if not binary_reachable:
            self.skipTest("the program is out of reach for other users")
        home = self.directory / "server"
        with open(self.directory / "log", "wb") as log:
            server = subprocess.Popen([str(BINARY), "up", "--slots", "2", "--dir", str(home)],
                                      stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.addCleanup(server.wait, 60)
        self.addCleanup(server.send_signal, signal.SIGKILL)
        until(lambda: self.call(0, "nodes")[0] == 0 or server.poll() is not None, "no answer")
        self.assertEqual(home.stat().st_mode & 0o777, 0o711)
        numbers = {}
        for user in (ANN, BEA):
            code, out, err = self.call(user, "submit", "--parsable", "--", "sh", "-c", f"echo of user {user}; id -u")
            self.assertEqual(code, 0, err)
            numbers[user] = out.strip()
            until(lambda: self.call(user, "show", numbers[user], "-o", "json")[1].find("COMPLETED") >= 0, "not over")
            code, out, err = self.call(user, "logs", numbers[user])
            self.assertEqual(code, 0, err)
            self.assertIn(f"of user {user}\n{user}\n", out)
        for user, other in ((ANN, BEA), (BEA, ANN)):
            for words in (("logs",), ("cancel",)):
                code, out, err = self.call(user, *words, numbers[other])
                self.assertNotEqual(code, 0, out)
                self.assertNotIn(f"of user {other}", out + err)
        for private in ("paceline.db", "paceline.mark", "paceline.lock", "logs", "agent", "logs/1/rank0.log"):
            code = subprocess.run(["cat", home / private], user=BEA, group=BEA, extra_groups=[],
                                  capture_output=True).returncode
            self.assertNotEqual(code, 0, f"{private} can be read")
        self.assertNotEqual(subprocess.run(["ls", home], user=BEA, group=BEA, extra_groups=[],
                                           capture_output=True).returncode, 0)

    def test_root_takes_no_directory_and_no_database_of_others(self):
        def up(directory):
            done = subprocess.run([str(BINARY), "up", "--slots", "1", "--dir", str(directory)],
                                  stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
            return done.returncode, done.stderr

        theirs = self.directory / "theirs"
        theirs.mkdir(mode=0o700)
        os.chown(theirs, ANN, ANN)
        code, said = up(theirs)
        self.assertEqual(code, DIRECTORY, said)
        self.assertIn(f"The directory {theirs} belongs to paceline-ann.", said)
        code, said = up(theirs / "below")
        self.assertEqual(code, DIRECTORY, said)
        self.assertIn("is not safe", said)
        mine = self.directory / "mine"
        mine.mkdir(mode=0o700)
        (mine / "paceline.db").touch(mode=0o600)
        os.chown(mine / "paceline.db", ANN, ANN)
        code, said = up(mine)
        self.assertEqual(code, DIRECTORY, said)
        self.assertIn(f"{mine / 'paceline.db'} belongs to paceline-ann.", said)
        for name in ("paceline.db", "paceline.db-wal", "paceline.lock", "paceline.mark", "paceline.sock"):
            linked = self.directory / f"linked-{name}"
            linked.mkdir(mode=0o700)
            (linked / name).symlink_to(self.directory / "elsewhere")
            code, said = up(linked)
            self.assertEqual(code, DIRECTORY, f"{name}: {said}")
            self.assertIn(str(linked / name), said)
            self.assertFalse((self.directory / "elsewhere").exists())


if __name__ == "__main__":
    unittest.main()
