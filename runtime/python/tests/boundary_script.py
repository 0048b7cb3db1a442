"""For test_runtime_boundary.py: steps until the boundary says to make room or to stop. Rank `argv[1]` is given a notice at step 5; its
framework would have raised at it."""

import os
import signal
import sys
import time

from torch import distributed

from paceline.boundary import Boundary


def raises(*_):
    raise RuntimeError("the framework's own handler")


noticed = int(sys.argv[1])
boundary = Boundary()
distributed.init_process_group("gloo")
signal.signal(signal.SIGTERM, raises)
boundary.begin()
for step in range(1, 1000):
    if distributed.get_rank() == noticed and step == 5:
        os.kill(os.getpid(), signal.SIGTERM)
    makes_room, should_stop = boundary.reached()
    if makes_room or should_stop:
        print(f"left after step {step}: {makes_room} {should_stop}", flush=True)
        break
    time.sleep(0.001)
boundary.end()
distributed.barrier()
