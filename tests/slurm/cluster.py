"""A Slurm cluster of its own on this machine: munged, slurmctld and four slurmd on loopback, each of which claims eight cores and
four GPUs (copies of /dev/null). Everything lies in one directory, and what it started is ended by pid.

    with Cluster() as cluster:
        cluster.run("sinfo")                        # as the user whose jobs they are
        cluster.restart_controller()

Debian's slurmd takes `-N NAME` for several on one machine; `config_overrides` lets each claim more than there is.
"""

import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "script"))
import accounts

USER, UID = "paceline-guest", 40003
OTHER, OTHER_UID = "paceline-other", 40004
NODES, LOGIN = ("n1", "n2", "n3", "n4"), "login"
PROGRAMS = ("munged", "slurmctld", "slurmd", "squeue", "sbatch", "scancel", "scontrol", "srun")
SECONDS = 60

CONFIG = """
ClusterName=paceline
SlurmctldHost={controller}
SlurmctldPort={controller_port}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={root}/munge.socket,cred_expire=5
{talk}
StateSaveLocation={root}/state
SlurmdSpoolDir={root}/spool-%n
SlurmctldPidFile={root}/slurmctld.pid
SlurmdPidFile={root}/%n.pid
SlurmctldLogFile={root}/slurmctld.log
SlurmdLogFile={root}/%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
PropagateResourceLimits=NONE
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=1,bf_interval=1
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ReturnToService=2
KillWait=5
MinJobAge=300
SlurmdParameters=config_overrides
GresTypes=gpu
JobSubmitPlugins=lua
TaskProlog={root}/prolog
{nodes}
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
PartitionName=main Nodes=n[1-4] Default=YES MaxTime=INFINITE PreemptMode=OFF State=UP
PartitionName=small Nodes=n[1-2] MaxTime=10 MaxNodes=1 PreemptMode=OFF State=UP
PartitionName=closed Nodes=n4 AllowGroups=root State=UP
PartitionName=single Nodes=n3 PreemptMode=OFF State=UP
PartitionName=cancelled Nodes=n[1-2] PreemptMode=CANCEL State=UP
PartitionName=requeued Nodes=n[1-2] PreemptMode=REQUEUE State=UP
PartitionName=urgent Nodes=n[1-2] PriorityTier=10 PreemptMode=OFF State=UP
"""

# Accounts are the accounting daemon's, which isn't there: here one is refused as that would refuse it.
SUBMIT = """
function slurm_job_submit(job, partitions, uid)
    if job.account == "nobody" then return 2045 end
    return slurm.SUCCESS
end
function slurm_job_modify(job, known, partitions, uid) return slurm.SUCCESS end
return slurm.SUCCESS
"""

# A driver of four GPUs, for what runs in the partition `single`: Paceline asks this much of it at least.
DRIVER = """
#include <stdio.h>
#include <string.h>
static long gpu[4] = {0, 1, 2, 3};
int nvmlInit_v2(void) { return 0; }
int nvmlShutdown(void) { return 0; }
int nvmlDeviceGetCount_v2(unsigned* n) { *n = 4; return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned i, long** h) { *h = &gpu[i]; return 0; }
int nvmlDeviceGetUUID(long* h, char* s, unsigned n) { snprintf(s, n, "GPU-%ld", *h); return 0; }
int nvmlDeviceGetName(long* h, char* s, unsigned n) { snprintf(s, n, "Fake"); return 0; }
int nvmlDeviceGetMemoryInfo(long* h, unsigned long long* m) { m[0] = 1ULL << 30; return 0; }
int nvmlDeviceGetPciInfo_v3(long* h, char* p) { sprintf(p + 36, "0000:%ld0:00.0", *h + 1); return 0; }
"""
PROLOG = """#!/bin/sh
[ "$SLURM_JOB_PARTITION" = single ] && [ -e {driver} ] && echo export PACELINE_NVML={driver}
exit 0
"""


def free_port():
    with socket.socket() as asked:
        asked.bind(("127.0.0.1", 0))
        return asked.getsockname()[1]


def why_not():
    """Why no cluster can be started here; nothing: one can."""
    if not os.environ.get("PACELINE_TEST_ALL"):
        return "only with script/test --all"
    if os.geteuid() != 0:
        return "only root can start a Slurm cluster"
    path = f"/usr/sbin:{os.environ['PATH']}"
    missing = [name for name in PROGRAMS if not shutil.which(name, path=path)]
    return f"without {', '.join(missing)}: script/bootstrap --slurm installs them" if missing else None


def add_user():
    """Makes the cluster's users known to this process and what it starts. Called before anything is started."""
    if reason := why_not():
        raise unittest.SkipTest(reason)
    try:
        accounts.add({USER: UID, OTHER: OTHER_UID})
    except accounts.NotPermitted as refusal:
        raise unittest.SkipTest(str(refusal))


