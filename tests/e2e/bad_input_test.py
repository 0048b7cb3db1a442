"""What can't be: each request, file, directory, disk and client that can't be served is refused with one clear sentence and
a documented exit code (docs/cli.md), and changes nothing."""

import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest
from contextlib import closing, contextmanager, suppress
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "script"))
from box import Box

BINARY = os.environ.get("PACELINE_BINARY", ROOT / "build/release/paceline")
SLOTS = 4
BODY_BYTES_MAX = 4 << 20

# options of `submit`, the exit code, words of the sentence
SUBMISSIONS = [
    (["--slots", "5"], 64, "at least 5 slots, and the whole cluster has 4"),
    (["--slots", "5..9"], 64, "at least 5 slots, and the whole cluster has 4"),
    (["--slots", "4..2"], 64, "its minimum is larger than its maximum"),
    (["--slots", "0"], 64, "less than 1 is impossible"),
    (["--slots", "-1"], 64, "less than 1 is impossible"),
    (["--slots", "many"], 64, "it is no number or range of numbers"),
    (["--slots", "1.5"], 64, "it is no number or range of numbers"),
    (["--slots", "9" * 30], 64, "it is no number or range of numbers"),
    (["--slots", "2..4@5"], 64, "the wish lies outside"),
    (["--slots", "3", "--slots-per-worker", "2"], 64, "can't be divided into workers of 2 slots"),
    (["--slots-per-worker", "0"], 64, "is not a whole number from 1"),
    (["--cpus", "-1"], 64, "is not a number of CPU cores"),
    (["--memory", "lots"], 64, "is not an amount of memory"),
    (["--priority", "101"], 64, "is not a whole number from 0 to 100"),
    (["--retry", "-1"], 64, "is not a whole number from 0"),
    (["--on-disconnect", "maybe"], 64, "is nothing to do without a server"),
    (["--checkpoint-store", "maybe"], 64, "is nowhere to keep checkpoints"),
    (["--elastic", "maybe"], 64, "is no way to be elastic"),
    (["--target", "accuracy"], 64, "is not a target"),
    (["--max-duration", "0"], 64, "is not a duration"),
    (["--deadline", "yesterday"], 64, "is not a point in time"),
    (["--signal", "SIGWHAT"], 64, "is not a signal"),
    (["--env", "NAME"], 64, "is not a variable"),
    (["--frobnicate"], 64, "has no option '--frobnicate'"),
    (["--after", "99"], 66, "There is no job 99"),
    (["--after", "1"], 64, "A job can't wait for itself"),  # the next id: the only cycle that can be written
    (["--workdir", "/nonexistent"], 66, "There is no directory /nonexistent"),
]

COMMANDS = [
    (["submit"], 64, "There is no command to run"),
    (["submit", "--", "nosuch-program"], 66, "There is no program 'nosuch-program'"),
    (["submit", "--", "/nonexistent/program"], 66, "There is no program '/nonexistent/program'"),
    (["submit", "-f", "/nonexistent.yaml"], 66, "can't be read: No such file"),
    (["submit", "-f", "/"], 74, "can't be read: Is a directory"),
    (["policy", "set", "nosuch"], 66, "There is no policy 'nosuch'"),
    (["policy", "set", "fif0"], 66, "There is no policy 'fif0'"),
    (["policy", "set", "fifo", "--frob", "3"], 64, "has no parameter 'frob'"),
    (["show", "seven"], 64, "'seven' is not the id of a job"),
    (["resize", "1", "--workers", "x"], 64, "'x' is not a range"),
    (["events", "--from", "-1"], 64, "is not a whole number"),
    (["queue", "--state", "ASLEEP"], 64, "'ASLEEP' is not a state"),
    (["quue"], 64, "did you mean 'queue'"),
] + [([command, "99"], 66, "There is no job 99") for command in
     ("show", "why", "logs", "attach", "wait", "cancel", "pause", "resume")]

JOB_FILES = [
    ("run: [true", 65, "End of sequence flow not found"),
    ("run: 'true'\nnmae: x", 65, ":2:1: There is no key 'nmae'; did you mean 'name'?"),
    ("run: 'true'\nresources: {slot: 2}", 65, "did you mean 'slots'?"),
    ("run: 'true'\nresources: {slots: 0}", 65, "less than 1 is impossible"),
    ("run: 'true'\nresources: {slots: 99}", 64, "the whole cluster has 4"),
    ("run: 'true'\nafter: [two]", 65, "'two' is not the id of a job"),
    ("run: 'true'\nrun: 'false'", 65, "'run' stands here twice"),
    ("run: &a 'true'\nname: *a", 65, "Anchors are not used"),
    ("- run", 65, "A job file is a map of keys"),
    ("", 65, "is empty"),
    ("\t: x", 65, "job.yaml:1:"),
    ("run: " + "x" * (1 << 20), 65, "is larger than 1 MiB"),
]


