"""Which device a job's worker takes; torch.cuda is told what a machine with GPUs would say."""

import subprocess
import unittest

import support

SCRIPT = """
import sys
sys.path.insert(0, {package!r})
import torch
from paceline import job
torch.cuda.is_available, torch.cuda.device_count = (lambda: {count} > 0), (lambda: {count})
print(job._device({local_rank}))
"""


@support.has_torch
class DeviceTest(unittest.TestCase):
    def takes(self, count, local_rank, **environment):
        script = SCRIPT.format(package=str(support.PACKAGE), count=count, local_rank=local_rank)
        return subprocess.run([support.PYTHON, "-c", script], env=environment, check=True, text=True,
                              stdout=subprocess.PIPE).stdout.strip()

    def test_a_worker_takes_the_first_of_its_own_devices(self):
        self.assertEqual(self.takes(2, 1, CUDA_VISIBLE_DEVICES="GPU-a,GPU-b", PACELINE_DEVICES="GPU-b"), "cuda:1")
        self.assertEqual(self.takes(2, 1, CUDA_VISIBLE_DEVICES="GPU-c,GPU-d", PACELINE_DEVICES="GPU-c,GPU-d"), "cuda:0")

    def test_outside_paceline_and_without_devices(self):
        self.assertEqual(self.takes(2, 1), "cuda:1")
        self.assertEqual(self.takes(0, 1), "cpu")


if __name__ == "__main__":
    unittest.main()
