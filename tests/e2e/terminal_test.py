"""What people see of a job: on a terminal of 80 columns and through pipes bars repaint in place, reports stay hidden, nothing is lost;
what a target came to."""

import fcntl
import os
import pty
import signal
import struct
import subprocess
import sys
import termios
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "script"), str(ROOT / "tests/e2e")]
from box import Box
from boxes import BINARY

COLUMNS, ROWS = 80, 24
# As tqdm does: the bar on standard error, longer than the terminal is wide, with reports between its states.
BAR = r"""
import sys, time
for step in range(1, 6):
    sys.stderr.write("\r%3d%%|%s" % (20 * step, "#" * 20 * step)); sys.stderr.flush()
    print('{"paceline": {"step": %d}}' % step, flush=True)
    time.sleep(0.1)
sys.stderr.write("\n")
print("done", flush=True)
"""


def screen(text):
    """What a terminal shows after this: rows that wrap, returns, erased rows and steps up."""
    rows, row, column = [""], 0, 0
    at = 0
    while at < len(text):
        if text.startswith("\x1b[K", at):
            rows[row], at = rows[row][:column], at + 3
        elif text.startswith("\x1b[A", at):
            row, at = max(row - 1, 0), at + 3
        else:
            letter, at = text[at], at + 1
            if letter == "\r":
                column = 0
            elif letter == "\n" or column == COLUMNS:
                row, column = row + 1, 0
                rows += [""] * (row + 1 - len(rows))
            if letter not in "\r\n":
                rows[row] = rows[row][:column].ljust(column) + letter + rows[row][column + 1:]
                column += 1
    return [line.rstrip() for line in rows]


