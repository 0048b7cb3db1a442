"""The first hour of three newcomers, with what README and docs tell them to type and with real training: one with a box of their
own, two on a shared box, and one who came for the scheduler. What they type is cut from the pages, so that a page that is wrong fails."""

import json
import math
import os
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "script"), str(Path(__file__).resolve().parent)]
from people import BINARY, OTHER, OWNER, SharedBox, add_people
from sinks import MailSink

PYTHON = "/usr/bin/python3"
PATIENCE = 300
FEW = ["--epochs", "1", "--held-out", "500", "--data", "few"]
STEP = "        optimizer.step()\n"


def blocks(page, language):
    """The fenced blocks of a page, in order."""
    return re.findall(rf"^```{language}\n(.*?)^```$", (ROOT / page).read_text(), re.MULTILINE | re.DOTALL)


def block(page, language, holding):
    found = [text for text in blocks(page, language) if holding in text]
    if len(found) != 1:
        raise AssertionError(f"{page} has {len(found)} blocks with '{holding}'")
    return found[0]


def lines(text):
    """Commands of a block, without what is said beside them."""
    return [line for line in (re.sub(r"\s+#.*", "", line).strip() for line in text.splitlines()) if line]


def take(typed, command):
    """The lines that call this command of Paceline's, and the others."""
    calls = re.compile(rf"\S*paceline {command} ")
    return [line for line in typed if calls.match(line)], [line for line in typed if not calls.match(line)]


def can_train():
    return subprocess.run([PYTHON, "-c", "import torch"], capture_output=True).returncode == 0


def write_few_digits(folder):
    """Noise: nothing is to be learned here, only trained for a while."""
    folder.mkdir()
    for prefix, count in (("train", 12_000), ("t10k", 500)):
        noise = random.Random(prefix)
        for name, shape, high in (("images-idx3", (count, 28, 28), 255), ("labels-idx1", (count,), 9)):
            header = struct.pack(f">HBB{len(shape)}I", 0, 8, len(shape), *shape)
            values = noise.randbytes(math.prod(shape)).translate(bytes(value % (high + 1) for value in range(256)))
            (folder / f"{prefix}-{name}-ubyte").write_bytes(header + values)


class Newcomer:
    """A folder with a program `paceline`, a script of theirs and a home of their own. Never root, whose server would be the
    machine's."""

    def __init__(self, uid=OWNER):
        self.uid = uid if os.geteuid() == 0 else None
        self.home = Path(tempfile.mkdtemp(prefix="paceline-newcomer-"))
        self.home.chmod(0o755)
        (self.home / "bin").mkdir()
        shutil.copy(BINARY, self.home / "bin/paceline")  # which others may not reach
        (self.home / "bin/python3").symlink_to(PYTHON)
        shutil.copytree(ROOT / "examples", self.home / "examples")
        plain = self.home / "examples/digits/train_plain.py"  # which takes its time, and not the processor's
        text = plain.read_text()
        plain.write_text(text.replace("import sys\n", "import sys\nimport time\n", 1).replace(STEP, STEP + "        time.sleep(0.1)\n"))
        write_few_digits(self.home / "few")
        (self.home / "train.py").write_text(
            f"import runpy, sys\nsys.argv[1:] = {FEW!r}\nsys.path.insert(0, 'examples')\n"
            "runpy.run_path('examples/digits/train_plain.py', run_name='__main__')\n")
        if self.uid is not None:
            subprocess.run(["chown", "-R", f"{uid}:{uid}", self.home], check=True)
        self.environment = {"HOME": str(self.home), "PATH": f"{self.home}/bin:/usr/bin:/bin", "LANG": "C.UTF-8",
                            "XDG_CACHE_HOME": str(self.home / "cache"), "OMP_NUM_THREADS": "1"}
        self.server = None

    def start(self, command):
        return subprocess.Popen(["bash", "-c", command], cwd=self.home, env=self.environment, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **self.identity())

    def identity(self):
        return {} if self.uid is None else {"user": self.uid, "group": self.uid, "extra_groups": []}

    def types(self, command, code=0):
        """What it says on both streams."""
        shell = self.start(command)
        try:
            out, err = shell.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            shell.kill()
            raise AssertionError(f"$ {command}\ndoes not end:\n{shell.communicate()}") from None
        if shell.returncode != code:
            raise AssertionError(f"$ {command}\nended with {shell.returncode}:\n{out}{err}")
        return out + err

    def waits_for(self, words, command):
        deadline = time.monotonic() + PATIENCE
        while words not in (said := self.types(command)):
            if time.monotonic() > deadline:
                raise AssertionError(f"$ {command}\nnever says '{words}':\n{said}")
            time.sleep(0.2)

    def serves(self, command):
        """Begins a server, and returns when it answers."""
        self.server = self.start(f"exec {command}")
        self.waits_for("it answers", "paceline nodes >/dev/null 2>&1 && echo it answers || true")

    def leaves(self):
        if self.server:
            subprocess.run([self.home / "bin/paceline", "down", "--jobs"], env=self.environment, capture_output=True, timeout=60,
                           **self.identity())
            self.server.communicate(timeout=60)
        shutil.rmtree(self.home, ignore_errors=True)


