"""Do resizes change what a training comes to? The three examples to their ends, with two workers all the time and with 1, 4, 2 and 3 one
after the other, resized in place by a real server: five seeds of each. Prints one JSON line per measurement: means of the metric on
held-out data, and for elastic less fixed the 95 % interval of the mean over the seeds (Student's t)."""

import json
import math
import os
import statistics
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "script"))
from box import Box, Failed

BINARY = os.environ.get("PACELINE_BINARY", ROOT / "build/release/paceline")
EXAMPLES = {"digits": "accuracy", "text": "accuracy", "vae": "loss"}
SEEDS = int(os.environ.get("PACELINE_ACCURACY_SEEDS", "5"))
SIZES = (1, 4, 2, 3)
PATIENCE = 1800  # seconds, of one training
QUANTILE = {2: 12.706, 3: 4.303, 4: 3.182, 5: 2.776, 6: 2.571, 7: 2.447, 8: 2.365, 9: 2.306, 10: 2.262}  # of t, 97.5 %


def report(name, value, unit=""):
    print(json.dumps({"name": f"accuracy {name}", "value": round(value, 6), "unit": unit}), flush=True)


def trained(box, example, seed, sizes):
    """The metric at the end of a training that has these sizes one after the other, for equal parts of it."""
    slots = f"1..{max(sizes)}@{sizes[0]}" if len(sizes) > 1 else str(sizes[0])
    job = box.submit("--slots", slots, "--workdir", str(ROOT), "--name", f"{example}-{seed}-{len(sizes)}", "--",
                     "/usr/bin/python3", f"examples/{example}/train.py", "--seed", str(seed))
    told = lambda: box.call("logs", "--tail", "20", str(job)).stdout
    over = lambda: box.job(job)["ended_at"]
    progress = lambda: (box.job(job)["progress"] or {}).get("ratio") or 0
    for number, size in enumerate(sizes if len(sizes) > 1 else ()):
        box.until(lambda part=number / len(sizes): progress() >= part, PATIENCE, f"job {job} makes no progress", unless=over, told=told)
        box.resize(job, size)
    box.until(over, PATIENCE, f"job {job} does not end", told=told)
    shown = box.job(job)
    if shown["state"] != "COMPLETED" or shown["attempt"] != 1:
        raise Failed(f"job {job} is {shown['state']} in attempt {shown['attempt']}:\n{told()}")
    return shown["metrics"][EXAMPLES[example]]


def main():
    if SEEDS not in QUANTILE:
        sys.exit(f"PACELINE_ACCURACY_SEEDS={SEEDS}: {min(QUANTILE)} to {max(QUANTILE)} seeds have an interval")
    with Box(BINARY, slots=max(SIZES)) as box:
        for example, metric in EXAMPLES.items():
            fixed = [trained(box, example, seed, (2,)) for seed in range(1, SEEDS + 1)]
            elastic = [trained(box, example, seed, SIZES) for seed in range(1, SEEDS + 1)]
            differences = [one - other for one, other in zip(elastic, fixed)]
            mean = statistics.mean(differences)
            reach = QUANTILE[SEEDS] * statistics.stdev(differences) / math.sqrt(SEEDS)
            report(f"{example} fixed", statistics.mean(fixed), metric)
            report(f"{example} elastic", statistics.mean(elastic), metric)
            report(f"{example} elastic_less_fixed", mean, metric)
            report(f"{example} elastic_less_fixed low", mean - reach, metric)
            report(f"{example} elastic_less_fixed high", mean + reach, metric)


if __name__ == "__main__":
    main()
