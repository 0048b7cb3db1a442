"""The running part of script/demo: six trainings, three policies, resizes in place, one killed server, one table at the end."""

import argparse
import os
import shutil
import signal
import sys
import time
from pathlib import Path

from box import Box, Failed

ROOT = Path(__file__).resolve().parent.parent
PYTHON = "/usr/bin/python3"

# name, example, worker range, target, further arguments of the script
JOBS = [
    ("digits-a", "digits", "1..4@2", "accuracy>=0.95", ["--seed", "1"]),
    ("text-a", "text", "1..4@2", "accuracy>=0.6", ["--seed", "1"]),
    ("vae-a", "vae", "1..2@1", "loss<=380", ["--seed", "1"]),
    ("digits-b", "digits", "1..4@2", "accuracy>=0.95", ["--seed", "2"]),
    ("text-b", "text", "1..2@1", "accuracy>=0.6", ["--seed", "2"]),
    ("vae-b", "vae", "1..4@2", "loss<=380", ["--seed", "2"]),
]

# What happens meanwhile, each once, in this order: what, and whether its time has come (seconds passed, jobs left).
STEPS = [
    ("shrink", lambda seconds, left: seconds >= 10 or left < len(JOBS)),
    ("elastic-fifo", lambda seconds, left: seconds >= 20 or left < len(JOBS)),
    ("let grow", lambda seconds, left: True),
    ("kill", lambda seconds, left: seconds >= 45 or left <= len(JOBS) - 2),
    ("round-robin", lambda seconds, left: seconds >= 120 or left <= 2),
]


class Screen:
    """A table that is redrawn in place on a terminal, and printed now and then elsewhere."""

    PRINT_EVERY = 10

    def __init__(self):
        self.live = sys.stdout.isatty()
        self.width = shutil.get_terminal_size((150, 24)).columns if self.live else 150
        self.drawn = 0
        self.printed_at = 0.0

    def say(self, text):
        self.clear()
        print(f"\033[1m{text}\033[0m" if self.live else text, flush=True)

    def clear(self):
        if self.live and self.drawn:
            sys.stdout.write(f"\033[{self.drawn}A\033[J")
        self.drawn = 0

    def show(self, lines, now):
        if not self.live and now - self.printed_at < self.PRINT_EVERY:
            return
        self.clear()
        self.printed_at = now
        for line in lines:
            print(line[:self.width - 1])
        self.drawn = len(lines)
        sys.stdout.flush()


def bar(ratio, width=12):
    filled = round(width * min(max(ratio or 0.0, 0.0), 1.0))
    return "█" * filled + "·" * (width - filled)


def metric_of(job):
    value = job["metrics"].get(job["target"]["metric"])
    return "-" if value is None else f"{value:.4g}"


def target_of(job):
    target = job["target"]
    mark = " ✓" if target["reached"] else ""
    return f"{target['metric']} {target['direction']} {target['final']:g}{mark}"


def rows(jobs):
    yield f"{'ID':>3} {'NAME':<9} {'STATE':<10} {'WORKERS':<8} {'PROGRESS':<12} {'METRIC':<8} {'TARGET':<22} REASON"
    for job in jobs:
        workers = f"{job['workers']}/{job['min']}..{job['max']}"
        ratio = (job["progress"] or {}).get("ratio")
        yield (f"{job['id']:>3} {job['name']:<9} {job['state']:<10} {workers:<8} {bar(ratio):<12} {metric_of(job):<8} "
               f"{target_of(job):<22} {job['reason']}")


def live_table(paceline, jobs, seconds):
    policy = paceline.json("policy", "list")["active"]["name"]
    used = sum(job["workers"] for job in jobs if job["state"] in ("STARTING", "RUNNING", "RESIZING"))
    return [f"-- {seconds:3.0f} s   policy {policy}   {used} of 4 slots in use", *rows(jobs)]


def submit_all(paceline, screen):
    for name, example, slots, target, arguments in JOBS:
        checkpoints = paceline.directory / "checkpoints" / name
        checkpoints.mkdir(parents=True)
        script = [PYTHON, f"examples/{example}/train.py", "--checkpoint-dir", str(checkpoints), *arguments]
        job = paceline.submit("--name", name, "--slots", slots, "--target", target, "--grace", "20s", "--workdir", str(ROOT),
                              "--", *script)
        screen.say(f"$ paceline submit --slots {slots} --target '{target}' -- python3 examples/{example}/train.py …"
                   f"   →  Submitted job {job}")


def alive(pid):
    try:
        os.kill(pid, 0)
        return True
    except ProcessLookupError:
        return False


def kill_and_return(paceline, screen):
    """Kills the server with SIGKILL, shows that the trainings live on, and starts it again."""
    before = {job["id"]: job for job in paceline.jobs()}
    pids = {pid: job["id"] for job in before.values() for pid in job["pids"]}
    screen.say(f"$ kill -9 {paceline.server.pid}      # the server, while {len(pids)} workers train")
    paceline.kill()
    time.sleep(1)
    left = [pid for pid in pids if alive(pid)]
    screen.say(f"  the server is gone; {len(left)} of {len(pids)} training processes go on")
    started = time.monotonic()
    paceline.up()
    screen.say(f"$ paceline up      # back after {time.monotonic() - started:.2f} s")
    after = {job["id"]: job for job in paceline.jobs()}
    lost = sorted(set(before) - set(after))
    if lost:
        raise Failed(f"jobs {lost} were lost when the server was killed")
    restarted = [i for i, job in after.items() if job["attempt"] > before[i]["attempt"] and before[i]["state"] == "RUNNING"
                 and job["resizes"] == before[i]["resizes"]]
    if restarted:
        raise Failed(f"jobs {restarted} were restarted by the kill")
    screen.say(f"  {len(after)} jobs known, none lost, none restarted")


