"""Jobs on nodes that Slurm brings: they start there, and whatever Slurm does with the nodes, none is lost and nothing is left."""

import re
import shutil
import unittest
from pathlib import Path

import cluster
from apart import ApartCluster
from cluster import LOGIN, OTHER_UID, UID, USER
from guest import Guest

# Every rank adds its number to a sum at rank 0, which tells it to all: as a training does, and without a framework.
SUM = """
import os, socket, time
rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
at = (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
if rank == 0:
    door = socket.create_server(at, backlog=size)
    peers = [door.accept()[0] for _ in range(size - 1)]
    total = sum(int(peer.recv(16)) for peer in peers)
    for peer in peers: peer.sendall(str(total).encode())
else:
    while True:
        try: peer = socket.create_connection(at, 5); break
        except OSError: time.sleep(0.1)
    peer.sendall(str(rank).encode())
    total = int(peer.recv(16))
print(f"rank {rank} of {size} on {socket.gethostname()}: {total}", flush=True)
"""

# Ends only where it starts again.
ONCE_LONG = "echo $PACELINE_ATTEMPT >> begun; [ $PACELINE_ATTEMPT -gt 1 ] || exec sleep 1000"


def setUpModule():
    cluster.add_user()


class GuestTest(Guest):
    def test_a_job_that_waits_gets_a_node_which_is_given_back_once_it_is_idle(self):
        said = self.connect("--idle", "1s")
        self.assertIn("A node of it reached this server", said.stdout)
        job = self.submit("--", "sh", "-c", "echo on $SLURMD_NODENAME; sleep 2")
        self.until(lambda: self.job(job)["state"] == "COMPLETED", "the job does not end")
        self.assertIn("on", self.call("logs", str(job)).stdout)
        self.until(lambda: not self.cluster.pilots(), "the node is not given back")
        self.until(lambda: not self.agents(), "something is left there")

    def test_thirty_jobs_survive_a_cancelled_pilot_and_a_restart_of_the_controller(self):
        self.connect()
        jobs = [self.submit("--name", f"j{i}", "--retry", "0", "--", "sh", "-c", "sleep 3") for i in range(30)]
        self.until(lambda: sum(job["state"] == "RUNNING" for job in self.jobs()) == 8, "two nodes of four slots are not full")
        lost = self.cluster.pilots()[0]
        self.cluster.run("scancel", str(lost))
        self.until(lambda: any("CANCELLED" in self.why(job) for job in jobs), "why does not tell that Slurm took the node")
        self.assertEqual(self.cluster.state(lost), "CANCELLED")
        self.cluster.stop_controller()
        self.until(lambda: self.status()["problem"], "the status does not tell that Slurm is away")
        self.cluster.start_controller()
        self.until(lambda: all(job["ended_at"] for job in self.jobs()), "not every job ended")
        self.assertEqual({job["state"] for job in self.jobs()}, {"COMPLETED"})
        self.assertLessEqual(len(self.cluster.pilots()), 2)
        self.call("slurm", "disconnect")
        self.until(lambda: not self.status()["connected"], "Slurm is not left")
        self.until_no_pilot()
        self.call("slurm", "disconnect")

    def test_a_server_that_starts_anew_knows_its_pilots(self):
        self.connect()
        job = self.submit("--slots", "4", "--", "sh", "-c", "sleep 15")
        self.until(lambda: self.job(job)["state"] == "RUNNING", "the job does not start")
        pilots = self.cluster.pilots()
        self.kill()
        self.up()
        second = self.submit("--slots", "4", "--", "sh", "-c", "sleep 1")
        self.until(lambda: self.job(second)["state"] == "COMPLETED", "the second job does not end")
        self.assertEqual(len(self.cluster.pilots()), 2)
        self.assertIn(pilots[0], self.cluster.pilots())
        self.until(lambda: self.job(job)["state"] == "COMPLETED", "the first job does not end")
        self.assertEqual(self.job(job)["attempt"], 1)

    def test_jobs_leave_a_pilot_before_its_time_limit(self):
        self.connect("--time", "2m", "--nodes-max", "1")
        script = "trap 'touch saved; exit 75' TERM; [ -e saved ] && exit 0; while :; do sleep 0.1; done"
        job = self.submit("--workdir", str(self.folder), "--signal", "TERM", "--", "sh", "-c", script)
        self.until(lambda: self.job(job)["state"] == "RUNNING", "the job does not start")
        first = self.cluster.pilots()
        node = next(node["name"] for node in self.json("nodes")["nodes"] if node["name"].endswith(f"-{first[0]}"))
        self.until(lambda: "time limit" in str(self.json("node", "show", node)), "the drain is not announced")
        self.until(lambda: self.job(job)["state"] == "COMPLETED", "the job does not go on on another pilot", 240)
        self.until(lambda: self.cluster.state(first[0]) == "CANCELLED", "the first pilot is not given back before its limit")

    def test_sizes_follow_the_pilots(self):
        self.connect("--nodes-max", "1")
        script = "trap 'exit 75' TERM; touch saved-$PACELINE_JOB_ID; while :; do sleep 0.1; done"
        jobs = [self.submit("--slots", "1..4", "--elastic", "restart", "--workdir", str(self.folder), "--checkpoint", "saved-*",
                            "--", "sh", "-c", script) for _ in range(2)]
        sizes = lambda: sorted(self.job(job)["workers"] for job in jobs)
        self.until(lambda: sizes() == [2, 2], "one node is not shared")
        self.connect("--nodes-max", "2")
        self.until(lambda: sizes() == [4, 4], "the jobs do not grow with the second node")

    def test_why_tells_of_slurm(self):
        taken = self.cluster.run("sbatch", "--parsable", "--exclusive", "--nodes=4", "--time=5", "--output=/dev/null", "--wrap=sleep 100").stdout.strip()
        self.addCleanup(self.cluster.run, "scancel", "--me")
        self.until(lambda: self.cluster.state(taken) == "RUNNING", "the nodes are not taken")
        said = self.connect()
        self.assertIn("No node was free to prove", said.stdout)
        waiting = self.submit("--", "true")
        large = self.call("submit", "--slots", "40", "--", "true", check=False)
        self.assertIn("It asks for at least 40 slots, and the cluster would have, with all nodes that may come, 9.", large.stderr)
        self.until(lambda: "1 more node was asked of Slurm" in self.why(waiting), "why does not tell of the pilot")
        self.assertRegex(self.why(waiting), r"\(job \d+, \w+\)")
        self.assertEqual(len(self.cluster.pilots()), 1)
        self.call("cancel", str(waiting))
        self.until(lambda: not self.cluster.pilots(), "a pilot that nobody needs is not taken back")

    def test_a_job_that_needs_longer_than_a_node_lasts_is_told_what_helps(self):
        self.connect("--time", "2m", "--nodes-max", "1")
        job = self.submit("--slots", "4", "--expect", "1h", "--", "sleep", "1")
        self.until(lambda: "It needs about 60 min more, and Slurm's nodes take jobs that are over within 80 s" in self.why(job), "why does not tell")
        self.until(lambda: not self.cluster.pilots(), "a node was asked for that the job can't start on")
        self.connect("--time", "2h", "--nodes-max", "1")
        self.until(lambda: self.job(job)["state"] == "COMPLETED", "the job does not start")

    def test_what_slurm_refuses_is_one_sentence(self):
        for words, said in ((("--partition", "nowhere"), "Slurm refuses such a pilot: "), (("--gres", "gpu:9"), "Slurm refuses such a pilot: "),
                            (("--partition", "closed"), "Slurm refuses such a pilot: "),
                            (("--account", "nobody"), "Slurm refuses such a pilot: Invalid account"), (("--partition", "a b"), "no word of Slurm's"),
                            (("--time", "1m"), "--time must be"), (("--nodes-max", "0"), "--nodes-max")):
            refused = self.call("slurm", "connect", *words, check=False)
            self.assertNotEqual(refused.returncode, 0, words)
            self.assertIn(said, refused.stderr)
            self.assertLessEqual(len(refused.stderr.splitlines()), 2, refused.stderr)
        self.assertFalse(self.status()["connected"])

    def test_losing_slurm_ends_no_job(self):
        """scancel of everything while a job runs: it waits again, with Slurm's reason, and goes on."""
        self.connect("--nodes-max", "1")
        job = self.submit("--", "sh", "-c", "sleep 5")
        self.until(lambda: self.job(job)["state"] == "RUNNING", "the job does not start")
        self.cluster.run("scancel", *map(str, self.cluster.pilots()))
        self.until(lambda: "Slurm ended its pilot (job" in self.why(job), "why does not name the reason")
        self.until(lambda: self.job(job)["state"] == "COMPLETED", "the job does not go on")
        self.assertEqual(self.job(job)["attempt"], 2)

    def test_a_node_that_fails_is_a_loss_with_its_reason(self):
        self.connect("--nodes-max", "1", "--lease", "10s")
        job = self.submit("--", "sh", "-c", "sleep 5")
        self.until(lambda: self.job(job)["state"] == "RUNNING", "the job does not start")
        pilot = self.cluster.pilots()[0]
        node = self.cluster.run("squeue", "-h", "-j", str(pilot), "-o", "%N").stdout.strip()
        self.cluster.control("requeue", str(pilot), check=False)  # pilots aren't to be
        self.addCleanup(self.cluster.control, "update", f"NodeName={node}", "State=RESUME", check=False)  # it may be back by itself
        self.cluster.control("update", f"NodeName={node}", "State=DOWN", "Reason=test")
        self.until(lambda: re.search(r"pilot \(job \d+, NODE_FAIL", self.why(job)), "why does not name the failed node")
        self.until(lambda: self.job(job)["state"] == "COMPLETED", "the job does not go on")

    def test_a_pilot_that_is_preempted_is_a_loss_with_its_reason(self):
        for partition in ("cancelled", "requeued"):
            with self.subTest(partition):
                self.connect("--partition", partition, "--nodes-max", "1")
                (self.folder / "begun").unlink(missing_ok=True)
                job = self.submit("--retry", "0", "--workdir", str(self.folder), "--", "sh", "-c", ONCE_LONG)
                self.until((self.folder / "begun").exists, "the job does not start")
                pilot = self.cluster.pilots("RUNNING")[0]
                node = self.cluster.node_of(pilot)
                self.cluster.take("--partition=urgent", f"--nodelist={node}")
                self.until(lambda: f"Slurm ended its pilot (job {pilot}, PREEMPTED)" in self.why(job), "why does not name the reason")
                self.until(lambda: self.job(job)["state"] == "COMPLETED", "the job does not go on elsewhere")
                self.assertEqual(self.cluster.state(pilot), "PREEMPTED", "Slurm starts it no more")
                self.assertEqual((self.job(job)["attempt"], self.job(job)["retries_used"]), (2, 0))
                self.assertEqual((self.folder / "begun").read_text().split(), ["1", "2"])
                self.assertNotIn(node, [self.cluster.node_of(other) for other in self.cluster.pilots("RUNNING")])
                self.cluster.run("scancel", "--me")
                self.until_no_pilot()
                self.until(lambda: not any(node["joined"] and node["state"] == "up" for node in self.json("nodes")["nodes"]),
                           "the last pilot's node is still there")

    def test_a_pilot_is_requeued_only_where_somebody_insists(self):
        """Slurm is asked not to. Where its user overrules that, the pilot joins no second time, and what ran there goes on elsewhere."""
        self.connect("--nodes-max", "1")
        job = self.submit("--retry", "0", "--workdir", str(self.folder), "--", "sh", "-c", ONCE_LONG)
        self.until((self.folder / "begun").exists, "the job does not start")
        pilot = self.cluster.pilots()[0]
        node = f"{self.cluster.node_of(pilot)}-{pilot}"
        refused = self.cluster.run("scontrol", "requeue", str(pilot), check=False)
        self.assertIn("disabled", refused.stderr)
        self.assertEqual(self.cluster.state(pilot), "RUNNING")
        self.cluster.run("scontrol", "update", f"JobId={pilot}", "Requeue=1")
        self.cluster.run("scontrol", "requeue", str(pilot))
        self.until(lambda: f"It was lost with node {node}: Slurm ended its pilot (job {pilot}, requeued)" in self.why(job),
                   "why does not name the reason")
        self.until(lambda: self.job(job)["state"] == "COMPLETED", "the job does not go on")
        self.assertEqual((self.job(job)["attempt"], self.job(job)["retries_used"]), (2, 0))
        self.assertNotIn(pilot, self.cluster.pilots(), "it came back")

    def test_what_a_requeued_pilot_ran_goes_on_though_slurm_holds_the_pilot_back(self):
        self.connect("--nodes-max", "1")
        job = self.submit("--retry", "0", "--workdir", str(self.folder), "--", "sh", "-c", ONCE_LONG)
        self.until((self.folder / "begun").exists, "the job does not start")
        pilot = self.cluster.pilots()[0]
        self.cluster.run("scontrol", "update", f"JobId={pilot}", "Requeue=1")
        self.cluster.run("scontrol", "requeuehold", str(pilot))
        self.until(lambda: self.job(job)["state"] == "COMPLETED", "the job does not go on elsewhere")
        self.assertEqual(self.job(job)["attempt"], 2)

    def test_a_gang_beyond_what_a_partition_has_waits_and_holds_nobody_up(self):
        """Two nodes, ten minutes."""
        self.connect("--partition", "small", "--nodes-max", "4", "--time", "10m")
        gang = self.submit("--slots", "12", "--", "true")
        told = re.compile(r"needs 12 slots, 8 free now\..* 1 more node was asked of Slurm \d+ s ago \(job \d+, Resources\)\.")
        self.until(lambda: told.search(self.why(gang)), "why does not tell of the third node")
        self.assertEqual(len(self.cluster.pilots("RUNNING")), 2)
        small = self.submit("--slots", "4", "--", "true")
        self.until(lambda: self.job(small)["state"] == "COMPLETED", "the gang holds another job up")
        self.assertEqual(self.job(gang)["state"], "PENDING")
        self.call("cancel", gang)
        self.until(lambda: not self.cluster.pilots("PENDING"), "the third node is not taken back")
        self.call("slurm", "disconnect", "--yes")
        self.until_no_pilot()
        self.connect("--partition", "small", "--time", "1h")
        job = self.submit("--", "true")
        self.until(lambda: "PartitionTimeLimit" in self.why(job), "why does not name the limit")
        self.assertRegex(self.why(job), r"1 more node was asked of Slurm \d+ s ago \(job \d+, PartitionTimeLimit\)\.")
        self.assertEqual(len(self.cluster.pilots()), 1)

    def test_without_slurm_connect_is_one_sentence(self):
        """On a machine that has everything else."""
        self.down()
        programs = self.folder / "bin"
        programs.mkdir()
        for folder in self.environment["PATH"].split(":"):
            for program in Path(folder).iterdir() if Path(folder).is_dir() else ():
                if program.name not in cluster.PROGRAMS and not (programs / program.name).exists():
                    (programs / program.name).symlink_to(program)
        self.environment["PATH"] = str(programs)
        self.up()
        self.assert_refused(66, "There is no 'sbatch' on this machine.", "Run the server where Slurm's commands are: on a login node of the cluster.")
        job = self.submit("--", "true")
        self.assertNotIn("Slurm", self.why(job))

    def test_connect_again_replaces_what_slurm_has_not_started(self):
        self.connect("--partition", "small", "--time", "1h")
        job = self.submit("--", "true")
        self.until(lambda: "PartitionTimeLimit" in self.why(job), "why does not name the limit")
        self.connect("--partition", "small", "--time", "10m")
        self.until(lambda: self.job(job)["state"] == "COMPLETED", "the job does not start")

    @unittest.skipUnless(shutil.which("cc"), "without a C compiler")
    def test_two_pilots_of_one_node_use_the_gpus_that_each_was_given(self):
        self.cluster.install_driver()
        self.connect("--partition", "single", "--gres", "gpu:2")
        script = "echo sees $CUDA_VISIBLE_DEVICES; until [ -e over ]; do sleep 0.1; done"
        jobs = [self.submit("--workdir", str(self.folder), "--", "sh", "-c", script) for _ in range(4)]
        self.until(lambda: all(self.job(job)["state"] == "RUNNING" for job in jobs), "not all of them run")
        seen = {}
        for job in jobs:
            self.until(lambda: "sees" in self.call("logs", job).stdout, "the script tells nothing")
            seen.setdefault(self.job(job)["gang"][0]["node"], []).append(re.search(r"sees (.*)", self.call("logs", job).stdout).group(1))
        given = {f"n3-{pilot}": [f"GPU-{number}" for number in self.cluster.gpus_of(pilot)] for pilot in self.cluster.pilots()}
        self.assertEqual({node: sorted(devices) for node, devices in seen.items()}, given)
        self.assertEqual(sorted(sum(given.values(), [])), ["GPU-0", "GPU-1", "GPU-2", "GPU-3"])
        (self.folder / "over").touch()
        self.until(lambda: all(self.job(job)["state"] == "COMPLETED" for job in jobs), "they do not end")


