"""A program of MPI: mpirun is started once, with all slots, and starts the processes itself."""

import shutil
import unittest

from support import FrameworkTest, command_with


@unittest.skipUnless(shutil.which("mpicc"), "Open MPI is not installed: script/bootstrap --frameworks")
class MpiTest(FrameworkTest):
    torch = False
    further = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}

    def test_two_processes(self):
        self.types(command_with("mpicc"))
        job = self.submit(command_with("mpirun"))
        self.expect_completed(job)
        self.assertIn("pi is 3.14159, said 2 processes", self.logs(job))


if __name__ == "__main__":
    unittest.main()
