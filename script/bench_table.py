"""Runs every benchmark whose name matches a regular expression and prints one table; or counts what
their measured part executes."""
import json
import os
import pathlib
import platform
import re
import subprocess
import sys

BENCH_SECONDS_MAX = 3600
MEASURED_AGAIN = 2  # times at most
ROUNDS_COUNTED = 3  # by valgrind, some fifty times slower than the machine


def first_line(*command):
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return (done.stdout.splitlines() or ["unknown"])[0].strip()
    except OSError:
        return "unknown"


def machine():
    """One line on the hardware, one on the software."""
    cpuinfo = pathlib.Path("/proc/cpuinfo").read_text()
    model = re.search(r"^model name\s*:\s*(.*)$", cpuinfo, re.M)
    memory_kib = int(re.search(r"MemTotal:\s*(\d+)", pathlib.Path("/proc/meminfo").read_text())[1])
    system = re.search(r'PRETTY_NAME="(.*)"', pathlib.Path("/etc/os-release").read_text())
    return (f"{os.cpu_count()} x {model[1] if model else platform.machine()}, "
            f"{memory_kib / 2**20:.1f} GiB memory, load {os.getloadavg()[0]:.1f}\n"
            f"{system[1] if system else 'Linux'}, Linux {platform.release()}, "
            f"{first_line('c++', '--version')}, build {first_line('git', 'describe', '--always', '--dirty')}")


def run(command, **options):
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False,
                          timeout=BENCH_SECONDS_MAX, **options)
    if done.returncode != 0:
        raise RuntimeError(f"{command[0]} {command[-1]} ended with {done.returncode}")
    return done.stdout


def rows_of_program(program, wanted_names):
    """(name, value, unit) of a Google Benchmark program: its time, then its own counters."""
    report = run([program, "--benchmark_format=json", f"--benchmark_filter={wanted_names}"])
    standard = {"name", "run_name", "run_type", "repetitions", "repetition_index", "threads",
                "iterations", "real_time", "cpu_time", "time_unit", "family_index",
                "per_family_instance_index", "aggregate_name", "aggregate_unit", "label"}
    for bench in json.loads(report)["benchmarks"] if report.strip() else []:
        if bench.get("error_occurred"):
            raise RuntimeError(f"{bench['name']}: {bench.get('error_message')}")
        name = re.sub(r"/(iterations:\d+|manual_time)", "", bench["name"])
        yield name, bench["real_time"], bench["time_unit"]
        for counter in sorted(bench.keys() - standard):
            yield f"{name} {counter}", bench[counter], ""


def instructions(program, function, wanted_names):
    """(name, count) of one call of the function, for each benchmark of a program."""
    rounds = {**os.environ, "PACELINE_BENCH_ROUNDS": str(ROUNDS_COUNTED)}
    listed = run([program, "--benchmark_list_tests", f"--benchmark_filter={wanted_names}"], env=rounds)
    for name in listed.split():
        done = subprocess.run(
            ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", "--collect-atstart=no",
             f"--toggle-collect=*{function}*", program, f"--benchmark_filter=^{re.escape(name)}$"],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False, env=rounds,
            timeout=BENCH_SECONDS_MAX)
        collected = re.search(r"Collected : (\d+)", done.stderr)
        if done.returncode != 0 or not collected:
            raise RuntimeError(f"valgrind on {name}: {done.stderr.strip()[-500:]}")
        yield name.split("/")[0], int(collected[1]) / ROUNDS_COUNTED


def rows_of_script(script, wanted_names):
    for line in run([sys.executable, script]).splitlines():
        row = json.loads(line)
        if re.search(wanted_names, row["name"]):
            yield row["name"], row["value"], row.get("unit", "")


def verdict(value, wish):
    """(what was wanted, whether it was reached) for one row."""
    if wish is None:
        return "", ""
    if "max" in wish:
        return f"<= {wish['max']:,g}", "yes" if value <= wish["max"] else "NO"
    return f">= {wish['min']:,g}", "yes" if value >= wish["min"] else "NO"


# The scripts whose rows all begin with their name, and no other rows do.
BY_NAME = "accuracy", "build", "cluster", "collectives", "many_jobs", "simulate"
ON_DEMAND = "accuracy", "build"


def is_asked_for(name, wanted_names):
    """What takes half an hour is measured only where the filter begins with its name."""
    return not any(name.startswith(each) and not wanted_names.startswith(each) for each in ON_DEMAND)


def script_asked_for(wanted_names):
    """The one whose rows alone can match; None: there is no such."""
    return next((name for name in BY_NAME if wanted_names.startswith(name)), None)


def may_match(script, wanted_names):
    """False: no row of the script can match, so it need not run."""
    return is_asked_for(script, wanted_names) and script_asked_for(wanted_names) in (None, script.removesuffix("_bench.py"))


def better(one, other, wish):
    return min(one, other) if "max" in wish else max(one, other)


def rows_of(measured, wishes):
    """The rows that `measured(names)` gives; None: all. What misses its wish is measured again, and the best counts: whatever
    else runs on the machine only takes time."""
    rows = list(measured(None))
    for _ in range(MEASURED_AGAIN):
        missed = [name for name, value, _ in rows if verdict(value, wishes.get(name))[1] == "NO"]
        if not missed:
            break
        again = {name: value for name, value, _ in measured(missed) if name in missed}
        rows = [(name, better(value, again[name], wishes[name]) if name in again else value, unit) for name, value, unit in rows]
    return rows


def measure(wanted_names, wishes):
    programs = [] if script_asked_for(wanted_names) else sorted(pathlib.Path("bench").glob("*_bench.cpp"))
    for source in programs:
        yield from rows_of(lambda names: rows_of_program(
            f"build/release/bench/{source.stem}",
            f"^({'|'.join(name.split()[0] for name in names)})" if names else wanted_names), wishes)
    for script in sorted(pathlib.Path("bench").glob("*_bench.py")):
        if may_match(script.name, wanted_names):
            yield from rows_of(lambda _: rows_of_script(str(script), wanted_names), wishes)


def number(value):
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:,.3g}"


def main(wanted_names):
    wishes_file = pathlib.Path("bench/wanted.json")
    wishes = json.loads(wishes_file.read_text()) if wishes_file.exists() else {}
    print(machine() + "\n")
    line = "{:<56} {:>14} {:<8} {:>14}  {}"
    print(line.format("benchmark", "measured", "unit", "wanted", "reached"))
    missed = 0
    absent = {name for name in wishes if re.search(wanted_names, name) and is_asked_for(name, wanted_names)}
    for name, value, unit in measure(wanted_names, wishes):
        absent.discard(name)
        wanted, reached = verdict(value, wishes.get(name))
        missed += reached == "NO"
        print(line.format(name, number(value), unit, wanted, reached).rstrip(), flush=True)
    for name in sorted(absent):
        print(line.format(name, "not measured", "", "", "NO"))
    return 1 if missed or absent else 0


def count(wanted_names):
    print("{:<56} {:>16}".format("one round", "instructions"))
    for name, value in instructions("build/release/bench/policy_bench", "measured_round", wanted_names):
        print(f"{name:<56} {value:>16,.0f}", flush=True)


if __name__ == "__main__":
    pattern = sys.argv[-1] if len(sys.argv) > 1 and not sys.argv[-1].startswith("--") else "."
    sys.exit(count(pattern) if "--instructions" in sys.argv else main(pattern))