class ApartTest(Guest):
    """Nodes that are machines of their own."""

    kind = ApartCluster

    def test_a_gang_over_two_pilots_talks(self):
        self.connect()
        (self.folder / "sum.py").write_text(SUM)
        job = self.submit("--slots", "8", "--workdir", str(self.folder), "--", "/usr/bin/python3", "sum.py")
        self.until(lambda: self.job(job)["ended_at"], "the gang does not end")
        logs = self.call("logs", job).stdout
        self.assertEqual(self.job(job)["state"], "COMPLETED", logs)
        said = re.findall(r"rank (\d) of 8 on (n\d): 28$", logs, re.M)
        self.assertEqual(sorted(rank for rank, _ in said), list("01234567"), logs)
        self.assertEqual({node for _, node in said}, {self.cluster.node_of(pilot) for pilot in self.cluster.pilots()})
        self.assertEqual(len({node for _, node in said}), 2, "it ran on one")

    def test_a_gang_over_two_pilots_of_one_node_talks(self):
        """Slurm puts what is small on one node."""
        self.connect("--partition", "single", "--gres", "gpu:2")
        (self.folder / "sum.py").write_text(SUM)
        job = self.submit("--slots", "4", "--workdir", str(self.folder), "--", "/usr/bin/python3", "sum.py")
        self.until(lambda: self.job(job)["ended_at"], "the gang does not end")
        logs = self.call("logs", job).stdout
        self.assertEqual(self.job(job)["state"], "COMPLETED", logs)
        said = re.findall(r"rank (\d) of 4 on n3: 6$", logs, re.M)
        self.assertEqual(sorted(said), list("0123"), logs)
        self.assertEqual(len(self.cluster.pilots()), 2)

    def test_what_a_node_does_not_find_is_one_sentence(self):
        login = self.cluster.machines[LOGIN]
        login.run("ip", "address", "add", "10.88.0.1/24", "dev", "lo")
        job = self.submit("--", "true")
        for machine in self.nodes():
            machine.run("mount", "-t", "tmpfs", "tmpfs", self.folder)
        self.assert_refused(76, f"'{self.program}' is no program on Slurm's nodes.",
                            "Start the server from a file system that the nodes share, by its path there.")
        for machine in self.nodes():
            machine.run("umount", self.folder)
        self.again("10.88.0.1:0")
        self.assert_refused(76, f"Slurm's nodes can't reach {self.address}.",
                            "Start the server with --listen and an address of this machine that the nodes reach.")
        self.again(f"{login.address}:0")
        self.assertEqual(self.job(job)["state"], "PENDING")
        self.assertIn("A node of it reached this server", self.connect().stdout)
        self.until(lambda: self.job(job)["state"] == "COMPLETED", "the job does not start")

    def test_a_server_of_root_asks_slurm_for_nothing_and_a_users_node_is_for_his_jobs_alone(self):
        """A user may lend it what Slurm gave him."""
        self.down()
        self.uid, self.address = 0, None
        self.environment["PACELINE_DIR"] = str(self.cluster.root / "server-of-root")
        self.up()
        self.assert_refused(76, "This server is root's, and pilots are no job for root.",
                            "Start one of your own on the login node: 'paceline up --listen ADDRESS:PORT'.")
        self.call("drain", self.own_node(), "--keep", "--reason", "login node")
        line = self.call("node", "invite").stdout.strip()
        lent = self.cluster.run("sbatch", "--parsable", "--output=/dev/null", f"--wrap=PATH={self.folder}:$PATH; {line} --dir {self.folder}/lent --slots 4")
        self.until(lambda: len(self.json("nodes")["nodes"]) == 2, "the user's node does not join")
        node = self.cluster.node_of(lent.stdout.strip())
        others, own = (int(self.call("submit", "--parsable", "--workdir", "/", "--", "hostname", uid=uid).stdout) for uid in (OTHER_UID, UID))
        self.until(lambda: self.job(own)["state"] == "COMPLETED", "the user's own job does not start")
        self.assertIn(f"\n{node}\n", self.call("logs", own).stdout)
        self.assertIn(f"needs nodes that serve more users than '{USER}'; 4 slots are free elsewhere.", self.why(others))
        self.assertIn(f"{node} starts only jobs of {USER}\n", self.call("nodes").stdout)
        self.assertEqual(self.job(others)["state"], "PENDING")

    def nodes(self):
        return [machine for name, machine in self.cluster.machines.items() if name != LOGIN]

    def again(self, listen):
        """The server, started anew to listen there."""
        self.down()
        self.address, self.listen = None, listen
        self.up()


