"""Real short jobs: people are told when they will start and end, the truth comes, and the server says how good it was, also after
a restart."""

import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "script"), str(ROOT / "tests/e2e")]
from box import Box
from boxes import BINARY


class ExpectedTest(unittest.TestCase):
    def graded(self, box):
        return {(kind["of"], kind["known"]): kind for kind in box.json("stats")["expected"]["graded"]}

    def test_what_is_told_is_graded(self):
        with Box(BINARY, slots=1) as box:
            first = box.submit("--expect", "4s", "--", "sleep", "4")
            second = box.submit("--expect", "3s", "--", "sleep", "3")
            box.wait_state(first, "RUNNING")
            why = box.json("why", str(second))
            self.assertEqual((why["position"], why["starts_after"]), (1, first))
            start = why["expected_start"]
            self.assertLessEqual(start["earliest"], start["at"])
            self.assertLessEqual(start["at"], start["latest"])
            self.assertIn(f"once job {first} ends", box.call("why", str(second)).stdout)
            self.assertGreaterEqual(box.json("stats")["expected"]["waiting"], 2)
            job = box.wait_state(second, "COMPLETED")
            self.assertLessEqual(abs(job["started_at"] - start["at"]), 3)
            kinds = self.graded(box)
            self.assertEqual(kinds["start", "declared"]["count"], 1)
            self.assertEqual(kinds["end", "declared"]["count"], 1)
            box.down()
            box.up()
            self.assertEqual(self.graded(box), kinds)
            self.assertIn("declared", box.call("stats").stdout)

    def test_a_plan_submits_nothing(self):
        with Box(BINARY, slots=2, policy="fifo") as box:
            first = box.submit("--slots", "2", "--expect", "1h", "--", "sleep", "600")
            box.wait_state(first, "RUNNING")
            second = box.submit("--slots", "2", "--expect", "1h", "--", "sleep", "600")
            text = box.call("plan", "--priority", "90", "--expect", "2h", "--", "true").stdout
            self.assertIn(f"once job {first} ends", text)
            self.assertRegex(text, f"Job {second} .* would start 2h00m later")
            self.assertEqual([job["id"] for job in box.jobs()], [first, second])
            refused = box.call("plan", "--slots", "9", "--", "true", check=False)
            self.assertEqual(refused.returncode, 64)

    def test_a_plan_tells_of_the_line_as_why_does(self):
        with Box(BINARY, slots=2, policy="fifo") as box:
            first = box.submit("--expect", "1h", "--", "sleep", "600")
            box.wait_state(first, "RUNNING")
            file = Path(box.directory, "wide.yaml")
            file.write_text("run: sleep 600\nresources: {slots: 2}\nexpect: 1h\n")
            planned = box.call("plan", "-f", str(file)).stdout
            for told in ("needs 2 slots, 1 free now.", "With --slots 1 it would start now.", "It would be number 1 in line.",
                         "No other job would be later for it."):
                self.assertIn(told, planned)
            wide = box.submit("-f", str(file))
            why = box.call("why", str(wide)).stdout
            for told in ("needs 2 slots, 1 free now.", "With --slots 1 it would start now.", "It is number 1 in line."):
                self.assertIn(told, why)
            self.assertRegex(box.call("plan", "-f", str(file)).stdout,
                             rf"It would be number 2 in line\.\n  Ahead: job {wide} '.*' \(priority \d+\) needs 2 slots, 1 free now\.\n")

    def test_why_names_what_would_start_it_sooner(self):
        with Box(BINARY, slots=2, policy="fifo") as box:
            first = box.submit("--expect", "1h", "--", "sleep", "600")
            box.wait_state(first, "RUNNING")
            wide = box.submit("--slots", "2", "--", "sleep", "600")
            told = box.call("why", str(wide)).stdout
            self.assertIn("With --slots 1 it would start now.", told)
            self.assertIn("It is number 1 in line.", told)

    def test_queue_tells_all(self):
        with Box(BINARY, slots=1) as box:
            first = box.submit("--", "sleep", "60")
            box.submit("--expect", "3s", "--", "sleep", "3")
            box.wait_state(first, "RUNNING")
            lines = box.call("queue").stdout.splitlines()
            self.assertIn("START", lines[0])
            self.assertIn("ETA", lines[0])
            self.assertEqual(len(lines), 3)
            # Nobody said how long the first one takes.
            self.assertRegex(self.cell(lines, 2, "START"), r"^(>?\d|now)")
            self.assertRegex(self.cell(lines, 1, "ETA"), r"^(>?\d|now)")

    def cell(self, lines, row, column):
        place = lines[0].split().index(column)
        return lines[row].split()[place]


if __name__ == "__main__":
    unittest.main()
