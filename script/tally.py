"""Counts test cases: what ctest and GoogleTest wrote, or what a Python or shell test said.

Every count is appended as a line "passed failed skipped name" to a file that total() sums up.

  python3 script/tally.py ctest RESULTS COUNTS REPORT...
                                                  RESULTS holds these of ctest's, and one XML per program
  python3 script/tally.py scripts COUNTS [--jobs N] FILE...
                                                  runs *_test.py and *_test.sh, one process each, N (1) at a time
  python3 script/tally.py total COUNTS            names what failed, then "N passed, N failed"; exits 1 if N > 0
"""
import os
import pathlib
import re
import signal
import subprocess
import sys
import threading
import time
import xml.etree.ElementTree as xml
from concurrent.futures import ThreadPoolExecutor

SCRIPT_SECONDS_MAX = 1800


def append(counts, passed, failed, skipped, name):
    with open(counts, "a", encoding="utf-8") as out:
        out.write(f"{passed} {failed} {skipped} {name}\n")


def cases_of(report):
    """(passed, names of the failed, skipped) of one GoogleTest XML file."""
    passed, failed, skipped = 0, [], 0
    for case in xml.parse(report).getroot().iter("testcase"):
        if case.find("failure") is not None:
            failed.append(f"{case.get('classname')}.{case.get('name')}")
        elif case.find("skipped") is not None or case.get("status") == "notrun":
            skipped += 1
        else:
            passed += 1
    return passed, failed, skipped


def count_ctest(results, counts, reports):
    """A program that ended badly without saying which case failed counts as one failure more, as does a report that isn't there."""
    tests = []
    for report in reports:
        if (results / report).exists():
            tests += xml.parse(results / report).getroot().iter("testcase")
        else:
            append(counts, 0, 1, 0, f"{report} (was not written)")
    for test in tests:
        name, ok = test.get("name"), test.get("status") == "run"
        report = results / f"{name}.xml"
        if not report.exists():
            append(counts, int(ok), int(not ok), 0, name)
            continue
        passed, failed, skipped = cases_of(report)
        if not ok and not failed:
            failed = [f"{name} (ended badly: {test.get('status')})"]
        append(counts, passed, 0, skipped, name)
        for case in failed:
            append(counts, 0, 1, 0, case)


def run_script(path, seconds_max=SCRIPT_SECONDS_MAX):
    """(exit code or None for too late, output) of one test script, run in its own folder."""
    command = ["/usr/bin/python3", path.name, "-v"] if path.suffix == ".py" else ["bash", path.name]
    with subprocess.Popen(command, cwd=path.parent, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", start_new_session=True) as process:
        try:
            output, _ = process.communicate(timeout=seconds_max)
            return process.returncode, output
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            output, _ = process.communicate()
            return None, f"{output}\nended after {seconds_max} s\n"


def counts_of_unittest(code, output):
    """(passed, failed, skipped) from what unittest says at the end; 77: it could not even begin here."""
    if code == 77:
        return 0, 0, 1
    ran = re.search(r"^Ran (\d+) tests? in", output, re.M)
    if not ran:
        return 0, 1, 0
    ending = output[ran.end():]
    number = lambda word: sum(int(n) for n in re.findall(rf"\b{word}=(\d+)", ending))
    failed = number("failures") + number("errors") + number("unexpected successes")
    if code != 0:
        failed = max(failed, 1)
    skipped = number("skipped")
    return max(int(ran[1]) - failed - skipped, 0), failed, skipped


def run_scripts(counts, paths, jobs=1):
    """What one script says stands together, in the order in which they end."""
    if not paths:
        append(counts, 0, 1, 0, "no test script was found")
    telling = threading.Lock()

    def run(path):
        began = time.monotonic()
        code, output = run_script(path)
        if path.suffix == ".py":
            passed, failed, skipped = counts_of_unittest(code, output)
        else:
            passed, failed, skipped = int(code == 0), int(code not in (0, 77)), int(code == 77)
        with telling:
            append(counts, passed, failed, skipped, path)
            verdict = "FAILED" if failed else "passed"
            print(f"{path}: {verdict}, {time.monotonic() - began:.1f} s", flush=True)
            if failed:
                print(output[-20_000:], flush=True)

    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(run, map(pathlib.Path, paths)))


def total(counts):
    lines = [line.split(" ", 3) for line in open(counts, encoding="utf-8").read().splitlines()]
    for _, failed, _, name in lines:
        if int(failed):
            print(f"FAILED: {name}")
    passed, failed, skipped = (sum(int(line[i]) for line in lines) for i in range(3))
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    return 1 if failed or not passed else 0


def main(arguments):
    if len(arguments) < 2 or arguments[0] not in ("ctest", "scripts", "total"):
        print(__doc__, file=sys.stderr)
        return 64
    if arguments[0] == "ctest":
        return count_ctest(pathlib.Path(arguments[1]), arguments[2], arguments[3:])
    if arguments[0] == "scripts":
        jobs, paths = 1, arguments[2:]
        if paths[:1] == ["--jobs"]:
            jobs, paths = int(paths[1]), paths[2:]
        return run_scripts(arguments[1], paths, jobs)
    return total(arguments[1])


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    sys.exit(main(sys.argv[1:]))
