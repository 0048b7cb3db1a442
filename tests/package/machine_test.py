"""The Debian package on a machine that boots: systemd as it is, control groups of version 2, restarts of the unit, a reboot, a power
cut, the unit of an agent, upgrades, removal. The machine is a user-mode Linux with a disk image and no network.

Runs only with PACELINE_TEST_ALL set (`script/test --all`), and is skipped where no Debian 12 root or no user-mode Linux can be had.
"""

import json
import os
import shlex
import shutil
import signal
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

from package_test import APART, BareRoot, go_apart, made_packages, run

SECONDS_MAX = 120  # a guard against hangs, of a boot or a command

# Runs what the test lays into the folder that both see, one script after the other; counts on after a reboot.
STATION = """#!/bin/sh
mkdir -p /share && mount -t hostfs -o "$(sed 's/.* share=\\([^ ]*\\).*/\\1/' /proc/cmdline)" none /share
n=1
while test -e /share/$n.code; do n=$((n + 1)); done
echo up > /share/up
while :; do
  if test -e /share/$n.go; then
    sh /share/$n.sh > /share/$n.out 2>&1 < /dev/null
    echo $? > /share/code && mv /share/code /share/$n.code
    n=$((n + 1))
  fi
  sleep 0.1
done
"""
STATION_UNIT = """[Unit]
After=paceline.service
[Service]
ExecStart=/usr/local/sbin/station
KillMode=process
[Install]
WantedBy=multi-user.target
"""


PACKAGE = "/srv/paceline.deb"  # to be installed again, which is an upgrade to the scripts


class Machine:
    """A Debian 12 with systemd, the package and two users, on a disk of its own."""

    def __init__(self, bare, package):
        self.folder = Path(tempfile.mkdtemp(prefix="paceline-machine-"))
        self.share = self.folder / "share"
        self.share.mkdir()
        self.registers = self.folder / "whole_registers.so"
        run("cc", "-shared", "-fPIC", "-O2", "-o", self.registers, Path(__file__).with_name("whole_registers.c"))
        self.console = open(self.folder / "console", "ab")
        self.process = None
        self.commands = 0
        self.install(bare, package)

    def install(self, bare, package):
        bare.root("apt-get install --yes --no-install-recommends systemd-sysv dbus python3-minimal")
        bare.root(f"apt-get install --yes --no-install-recommends {bare.put(package)}")
        bare.root(f"mv /packages/{package.name} {PACKAGE}; rm -rf /usr/sbin/policy-rc.d /packages /var/cache/apt/archives/*.deb")
        for name, text in {"usr/local/sbin/station": STATION, "etc/systemd/system/station.service": STATION_UNIT,
                           "etc/default/paceline": 'PACELINE_OPTIONS="--slots 2"\n'}.items():
            (bare.path / name).write_text(text)
        (bare.path / "usr/local/sbin/station").chmod(0o755)
        bare.root("systemctl enable station.service")
        bare.unmount()
        run("mke2fs", "-q", "-t", "ext4", "-d", bare.path, self.folder / "disk", "1500M")

    def boot(self):
        self.go(self.start)

    def start(self):
        self.process = subprocess.Popen(
            ["linux.uml", "mem=1G", f"ubd0={self.folder / 'disk'}", "root=/dev/ubda", "rw", "con=null", "con0=fd:0,fd:1",
             f"uml_dir={self.folder}", f"share={self.share}"],
            stdin=subprocess.DEVNULL, stdout=self.console, stderr=subprocess.STDOUT, start_new_session=True,
            env=os.environ | {"LD_PRELOAD": str(self.registers)})

    def go(self, how):
        """Waits until the machine is up again after what `how` does."""
        (self.share / "up").unlink(missing_ok=True)
        how()
        self.until((self.share / "up").exists, "it did not boot")

    def until(self, happened, what):
        deadline = time.monotonic() + SECONDS_MAX
        while not happened():
            if time.monotonic() > deadline or self.process.poll() is not None:
                raise AssertionError(what + ":\n" + (self.folder / "console").read_text(errors="replace")[-3000:])
            time.sleep(0.05)

    def ask(self, script, user="root"):
        """What it prints, and how it ended."""
        self.commands += 1
        file = self.share / str(self.commands)
        inside = script if user == "root" else f"exec su - {user} -c {shlex.quote(script)}"
        file.with_suffix(".sh").write_text(inside + "\n")
        file.with_suffix(".go").touch()
        self.until(file.with_suffix(".code").exists, f"{script} did not end")
        return file.with_suffix(".out").read_text(errors="replace"), int(file.with_suffix(".code").read_text())

    def root(self, script):
        return self.by("root", script)

    def by(self, user, script):
        text, code = self.ask(script, user)
        if code != 0:
            raise AssertionError(f"{user}: {script}\nended with {code}:\n{text}")
        return text

    # It counts as done before it is asked for: the station may be gone at once, and would do it again after the boot.
    def reboot(self):
        self.go(lambda: self.root(f"echo 0 > /share/{self.commands + 1}.code; systemctl --no-block reboot"))

    def cut_power(self):
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def close(self):
        if self.process is not None and self.process.poll() is None:
            self.cut_power()
        self.console.close()
        shutil.rmtree(self.folder)


