"""Every built-in policy takes its turn, again and again, while jobs that checkpoint run on a real server: each job
completes, no step of any is lost or done twice, and no process is left."""

import os
import sys
import time
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "script"))
from box import Box

BINARY = os.environ.get("PACELINE_BINARY", ROOT / "build/release/paceline")
JOBS, STEPS, SLOTS, SWITCHES = 24, 60, 6, 60

# Counts steps of 20 ms on rank 0 while the others wait; saves where it is when it is told to leave. Rank 0 begins once
# all others would hear that, as a gang would that trains together: who is killed before has not ended well.
SCRIPT = '''
import glob, json, os, signal, sys, time
if os.path.exists("done"):  # a notice came while it ended
    sys.exit(0)
rank = int(os.environ["RANK"])
leave = []
signal.signal(signal.SIGTERM, lambda *_: leave.append(1))
up = "up-" + os.environ["PACELINE_GENERATION"] + "-"
open(up + str(rank), "w").close()
while rank == 0 and not leave and len(glob.glob(up + "*")) < int(os.environ["WORLD_SIZE"]):
    time.sleep(0.005)
saved = sorted(glob.glob("ckpt-*"))
step = int(saved[-1].rsplit("-", 1)[1]) if saved else 0
while step < int(sys.argv[1]) and not leave:
    time.sleep(0.02)
    if rank == 0:
        step += 1
        with open("steps", "a") as out:
            out.write(f"{step}\\n")
    elif os.path.exists("done"):
        sys.exit(0)
if rank == 0 and step < int(sys.argv[1]):
    with open("part", "w") as out:
        out.write(str(step))
    os.rename("part", f"ckpt-{step:06d}")
elif rank == 0:
    open("done", "w").close()
'''


