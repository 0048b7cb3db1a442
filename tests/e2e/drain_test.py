"""Machines that are emptied: with another machine beside them, with a deadline, announced; and over a restart."""

import json
import re
import subprocess
import sys
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from agents_test import THERE, BoxWithAgents
from people import BINARY, OTHER, OWNER, add_people

# Goes on from its file, saves a hundred times a second, and after a notice leaves with what it has.
COUNTS = """
import json, os, signal, sys, time
at = {"step": 0}
if os.path.exists("at.json"):
    at = json.load(open("at.json"))
leave = []
signal.signal(signal.SIGTERM, lambda *_: leave.append(1))
while not os.path.exists("enough"):
    at["step"] += 1
    print(json.dumps({"paceline": {"step": at["step"]}}), flush=True)
    with open("at.new", "w") as file:
        json.dump(at, file)
    os.replace("at.new", "at.json")
    if at["step"] % 10 == 0 or leave:
        print(json.dumps({"paceline": {"checkpoint": os.path.abspath("at.json"), "step": at["step"]}}), flush=True)
    if leave:
        sys.exit(75)
    time.sleep(0.01)
"""

SAVES_SLOWLY = Path(__file__).resolve().with_name("saves_slowly.py")


def setUpModule():
    add_people()


class DrainTest(BoxWithAgents):
    options = (*BoxWithAgents.options, "--limit", "failing-owners=2")

    def counting(self, spec=()):
        job = self.submit(OWNER, dict(spec), ["python3", "-c", COUNTS])
        self.await_state(job, "RUNNING")
        self.until(lambda: self.job(job)["checkpoint"], f"job {job} saves nothing")
        return job

    def node_of(self, job):
        for node in self.box.json("nodes")["nodes"]:
            if any(slot["job"] == job for slot in node["slots"]):
                return node["name"]
        return None

    def drain(self, *words, code=0):
        done = self.box.call("drain", *words, check=False)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def steps(self, job):
        lines = self.box.call("logs", str(job)).stdout.splitlines()
        return [json.loads(line)["paceline"]["step"] for line in lines
                if line.startswith('{"paceline"') and "checkpoint" not in line]

    def test_a_job_moves_to_another_machine_and_back_without_losing_a_step(self):
        self.joined("a")
        self.joined("b")
        job = self.counting(THERE)
        here = self.node_of(job)
        there = "b" if here == "a" else "a"
        said = self.drain(here, "--reason", "new kernel")
        self.assertIn(f"job {job} of paceline-owner moves to other nodes", said)
        self.assertTrue(said.endswith(f"{here} is empty.\n"), said)
        self.until(lambda: self.node_of(job) == there, "it is not there")
        self.assertIn(f"leaves node {here} (new kernel), which drains", self.box.call("why", str(job)).stdout)
        self.assertRegex(self.box.call("nodes").stdout, rf"(?m)^{here} +drained ")
        self.box.call("undrain", here)
        self.await_state(job, "RUNNING")
        self.drain(there)
        self.until(lambda: self.node_of(job) == here, "it did not come back")
        (self.home / "enough").touch()
        shown = self.await_state(job, "COMPLETED")
        last = shown["progress"]["step"]
        self.until(lambda: sorted(self.steps(job)) == list(range(1, last + 1)), "not each step once")
        self.assertEqual(shown["retries_used"], 0)

    def server_node(self):
        return next(node["name"] for node in self.box.json("nodes")["nodes"] if node["name"] != "other")

    def test_what_cannot_leave_is_stopped_at_the_end_only_if_that_is_wanted(self):
        node = self.server_node()
        job = self.submit(OWNER, {"elastic": "no"}, ["sh", "-c", "echo begun; exec sleep 1000"])
        self.await_state(job, "RUNNING")
        said = self.drain(node, "--within", "1s", code=76)
        self.assertIn(f"job {job} of paceline-owner is stopped at", said)
        self.assertIn("it never saved and loses about", said)
        self.assertIn("No other node starts jobs", said)
        self.assertIn(f"drain {node} --within 1s --yes'", said)
        self.assertEqual(self.node(node)["drain"], None, "nothing was changed")
        said = self.drain(node, "--within", "1s", "--yes")
        self.assertIn(f"{node} is empty.", said)
        shown = self.job(job)
        self.assertEqual((shown["state"], shown["retries_used"]), ("PENDING", 0))
        self.assertIn(f"node {node} drains, and starts nothing", self.box.call("why", str(job)).stdout)
        self.box.call("undrain", node)
        self.await_state(job, "RUNNING")

    def test_what_it_was_told_to_cost_is_what_it_costs(self):
        node = self.server_node()
        job = self.submit(OWNER, {"elastic": "no"}, ["sleep", "1000"])
        self.await_state(job, "RUNNING")
        time.sleep(10)
        said = self.drain(node, "--within", "5s", "--yes")
        told = float(re.search(r"it never saved and loses about ([\d.]+) slot-seconds", said)[1])
        lost = self.await_state(job, "PENDING")["lost_slot_seconds"]["preemption"]
        self.assertAlmostEqual(lost, told, delta=0.2 * told)

    def told_to_lose(self, node, job, order):
        """Slot-seconds, before anything is done."""
        status, text = self.ask(0, "POST", f"/v1/nodes/{node}/drain?dry_run=1", json.dumps({"reason": "", "keeps": False, **order}))
        self.assertEqual(status, 200, text)
        return next(leaver["loses_slot_seconds"] for leaver in json.loads(text)["jobs"] if leaver["id"] == job)

    def lost(self, job):
        return sum(self.job(job)["lost_slot_seconds"].values())

    def saving(self, every, takes, spec):
        job = self.submit(OWNER, spec, ["python3", str(SAVES_SLOWLY), str(every), str(takes)])
        self.await_state(job, "RUNNING")
        self.until_it_saves(job)
        return job

    def until_it_saves(self, job):
        saved = self.job(job)["checkpoint"]
        self.until(lambda: self.job(job)["checkpoint"] != saved, f"job {job} saves nothing")

    def assert_as_told(self, came, told):
        self.assertAlmostEqual(came, told, delta=max(0.2 * told, 0.5))

    def test_one_that_saves_often_is_told_to_lose_little(self):
        node = self.server_node()
        job = self.counting({"elastic": "no"})
        told = self.told_to_lose(node, job, {"within_seconds": 1})
        self.drain(node, "--within", "1s", "--yes")
        self.await_state(job, "PENDING")
        self.assert_as_told(self.lost(job), told)

    def test_one_that_moves_costs_what_it_was_told_to(self):
        self.joined("a")
        self.joined("b")
        job = self.saving(0.2, 2, THERE)
        for knows in (False, True):  # how long it takes that job
            here = self.node_of(job)
            told, before = self.told_to_lose(here, job, {}), self.lost(job)
            self.drain(here)
            self.until(lambda: self.node_of(job) not in (here, None) and self.job(job)["state"] == "RUNNING", "it does not move")
            self.until_it_saves(job)
            if knows:
                self.assert_as_told(self.lost(job) - before, told)
            self.box.call("undrain", here)

    def test_one_that_saves_when_it_is_asked_to_costs_what_it_was_told_to(self):
        node = self.server_node()
        job = self.saving(0.2, 2, {"elastic": "no"})
        for knows in (False, True):  # how long it takes that job
            told, before = self.told_to_lose(node, job, {"within_seconds": 1}), self.lost(job)
            self.drain(node, "--within", "1s", "--yes")
            self.await_state(job, "PENDING")
            if knows:
                self.assert_as_told(self.lost(job) - before, told)
            self.box.call("undrain", node)
            self.await_state(job, "RUNNING")
            self.until_it_saves(job)

    def test_one_that_saves_loses_at_most_what_the_notice_took(self):
        node = self.server_node()
        job = self.counting({"elastic": "no"})
        self.drain(node, "--within", "3s", "--yes")
        lost = self.await_state(job, "PENDING")["lost_slot_seconds"]["preemption"]
        entries = [json.loads(line) for line in self.box.call("events", "-o", "json").stdout.splitlines()]
        stopped, = (entry["at"] for entry in entries if entry["kind"] == "plan"
                    and any((change["kind"], change["job"]) == ("stop", job) for change in entry["changes"]))
        ended, = (entry["at"] for entry in entries if (entry["kind"], entry.get("job")) == ("worker_ended", job))
        self.assertLessEqual(lost, ended - stopped + 0.1)

    def test_without_an_end_it_waits_and_ctrl_c_ends_the_waiting_alone(self):
        node = self.server_node()
        job = self.submit(OWNER, {}, ["sleep", "1000"])
        self.await_state(job, "RUNNING")
        follower = subprocess.Popen([str(BINARY), "drain", node], env=self.box.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.until(lambda: self.node(node)["drain"], "it does not drain")
        self.assertIn(f"drains: it leaves when it can go on elsewhere", self.box.call("why", str(job)).stdout)
        waits = self.submit(OWNER, {}, ["true"])
        time.sleep(1.2)
        follower.send_signal(2)
        said = follower.communicate(timeout=60)[0]
        self.assertEqual(follower.returncode, 130, said)
        self.assertIn("The drain goes on", said)
        self.box.kill()
        self.box.up(*self.options)
        self.assertEqual(self.node(node)["drain"]["jobs"], [job], "over a restart, too")
        self.assertEqual(self.job(waits)["state"], "PENDING")
        follower = subprocess.Popen([str(BINARY), "drain", node], env=self.box.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.assertIn("stays until it ends", follower.stdout.readline() + follower.stdout.readline() + follower.stdout.readline())
        self.until(lambda: "there still" in follower.stdout.readline(), "it does not follow")
        self.box.call("undrain", node)
        self.assertIn("Somebody ended the drain", follower.communicate(timeout=60)[0])
        self.await_state(waits, "COMPLETED")

    def test_an_announced_drain_keeps_long_jobs_off_and_begins(self):
        self.joined()
        here = self.server_node()
        said = self.drain(here, "--at", "+6s", "--within", "0s")
        self.assertIn("It is announced", said)
        self.assertIn("is to drain at", self.box.call("nodes").stdout)
        long = self.submit(OWNER, {"expect_seconds": 7200}, ["sleep", "1000"])
        self.await_state(long, "RUNNING")
        self.assertEqual(self.node_of(long), "other")
        self.until(lambda: self.node(here)["drain"]["begun"], "it does not begin")
        self.assertRegex(self.box.call("nodes").stdout, rf"(?m)^{here} +drained ")
        self.box.call("cancel", str(long))
        self.await_state(long, "CANCELLED")

    def test_a_machine_where_jobs_of_several_users_fail_is_set_aside(self):
        self.joined()
        lives = self.submit(OWNER, THERE, ["sleep", "1000"])
        self.await_state(lives, "RUNNING")
        for user in (OWNER, OTHER):
            self.await_state(self.submit(user, {**THERE, "name": "fails"}, ["false"]), "FAILED")
        self.until(lambda: self.node("other")["drain"], "it is not set aside")
        said = self.box.call("nodes").stdout
        self.assertRegex(said, r"(?m)^other +set aside ")
        self.assertIn("other is set aside (jobs of 2 users failed here one after the other, each within a minute)", said)
        waits = self.submit(OWNER, THERE, ["true"])
        self.assertIn("node other is set aside, and starts nothing", self.box.call("why", str(waits)).stdout)
        self.assertIn("'paceline undrain other' lets jobs start there again", self.box.log.read_text())
        self.assertEqual(self.job(lives)["state"], "RUNNING")
        self.box.call("undrain", "other")
        self.await_state(waits, "COMPLETED")
        self.box.call("cancel", str(lives))
        self.await_state(lives, "CANCELLED")

    def test_new_jobs_alone_are_kept_off(self):
        node = self.server_node()
        job = self.submit(OWNER, {}, ["sleep", "1000"])
        self.await_state(job, "RUNNING")
        self.assertIn("; 1 job there stays.", self.drain(node, "--keep"))
        waits = self.submit(OWNER, {}, ["true"])
        time.sleep(1)
        self.assertEqual((self.job(job)["state"], self.job(waits)["state"]), ("RUNNING", "PENDING"))
        self.assertIn("has no end", self.drain(node, "--keep", "--within", "1h", code=64))

    def test_bad_words_change_nothing(self):
        node = self.server_node()
        for words, sentence in (((node, "--by", "yesterday"), "--by: 'yesterday' is not a point in time"),
                                ((node, "--by", "18:00", "--within", "1h"), "ends at an instant or after a span, not both"),
                                ((node, "--at", "+1h", "--by", "+30m"), "over before the drain begins"),
                                ((node, "--within", "-1s"), "--within")):
            with self.subTest(words=words):
                self.assertIn(sentence, self.drain(*words, code=64))
        self.assertIn("There is no node 'nowhere'", self.drain("nowhere", code=66))
        self.assertIn("does not drain", self.box.call("undrain", node, check=False).stderr)
        self.assertEqual(self.node(node)["drain"], None)


if __name__ == "__main__":
    unittest.main()