COUNTS = "i=0; while true; do i=$((i + 1)); echo $i > ~/count; sleep 0.2; done"
# Leaves a process behind that nobody is the parent of.
ESCAPES = "(setsid sh -c 'echo $$ > ~/escaped; exec sleep 1000' &) ; echo $$ > ~/pid; exec sleep 1000"


@unittest.skipUnless(os.environ.get("PACELINE_TEST_ALL"), "only with script/test --all")
class MachineTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if shutil.which("linux.uml") is None:
            raise unittest.SkipTest("no user-mode Linux: script/bootstrap --packaging")
        bare = BareRoot()
        try:
            bare.make()
            cls.machine = Machine(bare, made_packages()[1])
        finally:
            bare.close()
        cls.addClassCleanup(cls.machine.close)
        cls.machine.boot()
        cls.machine.root("systemctl enable --now paceline")

    def until(self, happened, what):
        deadline = time.monotonic() + SECONDS_MAX
        while not happened():
            if time.monotonic() > deadline:
                self.fail(f"{what}\n{self.machine.root('paceline events; paceline queue --all; journalctl -u paceline --no-pager | tail -40')}")
            time.sleep(0.2)

    def submit(self, user, script, *options):
        return int(self.machine.by(user, f"paceline submit --parsable {' '.join(options)} -- sh -c {shlex.quote(script)}"))

    def job(self, job):
        return json.loads(self.machine.root(f"paceline show {job} -o json"))

    def until_state(self, job, state):
        self.until(lambda: self.job(job)["state"] == state, f"job {job} is not {state}")

    def until_said(self, user, file):
        """What a job wrote into a file of its owner's home."""
        self.until(lambda: self.machine.ask(f"test -s ~/{file}", user)[1] == 0, f"there is no {file}")
        return self.machine.by(user, f"cat ~/{file}").strip()

    def units(self):
        """Of the server and the agent: whether each begins with the machine, and runs."""
        asked = "for unit in paceline paceline-agent; do systemctl is-enabled $unit; systemctl is-active $unit; done"
        return self.machine.ask(asked)[0].split()

    def runs(self, pid):
        return self.machine.ask(f"test -e /proc/{pid}")[1] == 0

    def test_1_the_unit_serves_everybody_from_the_boot_on(self):
        self.assertEqual(self.machine.root("systemctl is-active paceline").strip(), "active")
        self.assertEqual(self.machine.root("stat -c %a /run/paceline /run/paceline/paceline.sock").split(), ["755", "666"])
        for user in ("first", "second"):
            self.assertIn(f"it is {user}", self.machine.by(user, "paceline run -- sh -c 'echo it is $(id -un)'"))

    def test_2_workers_are_in_control_groups_of_version_2(self):
        groups = self.machine.root("stat -f -c %T /sys/fs/cgroup").strip()
        self.assertEqual(groups, "cgroup2fs")
        where = "cut -d: -f3 /proc/self/cgroup; cat /sys/fs/cgroup$(cut -d: -f3 /proc/self/cgroup)/{pids,memory}.max"
        said = self.machine.by("first", f"paceline run --memory 200M -- bash -c {shlex.quote(where)} 2> /dev/null").split()
        self.assertRegex(said[-3], r"^/system.slice/paceline-jobs.service/paceline-\w+/\d+\.\d+\.0$")
        self.assertEqual(said[-2:], ["8192", str(200 << 20)])
        self.assertEqual(self.machine.root("find /sys/fs/cgroup/system.slice/paceline-jobs.service -name '*.1.0'").strip(), "")
        greedy = self.submit("first", "python3 -c 'x = bytearray(300 << 20)'", "--memory 100M")
        self.until_state(greedy, "FAILED")
        self.assertEqual(self.job(greedy)["cause"], "out_of_memory")

    def test_3_what_is_paused_stands_still_and_what_is_cancelled_leaves_nothing(self):
        counting = self.submit("first", COUNTS)
        self.until_said("first", "count")
        self.machine.by("first", f"paceline pause {counting}")
        self.until_state(counting, "PAUSED")
        stands = self.machine.by("first", "cat ~/count; sleep 2; cat ~/count").split()
        self.assertEqual(stands[0], stands[1])
        self.machine.by("first", f"paceline resume {counting}")
        self.until(lambda: self.machine.by("first", "cat ~/count").strip() != stands[1], "it does not go on")
        escaping = self.submit("first", ESCAPES)
        pids = [self.until_said("first", file) for file in ("pid", "escaped")]
        self.machine.by("first", f"paceline cancel {counting} {escaping}")
        self.until_state(escaping, "CANCELLED")
        self.assertEqual([self.runs(pid) for pid in pids], [False, False])
        self.machine.by("first", "rm ~/pid ~/escaped ~/count")

    def test_4_restarts_of_the_unit_leave_trainings_alone(self):
        job = self.submit("first", "echo $$ > ~/pid; exec sleep 1000")
        pid = self.until_said("first", "pid")
        self.machine.root("systemctl restart paceline")
        self.until_state(job, "RUNNING")
        self.machine.root("systemctl stop paceline")
        self.assertTrue(self.runs(pid))
        self.machine.root("systemctl start paceline")
        self.machine.root("systemctl kill --kill-whom=main --signal=KILL paceline")
        self.until(lambda: self.machine.ask("paceline queue")[1] == 0, "the unit does not come back")
        self.assertEqual((self.job(job)["state"], self.job(job)["pids"]), ("RUNNING", [int(pid)]))
        self.machine.by("first", f"paceline cancel {job}; rm ~/pid")

    def test_5_a_reboot_brings_everything_back(self):
        running = self.submit("first", "echo $$ >> ~/starts; exec sleep 1000")
        held = self.submit("second", "exec sleep 1000", "--hold")
        self.until_said("first", "starts")
        before = self.job(running)["attempt"]
        self.machine.reboot()
        self.assertEqual(self.machine.root("systemctl is-active paceline").strip(), "active")
        self.until(lambda: self.job(running)["attempt"] == before + 1, "it was not started anew")
        self.until_state(running, "RUNNING")
        self.assertEqual(self.job(running)["retries_used"], 0)
        self.until(lambda: len(self.machine.by("first", "cat ~/starts").split()) == 2, "it does not run")
        self.assertEqual((self.job(held)["state"], self.job(held)["hold"]), ("PENDING", True))
        self.assertIn("the machine was started since", self.machine.root("paceline events"))
        self.machine.root(f"paceline cancel {running} {held}")
        self.until_state(running, "CANCELLED")

    # Whatever was answered is on the disk.
    def test_6_a_power_cut_loses_nothing_that_was_acknowledged(self):
        known = []
        for _ in range(3):
            known.append(self.submit("first", "exec sleep 1000"))
            self.machine.cut_power()
            self.machine.boot()
            states = [self.job(job)["state"] for job in known]
            self.assertLessEqual(set(states), {"PENDING", "STARTING", "RUNNING"}, states)
        self.assertEqual(len(set(known)), 3, "an id was given twice")
        self.until(lambda: [self.job(job)["state"] for job in known].count("RUNNING") == 2, "they don't run again")

    # As docs/cluster.md says, "With the package". The server is another one of the same machine, which has no network.
    def test_7_the_agents_unit_lends_the_machine_from_the_boot_on(self):
        server = "PACELINE_DIR=/srv/server paceline"
        up = f"{server} up --listen 127.0.0.1:7443 --slots 1 --node far --detach"
        self.machine.root("paceline down --jobs; systemctl disable --now paceline")
        self.machine.root("""echo 'PACELINE_AGENT_OPTIONS="--slots 2"' >> /etc/default/paceline""")
        self.assertEqual(self.machine.ask("systemctl start paceline-agent; systemctl is-active paceline-agent")[0].strip(), "inactive",
                         "it has not joined")
        self.machine.root(f"mkdir -m 711 /srv/server; {up}")
        line = self.machine.root(f"{server} node invite 2> /dev/null").strip()
        self.machine.root(f"{line} --node near --detach; kill $(cat /var/lib/paceline-agent/agent.lock)")

        def near():
            nodes = json.loads(self.machine.root(f"{server} nodes -o json"))["nodes"]
            return next(((node["state"], len(node["slots"])) for node in nodes if node["name"] == "near"), None)

        def job(number):
            return json.loads(self.machine.root(f"{server} show {number} -o json"))
        self.machine.root("systemctl enable --now paceline-agent")
        self.until(lambda: near() == ("up", 2), "it is not there")
        number = self.machine.by("first", f"{server} submit --parsable --slots-per-worker 2 -- "
                                          "sh -c 'cut -d: -f3 /proc/self/cgroup > ~/group; echo $$ > ~/lent; exec sleep 1000'").strip()
        pid = self.until_said("first", "lent")
        self.assertRegex(self.machine.by("first", "cat ~/group"), r"^/system.slice/paceline-jobs.service/paceline-\w+/")
        self.machine.root("systemctl restart paceline-agent")
        self.until(lambda: near() == ("up", 2), "it does not come back")
        self.assertTrue(self.runs(pid), "a restart of the unit leaves trainings alone")
        self.assertEqual((job(number)["state"], job(number)["attempt"]), ("RUNNING", 1))

        self.machine.reboot()
        self.until(lambda: self.machine.ask("systemctl is-active paceline-agent")[1] == 0, "the unit does not begin")
        self.machine.root(up)
        self.until(lambda: (job(number)["state"], job(number)["attempt"]) == ("RUNNING", 2), "it does not start anew")
        self.assertEqual((near(), job(number)["retries_used"]), (("up", 2), 0))

        agent = self.machine.root("systemctl show --property MainPID paceline-agent")
        pid = self.machine.by("first", "cat ~/lent").strip()
        self.machine.root(f"dpkg --install {PACKAGE}")
        self.assertEqual(self.units(), ["disabled", "inactive", "enabled", "active"], "an upgrade begins no server here")
        self.assertNotEqual(self.machine.root("systemctl show --property MainPID paceline-agent"), agent, "the agent is not the new one")
        self.until(lambda: near() == ("up", 2), "it does not come back after an upgrade")
        self.assertTrue(self.runs(pid), "an upgrade leaves trainings alone")
        self.assertEqual((job(number)["state"], job(number)["attempt"]), ("RUNNING", 2))

    def test_8_with_the_package_the_agent_goes_and_with_its_next_installation_it_comes_back(self):
        self.machine.root("dpkg --remove paceline")
        self.assertEqual(self.machine.ask("systemctl is-active paceline paceline-agent")[0].split(), ["inactive", "inactive"])
        self.machine.root("test -e /var/lib/paceline-agent/server")
        self.machine.root(f"dpkg --install {PACKAGE}")
        self.assertEqual(self.units(), ["disabled", "inactive", "enabled", "active"])
        self.machine.root("dpkg --purge paceline")
        self.assertNotEqual(self.machine.ask("test -e /var/lib/paceline-agent")[1], 0)
        self.machine.root(f"dpkg --install {PACKAGE}")
        self.assertEqual(self.units(), ["enabled", "active", "disabled", "inactive"], "it knows of no agent any more")


if __name__ == "__main__":
    if os.environ.get("PACELINE_TEST_ALL") and APART not in os.environ:
        go_apart()
    unittest.main()
