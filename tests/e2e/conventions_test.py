"""What people bring from elsewhere: a script with #SBATCH lines, a launcher in the command, --gpus. Each is submitted to a server
and looked at where it runs."""

import os
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "script"))
from box import Box

BINARY = os.environ.get("PACELINE_BINARY", ROOT / "build/release/paceline")

SCRIPT = """#!/bin/bash
#SBATCH --job-name=resnet   # of the paper
#SBATCH --gres=gpu:2
#SBATCH --time=01:30:00 --signal=B:USR1@90
#SBATCH --partition=gpu

set -e
echo "in $PWD with $*: worker $RANK of $WORLD_SIZE"
"""

TORCHRUN = '#!/bin/sh\necho "torchrun $* as worker $RANK of $WORLD_SIZE"\n'


class ConventionsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.box = Box(BINARY, slots=4)
        cls.addClassCleanup(cls.box.close)
        cls.box.up()

    def setUp(self):
        self.directory = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def program(self, name, text):
        file = self.directory / name
        file.write_text(text)
        file.chmod(0o755)
        return str(file)

    def test_a_batch_script(self):
        done = self.box.call("run", "--workdir", self.directory, self.program("train.sh", SCRIPT), "--lr", "1")
        self.assertEqual(done.stdout.splitlines()[1:], [f"in {self.directory} with --lr 1: worker 0 of 1"])
        self.assertIn("train.sh:5: --partition is left out", done.stderr)
        self.assertIn("train.sh is started once as by sbatch: one worker with 2 slots.", done.stderr)
        number = done.stderr.split("Submitted job ")[1].split(".")[0]
        shown = self.box.call("show", number).stdout
        for words in ("resnet", "1h30m"):
            self.assertIn(words, shown)

    def test_a_launcher_is_started_once(self):
        torchrun = self.program("torchrun", TORCHRUN)
        done = self.box.call("run", "--gpus", "4", "--", torchrun, "--nproc_per_node=4", "train.py")
        self.assertEqual(done.stdout.splitlines()[1:], ["torchrun --nproc_per_node=4 train.py as worker 0 of 1"])
        self.assertIn("torchrun starts the processes itself: one worker with 4 slots.", done.stderr)

    def test_a_launcher_as_it_is(self):
        torchrun = self.program("torchrun", TORCHRUN)
        done = self.box.call("run", "--slots", "2", "--as-is", "--", torchrun, "train.py")
        for rank in (0, 1):
            self.assertIn(f"torchrun train.py as worker {rank} of 2", done.stdout)

    def test_what_can_not_be_is_refused_with_what_to_write(self):
        torchrun = self.program("torchrun", TORCHRUN)
        nodes = self.program("wide.sh", "#!/bin/sh\n#SBATCH --nodes=2\nsrun python3 train.py\n")
        for arguments, sentence, remedy in (
                (("--slots", "1..4", "--", torchrun, "train.py"), "can't use a range of slots", "run --slots 1..4 -- python3 train.py"),
                ((nodes,), "wants 2 nodes", "paceline submit --slots"),
                (("--gpus", "all", "--", "true"), "'all' is no number of GPUs", "1..8")):
            with self.subTest(arguments):
                done = self.box.call("submit", *arguments, check=False)
                first, second = done.stderr.splitlines()
                self.assertEqual((done.returncode, done.stdout), (64, ""))
                self.assertIn(sentence, first)
                self.assertIn(remedy, second)


if __name__ == "__main__":
    unittest.main()
