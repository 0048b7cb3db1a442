"""script/tally.py counts every way a test can end."""
import contextlib
import io
import pathlib
import tempfile
import unittest

import tally

CTEST = """<testsuite>
<testcase name="good" status="run"/><testcase name="crashed" status="fail"/>
<testcase name="late" status="fail"/><testcase name="plain" status="run"/>
</testsuite>"""
GOOD = """<testsuites><testsuite name="S">
<testcase name="a" classname="S" status="run"/>
<testcase name="b" classname="S" status="run"><failure message="no"/></testcase>
<testcase name="c" classname="S" status="run"><skipped message="later"/></testcase>
<testcase name="d" classname="S" status="notrun"/>
</testsuite></testsuites>"""
LATE = '<testsuites><testsuite name="S"><testcase name="a" classname="S" status="run"/></testsuite></testsuites>'


class Tally(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.counts = self.folder / "counts"

    def total(self):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            code = tally.total(self.counts)
        return code, out.getvalue().splitlines()

    def script(self, name, text):
        path = self.folder / name
        path.write_text(text)
        with contextlib.redirect_stdout(io.StringIO()):
            tally.run_scripts(self.counts, [path])

    def test_cases_crashes_and_programs_that_are_no_gtest_are_counted(self):
        (self.folder / "ctest.xml").write_text(CTEST)
        (self.folder / "good.xml").write_text(GOOD)
        (self.folder / "late.xml").write_text(LATE)
        tally.count_ctest(self.folder, self.counts, ["ctest.xml"])
        code, lines = self.total()
        self.assertEqual(code, 1)
        self.assertEqual(lines, ["FAILED: S.b", "FAILED: crashed",
                                 "FAILED: late (ended badly: fail)",
                                 "3 passed, 3 failed, 2 skipped"])

    def test_python_tests_are_counted_case_by_case(self):
        self.script("a_test.py", "import unittest\nclass T(unittest.TestCase):\n"
                    "  def test_a(self): pass\n  def test_b(self): self.fail()\n"
                    "  def test_c(self): self.skipTest('no')\n  def test_d(self): 1 / 0\n"
                    "unittest.main()\n")
        self.assertEqual(self.total()[1][-1], "1 passed, 2 failed, 1 skipped")

    def test_a_python_file_that_does_not_load_is_a_failure(self):
        self.script("a_test.py", "import no_such_module\n")
        self.assertEqual(self.total()[1][-1], "0 passed, 1 failed")

    def test_a_python_file_that_runs_nothing_is_a_failure_and_one_that_can_not_begin_is_skipped(self):
        self.script("a_test.py", "import unittest\nclass T(unittest.TestCase):\n  def test_a(self): pass\n")
        self.script("b_test.py", "import sys\nsys.exit(77)\n")
        self.assertEqual(self.total()[1][-1], "0 passed, 1 failed, 1 skipped")

    def test_a_shell_test_passes_fails_or_skips_by_its_exit_code(self):
        for code in (0, 3, 77):
            self.script("a_test.sh", f"exit {code}\n")
        self.assertEqual(self.total()[1][-1], "1 passed, 1 failed, 1 skipped")

    def test_a_report_that_is_missing_is_a_failure(self):
        (self.folder / "ctest.xml").write_text(CTEST.replace("fail", "run"))
        tally.count_ctest(self.folder, self.counts, ["ctest.xml", "ctest-others.xml"])
        self.assertEqual(self.total()[1], ["FAILED: ctest-others.xml (was not written)", "4 passed, 1 failed"])

    def test_no_script_at_all_is_a_failure(self):
        tally.run_scripts(self.counts, [])
        self.assertEqual(self.total()[1][-1], "0 passed, 1 failed")

    def test_a_script_that_takes_too_long_is_ended_with_its_children(self):
        path = self.folder / "slow_test.sh"
        path.write_text("echo begun\nsleep 100 & sleep 100\n")
        code, output = tally.run_script(path, seconds_max=0.5)
        self.assertIsNone(code)
        self.assertIn("begun", output)
        self.assertIn("ended after 0.5 s", output)

    def test_scripts_at_a_time_are_all_counted_and_each_is_told_together(self):
        # Each ends only once the other has begun.
        for own, other in (("a", "b"), ("b", "a")):
            (self.folder / f"{own}_test.sh").write_text(
                f"echo {own} begins\ntouch {own}\nuntil test -e {other}; do sleep 0.01; done\necho {own} ends\nexit 1\n")
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            tally.main(["scripts", self.counts, "--jobs", "2", self.folder / "a_test.sh", self.folder / "b_test.sh"])
        for own in ("a", "b"):
            self.assertIn(f"{own} begins\n{own} ends\n", out.getvalue())
        self.assertEqual(self.total()[1][-1], "0 passed, 2 failed")

    def test_nothing_run_is_no_success(self):
        self.counts.write_text("")
        self.assertEqual(self.total(), (1, ["0 passed, 0 failed"]))


if __name__ == "__main__":
    unittest.main()