def paceline(*arguments, directory=None, seconds=30):
    environment = {**os.environ, **({"PACELINE_DIR": str(directory)} if directory else {})}
    return subprocess.run([str(BINARY), *map(str, arguments)], env=environment, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=seconds)


def contents(directory):
    """Every file by its path; the lock holds the pid of whoever tried last, and what only keeps room tells nothing."""
    return {path.relative_to(directory): path.read_bytes() for path in directory.rglob("*")
            if path.is_file() and path.name not in ("paceline.lock", "paceline.mark", "reserve")}


def descriptors(box):
    """How many the server has open, but for its database's: SQLite keeps some of those while another connection has a lock."""
    opened = []
    for path in Path(f"/proc/{box.server.pid}/fd").iterdir():
        with suppress(FileNotFoundError):  # closed meanwhile
            opened.append(os.readlink(path))
    return sum(not name.startswith(str(box.directory / "paceline.db")) for name in opened)


def until(happened, what, seconds=20):
    deadline = time.monotonic() + seconds
    while not happened():
        if time.monotonic() > deadline:
            raise AssertionError(what)
        time.sleep(0.05)


class BadInput(unittest.TestCase):
    def assert_refused(self, done, code, words):
        lines = done.stderr.splitlines()
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertEqual(done.stdout, "")
        self.assertIn(words, lines[0])
        self.assertTrue(lines[0].startswith("paceline: "), done.stderr)
        self.assertLessEqual(len(lines), 2, "one sentence, and what to do")


