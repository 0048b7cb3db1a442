"""People on other machines: a server that listens, tokens, logins, and every command over TLS, as from a laptop.

The laptop is a home of its own, without PACELINE_DIR: what it knows of the server is what it was given."""

import json
import os
import pty
import re
import select
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from people import BINARY, OTHER, OWNER, SharedBox, add_people

NAMES = {OWNER: "paceline-owner", OTHER: "paceline-other"}
SECONDS = 60


def setUpModule():
    add_people()


class Laptop:
    def __init__(self, home, **variables):
        self.home = Path(home)
        self.environment = {"HOME": str(home), "PATH": os.environ["PATH"], "LANG": "C.UTF-8"} | variables

    def call(self, *words, given=""):
        return subprocess.run([str(BINARY), *map(str, words)], env=self.environment, input=given, capture_output=True, text=True,
                              cwd=self.home, timeout=SECONDS)

    def json(self, *words):
        return json.loads(self.call(*words, "-o", "json").stdout)

    def start(self, *words, **how):
        return subprocess.Popen([str(BINARY), *map(str, words)], env=self.environment, cwd=self.home, text=True,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **how)


class ElsewhereTest(SharedBox):
    options = ("--listen", "127.0.0.1:0")

    def setUp(self):
        super().setUp()
        self.address = re.search(r"paceline login (\S+)", self.box.log.read_text())[1]

    def laptop(self, **variables):
        home = tempfile.mkdtemp(prefix="paceline-laptop-")
        self.addCleanup(shutil.rmtree, home, ignore_errors=True)
        return Laptop(home, **variables)

    def token(self, user=OWNER, role="user", *more):
        made = self.box.call("token", "create", "--user", NAMES.get(user, user), "--role", role, *more)
        return made.stdout.strip()

    def logged_in(self, user=OWNER, role="user", **variables):
        laptop = self.laptop(**variables)
        login = laptop.call("login", self.address, "--name", "lab", given=self.token(user, role) + "\n")
        self.assertEqual(login.returncode, 0, login.stderr)
        return laptop

    def up_again(self):
        """The same server at the same address."""
        self.box.kill()
        self.box.up("--listen", self.address)

    def refusal(self, laptop, *words, given=""):
        refused = laptop.call(*words, given=given)
        self.assertNotEqual(refused.returncode, 0, refused.stdout)
        return refused.stderr