class PageTest(Guest):
    """What docs/slurm.md says, typed."""

    drains_itself = False

    def test_the_page(self):
        page = (Path(__file__).resolve().parents[2] / "docs/slurm.md").read_text()
        commands = [re.sub(r"\s+# .*", "", line) for block in re.findall(r"^```sh\n(.*?)^```$", page, re.M | re.S)
                    for line in block.splitlines()]
        up, drain, connect, submit, status, disconnect = commands
        self.assertIn("--listen", up)  # the server of this test is there already
        (self.folder / "train.py").write_text("import time\nfor _ in range(40): time.sleep(0.1)\n")
        self.type(drain)
        self.assertIn("Connected: jobs that wait get up to 4 nodes of Slurm's. A node of it reached this server.", self.type(connect))
        job = int(re.search(r"\d+", self.type(submit)).group())
        self.until(lambda: self.job(job)["state"] == "COMPLETED", "the job does not end")
        self.assertRegex(self.type(status), r"could grow to 4 nodes of 4 slots, each for 8h00m\.\n *JOB")
        self.assertIn("Disconnected", self.type(disconnect))
        self.until(lambda: not self.status()["connected"], "Slurm is not left")
        self.until_no_pilot()

    def type(self, line):
        done = self.cluster.run("bash", "-c", f"cd {self.folder} && {line}", check=False,
                                environment={**self.environment, "PATH": f"{self.folder}:{self.environment['PATH']}"})
        self.assertEqual(done.returncode, 0, f"{line}: {done.stderr}")
        return done.stdout


if __name__ == "__main__":
    unittest.main()
