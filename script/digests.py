#!/usr/bin/env python3
"""Do these builds of paceline simulate alike? Every built-in policy on a trace made here, with costs, failures,
elastic sizes, learning and two seeds, by each program with one thread and with two: all digests must be equal.

    script/digests.py build/release/paceline build/clang/paceline
"""
import json
import pathlib
import random
import subprocess
import sys
import tempfile

JOBS = 400
CLUSTER = "8x8"
POLICIES = ("fifo", "fifo(backfill=greedy)", "elastic-fifo", "round-robin", "sjf", "srtf", "elastic-srtf", "las",
            "elastic-las", "afs", "ffdl", "fair", "deadline")
STUDIES = {  # options beyond the trace, the cluster and the policies
    "exact": ["--placement", "any", "--costs", "none", "--protect", "off"],
    "defaults": [],
    "everything": ["--elastic", "min=1,max=2x", "--failures", "0.01", "--learning", "power=0.5",
                   "--reach", "0.3..0.9", "--load", "1.3", "--know", "estimate"],
}


def write_trace(path):
    """Jobs of a minute to a day, for one to sixteen slots, over some days; the same on every machine."""
    chance = random.Random(4)
    lines, at = ["job_id,submission_time,duration,num_gpu"], 0
    for job in range(JOBS):
        at += chance.randrange(1, 1500)
        lines.append(f"job-{job % 97}-{job},{at},{60 * 2 ** chance.randrange(0, 11) + chance.randrange(60)},"
                     f"{2 ** chance.randrange(0, 5)}")
    path.write_text("\n".join(lines) + "\n")


def digests(program, trace, options, threads):
    command = [program, "simulate", "--trace", trace, "--cluster", CLUSTER, "--policy", ",".join(POLICIES),
               "--seeds", "2", "--threads", str(threads), "-o", "json", *options]
    try:
        study = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    except (OSError, subprocess.CalledProcessError, json.JSONDecodeError) as error:
        sys.exit(f"{program} can't simulate: {error}. Build it first: cmake --build build/PRESET --target paceline")
    return {(run["policy"], run["seed"]): run["digest"] for run in study["runs"]}


def main(programs):
    if not programs:
        sys.exit(__doc__)
    differ = 0
    with tempfile.TemporaryDirectory() as folder:
        trace = pathlib.Path(folder, "trace.csv")
        write_trace(trace)
        for study, options in STUDIES.items():
            expected = digests(programs[0], trace, options, 1)
            for program in programs:
                for threads in (1, 2):
                    found = digests(program, trace, options, threads)
                    others = [run for run in expected if found[run] != expected[run]]
                    for policy, seed in others:
                        print(f"{study}: {policy}, seed {seed}: {program} with {threads} threads has "
                              f"{found[policy, seed]}, {programs[0]} with one {expected[policy, seed]}")
                    differ += len(others)
            print(f"{study}: {len(expected)} runs by {len(programs)} programs")
    sys.exit(1 if differ else 0)


if __name__ == "__main__":
    main(sys.argv[1:])