class FirstMinutes(ElsewhereTest):
    def test_a_login_and_a_job_from_another_machine(self):
        laptop = self.laptop()
        login = laptop.call("login", self.address, given=self.token() + "\n")
        self.assertIn(f"You are paceline-owner (user) at {self.address}.", login.stdout)
        self.assertEqual(laptop.call("whoami").stdout, "paceline-owner (user)\n")
        self.assertIn("up", laptop.call("nodes").stdout)
        run = laptop.call("run", "--workdir", self.home, "--", "sh", "-c", "echo I am $(id -u) in $(pwd); exit 3")
        self.assertEqual(run.returncode, 3, run.stderr)
        self.assertIn(f"I am {OWNER} in {self.home}", run.stdout)
        self.assertIn("FAILED", laptop.call("queue", "--all").stdout)

    def test_my_jobs_are_those_of_the_token(self):
        laptop = self.logged_in(OTHER)
        self.box.submit("--hold", "--", "true")
        mine = laptop.call("submit", "--parsable", "--hold", "--workdir", "/", "--", "true").stdout
        self.assertEqual(laptop.call("queue", "--me", "-o", "name").stdout, mine)
        self.assertEqual([job["id"] for job in laptop.json("top", "me")["jobs"]], [int(mine)])

    def test_the_journal_is_on_the_servers_machine(self):
        laptop = self.logged_in()
        for words in (("journal", "list"), ("journal", "prune", "--keep", "1d"), ("backup", "b.tar")):
            self.assertIn("its journal is on its machine", self.refusal(laptop, *words))

    def test_a_job_file_may_name_the_home_there(self):
        laptop = self.logged_in()
        (laptop.home / "jobs").mkdir()
        (laptop.home / "jobs/a.yaml").write_text("run: pwd\nworkdir: ~/digits\n")
        job = laptop.call("submit", "--parsable", "--hold", "-f", "jobs/a.yaml")
        self.assertEqual(job.returncode, 0, job.stderr)
        directory = laptop.json("show", job.stdout.strip())["directory"]
        self.assertTrue(directory.endswith("/digits") and "jobs" not in directory, directory)

    def test_nothing_of_the_laptop_goes_with_the_job(self):
        laptop = self.logged_in(SECRET_OF_THE_LAPTOP="x", PYTHONPATH="/laptop")
        run = laptop.call("run", "--workdir", "/", "--env", "GIVEN=1", "--", "env")
        self.assertEqual(run.returncode, 0, run.stderr)
        variables = dict(line.split("=", 1) for line in run.stdout.splitlines() if "=" in line)
        self.assertEqual(variables["GIVEN"], "1")
        self.assertEqual(variables["USER"], "paceline-owner")
        self.assertNotIn("SECRET_OF_THE_LAPTOP", variables)
        self.assertNotIn("/laptop", variables.get("PYTHONPATH", ""))
        self.assertNotEqual(variables["HOME"], str(laptop.home))

    def test_directory_and_program_are_looked_up_there(self):
        laptop = self.logged_in()
        (laptop.home / "only-here").mkdir()
        (laptop.home / "mine.sh").write_text("#!/bin/sh\ntrue\n")
        (laptop.home / "mine.sh").chmod(0o755)
        missing = laptop.call("run", "--workdir", laptop.home.parent / "nowhere-at-all", "--", "true")
        self.assertIn("can't be entered", missing.stderr)
        missing = laptop.call("run", "--workdir", "/", "--", "./mine.sh")
        self.assertIn("There is no program './mine.sh'", missing.stderr)
        self.assertEqual(laptop.call("run", "--workdir", "/", "--", "true").returncode, 0)

    def test_logs_events_wait_and_cancel_follow_over_the_network(self):
        laptop = self.logged_in()
        events = laptop.start("events", "-f")
        self.addCleanup(events.kill)
        job = laptop.call("submit", "--parsable", "--workdir", "/", "--", "sh", "-c", "echo begun; sleep 600").stdout.strip()
        logs = laptop.start("logs", "-f", job)
        self.addCleanup(logs.kill)
        self.assertIn("attempt 1", logs.stdout.readline())
        self.assertEqual(logs.stdout.readline(), "begun\n")
        waits = laptop.start("wait", job)
        self.assertEqual(laptop.call("cancel", job).returncode, 0)
        self.assertEqual(waits.wait(SECONDS), 130)
        self.assertEqual(logs.wait(SECONDS), 0)
        self.until(lambda: "worker_ended" in events.stdout.readline() or events.poll() is not None, "no event of the end")

    def test_a_terminal_over_the_network(self):
        laptop = self.logged_in()
        ours, theirs = pty.openpty()
        child = subprocess.Popen([str(BINARY), "run", "--pty", "--workdir", "/", "--", "sh"], env=laptop.environment | {"TERM": "xterm"},
                                 cwd=laptop.home, stdin=theirs, stdout=theirs, stderr=theirs)
        os.close(theirs)
        shown = b""
        deadline = time.monotonic() + SECONDS
        typed = False
        while time.monotonic() < deadline:
            if not select.select([ours], [], [], 0.1)[0]:
                continue
            try:
                shown += os.read(ours, 65536)
            except OSError:  # it has ended, and all is read
                break
            if not typed and (b"$ " in shown or b"# " in shown):
                os.write(ours, b"head -c 200000 /dev/zero | tr '\\0' x; echo; echo size $((6*7)); exit 5\n")
                typed = True
        os.close(ours)
        self.assertEqual(child.wait(SECONDS), 5, shown[-2000:])
        self.assertIn(b"size 42", shown[-500:])
        self.assertEqual(shown.count(b"x" * 1000), 200)

    def test_follows_over_a_restart_of_the_server(self):
        laptop = self.logged_in()
        job = laptop.call("submit", "--parsable", "--workdir", "/", "--", "sh", "-c",
                          "for i in $(seq 40); do echo line $i; sleep 0.1; done").stdout.strip()
        logs = laptop.start("logs", "-f", job)
        logs.stdout.readline()
        self.up_again()
        text = logs.stdout.read()
        self.assertEqual(logs.wait(SECONDS), 0)
        self.assertEqual([line for line in text.splitlines() if line.startswith("line")], [f"line {i}" for i in range(1, 41)])
        self.assertEqual(laptop.call("wait", job).returncode, 0)


