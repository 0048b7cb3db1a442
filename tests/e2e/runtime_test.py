"""docs/runtime.md: its script trains under Paceline on all workers, and goes on where it was with another number of them."""

import json
import re
import shutil
import sys
import time
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(Path(__file__).resolve().parent))
from first_hour_test import Newcomer, block, can_train
from people import BINARY

PACKAGE = Path(BINARY).parent / "runtime/python"
EPOCHS = 400  # more than it takes to the target, and to hear of it
SAMPLES = 3000  # of the page's script, an epoch


@unittest.skipUnless(can_train(), "without PyTorch")
class RuntimeTest(unittest.TestCase):
    def setUp(self):
        self.newcomer = Newcomer()
        self.addCleanup(self.newcomer.leaves)
        self.script = block("docs/runtime.md", "python", "job.distribute")
        self.command = block("docs/runtime.md", "sh", "--name circle").strip()
        # As it lies beside the installed program.
        shutil.copytree(PACKAGE, self.newcomer.home / "lib/paceline/python")
        self.newcomer.server = self.newcomer.start("exec paceline up --slots 4")
        self.newcomer.waits_for("directory", "paceline nodes >/dev/null 2>&1 && echo directory || true")

    def write(self, script):
        (self.newcomer.home / "train.py").write_text(script)

    def show(self):
        return json.loads(self.newcomer.types("paceline show 1 -o json"))

    def reports(self):
        lines = re.findall(r'\{"paceline": .*\}$', self.newcomer.types("paceline logs 1"), re.MULTILINE)
        return [json.loads(line)["paceline"] for line in lines]

    def test_the_page_is_typed_and_the_target_reached(self):
        self.write(self.script.replace("job.epochs(20)", f"job.epochs({EPOCHS})"))
        self.assertIn("Submitted job 1", self.newcomer.types(self.command))
        self.newcomer.types("paceline wait 1")
        shown = self.show()
        self.assertEqual(shown["state"], "COMPLETED", self.newcomer.types("paceline logs 1"))
        accuracies = [each["accuracy"] for each in self.reports() if "accuracy" in each]
        self.assertGreaterEqual(max(accuracies), 0.97)
        self.assertLess(len(accuracies), EPOCHS, "it stopped when the target was reached")
        self.assertTrue(list((self.newcomer.home / "checkpoints").glob("ckpt-*.pt")))

    def test_resizes_leave_out_and_repeat_no_step(self):
        self.write(self.script.replace("job.epochs(20)", "job.epochs(150)"))
        self.newcomer.types(re.sub(r"--target '[^']*' ", "", self.command))
        for workers in (2, 3):
            self.newcomer.waits_for('"checkpoint"', "paceline logs 1")
            steps = self.step()
            self.newcomer.types(f"paceline resize 1 --workers {workers}")
            self.newcomer.waits_for(f"on {workers} ranks", "paceline logs 1")
            self.until(lambda: self.step() > steps)
        self.newcomer.types("paceline wait 1")
        self.assertEqual(self.show()["state"], "COMPLETED", self.newcomer.types("paceline logs 1"))
        reports = self.reports()
        self.assertEqual([each["resume_audit"]["agrees"] for each in reports if "resume_audit" in each], [True, True])
        shown = self.newcomer.types("paceline show 1")
        self.assertRegex(shown, r"\n  Resumed     at step \d+ .*: samples, data position, learning rate agree; loss ", shown)
        reports = [each for each in reports if "resume_audit" not in each]
        places = [each["samples"] for each in reports if "accuracy" in each]
        self.assertEqual(places, [SAMPLES * epoch for epoch in range(1, 151)], "each epoch ended once, where it ends")
        self.assertEqual(reports[-1]["samples"], SAMPLES * 150)
        self.assertEqual(reports[-1]["step"], SAMPLES * 150 // 100)

    def step(self):
        return max((each["step"] for each in self.reports() if "step" in each), default=0)

    def until(self, happened):
        deadline = time.monotonic() + 300
        while not happened():
            self.assertLess(time.monotonic(), deadline, self.newcomer.types("paceline logs 1"))
            time.sleep(0.1)


if __name__ == "__main__":
    unittest.main()