class RequestsTest(BadInput):
    @classmethod
    def setUpClass(cls):
        cls.box = Box(BINARY, slots=SLOTS)
        cls.addClassCleanup(cls.box.close)
        cls.box.up()
        cls.socket = str(cls.box.directory / "paceline.sock")
        cls.journal = cls.entries()
        cls.descriptors = descriptors(cls.box)

    @classmethod
    def entries(cls):
        return cls.box.call("events", "-o", "name").stdout

    def tearDown(self):
        self.assertEqual(self.entries(), self.journal, "something was changed")

    def test_impossible_submissions(self):
        for options, code, words in SUBMISSIONS:
            with self.subTest(options):
                self.assert_refused(self.box.call("submit", *options, "--", "true", check=False), code, words)

    def test_commands_about_what_is_not_there(self):
        for words, code, sentence in COMMANDS:
            with self.subTest(words):
                self.assert_refused(self.box.call(*words, check=False), code, sentence)

    def test_broken_job_files(self):
        path = self.box.directory / "job.yaml"
        for text, code, words in JOB_FILES:
            with self.subTest(text[:60]):
                path.write_text(text)
                self.assert_refused(self.box.call("submit", "-f", str(path), check=False), code, words)

    @unittest.skipIf(os.geteuid() == 0, "root may read everything")
    def test_unreadable_job_file_and_directory(self):
        path = self.box.directory / "secret"
        path.mkdir(mode=0)
        self.assert_refused(self.box.call("submit", "--workdir", str(path), "--", "true", check=False), 77, "secret")
        self.assert_refused(self.box.call("submit", "-f", str(path / "job.yaml"), check=False), 77, "Permission denied")

    # ---- over the wire ----
    def connect(self):
        client = socket.socket(socket.AF_UNIX)
        client.settimeout(20)
        client.connect(self.socket)
        return closing(client)

    def ask(self, request, body=b""):
        """The status and the error of an answer. A server that refuses a body may close before it read all of it."""
        with self.connect() as client:
            try:
                client.sendall(request.encode() + f"\r\nHost: p\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
            except BrokenPipeError:
                pass
            answer = client.makefile("rb")
            status = int(answer.readline().split()[1])
            length = 0
            while (line := answer.readline().strip().lower()):
                if line.startswith(b"content-length:"):
                    length = int(line.split(b":")[1])
            return status, json.loads(answer.read(length))["error"]

    def test_oversized_and_malformed_requests(self):
        deep = b"[" * 100_000
        for request, body, status, code in [
                ("POST /v1/jobs HTTP/1.1", b"a" * (BODY_BYTES_MAX + 1), 413, "too_large"),
                ("POST /v1/jobs HTTP/1.1", deep, 413, "too_large"),
                ("POST /v1/jobs HTTP/1.1", b"nonsense", 400, "invalid"),
                ("POST /v1/jobs HTTP/1.1", b'{"spec": {}, "launch": {}}', 400, "invalid"),
                ("POST /v1/jobs HTTP/1.1\r\nIdempotency-Key: " + "k" * 129, b"{}", 400, "invalid"),
                ("GET /v1/jobs HTTP/1.1\r\nX: " + "x" * (1 << 17), b"", 413, "too_large"),
                ("GET /v1/jobs?frob=1 HTTP/1.1", b"", 400, "invalid"),
                ("GET /v1/nothing HTTP/1.1", b"", 404, "not_found"),
                ("DELETE /v1/jobs HTTP/1.1", b"", 405, "invalid")]:
            with self.subTest(request[:40], body=body[:20]):
                answer, error = self.ask(request, body)
                self.assertEqual((answer, error["code"]), (status, code))
                self.assertTrue(error["message"].endswith("."))

    def test_clients_that_leave_in_the_middle(self):
        for part in (b"", b"POST /v1/j", b"GARBAGE\r\n\r\n", b'POST /v1/jobs HTTP/1.1\r\nHost: p\r\nContent-Length: 900\r\n\r\n{"spec"',
                     b"POST /v1/jobs HTTP/1.1\r\nHost: p\r\nTransfer-Encoding: chunked\r\n\r\nffff\r\n{"):
            with self.connect() as client:
                client.sendall(part)
        self.assert_no_descriptor_stays()

    def assert_no_descriptor_stays(self):
        until(lambda: descriptors(self.box) <= self.descriptors, "connections stay open")


class ClientsTest(unittest.TestCase):
    """Clients that leave while something goes on."""

    def test_a_follower_that_leaves_takes_nothing_with_it(self):
        with Box(BINARY, slots=1) as box:
            idle = descriptors(box)
            job = box.submit("--", "sh", "-c", "for i in $(seq 100); do echo line $i; sleep 0.02; done")
            follower = subprocess.Popen([str(BINARY), "logs", "-f", str(job)], env=box.environment,
                                        stdout=subprocess.PIPE, text=True)
            while "line 3" not in follower.stdout.readline():
                pass
            follower.send_signal(signal.SIGKILL)
            follower.wait()
            follower.stdout.close()
            self.assertEqual(box.wait_state(job, "COMPLETED", "FAILED")["state"], "COMPLETED")
            lines = [line for line in box.call("logs", str(job)).stdout.splitlines() if line.startswith("line")]
            self.assertEqual(lines, [f"line {i}" for i in range(1, 101)])
            until(lambda: descriptors(box) <= idle, "connections stay open")

    def test_a_submission_whose_client_left_is_made_once(self):
        body = json.dumps({"spec": {"name": "left"}, "launch": {
            "command": ["true"], "directory": "/", "environment": {}, "umask": 18}}).encode()
        request = b"POST /v1/jobs HTTP/1.1\r\nHost: p\r\nIdempotency-Key: one\r\nContent-Length: %d\r\n\r\n" % len(body)
        with Box(BINARY, slots=1) as box:
            for _ in range(3):
                with closing(socket.socket(socket.AF_UNIX)) as client:
                    client.connect(str(box.directory / "paceline.sock"))
                    client.sendall(request + body)
            until(lambda: box.jobs(), "the submission was lost")
            self.assertEqual([job["name"] for job in box.wait_all(seconds=30)], ["left"])


class DirectoriesTest(BadInput):
    """`up` on directories that it can't use."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="paceline-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def assert_up_refused(self, directory, code, words, *options):
        before = contents(self.folder)
        self.assert_refused(paceline("up", "--dir", directory, *options), code, words)
        self.assertEqual(contents(self.folder), before, "something was changed")

    def used(self):
        """The path of a database that a server with one ended job left."""
        with Box(BINARY, slots=1) as box:
            box.submit("--", "true")
            box.wait_all(seconds=30)
            box.call("down")
            box.server.wait()
            for name in ("paceline.db", "paceline.db-wal"):
                if (box.directory / name).exists():
                    (self.folder / name).write_bytes((box.directory / name).read_bytes())
        return self.folder / "paceline.db"

    def test_what_is_no_directory(self):
        file = self.folder / "file"
        file.touch()
        self.assert_up_refused(file, 73, "Not a directory")
        self.assert_up_refused(file / "below", 73, "Not a directory")
        self.assert_up_refused("/proc/paceline", 73, "can't be used")

    def test_impossible_options_make_no_directory(self):
        for options, code, words in [(("--slots", "0"), 64, "is not a whole number"), (("--slots", "many"), 64, "is not a"),
                                     (("--policy", "nosuch"), 66, "There is no policy 'nosuch'")]:
            self.assert_up_refused(self.folder / "new", code, words, *options)
        self.assertEqual(list(self.folder.iterdir()), [])

    @unittest.skipIf(os.geteuid() == 0, "root may write everything")
    def test_a_directory_without_the_right_to_write(self):
        for mode in (0o500, 0o000):
            (self.folder / "theirs").mkdir(exist_ok=True)
            (self.folder / "theirs").chmod(mode)
            self.assert_up_refused(self.folder / "theirs", 73, "Permission denied")

    def test_a_second_server_is_told_the_pid_of_the_first(self):
        with Box(BINARY, slots=1) as box:
            self.assert_up_refused(box.directory, 73, f"(pid {box.server.pid})")
            self.assertEqual(box.call("queue").returncode, 0)

    def test_something_else_in_place_of_the_socket(self):
        (self.folder / "paceline.sock").touch()
        self.assert_refused(paceline("up", "--dir", self.folder), 73, "is there and is not a socket")

    def test_files_that_are_no_database_of_ours(self):
        (self.folder / "paceline.db").write_text("nothing like a database")
        self.assert_up_refused(self.folder, 78, "is not a Paceline database")
        (self.folder / "paceline.db").unlink()
        with closing(sqlite3.connect(self.folder / "paceline.db")) as db:
            db.execute("CREATE TABLE theirs (a)")
        self.assert_up_refused(self.folder, 78, "is not a Paceline database")

    def test_a_newer_database(self):
        with closing(sqlite3.connect(self.used())) as db:
            db.execute("PRAGMA user_version = 99")
        self.assert_up_refused(self.folder, 78, "was written by a newer Paceline")

    def test_a_corrupt_database(self):
        file = self.used()
        with closing(sqlite3.connect(file)) as db:
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        whole = file.read_bytes()
        file.write_bytes(whole[:4096] + b"\xff" * 8192 + whole[12288:])
        self.assert_up_refused(self.folder, 78, "is corrupt")
        file.write_bytes(whole)
        with closing(sqlite3.connect(file)) as db, db:
            db.execute("UPDATE jobs SET body = replace(body, 'COMPLETED', 'CANCELLED')")
        self.assert_up_refused(self.folder, 78, "does not match its sum")


def mounts():
    """May this process mount a small file system?"""
    if os.geteuid() != 0:
        return False
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", folder], capture_output=True, check=False)
        return done.returncode == 0 and subprocess.run(["umount", folder], check=False).returncode == 0


@unittest.skipUnless(mounts(), "needs the right to mount a file system")
class DisksTest(BadInput):
    @contextmanager
    def disk(self, size="16m"):
        with tempfile.TemporaryDirectory(prefix="paceline-") as folder:
            subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "none", folder], check=True)
            try:
                yield Path(folder)
            finally:
                subprocess.run(["umount", "--lazy", folder], check=True)

    @staticmethod
    def fill(folder):
        with open(folder / "ballast", "wb", buffering=0) as file:
            try:
                while file.write(b"\0" * 4096):
                    pass
            except OSError:
                pass

    @contextmanager
    def server(self, directory):
        process = subprocess.Popen([str(BINARY), "up", "--slots", "2", "--dir", str(directory)],
                                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        try:
            while "next:" not in process.stdout.readline():
                self.assertIsNone(process.poll())
            yield process
        finally:
            paceline("down", "--jobs", directory=directory)
            process.wait(timeout=30)
            process.stdout.close()

    def test_a_disk_that_is_full_before_the_start(self):
        with self.disk() as disk:
            self.fill(disk)
            self.assert_refused(paceline("up", "--dir", disk / "paceline"), 73, "No space left on device")

    def test_a_disk_that_is_full_at_the_next_start(self):
        with self.disk() as disk:
            directory = disk / "paceline"
            with self.server(directory):
                pass
            self.fill(disk)
            self.assert_refused(paceline("up", "--dir", directory), 73, "")

    def test_a_read_only_disk(self):
        with self.disk() as disk:
            (disk / "old").mkdir()
            subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
            for name in ("old", "new"):
                self.assert_refused(paceline("up", "--dir", disk / name), 73, "Read-only file system")


if __name__ == "__main__":
    unittest.main()
