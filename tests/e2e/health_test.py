"""A machine whose owner's check fails starts nothing and says why; once it passes, what waits runs."""

import re
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from boxes import BINARY
from box import Box

EVERY = 60  # seconds between two runs of a check


class HealthTest(unittest.TestCase):
    def setUp(self):
        self.box = Box(BINARY, slots=2)
        self.addCleanup(self.box.close)
        self.scratch = self.box.directory.with_suffix(".scratch")
        self.addCleanup(self.scratch.unlink, missing_ok=True)

    def node(self):
        return self.box.json("nodes")["nodes"][0]

    def unhealthy(self):
        refusal = self.node()["refusal"]
        return refusal if refusal and "exit code" in refusal["why"] else None

    def test_nothing_starts_before_the_check_passes(self):
        self.box.up("--health-check", f"test -e {self.scratch} || {{ echo /scratch is not mounted; exit 4; }}")
        self.box.until(self.unhealthy, 30, "the check isn't told of")
        why = "Its health check failed (exit code 4): /scratch is not mounted"
        self.assertEqual(self.unhealthy(), {"why": why, "until": None, "unhealthy": True})
        name = self.node()["name"]
        shown = self.box.call("nodes").stdout
        self.assertRegex(shown, rf"{name} +unhealthy ")
        self.assertIn(f"{name} is unhealthy: {why}\n", shown)
        job = self.box.submit("--", "true")
        told = self.box.call("why", str(job)).stdout
        self.assertIn(f"node {name} is unhealthy and starts nothing: {why}", told)
        self.scratch.touch()
        self.box.until(lambda: self.box.jobs()[0]["state"] == "COMPLETED", 3 * EVERY, "it never starts")
        self.assertIsNone(self.node()["refusal"])
        self.assertRegex(self.box.call("nodes").stdout, rf"{name} +up ")
        said = self.box.log.read_text()
        self.assertRegex(said, f"(starts nothing yet|Node {name} is unhealthy and starts nothing): {re.escape(why)}")
        self.assertIn(f"Node {name} starts workers again.", said)

    def test_a_check_without_a_command_is_refused(self):
        refused = self.box.call("up", "--health-check", " ", check=False)
        self.assertEqual(refused.returncode, 64)
        self.assertIn("--health-check: There is no command.", refused.stderr)


if __name__ == "__main__":
    unittest.main()