class OneDevice(unittest.TestCase):
    """README's first line of training, of each block that has one, with a script that knows of no others."""

    def test_a_plain_script_is_started_once(self):
        newcomer = Newcomer()
        self.addCleanup(newcomer.leaves)
        (newcomer.home / "train.py").write_text("print('started', file=open('starts', 'a'))\n")
        newcomer.serves("paceline up --slots 4")
        for holding in ("apt install", "why 7"):
            runs, _ = take(lines(block("README.md", "sh", holding)), "run")
            newcomer.types(runs[0].replace("build/release/paceline", "paceline"))
            self.assertEqual((newcomer.home / "starts").read_text(), "started\n", runs[0])
            (newcomer.home / "starts").unlink()


@unittest.skipUnless(can_train(), "without PyTorch")
class OwnBox(unittest.TestCase):
    """README, "Use it": one after the other, in the words of the page."""

    def test_what_the_readme_says_is_what_happens(self):
        newcomer = Newcomer()
        self.addCleanup(newcomer.leaves)
        build, *typed = [line.replace("build/release/paceline", "paceline") for line in lines(block("README.md", "sh", "why 7"))]
        self.assertIn("script/bootstrap", build)
        (alone, together), typed = take(typed, "run")
        simulations, typed = take(typed, "simulate")
        told = {command.split()[1]: command for command in typed}
        self.assertEqual(list(told), ["up", "queue", "top", "why", "plan", "policy", "down"])

        newcomer.serves(f"{told['up']} --slots 2")
        for job, run in enumerate([alone, together], 1):
            said = newcomer.types(run)
            self.assertRegex(said, rf"Submitted job {job}\b")
            self.assertRegex(said, rf"Job {job} is COMPLETED")
            self.assertIn("accuracy", newcomer.types(f"paceline show {job}"))

        self.assertIn("Submitted job 3", newcomer.types(together.replace(" run ", " submit ")))
        newcomer.waits_for("RUNNING", told["queue"])
        self.assertRegex(newcomer.types(told["top"]), r"(?m)^ +3 .* RUNNING ")
        self.assertIn("Job 3 (RUNNING)", newcomer.types(told["why"].replace("7", "3")))
        self.assertRegex(newcomer.types(told["plan"].replace("4", "2")), r"^It would start")
        self.assertIn("round-robin", newcomer.types(f"{told['policy']} --yes; paceline policy list"))
        newcomer.types("paceline wait 3")
        self.assertIn("COMPLETED", newcomer.types("paceline queue --all"))

        csv = newcomer.home / "jobs.csv"
        csv.write_text("job_id,submission_time,duration,num_gpu\na,0,3600,8\nb,10,60,1\nc,20,600,512\n")
        subprocess.run(["xz", str(csv)], check=True)
        self.assertEqual(len(simulations), 2)
        for command in simulations:
            self.assertRegex(newcomer.types(command.replace("~/.local", f"{newcomer.home}/.local")), "fifo")
        self.assertIn("2 jobs", newcomer.types(told["down"] + "; paceline journal list | tail -1; echo 2 jobs"))
        out, err = newcomer.server.communicate(timeout=60)
        newcomer.server = None
        self.assertIn("goodbye", out + err)


@unittest.skipUnless(can_train(), "without PyTorch")
class TwoOnASharedBox(SharedBox):
    """README, "On a shared box": the third line, for everybody who may log in there."""

    def setUp(self):
        super().setUp()
        self.people = [Newcomer(OWNER), Newcomer(OTHER)]
        for newcomer in self.people:
            newcomer.environment["PACELINE_DIR"] = str(self.box.directory)
            self.addCleanup(newcomer.leaves)

    def test_both_train_and_neither_reads_what_is_the_others(self):
        (run,) = [line for line in lines(block("README.md", "sh", "apt install")) if line.startswith("paceline run")]
        owner, other = self.people
        shell = owner.start(run.replace(" run ", " run --slots 2 "))
        owner.waits_for("RUNNING", "paceline queue")
        plan = other.types("paceline plan --expect 5m -- python3 train.py")
        self.assertRegex(plan, r"^It would (start|be)")
        other.types("paceline submit --expect 5m -- python3 train.py")
        self.assertRegex(other.types("paceline queue"), r"(?s)paceline-owner .*paceline-other ")
        why = other.types("paceline why 2")
        self.assertRegex(why, r"Job 2 \(PENDING\) needs 1 slot")
        self.assertRegex(why, r"expected to start")
        self.assertIn("belongs to paceline-owner", other.types("paceline logs 1", code=77))
        self.assertIn("belongs to paceline-owner", other.types("paceline cancel 1", code=77))
        out, err = shell.communicate(timeout=PATIENCE)
        self.assertEqual(shell.returncode, 0, out + err)
        self.assertIn("Job 1 is COMPLETED", out + err)
        other.types("paceline wait 2")
        self.assertRegex(other.types("paceline stats"), r"start +\S+ +1 ")
        self.assertRegex(other.types("paceline users"), r"(?s)paceline-other.*paceline-owner")


