"""A machine that lacks space, inodes, descriptors or processes: no job pays for it, everybody is told, and all goes on once there is room.

Runs in a mount and a pid namespace of its own, with the server's directory on a small disk.
"""

import os
import resource
import socket
import subprocess
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "script"), str(ROOT / "tests/e2e")]
from box import Box
from boxes import APART, BINARY, SmallDisk, go_apart

WAITING = 6

# Runs until the file is there.
UNTIL = 'while [ ! -e "$0" ]; do sleep 0.05; done'


class WantsTest(unittest.TestCase):
    def small_disk(self, options):
        disk = SmallDisk(2, options)
        self.addCleanup(disk.close)
        return disk, disk.box

    def submit_all(self, box, go):
        """Two that run until `go` is there, and others that wait for their slots; none may be tried a second time."""
        running = [box.submit("--retry", "0", "--", "sh", "-c", UNTIL, str(go)) for _ in range(2)]
        for job in running:
            box.wait_state(job, "RUNNING")
        return running, [box.submit("--retry", "0", "--", "true") for _ in range(WAITING)]

    def refusal(self, box):
        return box.json("nodes")["nodes"][0]["refusal"]

    def expect_all_well(self, box, jobs):
        ended = {job["id"]: job for job in box.wait_all(seconds=120)}
        self.assertEqual({ended[job]["state"] for job in jobs}, {"COMPLETED"})
        self.assertEqual({ended[job]["retries_used"] for job in jobs}, {0})
        self.assertEqual(box.processes(), [])

    def survives(self, disk, fill):
        box = disk.box
        running, waiting = self.submit_all(box, disk.go)
        fill()
        disk.go.touch()
        box.until(lambda: self.refusal(box), 60, "the node says nothing of its want")
        self.assertIn("make room", self.refusal(box)["why"])
        self.assertRegex(box.call("nodes").stdout, r"(starts nothing before .*|is unhealthy): .*make room")
        self.assertIn("starts nothing", box.call("why", str(waiting[-1])).stdout)
        refused = box.call("submit", "--", "true", check=False)
        self.assertEqual(refused.returncode, 74)
        self.assertIn("Little room is left", refused.stderr)
        box.call("cancel", str(waiting.pop()))  # out of the reserve
        states = {job["id"]: job["state"] for job in box.jobs()}
        self.assertEqual({states.pop(job) for job in running} - {"RUNNING", "STOPPING", "COMPLETED"}, set())
        self.assertEqual(set(states.values()) - {"PENDING", "STARTING", "STOPPING", "COMPLETED", "CANCELLED"}, set())
        disk.make_room()
        self.expect_all_well(box, running + waiting)
        box.wait_state(box.submit("--", "true"), "COMPLETED")
        self.assertIsNone(self.refusal(box))

    def test_a_full_disk_ends_no_job(self):
        disk, _ = self.small_disk("size=64m")
        self.survives(disk, disk.fill_blocks)

    def test_a_disk_without_inodes_ends_no_job(self):
        disk, _ = self.small_disk("size=64m,nr_inodes=2000")
        self.survives(disk, disk.fill_inodes)

    def test_connections_take_no_job_its_descriptors(self):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        disk = None
        with Box(BINARY, slots=2) as box:
            go = Path(f"{box.directory}.go")
            self.addCleanup(go.unlink, missing_ok=True)
            subprocess.run(["prlimit", "--pid", str(box.server.pid), "--nofile=160:160"], check=True)
            running, waiting = self.submit_all(box, go)
            held = []
            for _ in range(300):
                try:
                    connection = socket.socket(socket.AF_UNIX)
                    connection.settimeout(5)
                    connection.connect(str(box.directory / "paceline.sock"))
                    held.append(connection)
                except OSError:
                    break
            go.touch()
            starts = box.directory / "logs"
            box.until(lambda: len(list(starts.glob("*/rank0.log"))) == len(running) + len(waiting), 120,
                       "not every job was started while connections were held")
            for connection in held:
                connection.close()
            self.expect_all_well(box, running + waiting)

    def test_no_process_left_ends_no_job(self):
        group = self.group_of_processes()
        with Box(BINARY, slots=2) as box:
            go = Path(f"{box.directory}.go")
            self.addCleanup(go.unlink, missing_ok=True)
            for pid in [box.server.pid, *self.children(box.server.pid)]:
                (group / "cgroup.procs").write_text(str(pid))
            running, waiting = self.submit_all(box, go)
            taken = int((group / "pids.current").read_text())
            (group / "pids.max").write_text(str(taken - 4))
            go.touch()
            box.until(lambda: self.refusal(box), 60, "the node says nothing of its want")
            self.assertIn("limit of processes", self.refusal(box)["why"])
            (group / "pids.max").write_text("max")
            self.expect_all_well(box, running + waiting)

    def group_of_processes(self):
        """A control group whose processes can be counted and bounded."""
        for parent in (Path("/sys/fs/cgroup/pids"), Path("/sys/fs/cgroup")):
            group = parent / f"paceline-wants-{os.getpid()}"
            try:
                group.mkdir()
            except OSError:
                continue
            self.addCleanup(group.rmdir)
            if (group / "pids.max").exists():
                return group
        self.skipTest("this user can't bound the number of processes")

    def children(self, pid):
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


if __name__ == "__main__":
    if APART not in os.environ:
        go_apart()
    unittest.main()
