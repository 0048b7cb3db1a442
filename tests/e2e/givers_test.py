"""Who gives way on a real server: the job that loses least; one that never saved is asked first, its owner told at once, and it
goes on for as long as the rules say; and a switch of policies says before it is made what it would stop and lose."""

import json
import os
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from people import BINARY, OTHER, OWNER, SharedBox, add_people
from box import Box


def setUpModule():
    if os.geteuid() == 0:
        add_people()


class RulesTest(unittest.TestCase):
    def reclaim_after(self, box):
        return box.json("rules")["reclaim_after_seconds"]

    def test_a_rule_holds_until_another_is_said(self):
        with Box(BINARY, slots=1) as box:
            self.assertEqual(self.reclaim_after(box), 600)
            box.kill()
            box.up("--reclaim-after", "5m")
            self.assertEqual(self.reclaim_after(box), 300)
            box.call("rules", "--reclaim-after", "7m")
            box.kill()
            box.up()
            self.assertEqual(self.reclaim_after(box), 420)
            told = [event for event in box.call("events", "-o", "json").stdout.splitlines() if '"rules_set"' in event]
            self.assertEqual(len(told), 3, "the default, the option, the command; a start that changes nothing is silent")


@unittest.skipUnless(os.geteuid() == 0, "only root can act for several users")
class VictimsTest(SharedBox):
    """Two jobs of one user's hold both slots; another user's waits."""

    def hold_all(self):
        # The older one has run for longer: of two that never saved it loses more.
        self.first, self.second = (self.job(OWNER, f"{name}*.pt") for name in ("first", "second"))
        self.waits = self.job(OTHER, "")
        self.assertEqual(self.state(self.waits), "PENDING")

    def job(self, uid, checkpoint):
        job = self.submit(uid, {"checkpoint": checkpoint} if checkpoint else {}, ["sleep", "600"])
        if uid == OWNER:
            self.until(lambda: self.state(job) == "RUNNING", f"job {job} does not run")
        return job

    def state(self, job):
        return self.shown(job)["state"]

    def shown(self, job):
        return self.get(OWNER, f"/v1/jobs/{job}")

    def save(self, name):
        path = self.home / f"{name}.pt"
        path.write_text("weights")
        os.chown(path, OWNER, OWNER)

    def switch(self, *options):
        return self.box.call("policy", "set", "fair", *options, check=False)

    def next_round(self):
        status, text = self.ask(0, "PUT", "/v1/policy?dry_run=1", json.dumps({"name": "fair"}))
        self.assertEqual(status, 200, text)
        return json.loads(text)["next_round"]

    def assert_gave_way(self, giver, other):
        self.until(lambda: self.state(self.waits) == "RUNNING", "nobody gave way")
        self.assertEqual(self.shown(giver)["preemptions"], 1)
        self.assertEqual([self.shown(other)[key] for key in ("state", "generation", "preemptions")], ["RUNNING", 1, 0])

    def test_who_saved_gives_way_and_a_switch_says_so_first(self):
        self.hold_all()
        self.save("first")
        self.until(lambda: self.shown(self.first)["checkpoint"], "no checkpoint was seen")
        self.until(lambda: self.next_round()["jobs"], "who has just started and saved is never stopped")
        refused = self.switch()
        self.assertEqual(refused.returncode, 76, refused.stderr)
        self.assertIn(f"With fair the next round would stop job {self.first} of paceline-owner, which loses", refused.stderr)
        self.assertNotIn(f"job {self.second} ", refused.stderr)
        self.assertIn("paceline policy set fair --yes", refused.stderr)
        self.assertEqual(self.box.json("policy", "list")["active"]["name"], "elastic-fifo", "nothing was changed")
        told = self.switch("--yes")
        self.assertEqual(told.returncode, 0, told.stderr)
        self.assertIn(f"The next round is to stop job {self.first} of paceline-owner", told.stdout)
        self.assertNotIn("restarts nothing", told.stdout)
        self.assert_gave_way(self.first, self.second)

    def test_who_never_saved_is_asked_told_and_stopped_once_its_time_is_up(self):
        self.hold_all()
        refused = self.switch()
        self.assertEqual(refused.returncode, 76, refused.stderr)
        self.assertIn(f"ask job {self.second} of paceline-owner to save and give way, which never saved", refused.stderr)
        self.assertEqual(self.switch("--yes").returncode, 0)
        self.until(lambda: self.shown(self.second)["asked"], "nobody is asked")
        asked = self.shown(self.second)["asked"]
        self.assertEqual(asked["by"], self.waits)
        self.assertAlmostEqual(asked["stops_at"], asked["since"] + 600, delta=1)
        self.assertIsNone(self.shown(self.first)["asked"])
        reason = f"is asked for 1 slot by job {self.waits}"
        self.assertIn(reason, self.shown(self.second)["reason"])
        self.assertIn(reason, self.get(OWNER, f"/v1/jobs/{self.second}/why")["lines"][0])
        self.assertIn("Asked", self.box.call("show", str(self.second)).stdout)
        self.assertIn(reason, self.box.call("queue", "--no-header").stdout)
        self.assertIn(f"asks job {self.second} to save and give way to job {self.waits} within ", self.box.call("events").stdout)
        self.assertEqual([self.state(job) for job in (self.first, self.second, self.waits)], ["RUNNING", "RUNNING", "PENDING"])
        self.box.call("rules", "--reclaim-after", "8s")
        self.until(lambda: self.state(self.waits) == "RUNNING", "it was not stopped")
        self.assertGreaterEqual(self.shown(self.waits)["started_at"], asked["since"] + 8, "it was stopped before its time")
        self.assert_gave_way(self.second, self.first)

    def test_who_saves_meanwhile_is_stopped_at_once(self):
        self.hold_all()
        self.switch("--yes")
        self.until(lambda: self.shown(self.second)["asked"], "nobody is asked")
        self.save("second")
        self.assert_gave_way(self.second, self.first)  # long before the ten minutes are over
        self.assertIsNotNone(self.shown(self.second)["checkpoint"])

    def test_a_dry_run_is_roots_and_changes_nothing(self):
        self.hold_all()
        self.assertEqual(self.ask(OTHER, "PUT", "/v1/policy?dry_run=1", json.dumps({"name": "fair"}))[0], 403)
        before = self.get(0, "/v1/server")["seq"]
        effect, = self.next_round()["jobs"]
        self.assertEqual([effect[key] for key in ("id", "what", "by", "never_saved")],
                         [self.second, "asks", self.waits, True])
        self.assertEqual(self.get(0, "/v1/server")["seq"], before)
        self.assertEqual(self.box.call("policy", "set", "fifo").stdout,
                         "The policy is fifo now; it was elastic-fifo. Its first round restarts nothing.\n")


if __name__ == "__main__":
    unittest.main()