@unittest.skipUnless(can_train(), "without PyTorch")
class PlatformEngineer(unittest.TestCase):
    """docs/operations.md, in its words, by whoever keeps a shared box while people train there in the README's."""

    SAVES = (f"paceline submit --slots 2 --name saves -- python3 examples/digits/train_plain.py {' '.join(FEW)} "
             "--checkpoint-dir saved --checkpoint-every 1")

    def setUp(self):
        self.page = (ROOT / "docs/operations.md").read_text()
        self.newcomer = Newcomer()
        self.addCleanup(self.newcomer.leaves)
        self.home = self.newcomer.home
        self.state = self.home / "state"
        self.newcomer.environment["PACELINE_DIR"] = str(self.state)
        self.addCleanup(self.types, "paceline down --jobs || true")
        self.mail = MailSink()
        self.addCleanup(self.mail.__exit__)

    def types(self, command):
        return self.newcomer.types(command)

    def typed(self, begins):
        """The line of the page that begins so, on this box instead of the page's."""
        (line,) = [line for line in lines(self.page) if line.startswith(begins)]
        return self.here(line)

    def here(self, line):
        for theirs, ours in (("sudo ", ""), ("/var/lib/paceline", str(self.state)), ("/etc/paceline", str(self.home)),
                             ("/backup", str(self.home)), ("/scratch", f"{self.home}/scratch"), ("gpu-3", os.uname().nodename),
                             ("--metrics 9464", "--metrics 0")):
            line = line.replace(theirs, ours)
        return line

    def job(self, job):
        return json.loads(self.types(f"paceline show {job} -o json"))

    def test_what_the_page_says_is_what_happens_while_people_train(self):
        self.types("mkdir scratch")
        address = self.comes_up_with_metrics_and_messages()
        run = next(line for line in lines(block("README.md", "sh", "apt install")) if line.startswith("paceline run"))
        self.types(run.replace("paceline run", "paceline submit --notify-to ada@lab.example --notify ended"))
        self.newcomer.waits_for("RUNNING", "paceline queue")
        self.every_metric_of_the_page_is_there(address)
        self.drains()
        self.a_killed_server_takes_up_what_trains()
        self.types("paceline wait 1")
        self.until(lambda: [taken["to"] for taken in self.mail.all()] == [["ada@lab.example"]], "the mail does not come")
        self.newcomer.waits_for('"checkpoint"', "paceline logs 2")
        self.is_saved_and_restored()
        self.a_machine_without_its_scratch_is_unhealthy()

    def until(self, happened, what):
        deadline = time.monotonic() + PATIENCE
        while not happened():
            self.assertLess(time.monotonic(), deadline, what)
            time.sleep(0.1)

    def comes_up_with_metrics_and_messages(self):
        """Where the metrics are."""
        self.types(self.typed("install -m 600"))
        file = block("docs/operations.md", "yaml", "mail:").replace("smtp://relay.lab.example:587", f"127.0.0.1:{self.mail.port}")
        file = file.replace("starttls: true", "starttls: false")
        without = [line for line in file.splitlines() if not re.match(r" *(login|proxy|ca_file):", line)]
        (self.home / "messages.yaml").write_text("\n".join(without) + "\n")
        messages = re.search(r"# then: paceline up (--messages \S+)", self.page)[1]
        self.up = f"{self.typed('paceline up --metrics')} {self.here(messages)} --slots 2 --detach"
        return re.search(r"http://(\S+)/metrics", self.types(self.up))[1]

    def every_metric_of_the_page_is_there(self, address):
        with urllib.request.urlopen(f"http://{address}/metrics", timeout=30) as answer:
            told = answer.read().decode()
        first = [line.split("|")[1] for line in self.page.splitlines() if line.startswith("| `paceline_")]
        names = re.findall(r"`(paceline_\w+)", " ".join(first))
        self.assertGreater(len(names), 10)
        self.assertEqual([name for name in names if not re.search(rf"(?m)^{name}(_count)?[ {{]", told)], [])

    def drains(self):
        for begins, words in (("paceline drain gpu-3 --reason", "job 1 of"), ("paceline drain gpu-3 --within", "is stopped at"),
                              ("paceline drain gpu-3 --at", "is stopped at")):
            self.assertIn(words, self.types(f"{self.typed(begins)} --dry-run"))
        self.assertIn("1 job there stays", self.types(self.typed("paceline drain gpu-3 --keep")))
        self.types(self.SAVES)
        self.assertIn("is set aside, and starts nothing", self.types("paceline why 2"))
        self.assertEqual(self.job(1)["state"], "RUNNING")
        self.types(self.typed("paceline undrain gpu-3"))

    def a_killed_server_takes_up_what_trains(self):
        pids = self.job(1)["pids"]
        os.kill(int((self.state / "paceline.lock").read_text()), signal.SIGKILL)
        self.types(f"until {self.up}; do sleep 0.1; done")  # it takes a moment to be gone
        shown = self.job(1)
        self.assertEqual((shown["pids"], shown["attempt"]), (pids, 1))

    def is_saved_and_restored(self):
        self.types(self.typed("paceline backup"))
        (saved,) = self.home.glob("paceline-*.tar.gz")
        self.assertEqual(saved.stat().st_mode & 0o777, 0o600)
        restore = lines(next(text for text in self.page.split("```") if "systemctl stop paceline" in text))
        self.assertEqual(restore[0], "sudo systemctl stop paceline")
        self.types("paceline down --jobs")
        for line in restore[1:-1]:
            self.types(re.sub(r"paceline-[\d-]+\.tar\.gz", saved.name, self.here(line)))
        self.types(self.up)
        self.assertEqual(self.job(1)["state"], "COMPLETED")
        self.types("paceline wait 2")
        self.assertIn("resumed from", self.types("paceline logs 2"))
        self.types("paceline down --jobs")

    def a_machine_without_its_scratch_is_unhealthy(self):
        self.types("rmdir scratch")
        self.types(f"{self.typed('paceline up --health-check')} --slots 2 --detach")
        self.newcomer.waits_for(f"{self.home}/scratch is not mounted", "paceline nodes")
        self.assertRegex(self.types("paceline nodes"), rf"(?m)^{os.uname().nodename} +unhealthy ")