class WhoMay(ElsewhereTest):
    def test_a_role_is_all_that_a_token_gives(self):
        owner, viewer = self.logged_in(), self.logged_in(OTHER, "viewer")
        operator, admin = self.logged_in(OTHER, "operator"), self.logged_in(OTHER, "admin")
        job = owner.call("submit", "--parsable", "--workdir", "/", "--", "sleep", "600").stdout.strip()
        self.assertIn(job, viewer.call("queue").stdout)
        self.assertIn("You may look, but not submit jobs.", self.refusal(viewer, "submit", "--workdir", "/", "--", "true"))
        self.assertIn("belongs to paceline-owner", self.refusal(operator, "logs", job))
        self.assertIn("operators' to choose", self.refusal(owner, "policy", "set", "fifo"))
        self.assertEqual(operator.call("policy", "set", "fifo").returncode, 0)
        self.assertIn("administrators' to give", self.refusal(operator, "token", "list"))
        self.assertIn("paceline-owner", admin.call("token", "list").stdout)
        self.assertEqual(operator.call("cancel", job).returncode, 0)
        self.assertEqual(admin.call("down").returncode, 0)
        self.box.server.wait(SECONDS)

    def test_a_revoked_token_is_worthless_at_once(self):
        laptop = self.logged_in()
        follows = laptop.start("events", "-f")
        self.addCleanup(follows.kill)
        follows.stdout.readline()
        number = str(self.box.json("token", "list")["tokens"][0]["id"])
        self.box.call("token", "revoke", number)
        _, complaint = follows.communicate(timeout=SECONDS)
        self.assertIn("doesn't know this token", complaint)
        self.assertIn("doesn't know this token", self.refusal(laptop, "queue"))
        self.up_again()
        self.assertIn("doesn't know this token", self.refusal(laptop, "queue"))

    def test_an_expired_token_is_worthless(self):
        laptop = self.laptop()
        token = self.token(OWNER, "user", "--expires", "2s")
        laptop.call("login", self.address, "--name", "lab", given=token)
        self.until(lambda: laptop.call("queue").returncode != 0, "it doesn't expire")
        self.assertIn("doesn't know this token", self.refusal(laptop, "queue"))

    def test_tokens_and_contexts_outlive_the_server(self):
        laptop = self.logged_in()
        self.up_again()
        self.assertEqual(laptop.call("whoami").stdout, "paceline-owner (user)\n")

    def test_contexts(self):
        laptop = self.logged_in()
        self.assertEqual(laptop.json("context", "list")["current"], "lab")
        self.assertEqual(laptop.call("context", "use", "local").returncode, 0)
        self.assertEqual(laptop.call("--server", "lab", "whoami").stdout, "paceline-owner (user)\n")
        self.assertEqual(laptop.call("--server", f"https://{self.address}", "whoami").stdout, "paceline-owner (user)\n")
        self.assertIn("You are not logged in at 10.0.0.1:1.", self.refusal(laptop, "--server", "https://10.0.0.1:1", "queue"))
        self.assertIn("There is no context 'other'.", self.refusal(laptop, "context", "use", "other"))
        laptop.call("context", "use", "lab")
        here = Laptop(laptop.home, PACELINE_DIR=str(self.box.directory))
        self.assertEqual(here.call("whoami").stdout, "root (admin)\n", "the one that PACELINE_DIR names")
        self.assertEqual(laptop.call("context", "remove", "lab").returncode, 0)
        self.assertEqual(laptop.json("context", "list"), {"current": "local", "contexts": []})


class WhatIsKept(ElsewhereTest):
    def files(self, directory):
        return [path for path in Path(directory).rglob("*") if path.is_file() and not path.is_symlink()]

    def test_secrets_are_their_owners_alone_and_in_no_file_of_the_server(self):
        token = self.token()
        laptop = self.laptop()
        laptop.call("login", self.address, given=token)
        job = laptop.call("submit", "--parsable", "--workdir", "/", "--", "sh", "-c", "env; sleep 600").stdout.strip()
        self.until(lambda: "PACELINE_JOB_ID" in laptop.call("logs", job).stdout, "it doesn't start")
        self.assertEqual(stat.S_IMODE((laptop.home / ".config/paceline/contexts").stat().st_mode), 0o600)
        for name in ("tokens", "trust/authority.pem"):
            self.assertEqual(stat.S_IMODE((self.box.directory / name).stat().st_mode), 0o600, name)
        secret = token[4:50].encode()
        for path in self.files(self.box.directory):
            self.assertNotIn(secret, path.read_bytes(), path)
        keys = re.findall(r"-----BEGIN PRIVATE KEY-----\n(\S+)", (self.box.directory / "trust/authority.pem").read_text())
        self.assertEqual(len(keys), 1)
        for path in self.files(self.box.directory):
            if path.name != "authority.pem":
                self.assertNotIn(keys[0].encode(), path.read_bytes(), path)

    def test_a_file_that_others_can_read_is_refused(self):
        laptop = self.logged_in()
        (laptop.home / ".config/paceline/contexts").chmod(0o644)
        self.assertIn("can be read or written by others", self.refusal(laptop, "queue"))
        self.box.down()
        (self.box.directory / "tokens").chmod(0o640)
        refused = subprocess.run([str(BINARY), "up", "--listen", "127.0.0.1:0"], env=self.box.environment, capture_output=True,
                                 text=True, timeout=SECONDS)
        self.assertIn("can be read or written by others", refused.stderr)
        self.assertNotEqual(refused.returncode, 0)