class PoliciesTest(unittest.TestCase):
    def submit(self, box, number):
        size = ["1", "2", "1..3", "2..4@2"][number % 4]
        return box.submit("--slots", size, "--name", f"job-{number % 5}", "--elastic", "restart", "--min-run", "100ms",
                          "--expect", f"{1 + number % 3}s", "--workdir", str(self.folder(box, number)),
                          "--checkpoint", "ckpt-*", "--", sys.executable, "-c", SCRIPT, str(STEPS))

    def folder(self, box, number):
        folder = box.directory / f"training-{number}"
        folder.mkdir(exist_ok=True)
        return folder

    def test_no_switch_loses_or_repeats_a_step(self):
        with Box(BINARY, slots=SLOTS) as box:
            jobs = [self.submit(box, number) for number in range(JOBS)]
            policies = [policy["name"] for policy in box.json("policy", "list")["policies"]]
            self.assertGreaterEqual(len(policies), 12)
            for switch in range(SWITCHES):
                box.call("policy", "set", policies[switch % len(policies)], "--yes")
                time.sleep(0.2)
            ended = {job["id"]: job for job in box.wait_all(seconds=300)}
            self.assertEqual(sorted(ended), sorted(jobs), "a job was lost or made up")
            self.assertEqual({job["state"] for job in ended.values()}, {"COMPLETED"})
            for number, job in enumerate(jobs):
                steps = [int(line) for line in (self.folder(box, number) / "steps").read_text().split()]
                self.assertEqual(steps, list(range(1, STEPS + 1)), f"job {job}")
            self.assertEqual(box.processes(), [], "a process was left behind")

    def test_a_script_whose_words_are_slow_holds_nobody_up(self):
        """To read thousands of digits is a few instructions, and takes far longer; loading it shows nothing of that."""
        box = Box(BINARY, slots=1)
        self.addCleanup(box.close)
        box.up("--limit", "script-time=2s")
        script = box.directory / "slow.lua"
        script.write_text("function decide(cluster)\n"
                          "  local digits = '0.' .. string.rep('123456789', 450)\n"
                          "  for _, job in ipairs(cluster.waiting) do\n"
                          "    for i = 1, job.name == 'heavy' and 1e9 or 0 do local number = tonumber(digits) end\n"
                          "  end\n"
                          "  return {}\n"
                          "end\n")
        box.call("policy", "load", str(script))
        box.call("policy", "set", "slow", "--yes")
        for _ in range(2):
            box.submit("--name", "heavy", "--", "true")
        self.assertEqual({job["state"] for job in box.wait_all(seconds=120)}, {"COMPLETED"})
        self.assertIn("The policy slow computes for more than 2 seconds.", box.call("policy", "show", "slow").stdout)

    def test_patience_is_as_long_as_the_server_is_told(self):
        with Box(BINARY, slots=1) as box:
            box.submit("--", "sleep", "600")
            waits = box.submit("--", "true")
            for patience, policy, span in (("1h", None, 3600), ("off", None, None), ("auto", None, 1800), ("1h", "2h", 7200)):
                with self.subTest(patience=patience, policy=policy):
                    box.kill()
                    box.up("--patience", patience)
                    if policy:
                        box.call("policy", "set", "elastic-fifo", "--patience", policy)
                    told = box.json("why", str(waits))["waits"]
                    until = told and told["patience_until"]
                    self.assertEqual(until and round(until - box.job(waits)["submitted_at"], -1), span)
            box.kill()
            refused = box.call("up", "--slots", "1", "--patience", "soon", check=False)
            self.assertEqual(refused.returncode, 64, refused.stderr)

    def test_who_cannot_save_is_frozen_for_others_and_loses_nothing(self):
        with Box(BINARY, slots=1, policy="srtf") as box:
            steps = self.folder(box, 0) / "steps"
            size = ("--slots", "1", "--memory", "512M", "--min-run", "100ms")
            frozen = box.submit(*size, "--expect", "60s", "--workdir", str(steps.parent), "--",
                                sys.executable, "-c", SCRIPT, "200")
            box.wait_state(frozen, "RUNNING")
            while not steps.exists():
                time.sleep(0.05)
            short = box.submit(*size, "--expect", "1s", "--", "sleep", "10")
            box.wait_state(frozen, "PAUSED")
            box.wait_state(short, "RUNNING")
            self.assertIn("in slots that job 2 has now", box.call("why", str(frozen)).stdout)
            box.kill()
            done = steps.read_text()
            box.up()
            self.assertEqual(box.job(frozen)["state"], "PAUSED")
            self.assertEqual(steps.read_text(), done, "it works while it is frozen")
            ended = {job["id"]: job for job in box.wait_all(seconds=120)}
            self.assertEqual({job["state"] for job in ended.values()}, {"COMPLETED"})
            self.assertEqual([int(line) for line in steps.read_text().split()], list(range(1, 201)))
            self.assertEqual([ended[frozen][key] for key in ("generation", "preemptions")], [1, 1])
            self.assertEqual(box.processes(), [], "a process was left behind")

    def test_a_promotion_and_the_way_back_say_first_whom_they_cost_what(self):
        box = Box(BINARY, slots=4)
        self.addCleanup(box.close)
        box.up("--policy", "elastic-srtf", "--reclaim-after", "0s")
        disturbed = ("--min-run", "0s")
        wide = box.submit(*disturbed, "--slots", "1..2", "--elastic", "restart", "--expect", "1h", "--", "sleep", "600")
        long = box.submit(*disturbed, "--slots", "2", "--expect", "2h", "--", "sleep", "600")
        for job in (wide, long):
            box.wait_workers(job, 2)
        box.call("policy", "set", "fifo")
        urgent = box.submit("--slots", "3", "--priority", "90", "--expect", "1s", "--", "sleep", "600")
        box.call("policy", "try", "elastic-srtf")
        costs = (rf"shrink job {wide} of \S+ from 2 to 1 worker, which loses \w+; "
                 rf"stop job {long} of \S+, which never saved and loses \w+\.")
        for switch in ("promote", "rollback"):
            refused = box.call("policy", switch, check=False)
            self.assertEqual((refused.returncode, refused.stdout), (76, ""))
            self.assertRegex(refused.stderr, f"With elastic-srtf the next round would {costs}")
            self.assertIn(f"Nothing was changed. If that is wanted: 'paceline policy {switch} --yes'.", refused.stderr)
        self.assertIn("fifo is active since", box.call("policy", "show").stdout)
        stand = [(job["state"], job["workers"], job["preemptions"]) for job in map(box.job, (wide, long, urgent))]
        self.assertEqual(stand, [("RUNNING", 2, 0), ("RUNNING", 2, 0), ("PENDING", 0, 0)])
        done = box.call("policy", "rollback", "--yes").stdout
        self.assertRegex(done, f"The policy is elastic-srtf now; it was fifo. The next round is to {costs}")
        box.wait_workers(urgent, 3)
        box.wait_workers(wide, 1)
        self.assertEqual(box.job(long)["state"], "PENDING")
        back = box.call("policy", "rollback").stdout
        self.assertEqual(back, "The policy is fifo now; it was elastic-srtf. Its first round restarts nothing.\n")

    def compared(self, box):
        """Jobs come and go until the trial has compared a round with the live policy's."""
        for _ in range(100):
            box.submit("--slots", "1", "--expect", "1s", "--", "true")
            box.wait_all(seconds=60)
            trial = box.json("policy", "diff")
            if trial["rounds"] > 0:
                return trial
        return self.fail(f"no round was compared: {trial}")

    def test_a_trial_outlives_the_server(self):
        with Box(BINARY, slots=2, policy="fifo") as box:
            box.call("policy", "try", "las", "--threshold", "60")
            begun = self.compared(box)
            self.assertEqual(begun["counted_since"], begun["since"])
            for stop in (box.kill, box.down):
                stop()
                box.up()
                again = self.compared(box)
                self.assertEqual([again[key] for key in ("name", "parameters", "live", "since", "failed")],
                                 ["las", {"threshold": "60"}, "fifo", begun["since"], 0])
                self.assertGreater(again["counted_since"], begun["counted_since"])
                self.assertIn("The server started again", box.call("policy", "diff").stdout)
            box.call("policy", "drop")
            box.kill()
            box.up()
            self.assertIn("No policy is tried.", box.call("policy", "diff", check=False).stderr)


if __name__ == "__main__":
    unittest.main()
