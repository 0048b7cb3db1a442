"""script/bench_table.py reads what benchmarks print and holds it against what is wanted."""
import contextlib
import json
import os
import pathlib
import tempfile
import unittest
import unittest.mock

import bench_table

REPORT = {"benchmarks": [
    {"name": "round/10000", "run_type": "iteration", "iterations": 5, "real_time": 8.5,
     "cpu_time": 8.4, "time_unit": "ms", "p99_ms": 9.5},
]}


class Table(unittest.TestCase):
    def program(self, output):
        handle, name = tempfile.mkstemp(suffix="_bench")
        os.close(handle)
        self.addCleanup(os.unlink, name)
        path = pathlib.Path(name)
        path.write_text(f"#!/bin/sh\ncat <<'END'\n{output}\nEND\n")
        path.chmod(0o755)
        return name

    def test_a_benchmark_is_a_row_for_its_time_and_one_per_counter(self):
        rows = list(bench_table.rows_of_program(self.program(json.dumps(REPORT)), "."))
        self.assertEqual(rows, [("round/10000", 8.5, "ms"), ("round/10000 p99_ms", 9.5, "")])

    def test_a_filter_that_matches_nothing_gives_no_rows(self):
        self.assertEqual(list(bench_table.rows_of_program(self.program(""), "x")), [])

    def test_a_benchmark_that_gave_up_is_an_error(self):
        broken = {"benchmarks": [{"name": "a", "error_occurred": True, "error_message": "no disk"}]}
        with self.assertRaisesRegex(RuntimeError, "no disk"):
            list(bench_table.rows_of_program(self.program(json.dumps(broken)), "."))

    def test_numbers_are_held_against_what_is_wanted(self):
        self.assertEqual(bench_table.verdict(9.5, {"max": 10}), ("<= 10", "yes"))
        self.assertEqual(bench_table.verdict(10.5, {"max": 10}), ("<= 10", "NO"))
        self.assertEqual(bench_table.verdict(1500, {"min": 2000}), (">= 2,000", "NO"))
        self.assertEqual(bench_table.verdict(5, None), ("", ""))

    def test_a_filter_by_a_scripts_name_runs_no_other(self):
        scripts = "accuracy_bench.py", "build_bench.py", "cluster_bench.py", "serve_bench.py", "simulate_bench.py"
        asked = {names: [each for each in scripts if bench_table.may_match(each, names)] for names in ("accuracy", "cluster", "build", "submit", ".")}
        self.assertEqual(asked, {"accuracy": ["accuracy_bench.py"], "cluster": ["cluster_bench.py"], "build": ["build_bench.py"], "submit": [*scripts[2:]], ".": [*scripts[2:]]})
        root = pathlib.Path(__file__).resolve().parent.parent
        with contextlib.chdir(root), unittest.mock.patch.object(bench_table, "rows_of_program", side_effect=AssertionError("a C++ program ran")), \
                unittest.mock.patch.object(bench_table, "rows_of_script", return_value=[("cluster idle", 1, "ms")]):
            self.assertEqual(list(bench_table.measure("cluster", {})), [("cluster idle", 1, "ms")])

    def test_what_is_missed_is_measured_again_and_the_best_counts(self):
        wishes = {"slow": {"max": 10}, "fast": {"min": 100}}
        asked, given = [], [[("slow", 12, "ms"), ("fast", 50, "1/s"), ("other", 1, "s")], [("slow", 9, "ms"), ("fast", 40, "1/s")],
                            [("slow", 8, "ms"), ("fast", 90, "1/s")]]

        def measured(names):
            asked.append(names)
            return given[len(asked) - 1]

        self.assertEqual(bench_table.rows_of(measured, wishes), [("slow", 9, "ms"), ("fast", 90, "1/s"), ("other", 1, "s")])
        self.assertEqual(asked, [None, ["slow", "fast"], ["fast"]])


if __name__ == "__main__":
    unittest.main()
