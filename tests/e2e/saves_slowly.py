"""A training that does nothing but save what it has: each so many seconds, and when it is asked to leave, which takes it a while.

    saves_slowly.py EVERY TAKES
"""

import json
import os
import signal
import sys
import time

every, takes = map(float, sys.argv[1:])
leave = []
signal.signal(signal.SIGTERM, lambda *_: leave.append(1))
step = 0


def save():
    if os.environ["RANK"] == "0":
        with open("at.new", "w") as file:
            json.dump(step, file)
        os.replace("at.new", "at.json")
        print(json.dumps({"paceline": {"checkpoint": os.path.abspath("at.json"), "step": step}}), flush=True)


save()
saved = time.monotonic()
while not leave:
    step += 1
    print(json.dumps({"paceline": {"step": step}}), flush=True)
    if time.monotonic() - saved > every:
        save()
        saved = time.monotonic()
    time.sleep(0.05)
time.sleep(takes)
save()
sys.exit(75)