class WhoIsThere(ElsewhereTest):
    def test_another_server_at_the_address_gets_no_token(self):
        laptop = self.logged_in()
        self.box.down()
        shutil.rmtree(self.box.directory / "trust")
        self.box.up("--listen", self.address)
        self.assertIn("not the server", self.refusal(laptop, "queue"))

    def test_what_speaks_no_tls_gets_no_token(self):
        laptop = self.logged_in()
        self.box.down()
        host, port = self.address.rsplit(":", 1)
        with socket.create_server((host, int(port)), reuse_port=False) as server:
            asks = laptop.start("queue")
            connection, _ = server.accept()
            with connection:
                connection.settimeout(SECONDS)
                first = connection.recv(4096)
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
                _, complaint = asks.communicate(timeout=SECONDS)
        self.assertNotIn(b"Bearer", first)
        self.assertIn("TLS", complaint)

    def test_the_server_answers_nothing_but_tls_1_3(self):
        host, port = self.address.rsplit(":", 1)
        with socket.create_connection((host, int(port)), SECONDS) as plain:
            plain.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
            plain.settimeout(SECONDS)
            self.assertNotIn(b"HTTP", plain.recv(4096))
        for version, speaks in (("-tls1_1", False), ("-tls1_2", False), ("-tls1_3", True)):
            shakes = subprocess.run(["openssl", "s_client", version, "-connect", self.address], stdin=subprocess.DEVNULL,
                                    capture_output=True, text=True, timeout=SECONDS)
            self.assertEqual("TLSv1.3" in shakes.stdout and "Cipher is TLS" in shakes.stdout, speaks, version)

    def test_a_token_is_needed_before_a_body_is_read(self):
        """A stranger's body isn't taken: the answer is there before a byte of it was sent."""
        host, port = self.address.rsplit(":", 1)
        asks = subprocess.Popen(["openssl", "s_client", "-quiet", "-connect", self.address], stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.addCleanup(asks.kill)
        asks.stdin.write(b"POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Length: 4000000\r\n\r\n")
        asks.stdin.flush()
        self.assertIn(b"403", asks.stdout.readline())

    def test_bad_input(self):
        laptop = self.laptop()
        token = self.token()
        for words, given, told in (
                (["login", self.address], "", "There is no token."),
                (["login", self.address], "hunter2", "This is not a user token"),
                (["login", self.address], token[:-1], "characters instead of"),
                (["login", self.address], token[:20] + ("0" if token[20] != "0" else "1") + token[21:], "mistyped"),
                (["login", "gpu-box"], token, "is not the address of a server"),
                (["login", "127.0.0.1:1"], token, "Nobody answers at 127.0.0.1:1"),
                (["login", self.address, "--name", "a b"], token, "is no name for a context"),
                (["login", self.address, "--name", "local"], token, "is no name for a context"),
                (["login", self.address, "--token-file", "/no/such"], token, "can't be read"),
                (["login"], token, "ADDR:PORT")):
            complaint = self.refusal(laptop, *words, given=given)
            self.assertIn(told, complaint)
            self.assertNotIn(token[4:60], complaint)
        self.assertFalse((laptop.home / ".config").exists(), "nothing was kept")
        for words, told in ((["token", "create"], "Whom is the token for?"),
                            (["token", "create", "--user", "nobody-at-all"], "There is no account 'nobody-at-all'"),
                            (["token", "create", "--user", "root"], "Nobody is root from another machine."),
                            (["token", "create", "--user", "paceline-owner", "--role", "king"], "There is no role 'king'."),
                            (["token", "create", "--user", "paceline-owner", "--expires", "soon"], "--expires"),
                            (["token", "revoke", "77"], "There is no token 77."),
                            (["token", "revoke", "x"], "is not a token's number")):
            refused = self.box.call(*words, check=False)
            self.assertNotEqual(refused.returncode, 0)
            self.assertIn(told, refused.stderr)
        self.assertEqual(len(self.box.json("token", "list")["tokens"]), 1)


class Addresses(SharedBox):
    def test_an_address_that_is_taken_or_none(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            self.box.down()
            for at, told in ((f"127.0.0.1:{port}", "Address already in use"), ("gpu-box", "is not an address to listen at"),
                             ("203.0.113.7:7443", "Cannot listen at")):
                refused = subprocess.run([str(BINARY), "up", "--listen", at], env=self.box.environment, capture_output=True, text=True,
                                         timeout=SECONDS)
                self.assertNotEqual(refused.returncode, 0)
                self.assertIn(told, refused.stderr)

    def test_without_a_door_tokens_are_of_no_use(self):
        refused = self.box.call("token", "create", "--user", "paceline-owner", check=False)
        self.assertIn("serves no other machines", refused.stderr)
        self.assertIn("--listen", refused.stderr)


if __name__ == "__main__":
    unittest.main()
