"""The three examples as gangs over four machines, through a drain, a cut and a killed agent, to their targets."""

import os
import sys
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from lab import ROOT, Lab
from machines import skip_unless_permitted

PYTHON = "/usr/bin/python3"
CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "paceline"  # of drawn digits
SECONDS = 600
SLOWLY = ["--learning-rate", "0.0005", "--epochs", "20"]  # it is still training once all faults are over
EXAMPLES = {"digits": ["accuracy>=0.97"], "text": ["accuracy>=0.65"], "vae": ["loss<=350", *SLOWLY]}
CUT_SECONDS = 6


class Training(Lab):
    """Two machines of two slots and two of one, so that gangs lie across them."""

    def setUp(self):
        super().setUp()
        for number, slots in enumerate([2, 2, 1, 1]):
            self.join(f"gpu-{number}", "--slots", str(slots), "--label", "trains=yes")

    def train(self, example, target, *options):
        checkpoints = self.folder / "checkpoints" / example
        checkpoints.mkdir(parents=True)
        return self.submit("--name", example, "--slots", "2..4@3", "--target", target, "--workdir", ROOT, "--affinity", "label:trains=yes", "--",
                           PYTHON, f"examples/{example}/train.py", "--cache", CACHE, "--checkpoint-dir", checkpoints, "--checkpoint-every", "2", *options)

    def jobs(self):
        return {job["name"]: job for job in self.json("queue", "--all")["jobs"]}

    def across_machines(self):
        """The names of the jobs of which a gang was planned on more than one machine."""
        changes = [change for event in self.events() if event["kind"] == "plan" for change in event["changes"]]
        wide = {change["job"] for change in changes if len({seat["node"] for seat in change.get("placement", [])}) > 1}
        return [name for name, job in self.jobs().items() if job["id"] in wide]

    def all_train_on(self):
        """Until every training that isn't over has done another step, from here. There is one."""
        before = {name: (job["progress"] or {}).get("step") or 0 for name, job in self.jobs().items()}

        def stepped():
            return all(job["ended_at"] or ((job["progress"] or {}).get("step") or 0) > before[name] for name, job in self.jobs().items())
        self.assertTrue(any(not job["ended_at"] for job in self.jobs().values()), "none trains any more")
        self.until(stepped, "a training stands still", seconds=SECONDS, told=self.not_over)

    def not_over(self):
        left = [str(job["id"]) for job in self.jobs().values() if not job["ended_at"]]
        return "\n".join(self.call(*words, check=False).stdout for job in left for words in (("why", job), ("logs", "--tail", "20", job)))

    def test_to_their_targets(self):
        for example, words in EXAMPLES.items():
            self.train(example, *words)
        self.all_train_on()
        self.assertTrue(self.across_machines(), "none lies across machines")
        self.call("drain", "gpu-0", "--no-wait", "--yes")
        self.until(lambda: not self.node("gpu-0")["drain"]["jobs"], "it is not emptied", seconds=SECONDS, told=self.not_over)
        self.all_train_on()
        self.call("undrain", "gpu-0")
        cut = self.nodes["gpu-1"].machine
        cut.cut()
        time.sleep(CUT_SECONDS)
        cut.heal()
        self.all_train_on()
        self.nodes["gpu-2"].agent.kill()
        self.nodes["gpu-2"].begin()
        self.all_train_on()
        self.until(lambda: all(job["ended_at"] for job in self.jobs().values()), "not every job is over", seconds=SECONDS, told=self.not_over)
        for name, job in self.jobs().items():
            told = {key: job[key] for key in ("name", "state", "attempt", "resizes", "retries_used", "reason", "metrics")}
            self.assertEqual((job["state"], job["target"]["reached"]), ("COMPLETED", True), told)
            self.assertEqual(job["retries_used"], 0, told)


if __name__ == "__main__":
    skip_unless_permitted()
    unittest.main()
