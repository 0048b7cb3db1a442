"""`paceline top` on a terminal of its own: what its screen shows while a real server runs, restarts and is used by two people; and that
the terminal is as it was however it ends."""

import codecs
import fcntl
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from boxes import BINARY
from people import OTHER, OWNER, Box, SharedBox, add_people

UP, DOWN, LEFT, RIGHT, END, ESCAPE = "\x1b[A", "\x1b[B", "\x1b[D", "\x1b[C", "\x1b[F", "\x1b"
TRAIN = """for i in $(seq 600); do echo "{\\"paceline\\": {\\"step\\": $i, \\"total_steps\\": 600}}"; echo "rank $RANK says $i"; sleep 0.2; done"""
PIECE = re.compile(r"\x1b\[([?0-9;]*)([A-Za-z])|([^\x1b])|\x1b$|\x1b\[[?0-9;]*$")


class Terminal:
    """A terminal that a program runs on, and what its screen shows."""

    def __init__(self, command, environment, columns=80, lines=24, uid=None):
        self.decoder, self.left, self.all = codecs.getincrementaldecoder("utf-8")(), "", ""
        self.rows, self.row, self.modes = {}, 0, set()
        ready, go = os.pipe()
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.read(ready, 1)
            if uid is not None:
                os.setgroups([])
                os.setresgid(uid, uid, uid)
                os.setresuid(uid, uid, uid)
            os.execvpe(command[0], [str(word) for word in command], environment)
        self.resize(columns, lines)
        self.before = termios.tcgetattr(self.fd)
        self.status = None
        os.write(go, b"!")
        os.close(ready)
        os.close(go)

    def resize(self, columns, lines):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def type(self, keys):
        os.write(self.fd, keys.encode())

    def read(self):
        """Takes what was written; false once nobody will write more."""
        if not select.select([self.fd], [], [], 0.1)[0]:
            return True
        try:
            written = self.decoder.decode(os.read(self.fd, 65536))
        except OSError:  # the other end is gone
            return False
        self.all += written
        self.show(self.left + written)
        return bool(written)

    def show(self, text):
        at = 0
        for piece in PIECE.finditer(text):
            at = piece.end()
            values, verb, letter = piece.groups()
            if letter == "\n":
                self.row += 1
            elif letter and letter != "\r":
                self.rows[self.row] = self.rows.get(self.row, "") + letter
            elif verb == "H":
                self.row = int((values or "1").split(";")[0]) - 1
            elif verb == "K":
                self.rows[self.row] = ""
            elif verb == "J":
                self.rows.clear()
            elif verb in ("h", "l") and values.startswith("?"):
                (self.modes.add if verb == "h" else self.modes.discard)(values)
            elif not letter and verb is None:
                at = piece.start()  # the rest comes
        self.left = text[at:]

    def screen(self):
        return "\n".join(self.rows.get(row, "").rstrip() for row in range(max(self.rows, default=-1) + 1))

    def until(self, wanted, seconds=60):
        """Waits until the screen matches the pattern, or the function of it is true."""
        holds = wanted if callable(wanted) else lambda screen: re.search(wanted, screen, re.M)
        deadline = time.monotonic() + seconds
        while not holds(self.screen()):
            if time.monotonic() > deadline or not self.read():
                raise AssertionError(f"the screen never shows {wanted!r}:\n{self.screen()}")
        return self.screen()

    def end(self):
        """The exit code, or minus the signal, once it is over."""
        while self.read():
            ended, status = os.waitpid(self.pid, os.WNOHANG)
            if ended:
                self.status = os.waitstatus_to_exitcode(status)
                self.read()
                break
        if self.status is None:
            self.status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return self.status

    def close(self):
        if self.status is None:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self.fd)