class TerminalTest(unittest.TestCase):
    def on_terminal(self, box, *words, answer=None, signal=None):
        """All that `paceline` wrote to a terminal of its own, and how it ended. `answer`: what is typed once it wrote what; `signal`:
        what is sent to it then instead."""
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        child = subprocess.Popen([box.binary, *words], env=box.environment | {"TERM": "xterm"}, stdin=theirs, stdout=theirs, stderr=theirs)
        os.close(theirs)
        written = b""
        try:
            while piece := os.read(ours, 4096):
                written += piece
                if answer and answer[0] in written:
                    if signal:
                        child.send_signal(signal)
                    else:
                        os.write(ours, answer[1])
                    answer = None
                self.local_flags = termios.tcgetattr(ours)[3]
        except OSError:  # the other end is gone
            pass
        os.close(ours)
        return written.decode(), child.wait()

    def test_a_bar_repaints_in_place(self):
        with Box(BINARY, slots=2) as box:
            text, code = self.on_terminal(box, "run", "--", "python3", "-c", BAR)
            rows = screen(text)
            self.assertEqual(code, 0)
            self.assertNotIn('{"paceline"', text)
            self.assertRegex(text, "job 1  (STARTING|RUNNING)")  # the status line, while it ran
            self.assertEqual(rows[2:], ["100%|" + "#" * 75, "#" * 25, "done", "paceline: Job 1 is COMPLETED: exited with code 0.", ""])
            self.assertIn('{"paceline"', box.call("logs", "1").stdout)

    def test_each_rank_has_its_bar(self):
        with Box(BINARY, slots=2) as box:
            text, code = self.on_terminal(box, "run", "--slots", "2", "--", "python3", "-c", BAR)
            rows = screen(text)
            self.assertEqual(code, 0)
            for rank in range(2):
                self.assertEqual(sum(row.startswith(f"[{rank}] 100%|#") for row in rows), 1)
                self.assertFalse(any(row.startswith((f"[{rank}]  20%", f"[{rank}]  80%")) for row in rows))
                self.assertIn(f"[{rank}] done", rows)

    def test_a_pipe_gets_the_last_state_of_each_line(self):
        with Box(BINARY, slots=1) as box:
            run = subprocess.run([box.binary, "run", "--", "python3", "-c", BAR], env=box.environment, input="data\n", capture_output=True, text=True)
            self.assertEqual(run.stdout.splitlines()[1:], ["100%|" + "#" * 100, "done"])
            self.assertIn("Standard input is not handed to the job", run.stderr)
            self.assertNotIn("Standard input", box.call("run", "--", "true").stderr)  # /dev/null
            self.assertEqual(box.call("logs", "--tail", "1", "1").stdout, "done\n")

    def test_input_that_comes_later_is_refused_aloud_too(self):
        with Box(BINARY, slots=1) as box:
            said = box.directory / "run.err"
            with open(said, "w") as err:
                run = subprocess.Popen([box.binary, "run", "--", "sleep", "600"], env=box.environment, stdin=subprocess.PIPE,
                                       stdout=subprocess.DEVNULL, stderr=err, text=True)
            box.until(lambda: box.call("show", "1", check=False).returncode == 0, 60, "nothing is submitted")
            box.wait_state(1, "RUNNING")
            self.assertNotIn("Standard input", said.read_text())
            run.stdin.write("data\n")
            run.stdin.flush()
            box.until(lambda: "Standard input is not handed to the job" in said.read_text(), 60, "nothing is said")
            box.call("cancel", "1")
            run.communicate()
            self.assertEqual(said.read_text().count("Standard input"), 1)

    def test_leaving_a_terminal_begins_a_line(self):
        with Box(BINARY, slots=1) as box:
            text, code = self.on_terminal(box, "run", "--pty", "--", "sh", "-c", "printf 'prompt> '; sleep 600",
                                          answer=(b"prompt> ", b"\x1d\x1d\x1d"))
            rows = screen(text)
            self.assertEqual(code, 0)
            self.assertRegex(rows[rows.index("prompt>") + 1], "^paceline: Job 1 goes on")

    def test_signals_leave_a_terminal_as_it_was(self):
        with Box(BINARY, slots=1) as box:
            text, code = self.on_terminal(box, "run", "--pty", "--", "sh", "-c", "printf 'prompt> '; sleep 600",
                                          answer=(b"prompt> ", b""), signal=signal.SIGTERM)
            self.assertEqual(code, 128 + signal.SIGTERM)
            self.assertIn("Job 1 goes on", text)
            self.assertEqual(self.local_flags & (termios.ECHO | termios.ICANON | termios.ISIG), termios.ECHO | termios.ICANON | termios.ISIG)
            text, code = self.on_terminal(box, "run", "--pty", "--hold", "--", "true", answer=(b"PENDING", b""), signal=signal.SIGINT)
            self.assertEqual(code, 128 + signal.SIGINT)
            self.assertIn("Job 2 goes on", text)

    def test_a_long_last_line_is_told_alone(self):
        with Box(BINARY, slots=1) as box:
            line = "x" * 30_000
            box.call("run", "--", "sh", "-c", f"for i in 1 2 3; do echo $i-{line}; done", check=False)
            self.assertEqual(box.call("logs", "--tail", "1", "1").stdout, f"3-{line}\n")
            self.assertEqual(box.call("logs", "--tail", "2", "1").stdout, f"2-{line}\n3-{line}\n")
            self.assertEqual(box.call("logs", "--tail", "1K", "1").stdout, line[:1023] + "\n")

    def test_the_rank_that_failed_has_the_last_word(self):
        script = 'if [ $RANK = 1 ]; then echo "no such file"; sleep 3; exit 3; fi; sleep 1; for i in $(seq 30); do echo $i; done; sleep 60'
        with Box(BINARY, slots=2) as box:
            run = box.call("run", "--slots", "2", "--", "sh", "-c", script, check=False)
            self.assertEqual(run.returncode, 3)
            self.assertIn("paceline: Rank 1 failed. It wrote last:\n", run.stderr)
            self.assertIn("  [1] no such file\n", run.stderr)
            for i in range(520):
                box.call("cancel", str(box.submit("--hold", "--", "true")))
            for command in ("show", "why"):
                self.assertIn("Rank 1 failed. It wrote last:\n  [1] no such file\n", box.call(command, "1").stdout)

    def test_a_target_that_was_met_stays_met(self):
        script = """for v in 0.5 0.96 0.8; do echo "{\\"paceline\\": {\\"acc\\": $v, \\"step\\": 1, \\"total_steps\\": 9}}"; sleep 0.5; done"""
        with Box(BINARY, slots=2) as box:
            met = box.submit("--target", "acc>=0.95", "--", "sh", "-c", "trap '' TERM; " + script)
            silent = box.submit("--target", "f1>=0.95", "--", "sleep", "60")
            box.wait_state(met, "COMPLETED")
            box.wait_state(silent, "RUNNING")
            run = box.call("run", "--target", "f1>=0.95", "--", "true")
            self.assertIn('Job 3: no report named f1 so far: print {"paceline": {"f1": 0.5}} as a line of its own.\n', run.stderr)
            self.assertRegex(box.call("show", str(met)).stdout, "Target +acc >= 0.95, met by 0.96, reached")
            self.assertIn('no report named f1 so far: print {"paceline": {"f1": 0.5}}', box.call("show", str(silent)).stdout)
            self.assertIn("No report named f1 so far", box.call("why", str(silent)).stdout)
            self.assertRegex(box.call("queue", "--last", "2", "--name", "s*").stdout, f"{met} .*COMPLETED .*100%  ≥0.95 acc")
            self.assertEqual(box.call("queue", "--last", "1", "-o", "name", "--name", "sleep").stdout, f"{silent}\n")


if __name__ == "__main__":
    unittest.main()