def resize_the_first(paceline, screen, workers):
    """The first job that runs, if one does."""
    job = next((job for job in paceline.jobs() if job["state"] == "RUNNING"), None)
    if job and paceline.call("resize", str(job["id"]), "--workers", workers, check=False).returncode == 0:
        screen.say(f"$ paceline resize {job['id']} --workers {workers}")


def take_step(paceline, screen, what):
    if what == "kill":
        return kill_and_return(paceline, screen)
    if what == "shrink":
        return resize_the_first(paceline, screen, "1")
    if what == "let grow":
        return resize_the_first(paceline, screen, "1..4")
    screen.say(f"$ paceline policy set {what} --yes")
    paceline.call("policy", "set", what, "--yes")


def follow(paceline, screen, seconds_max):
    started = time.monotonic()
    steps = list(STEPS)
    while True:
        passed = time.monotonic() - started
        jobs = paceline.jobs()
        left = sum(not job["ended_at"] for job in jobs)
        screen.show(live_table(paceline, jobs, passed), passed)
        if left == 0:
            return jobs
        if passed > seconds_max:
            raise Failed(f"not done after {seconds_max:.0f} s")
        if steps and steps[0][1](passed, left):
            take_step(paceline, screen, steps.pop(0)[0])
        time.sleep(0.5)


def print_outcome(paceline, jobs):
    print("\nJobs")
    print(f"{'ID':>3} {'NAME':<9} {'STATE':<10} {'WAIT':>7} {'RUN':>7} {'RESIZES':>7}  {'METRIC':<9} {'TARGET':<22} REACHED")
    for job in jobs:
        print(f"{job['id']:>3} {job['name']:<9} {job['state']:<10} {job['waited_seconds']:>6.1f}s {job['ran_seconds']:>6.1f}s "
              f"{job['resizes']:>7}  {metric_of(job):<9} {target_of(job):<22} {'yes' if job['target']['reached'] else 'NO'}")
    print("\nPolicies")
    print(f"{'POLICY':<14} {'SECONDS':>8}  UTILISATION OF THE SLOTS")
    for period in paceline.json("policy", "list")["periods"]:
        seconds = (period["to"] or time.time()) - period["from"]
        print(f"{period['name']:<14} {seconds:>7.1f}s  {bar(period['utilization'], 20)} {100 * period['utilization']:.0f} %")


def resizes(events):
    """(job, workers before, workers then, whether in place, seconds without a training step) of each that came about."""
    sizes, asked, ready = {}, {}, {}
    for event in events:
        job, at = event.get("job"), event["at"]
        for change in event.get("changes", []):
            if change["kind"] in ("start", "resize", "move"):
                asked[change["job"]] = {**change, "at": at, "started": 0}
        if job not in asked or event["kind"] not in ("worker_started", "worker_ready", "gang_stands"):
            continue
        change = asked[job]
        in_place = "survivors" in change
        if event["kind"] == "worker_ready":
            ready[job, event["joins"]] = at
        if event.get("generation") != change["generation"]:
            continue
        change["started"] += event["kind"] == "worker_started"
        if event["kind"] == "gang_stands" if in_place else change["started"] == change["workers"]:
            if change["kind"] != "start":
                begun = ready.get((job, change["generation"]), change["at"])
                yield job, sizes[job], change["workers"], in_place, at - begun
            sizes[job] = change["workers"]
            del asked[job]


def print_resizes(paceline, jobs):
    names = {job["id"]: job["name"] for job in jobs}
    print("\nResizes")
    print(f"{'ID':>3} {'NAME':<9} {'WORKERS':<8} {'HOW':<9} {'PAUSE':>7}")
    for job, before, then, in_place, pause in resizes(paceline.events()):
        print(f"{job:>3} {names[job]:<9} {f'{before} → {then}':<8} {'in place' if in_place else 'restart':<9} {pause:>6.2f}s")


def show_logs_of_failures(paceline, jobs):
    for job in jobs:
        if job["state"] != "COMPLETED":
            print(f"\n--- end of the log of job {job['id']} ({job['state']}: {job['ending']})")
            print("\n".join(paceline.call("logs", str(job["id"]), check=False).stdout.splitlines()[-15:]))


def run(binary, seconds_max):
    screen = Screen()
    screen.say("$ paceline up --slots 4 --policy fifo")
    with Box(binary, slots=4, policy="fifo") as paceline:
        print(paceline.log.read_text().rstrip())
        submit_all(paceline, screen)
        jobs = follow(paceline, screen, seconds_max)
        print_outcome(paceline, jobs)
        print_resizes(paceline, jobs)
        show_logs_of_failures(paceline, jobs)
    missed = [job["name"] for job in jobs if not job["target"]["reached"]]
    if missed:
        raise Failed(f"{', '.join(missed)} did not reach the target")
    print("\nEvery job reached its target; nothing was lost.")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--seconds", type=float, default=300)
    options = parser.parse_args()
    os.chdir(ROOT)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        run(options.binary, options.seconds)
    except Failed as error:
        print(f"\ndemo: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