class TopTest(unittest.TestCase):
    def setUp(self):
        self.box = self.enterContext(Box(BINARY, slots=4))

    def top(self, *words, terminal="xterm-256color", command=None, **options):
        environment = {**self.box.environment, "TERM": terminal, "LC_ALL": "C.UTF-8"}
        top = Terminal(command or [self.box.binary, "top", *words], environment, **options)
        self.addCleanup(top.close)
        return top

    def assert_restored(self, top):
        self.assertEqual(top.modes, {"?7", "?25"}, "wraps again, and shows the cursor of the usual screen")
        self.assertEqual(termios.tcgetattr(top.fd), top.before)

    def test_slots_queue_job_and_log(self):
        first = self.box.submit("--name", "digits", "--slots", "2", "--", "sh", "-c", TRAIN)
        self.box.submit("--name", "vae", "--slots", "4", "--expect", "10m", "--", "sleep", "600")
        self.box.wait_state(first, "RUNNING")
        top = self.top("--interval", "200ms")
        screen = top.until(r"^ \w+ +0-1 +cpu +RUNNING +1 +\w+ +digits +0-1 ")
        self.assertRegex(screen, r"(?m)^Slots 2 of 4 used █████·····   Jobs 1 running, 1 waiting")
        self.assertRegex(screen, r"(?m)^ +2-3 +cpu +free$")
        self.assertRegex(screen, r"(?m)^> +1 +digits +")
        self.assertRegex(screen, r"(?m)^ +2 +vae +\w+ +PENDING ")
        self.assertLessEqual(max(map(len, screen.split("\n"))), 80)
        top.until(r"^ \w+ +0-1 +cpu +RUNNING .* [1-9]\d?%$")  # it goes on

        top.type("/vae")
        top.until(lambda screen: "Queue  1 of 2 jobs  /vae" in screen and "digits" not in screen)
        top.type("\r\r")
        page = top.until(r"^Why$")
        self.assertRegex(page, r"(?m)^Job 2  vae  PENDING$")
        self.assertRegex(page, r"(?m)^  It is expected to start about ")
        top.type("q")
        top.until(r"Queue  1 of 2")
        top.type(ESCAPE)
        top.until(r"Queue  2 jobs")

        top.type(UP + "l")
        top.until(r"^\[1\] rank 1 says \d+$")
        top.type(RIGHT)
        one = top.until(lambda screen: "rank 0 of 2" in screen and re.search("^rank 0 says", screen, re.M))
        self.assertNotIn("rank 1 says", one)
        last = int(re.findall(r"rank 0 says (\d+)", one)[-1])
        top.until(rf"^rank 0 says {last + 10}$")  # it follows
        top.type(UP)
        top.until("End follows")

        top.resize(200, 50)
        top.type("qs")
        wide = top.until(r" │ .*METRIC")
        self.assertIn("NAME▲", wide)
        top.type("q")
        self.assertEqual(top.end(), 0)
        self.assert_restored(top)

    def test_the_server_comes_back(self):
        job = self.box.submit("--name", "digits", "--", "sh", "-c", TRAIN)
        top = self.top("--interval", "100ms")
        top.until(r"^ \w+ +0 +cpu +RUNNING .*digits")
        top.type("l")
        top.until(r"^rank 0 says \d+$")
        self.box.kill()
        top.until(r"no answer since [\d:]+: old picture")
        top.type("q")
        top.until(r"^ \w+ +0 +cpu +RUNNING .*digits")  # as it was
        top.type("l")
        self.box.up()
        screen = top.until(lambda screen: "old picture" not in screen and "rank 0 says" in screen)
        last = int(re.findall(r"rank 0 says (\d+)", screen)[-1])
        top.until(rf"^rank 0 says {last + 5}$")
        top.type("q")
        self.box.call("cancel", str(job))
        top.until(r"No job waits or runs\.")
        top.type("a")
        top.until(r"^> +1 +digits +\w+ +CANCELLED ")
        top.type("\x03")
        self.assertEqual(top.end(), 0)

    def test_the_terminal_is_as_it_was_however_it_ends(self):
        for how, code in ((signal.SIGTERM, 0), (signal.SIGINT, 0), (signal.SIGHUP, 0), (signal.SIGSEGV, -signal.SIGSEGV),
                          (signal.SIGABRT, -signal.SIGABRT)):
            with self.subTest(how=how):
                top = self.top()
                top.until("No job waits or runs")
                self.assertNotEqual(termios.tcgetattr(top.fd), top.before)
                os.kill(top.pid, how)
                self.assertEqual(top.end(), code)
                self.assert_restored(top)

    def test_it_stops_and_goes_on(self):
        shell = self.top(command=["bash", "--norc", "-mc", f"{self.box.binary} top; echo it stopped; fg; echo rc $?"])
        shell.until("No job waits or runs")
        shell.type("\x1a")
        shell.until(lambda screen: "it stopped" in shell.all)
        self.assertIn("\x1b[?1049l", shell.all)
        shell.until(lambda screen: shell.all.count("\x1b[?1049h") == 2 and "No job waits or runs" in screen)
        shell.type("q")
        shell.until(lambda screen: "rc 0" in shell.all)

    def test_no_colour_where_none_is_wanted(self):
        self.box.environment["NO_COLOR"] = "1"
        self.box.submit("--name", "digits", "--", "sleep", "60")
        top = self.top()
        top.until(r"^>.*digits")
        self.assertEqual(set(re.findall(r"\x1b\[[0-9;]*m", top.all)), {"\x1b[0m", "\x1b[7m"})

    def test_a_terminal_that_knows_lines_alone_gets_one_picture(self):
        for terminal in ("dumb", ""):
            top = self.top(terminal=terminal)
            self.assertEqual(top.end(), 0)
            self.assertIn("This terminal can't be drawn on", top.all)
            self.assertIn("No job waits or runs.", top.all)
            self.assertNotIn("\x1b", top.all)
        once = self.top("--once")
        self.assertEqual(once.end(), 0)
        self.assertNotIn("\x1b[?1049h", once.all)


class TwoPeopleTest(SharedBox):
    @classmethod
    def setUpClass(cls):
        add_people()

    def test_each_sees_the_queue_and_reads_what_is_theirs(self):
        job = self.submit(OWNER, {"name": "digits"}, ["sh", "-c", "echo a secret; printf '\\033[2Jclean\\n'; sleep 600"])
        other = self.submit(OTHER, {"name": "text"}, ["sleep", "600"])
        self.until(lambda: all(self.get(0, f"/v1/jobs/{id}")["state"] == "RUNNING" for id in (job, other)), "they don't run")
        environment = {"PATH": os.environ["PATH"], "TERM": "xterm", "LC_ALL": "C.UTF-8", "PACELINE_DIR": str(self.box.directory)}
        screens = {}
        for uid in (OWNER, OTHER):
            top = Terminal([self.box.binary, "top"], environment, uid=uid)
            self.addCleanup(top.close)
            top.until(r"^>.*digits")
            screens[uid] = top.until(r"^ .*text")
            top.type("l")
            if uid == OWNER:
                top.until(r"^a secret$")
                top.until(r"^clean$")
            else:
                top.until(r"^Job 1 ")
                self.assertNotIn("a secret", top.all)
            top.type("q/me\r")
            top.until(lambda screen: "Queue  1 of 2 jobs  /me" in screen and ("digits" in screen) == (uid == OWNER))
            top.type("q")
            self.assertEqual(top.end(), 0)
        for screen in screens.values():
            self.assertRegex(screen, r"(?m)^.* 1 +digits +pac\S* +RUNNING")
            self.assertRegex(screen, r"(?m)^.* 2 +text +pac\S* +RUNNING")


if __name__ == "__main__":
    unittest.main()
