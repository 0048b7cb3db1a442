"""What docs/cluster.md and the README say of several machines, typed as it stands there; and a terminal, from one
machine through another on a third."""

import os
import pty
import re
import select
import subprocess
import sys
import time
import unittest
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parents[2] / "script")]
import accounts
from lab import ROOT, SECONDS, Lab
from machines import skip_unless_permitted

PAGE = (ROOT / "docs/cluster.md").read_text()
README = (ROOT / "README.md").read_text().partition("## On several machines")[2].partition("\n## ")[0]
TRAIN = "import os, socket; print('trains on', socket.gethostname(), 'in', os.getcwd())\n"
LEAVE = "\x1d\x1d\x1d"
SHIPS = r"paceline: Ships \d+ files?, \S+; \S+ to send\."


def commands(text):
    """Each line of its blocks that are to be typed, without what is said of it."""
    return [re.sub(r"\s+# .*", "", line) for block in re.findall(r"^```sh\n(.*?)^```$", text, re.M | re.S) for line in block.splitlines()]


def shape(line):
    """Of a line with a secret in it, which the page leaves out."""
    return re.escape(line).replace("plj_…", r"plj_\w+")


class PageTest(Lab):
    box_name = "gpu-box"

    def up(self):
        """The machines of the page: one that is to be the server, one that lends its slots, and ann's laptop."""
        (self.folder / "hosts").write_text(f"127.0.0.1 localhost\n{self.box.address} {self.box_name}\n")
        self.gpu, self.laptop = self.network.machine("gpu-7"), self.network.machine("laptop")
        for machine in (self.box, self.gpu, self.laptop):
            machine.run("mount", "--bind", self.folder / "hosts", "/etc/hosts")
            machine.run("mount", "-t", "tmpfs", "tmpfs", "/var/lib")
        self.elsewhere = {name: value for name, value in self.environment.items() if name != "PACELINE_DIR"}
        self.home = Path(self.environment["HOME"])
        (self.home / "digits").mkdir()
        (self.home / "digits/train.py").write_text(TRAIN)

    def type(self, line, machine=None, given="", environment=None):
        done = (machine or self.box).run("sh", "-c", line, check=False, env=environment or self.environment, cwd=self.folder, input=given)
        self.assertEqual(done.returncode, 0, f"{line}: {done.stdout}{done.stderr}{self.told()}")
        return done

    def leave_running(self, line, machine, environment, log):
        with open(self.folder / log, "ab") as file:
            return machine.start(["sh", "-c", line], environment, file)

    def on_laptop(self, line, given=""):
        done = self.type(line, self.laptop, given, self.elsewhere)
        return done.stdout + done.stderr

    def told(self):
        logs = [self.folder / name for name in ("server.log", "gpu-7.log")]
        return "\n".join(f"{log.name}: {log.read_text()[-1500:]}" for log in logs if log.exists())

    def ended(self, said):
        """What a job wrote that was submitted so, once it is over."""
        job = re.search(r"[Jj]ob (\d+)", said)[1]
        self.until(lambda: self.json("show", job)["ended_at"], f"job {job} does not end", told=lambda: self.call("why", job).stdout)
        self.assertEqual(self.state(job), "COMPLETED", self.call("why", job).stdout)
        return self.call("logs", job).stdout

    def begin(self, up, invite, join, create, login):
        """Until ann is logged in, and gpu-7 lends its slots; hands out the line that was to be pasted there."""
        self.server = self.leave_running(up, self.box, self.environment, "server.log")
        self.until(lambda: self.call("nodes", check=False).returncode == 0, "the server does not answer")
        line = self.type(invite).stdout.strip()
        self.assertRegex(line, f"^{shape(join)}$")
        self.leave_running(line, self.gpu, self.elsewhere, "gpu-7.log")
        self.until(lambda: (self.node("gpu-7") or {}).get("state") == "up", "gpu-7 does not join")
        token = re.search(r"plu_\w+", self.type(create).stdout)[0]
        self.assertIn("You are ann (user) at gpu-box:7443.", self.on_laptop(login, token + "\n"))

    def test_the_page_and_the_readme(self):
        up, invite, join, ship, ships, create, login, ships_too, there = commands(PAGE)
        again, invited_so, joined_so, run = commands(README)
        self.assertEqual((again, invited_so, joined_so, ships_too), (up, invite, join, ship), "the pages part")
        self.begin(up, invite, join, create, login)
        for words in re.findall(r"^\| `(paceline node (?:invite|show) [^`]*)` \|", PAGE, re.M):
            self.type(words)
        said = self.on_laptop(ship)
        for each in (ships, said):
            self.assertRegex(each, SHIPS)
        self.assertIn("trains on", self.ended(said))
        self.call("drain", self.box_name, "--keep")
        self.assertIn(f"trains on gpu-7 in {self.home}/digits", self.ended(self.on_laptop(there)))
        self.assertRegex(self.on_laptop(f"cd ~/digits && {run}"), r"trains on gpu-7 in /var/lib/paceline-agent/jobs/")
        self.type(re.search(r"`(paceline drain gpu-7)`", PAGE)[1])
        self.assertIn("drained", self.on_laptop("paceline nodes"))

    def test_a_terminal_of_a_job_on_another_machine_is_left_and_come_back_to(self):
        up, invite, join, _, _, create, login, *_ = commands(PAGE)
        self.begin(up, invite, join, create, login)
        self.call("drain", self.box_name, "--keep")
        shown, code = self.on_terminal(["run", "--pty", "--workdir", "/", "--", "sh"],
                                       [("$ ", "echo on $(hostname), size $((6*7))\n"), ("on gpu-7, size 42", "word=kept\n"), ("$ ", LEAVE)])
        self.assertEqual(code, 0, shown)
        job = re.search(r"Job (\d+) goes on", shown)[1]
        self.assertEqual(self.state(job), "RUNNING")
        shown, code = self.on_terminal(["attach", job], [("", "echo $word, $((5*5))\n"), ("kept, 25", "exit 5\n")])
        self.assertEqual(code, 5, shown)
        self.until_state(job, "FAILED")

    def on_terminal(self, words, answers):
        """What is shown on the laptop, and how it ends, where each time one text was seen another is typed."""
        ours, theirs = pty.openpty()
        child = subprocess.Popen(self.laptop.namespaces.command(["paceline", *words]), env=self.elsewhere | {"TERM": "xterm"}, stdin=theirs,
                                 stdout=theirs, stderr=theirs)
        os.close(theirs)
        shown, seen, deadline = "", 0, time.monotonic() + SECONDS
        while time.monotonic() < deadline:
            if answers and answers[0][0] in shown[seen:]:
                seen = len(shown)
                os.write(ours, answers.pop(0)[1].encode())
            try:
                if select.select([ours], [], [], 0.1)[0]:
                    shown += os.read(ours, 65536).decode(errors="replace")
            except OSError:  # it has ended, and all is read
                break
        os.close(ours)
        return shown, child.wait(SECONDS)


if __name__ == "__main__":
    skip_unless_permitted()
    try:
        accounts.add({"ann": 40003})
    except accounts.NotPermitted as refusal:
        print(f"skipped: {refusal}")
        sys.exit(77)
    unittest.main()
