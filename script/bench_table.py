"""Runs every benchmark whose name matches a regular expression and prints one table."""
import json
import os
import pathlib
import platform
import re
import subprocess
import sys

BENCH_SECONDS_MAX = 1800


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


def run(command):
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False,
                          timeout=BENCH_SECONDS_MAX)
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
        yield bench["name"], bench["real_time"], bench["time_unit"]
        for counter in sorted(bench.keys() - standard):
            yield f"{bench['name']} {counter}", bench[counter], ""


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


def measure(wanted_names):
    for source in sorted(pathlib.Path("bench").glob("*_bench.cpp")):
        yield from rows_of_program(f"build/release/bench/{source.stem}", wanted_names)
    for script in sorted(pathlib.Path("bench").glob("*_bench.py")):
        yield from rows_of_script(str(script), wanted_names)


def number(value):
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:,.3g}"


def main(wanted_names):
    wishes_file = pathlib.Path("bench/wanted.json")
    wishes = json.loads(wishes_file.read_text()) if wishes_file.exists() else {}
    print(machine() + "\n")
    line = "{:<56} {:>14} {:<8} {:>14}  {}"
    print(line.format("benchmark", "measured", "unit", "wanted", "reached"))
    missed = 0
    for name, value, unit in measure(wanted_names):
        wanted, reached = verdict(value, wishes.get(name))
        missed += reached == "NO"
        print(line.format(name, number(value), unit, wanted, reached).rstrip(), flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else "."))
