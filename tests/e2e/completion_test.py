"""What shells are told by `paceline completion`, tried in the shells that are installed; and the manual's page."""

import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BINARY = Path(os.environ.get("PACELINE_BINARY", ROOT / "build/release/paceline"))


def run(*command, **options):
    return subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True, **options).stdout


class CompletionTest(unittest.TestCase):
    def setUp(self):
        self.directory = Path(self.enterContext(tempfile.TemporaryDirectory()))
        fake = self.directory / "paceline"  # of the server it asks for jobs, nodes and policies
        fake.write_text("#!/bin/sh\ncase $1 in queue) printf '7\\n12\\n' ;; policy) printf 'fifo\\nsrtf\\n' ;; "
                        "nodes) printf 'box\\ngpu-3\\n' ;; token) printf '1\\n3\\n' ;; "
                        "node) printf '4\\n5\\n' ;; context) printf 'local\\nlab\\n' ;; esac\n")
        fake.chmod(0o755)
        self.environment = {**os.environ, "PATH": f"{self.directory}:{os.environ['PATH']}", "HOME": str(self.directory)}

    def file(self, shell):
        file = self.directory / f"_{shell}"
        file.write_text(run(BINARY, "completion", shell))
        return file

    def in_bash(self, *words):
        script = 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _paceline; printf "%s\\n" "${COMPREPLY[@]}"'
        return run("bash", "-c", script, "bash", self.file("bash"), "paceline", *words, env=self.environment).split()

    def test_bash(self):
        self.assertEqual(self.in_bash("sub"), ["submit"])
        self.assertEqual(self.in_bash("policy", "s"), ["show", "set"])
        self.assertEqual(self.in_bash("submit", "--slots"), ["--slots", "--slots-per-worker"])
        self.assertEqual(self.in_bash("submit", "--name", "s"), [], "a name is nobody's to guess")
        self.assertEqual(self.in_bash("cancel", "1"), ["12"])
        self.assertEqual(self.in_bash("policy", "set", "f"), ["fifo"])
        self.assertEqual(self.in_bash("node", "show", "g"), ["gpu-3"])
        self.assertEqual(self.in_bash("node", "revoke", ""), ["4", "5"])
        self.assertEqual(self.in_bash("token", "revoke", ""), ["1", "3"])
        for command in ("use", "remove"):
            self.assertEqual(self.in_bash("context", command, "la"), ["lab"])
        self.assertNotIn("man-page", self.in_bash(""))

    @unittest.skipUnless(shutil.which("fish"), "fish is not installed")
    def test_fish(self):
        file = self.file("fish")
        offered = lambda typed: run("fish", "-c", f"source {file}; complete -C '{typed}'", env=self.environment).splitlines()
        self.assertEqual([line.split("\t")[0] for line in offered("paceline sub")], ["submit"])
        self.assertEqual(offered("paceline cancel 1"), ["12"])
        self.assertIn("srtf", offered("paceline policy set s"))
        self.assertEqual(offered("paceline token revoke "), ["1", "3"])
        self.assertIn("lab", offered("paceline context use l"))

    @unittest.skipUnless(shutil.which("zsh"), "zsh is not installed")
    def test_zsh(self):
        self.file("zsh").rename(self.directory / "_paceline")
        load = f"fpath=({self.directory} $fpath); autoload -Uz compinit; compinit -D -u; print $_comps[paceline]"
        run("zsh", "-n", self.directory / "_paceline")
        self.assertEqual(run("zsh", "-fc", load, env=self.environment).strip(), "_paceline")

    def test_another_shell_is_refused_with_those_there_are(self):
        done = subprocess.run([str(BINARY), "completion", "tcsh"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 64)
        self.assertIn("bash, zsh and fish", done.stderr)

    @unittest.skipUnless(shutil.which("man"), "man is not installed")
    def test_the_manual_has_every_command(self):
        page = self.directory / "paceline.1"
        page.write_text(run(BINARY, "man-page"))
        shown = subprocess.run(["man", "--warnings", "-l", str(page)], capture_output=True, text=True,
                               env={**self.environment, "MANWIDTH": "100", "LC_ALL": "C.UTF-8"})
        self.assertEqual((shown.returncode, shown.stderr), (0, ""))
        for words in ("policy set", "--max-duration", "/run/paceline"):
            self.assertIn(words, shown.stdout)


if __name__ == "__main__":
    unittest.main()