class Cluster:
    talk = "CommunicationParameters=NoCtldInAddrAny,NoInAddrAny"  # nothing listens beyond loopback

    def __enter__(self):
        self.root = Path(tempfile.mkdtemp(prefix="paceline-slurm-"))
        self.root.chmod(0o755)
        self.environment = {"PATH": f"/usr/sbin:{os.environ['PATH']}", "SLURM_CONF": str(self.root / "slurm.conf"), "LANG": "C.UTF-8"}
        self.started = []
        try:
            self._configure()
            self._start("munged", "--foreground", "--force", f"--key-file={self.root}/munge.key", f"--socket={self.root}/munge.socket",
                        f"--pid-file={self.root}/munged.pid", f"--log-file={self.root}/munged.log", f"--seed-file={self.root}/munged.seed")
            self._until(lambda: (self.root / "munge.socket").exists(), "munged does not begin")
            self.controller = self._start("slurmctld", "-D", "-c", place=LOGIN)
            self.nodes = {name: self._start("slurmd", "-D", "-N", name, place=name) for name in NODES}
            self._until(lambda: self._idle() == len(NODES), "the nodes are not idle")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self.end_jobs()
        self.end()

    def end_jobs(self):
        """Before their slurmd, which leaves them where it ends."""
        with contextlib.suppress(Exception):
            self.run("scancel", "--me", check=False)
            self._until(lambda: not self.run("squeue", "--me", "--noheader", check=False).stdout, "jobs do not end", 20)

    def end(self):
        for process in reversed(self.started):
            if process.poll() is None:
                process.terminate()
        for process in self.started:
            try:
                process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        shutil.rmtree(self.root, ignore_errors=True)

    def _configure(self):
        root = self.root
        for folder in ("state", "dev", *(f"spool-{name}" for name in NODES)):
            (root / folder).mkdir()
        key = root / "munge.key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o400)
        for i in range(4):
            os.mknod(root / f"dev/gpu{i}", 0o666 | 0o020000, os.makedev(1, 3))
        lines = []
        for name in NODES:
            host, address = self.place_of(name)
            lines.append(f"NodeName={name} NodeAddr={address} NodeHostname={host} Port={free_port()} CPUs=8 RealMemory=16000 Gres=gpu:4 State=UNKNOWN")
        (root / "slurm.conf").write_text(CONFIG.format(root=root, nodes="\n".join(lines), controller_port=free_port(), talk=self.talk,
                                                       controller="{}({})".format(*self.place_of(LOGIN))))
        (root / "gres.conf").write_text(f"AutoDetect=off\nNodeName=n[1-4] Name=gpu File={root}/dev/gpu[0-3]\n")
        (root / "job_submit.lua").write_text(SUBMIT)
        self.driver = root / "libnvidia-ml.so"
        (root / "prolog").write_text(PROLOG.format(driver=self.driver))
        (root / "prolog").chmod(0o755)
        (root / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n")

    def place_of(self, name):
        """Host name and address of a node, or of the login node."""
        return socket.gethostname().split(".")[0], "127.0.0.1"

    def words(self, command, place=LOGIN):
        """What runs a command there, as root."""
        return [*map(str, command)]

    def as_user(self, command, directory="/", uid=UID):
        """What runs it on the login node, as that user."""
        return self.words(["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", "env", "-C", directory, *command])

    def _start(self, *command, place=None):
        with open(self.root / f"{command[0]}.out", "ab") as log:
            process = subprocess.Popen(self.words(command, place) if place else command, env=self.environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.started.append(process)
        return process

    def _idle(self):
        said = subprocess.run(self.words(["sinfo", "-h", "-p", "main", "-t", "idle", "-o", "%D"]), env=self.environment, capture_output=True, text=True)
        return int(said.stdout.strip() or 0)

    def _until(self, happened, what, seconds=SECONDS):
        deadline = time.monotonic() + seconds
        while not happened():
            if time.monotonic() > deadline:
                raise AssertionError(f"{what}: {(self.root / 'slurmctld.log').read_text()[-3000:]}")
            time.sleep(0.05)

    def stop_controller(self):
        self.controller.send_signal(signal.SIGTERM)
        self.controller.wait(timeout=30)

    def start_controller(self):
        """With the state that it had, and once it has heard of its nodes again: before it refuses what it would run."""
        self.controller = self._start("slurmctld", "-D", place=LOGIN)
        self._until(lambda: self.run("scontrol", "ping", check=False).returncode == 0, "slurmctld does not answer")
        self._until(lambda: "unknown" not in self.run("sinfo", "-h", "-N", "-o", "%T").stdout, "slurmctld hears of no nodes")

    def run(self, *command, check=True, environment=None):
        """As the user."""
        done = subprocess.run(self.as_user(command), env=environment or self.environment, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if check and done.returncode != 0:
            raise AssertionError(f"{' '.join(command)}: {done.stderr}")
        return done

    def control(self, *words, check=True):
        """scontrol, as root."""
        subprocess.run(self.words(["scontrol", *words]), env=self.environment, check=check, capture_output=True)

    def pilots(self, states="PENDING,RUNNING,COMPLETING,CONFIGURING"):
        """Jobs of pilots in those states, as numbers."""
        listed = self.run("squeue", "--me", "-h", "-t", states, "-o", "%i %j").stdout
        return [int(line.split()[0]) for line in listed.splitlines() if line.split()[1].startswith("paceline-") and "proof" not in line]

    def state(self, job):
        return self.run("squeue", "-h", "-t", "all", "-j", str(job), "-o", "%T").stdout.strip()

    def install_driver(self):
        subprocess.run(["cc", "-shared", "-fPIC", "-x", "c", "-o", self.driver, "-"], input=DRIVER, text=True, check=True)

    def gpus_of(self, job):
        """The numbers of those that Slurm gave it."""
        told = self.run("scontrol", "show", "job", "--details", str(job)).stdout
        spans = [span.partition("-") for span in re.search(r"GRES=gpu:\d+\(IDX:(\S+)\)", told).group(1).split(",")]
        return {number for first, _, last in spans for number in range(int(first), int(last or first) + 1)}

    def node_of(self, job):
        return self.run("squeue", "-h", "-t", "all", "-j", str(job), "-o", "%N").stdout.strip()

    def take(self, *words):
        """Whole nodes, for a job that is nobody's pilot; its number once it has them."""
        job = self.run("sbatch", "--parsable", "--exclusive", "--time=5", "--output=/dev/null", *words, "--wrap=sleep 200").stdout.strip()
        self._until(lambda: self.state(job) == "RUNNING", "the nodes are not taken")
        return job
