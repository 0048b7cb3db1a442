"""The server as a whole: what it says of itself, how it leaves, and what it keeps of a job that is over."""

import http.client
import json
import os
import pty
import pwd
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "script"))
from box import Box

BINARY = os.environ.get("PACELINE_BINARY", ROOT / "build/release/paceline")

REPORTS = """for accuracy in 0.5 0.8 0.9 0.97; do
  echo '{"paceline": {"accuracy": '$accuracy'}}'
done"""


def get(box, path):
    connection = http.client.HTTPConnection("paceline")
    connection.sock = socket.socket(socket.AF_UNIX)
    connection.sock.connect(str(box.directory / "paceline.sock"))
    try:
        connection.request("GET", path)
        return json.load(connection.getresponse())
    finally:
        connection.close()


class ServerTest(unittest.TestCase):
    def test_it_says_what_becomes_of_jobs_and_policies(self):
        with Box(BINARY, slots=1) as box:
            box.wait_state(box.submit("--name", "well", "--", "sh", "-c", "exit 0; : private"), "COMPLETED")
            box.wait_state(box.submit("--name", "bad", "--", "sh", "-c", "exit 3; : private"), "FAILED")
            box.call("policy", "set", "srtf", "--yes")
            gone = box.submit("--name", "gone", "--", "sleep", "600")
            box.wait_state(gone, "RUNNING")
            box.call("cancel", str(gone))
            box.wait_state(gone, "CANCELLED")
            said = box.log.read_text()
        self.assertRegex(said, r"Job 1 \(well\) of \S+ COMPLETED after [\d.]+ s of running\.")
        self.assertRegex(said, r"Job 2 \(bad\) of \S+ FAILED \(exit code 3\) after [\d.]+ s of running\.")
        self.assertRegex(said, r"Job 3 \(gone\) of \S+ CANCELLED")
        owner = pwd.getpwuid(os.geteuid()).pw_name
        self.assertIn(f"The policy is srtf, by {owner}'s word; it was elastic-fifo.", said)
        self.assertNotIn("private", said)

    def test_its_log_goes_to_standard_error_alone(self):
        box = Box(BINARY, slots=1)
        self.addCleanup(box.close)
        out, log = box.directory / "out", box.directory / "log"
        with open(out, "wb") as to_out, open(log, "wb") as to_log:
            server = subprocess.Popen([box.binary, "up", "--slots", "1"], env=box.environment, stdin=subprocess.DEVNULL,
                                      stdout=to_out, stderr=to_log)
        box.server, box.log = server, log
        box.until(lambda: "next: paceline run" in out.read_text(), 30, "it does not start")
        box.call("policy", "set", "srtf")
        box.wait_state(box.submit("--name", "well", "--", "true"), "COMPLETED")
        box.call("down")
        self.assertEqual(server.wait(timeout=30), 0)
        for words in ("The policy is srtf", "Job 1 (well) of"):
            self.assertIn(words, log.read_text())
        shown = out.read_text().splitlines()
        self.assertEqual((shown[0].split(" ")[0], shown[-1]), ("Paceline", "paceline: nothing runs; goodbye."))
        for line in shown:
            self.assertNotRegex(line, r"^\d{4}-\d\d-\d\d|The policy is|Job 1")

    def test_a_directory_is_taken_over_once_nothing_runs_there(self):
        with tempfile.TemporaryDirectory() as directory:
            old, new = Path(directory, "old"), Path(directory, "new")

            def paceline(where, *words):
                return subprocess.run([str(BINARY), *map(str, words)], env={**os.environ, "PACELINE_DIR": str(where)},
                                      capture_output=True, text=True)

            def expect_refused(words, *move):
                done = paceline(new, "up", *move)
                self.assertEqual(done.returncode, 73, done.stderr)
                self.assertIn(words, done.stderr)

            paceline(old, "up", "--detach", "--slots", "1")
            job = paceline(old, "submit", "--parsable", "--", "sleep", "1000").stdout.strip()
            paceline(old, "down")
            expect_refused("still run", "--move-from", old)
            paceline(old, "up", "--detach", "--slots", "1")
            expect_refused("still run", "--move-from", old)
            paceline(old, "down", "--jobs")
            self.assertEqual(paceline(new, "up", "--detach", "--slots", "1", "--move-from", old).returncode, 0)
            self.assertIn("CANCELLED", paceline(new, "show", job).stdout)
            self.assertFalse(old.exists())
            paceline(new, "down")
            paceline(old, "up", "--detach", "--slots", "1")
            paceline(old, "down")
            expect_refused("a journal of its own", "--move-from", old)

    def test_after_down_the_directory_is_free_at_once(self):
        with tempfile.TemporaryDirectory() as directory:
            environment = {**os.environ, "PACELINE_DIR": directory}
            for _ in range(10):
                for command in (["up", "--detach", "--slots", "1"], ["down"]):
                    done = subprocess.run([str(BINARY), *command], env=environment, capture_output=True, text=True)
                    self.assertEqual(done.returncode, 0, done.stderr)

    def test_closing_the_terminal_that_it_was_started_from_ends_nothing(self):
        with tempfile.TemporaryDirectory() as directory:
            environment = {**os.environ, "PACELINE_DIR": directory}
            go = Path(directory, "go")

            def paceline(*words):
                return subprocess.run([str(BINARY), *words], env=environment, capture_output=True, text=True)

            job = f"sh -c 'echo begun; until test -e {go}; do sleep 0.05; done'"
            script = f"{BINARY} up --detach --slots 1 && {BINARY} submit -- {job} && {BINARY} logs -f 1; exec sleep 600"
            shell, terminal = pty.fork()
            if shell == 0:
                signal.signal(signal.SIGHUP, signal.SIG_DFL)  # what runs these tests may ignore it
                os.execve("/bin/sh", ["sh", "-c", script], environment)
            try:
                said = b""
                while b"begun" not in said:
                    said += os.read(terminal, 4096)
                os.close(terminal)
                _, status = os.waitpid(shell, 0)
                self.assertEqual(os.WTERMSIG(status), signal.SIGHUP)
                self.assertIn("RUNNING", paceline("queue").stdout)
                go.touch()
                self.assertEqual(paceline("wait", "1").stdout, "Job 1 is COMPLETED: exited with code 0.\n")
            finally:
                paceline("down", "--jobs")

    def test_it_and_its_plans_say_what_it_was_built_from(self):
        with Box(BINARY, slots=1) as box:
            box.wait_state(box.submit("--", "true"), "COMPLETED")
            server = get(box, "/v1/server")
            self.assertRegex(server["build"], rf"^{server['version']} \((\w|[.-])*(, )?(gcc|clang) [\d.]+\)$")
            self.assertEqual(box.call("version").stdout, f"paceline {server['build']}\n")
            plans = [event for event in get(box, "/v1/events")["events"] if event["kind"] == "plan"]
            self.assertEqual({plan["build"] for plan in plans}, {server["build"]})

    def test_workers_get_the_limit_of_open_files_that_it_was_started_with(self):
        """It raises its own; programs that use select() break with many."""
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (777, hard))
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        with Box(BINARY, slots=1) as box:
            self.assertEqual(box.call("run", "--", "sh", "-c", "ulimit -n").stdout.splitlines()[-1], "777")

    def test_jobs_share_the_directory_for_temporary_files(self):
        with Box(BINARY, slots=1) as box:
            left = Path("/tmp", f"{box.directory.name}.left")
            self.addCleanup(left.unlink, missing_ok=True)
            box.call("run", "--", "sh", "-c", f"echo of the first > {left}")
            self.assertEqual(box.call("run", "--", "cat", str(left)).stdout.splitlines()[-1], "of the first")
            self.assertEqual(left.read_text(), "of the first\n")

    def test_a_job_that_a_signal_ended_exits_as_in_a_shell(self):
        with Box(BINARY, slots=1) as box:
            self.assertEqual(box.call("run", "--", "sh", "-c", "kill -KILL $$", check=False).returncode, 128 + signal.SIGKILL)
            self.assertEqual(box.job(1)["exit_code"], 128 + signal.SIGKILL)

    def test_signals_in_a_row_end_it_cleanly(self):
        with Box(BINARY, slots=1) as box:
            for _ in range(5):
                box.server.send_signal(signal.SIGINT)
            self.assertEqual(box.server.wait(timeout=30), 0)
            self.assertIn("nothing runs", box.log.read_text())

    def test_a_reached_target_is_a_line_of_the_events(self):
        with Box(BINARY, slots=1) as box:
            box.wait_state(box.submit("--target", "accuracy>=0.95", "--", "sh", "-c", REPORTS), "COMPLETED")
            marked = [event for event in get(box, "/v1/events")["events"] if "target_reached" in event]
            self.assertEqual([event["progress"]["metrics"]["accuracy"] for event in marked], [0.97])
            lines = [line.split()[2:] for line in box.call("events").stdout.splitlines()]
            self.assertEqual(lines.count(["target_reached", "job", "1"]), 1)
            self.assertLess(lines.index(["target_delivered", "job", "1"]), lines.index(["target_reached", "job", "1"]))

    def test_the_environment_of_a_job_that_is_over_is_forgotten(self):
        with Box(BINARY, slots=1) as box:
            job = box.submit("--env", "TOKEN=a-secret-of-ann", "--", "true")
            box.wait_state(job, "COMPLETED")
            box.call("down")
            box.server.wait(timeout=30)
            for file in box.directory.glob("paceline.db*"):
                self.assertNotIn(b"a-secret-of-ann", file.read_bytes())
            box.up()
            self.assertEqual(box.job(job)["command"], "true")


if __name__ == "__main__":
    unittest.main()
