"""script/bootstrap installs what is missing and nothing else, with dpkg-query and apt-get played."""
import os
import pathlib
import subprocess
import tempfile
import unittest

BOOTSTRAP = pathlib.Path(__file__).resolve().parent / "bootstrap"


class Bootstrap(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.calls = self.folder / "calls"
        self.calls.touch()
        self.program("sudo", 'exec "$@"')

    def program(self, name, body):
        path = self.folder / name
        path.write_text(f"#!/bin/bash\n{body}\n")
        path.chmod(0o755)

    def run_with(self, *options, absent=(), apt_fails=False):
        self.program("dpkg-query", 'shift 2\nfor p in "$@"; do\n'
                     f'  case " {" ".join(absent)} " in *" $p "*) ;; *) echo "$p ii" ;; esac\n'
                     "done")
        self.program("apt-get", f'echo "$@" >>{self.calls}\n'
                     """[[ $* == *--print-uris* ]] && printf "'https://x/%s' %s 1600000 SHA256:0\n" a.deb a.deb b.deb b.deb\n"""
                     f"exit {int(apt_fails)}")
        environment = {**os.environ, "PATH": f"{self.folder}:{os.environ['PATH']}"}
        done = subprocess.run([BOOTSTRAP, *options], env=environment, capture_output=True,
                              text=True, check=False)
        return done.returncode, done.stdout, done.stderr, self.calls.read_text().splitlines()

    def test_says_and_does_nothing_when_all_is_there(self):
        self.assertEqual(self.run_with("--check"), (0, "", "", []))

    def test_installs_exactly_what_is_missing_and_says_so(self):
        code, out, _, calls = self.run_with(absent=("ninja-build", "python3-torch"))
        self.assertEqual(code, 0)
        self.assertIn("missing Debian packages: ninja-build python3-torch", out)
        self.assertIn("downloads 3 MB", out)
        self.assertEqual(calls, ["-qq update", "-qq install --print-uris --no-install-recommends --yes ninja-build python3-torch",
                                 "-qq install --no-install-recommends --yes ninja-build python3-torch"])

    def test_building_needs_no_pytorch(self):
        self.assertEqual(self.run_with("--build-only", absent=("python3-torch",))[3], [])
        self.assertEqual(self.run_with("--training-only", absent=("ninja-build",))[3], [])

    def test_frameworks_are_installed_only_where_they_are_asked_for(self):
        self.assertEqual(self.run_with(absent=("openmpi-bin",))[3], [])
        self.assertIn("openmpi-bin", self.run_with("--frameworks", absent=("openmpi-bin", "cmake"))[1])

    def test_a_dry_run_installs_nothing(self):
        code, out, _, calls = self.run_with("--dry-run", absent=("cmake",))
        self.assertEqual((code, calls), (1, []))
        self.assertIn("cmake", out)

    def test_a_failing_installation_says_what_to_do(self):
        code, _, err, _ = self.run_with(absent=("cmake",), apt_fails=True)
        self.assertEqual(code, 1)
        self.assertIn("run script/bootstrap again", err)

    def test_an_unknown_option_is_refused(self):
        code, _, err, calls = self.run_with("--everything")
        self.assertEqual((code, calls), (1, []))
        self.assertIn("--everything", err)


if __name__ == "__main__":
    unittest.main()