class SchedulingResearcher(unittest.TestCase):
    """docs/policies.md, "The first one": write, load, break, mend, and hold it against the others on a trace."""

    def test_a_policy_in_ten_minutes(self):
        newcomer = Newcomer()
        self.addCleanup(newcomer.leaves)
        page = "docs/policies.md"
        script = next(text for text in blocks(page, "lua") if "Small jobs first." in text)
        (newcomer.home / "mine.lua").write_text(script)
        newcomer.serves("paceline up --slots 4")
        newcomer.types("paceline submit --slots 3 --name large -- sleep 600; paceline submit --slots 3 --name second -- sleep 600")
        load, activate, show = lines(block(page, "sh", "policy load mine.lua"))
        self.assertIn("paceline policy set mine", newcomer.types(load))
        newcomer.types(f"{activate} --yes")
        self.assertIn("Small jobs first.", newcomer.types(show))
        newcomer.types("paceline submit --name small -- sleep 600")
        newcomer.waits_for("it is small", "paceline show 3; paceline events | tail -3")

        (newcomer.home / "mine.lua").write_text(script.replace("job.slots_per_worker", "job.slot_per_worker"))
        promised = re.search(r"^    paceline: (The policy mine fails in line .*)$", (ROOT / page).read_text(), re.MULTILINE)[1]
        self.assertIn(promised, newcomer.types(load, code=64))

        trace = newcomer.home / "jobs.csv"
        trace.write_text("job_id,submission_time,duration,num_gpu\n"
                         + "".join(f"j{i},{i * 7},{100 + i * 37 % 900},{1 + i % 4}\n" for i in range(200)))
        (newcomer.home / "mine.lua").write_text(script)
        study = json.loads(newcomer.types("paceline simulate --trace jobs.csv --cluster 2x4 --policy fifo,./mine.lua -o json"))
        self.assertEqual([run["policy"] for run in study["runs"]], ["fifo", "mine"])
        self.assertLess(study["runs"][1]["average_jct_seconds"], study["runs"][0]["average_jct_seconds"])


def setUpModule():
    if os.geteuid() == 0:
        add_people()


if __name__ == "__main__":
    unittest.main()
