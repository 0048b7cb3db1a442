"""What people install, in a bare Debian 12 root: the tarball by a user without rights, then the Debian package by root with two
users of the machine's server, upgraded while a training runs, removed and purged.

Runs only with PACELINE_TEST_ALL set (`script/test --all`): it makes the root with debootstrap from where this machine's apt gets
its packages. In namespaces of its own; nothing is installed on the machine.
"""

import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "script"), str(ROOT / "tests/e2e")]
from boxes import APART, go_apart

UPGRADED = "999.1"
TRAINING = """
import os, paceline, torch

job = paceline.init()
weight = torch.nn.Parameter(torch.zeros(1))
model = torch.nn.Module()
model.weight = weight
optimizer = torch.optim.SGD([weight], lr=1.0)
job.distribute(model, optimizer)
for _ in job.epochs(2):
    for _ in job.batches(torch.zeros(4, 1), global_batch_size=4):
        optimizer.zero_grad()
        (-weight.sum()).backward()
        optimizer.step()
        job.step()
job.finish()
print(os.path.dirname(os.path.dirname(paceline.__file__)), weight.tolist())
"""
STATE = "/var/lib/paceline"


def run(*command, **options):
    return subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True, **options).stdout


def mirror():
    """Where this machine gets Debian 12 from."""
    targets = run("apt-get", "indextargets", "--format", "$(REPO_URI) $(CODENAME)", "Created-By: Packages").splitlines()
    found = next((line.split()[0] for line in targets if line.split()[1:] == ["bookworm"]), None)
    if found is None:
        raise unittest.SkipTest("this machine gets no Debian 12 from anywhere")
    return found


def made_packages(version=None):
    """The tarball, the Debian package and the wheel."""
    run(ROOT / "script/package", *(["--version", version] if version else []))
    made = ROOT / "build/package"
    return [next(made.glob(kind)) for kind in ("*.tar.gz", "*.deb", "*.whl")]


class BareRoot:
    """A Debian 12 with nothing but what every Debian 12 has, and two users."""

    def __init__(self):
        self.path = Path(tempfile.mkdtemp(prefix="paceline-root-"))
        self.path.chmod(0o755)

    def make(self):
        made = subprocess.run(["debootstrap", "--variant=minbase", "bookworm", self.path, mirror()],
                              capture_output=True, text=True)
        if made.returncode != 0:
            raise unittest.SkipTest(f"no Debian 12 can be had here: {made.stdout[-300:]}{made.stderr[-300:]}")
        for file in ("etc/resolv.conf", "etc/hosts"):
            shutil.copy("/" + file, self.path / file)
        shutil.copytree("/etc/apt/apt.conf.d", self.path / "etc/apt/apt.conf.d", dirs_exist_ok=True)
        run("mount", "-t", "proc", "proc", self.path / "proc")
        run("mount", "--rbind", "/dev", self.path / "dev")
        run("mount", "-t", "tmpfs", "tmpfs", self.path / "run")
        self.root("echo 'exit 101' > /usr/sbin/policy-rc.d; chmod +x /usr/sbin/policy-rc.d; mkdir /packages")
        text, code = self.ask("apt-get update")
        if code != 0:
            raise unittest.SkipTest(f"no package can be had here: {text[-300:]}")
        for user in ("first", "second"):
            self.root(f"useradd --create-home --shell /bin/sh {user}")

    def unmount(self):
        for mounted in ("proc", "dev", "run"):
            subprocess.run(["umount", "--lazy", self.path / mounted], check=False, capture_output=True)

    def close(self):
        self.unmount()
        run("rm", "-r", "--one-file-system", self.path)

    def start(self, script, user):
        clean = ["env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C.UTF-8", "DEBIAN_FRONTEND=noninteractive"]
        inside = ["chroot", self.path, *clean, "su", "-", user, "-c", script]
        return subprocess.run([str(word) for word in inside], capture_output=True, text=True, stdin=subprocess.DEVNULL)

    def ask(self, script, user="root"):
        """What it prints, and how it ended."""
        done = self.start(script, user)
        return done.stdout + done.stderr, done.returncode

    def root(self, script):
        return self.by("root", script)

    def by(self, user, script):
        text, code = self.ask(script, user)
        if code != 0:
            raise AssertionError(f"{user}: {script}\nended with {code}:\n{text}")
        return text

    def put(self, file):
        shutil.copy(file, self.path / "packages")
        return f"/packages/{Path(file).name}"


@unittest.skipUnless(os.environ.get("PACELINE_TEST_ALL"), "only with script/test --all")
class PackageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.later = shutil.move(made_packages(UPGRADED)[1], ROOT / "build")
        cls.addClassCleanup(os.remove, cls.later)
        cls.tarball, cls.package, cls.wheel = made_packages()
        cls.bare = BareRoot()
        cls.addClassCleanup(cls.bare.close)
        cls.bare.make()

    def until(self, happened, what):
        deadline = time.monotonic() + 60
        while not happened():
            self.assertLess(time.monotonic(), deadline, what)
            time.sleep(0.1)

    def test_0_it_is_named_as_the_readme_says(self):
        named = re.search(r"sudo apt install \./(\S+)", (ROOT / "README.md").read_text())[1]
        self.assertEqual(self.package, ROOT / named)

    def test_1_the_tarball_runs_from_any_folder_without_root(self):
        archive = self.bare.put(self.tarball)
        self.bare.by("first", f"mkdir 'my folder' && tar -C 'my folder' -xzf {archive}")
        paceline = "'my folder'/paceline-*/bin/paceline"
        self.assertIn("CPU slot", self.bare.by("first", f"{paceline} up --detach --slots 1"))
        self.assertIn("hello from first", self.bare.by("first", f"{paceline} run -- sh -c 'echo hello from $(id -un)'"))
        self.finds_what_is_loaded_when_it_is_needed(paceline)
        self.assertIn("The server stopped", self.bare.by("first", f"{paceline} down --jobs"))

    def test_1_the_wheel_is_the_whole_runtime(self):
        with tempfile.TemporaryDirectory() as folder:
            run("/usr/bin/python3", "-m", "pip", "install", "--no-index", "--no-deps", "--target", folder, self.wheel)
            script = Path(folder) / "train.py"
            script.write_text(TRAINING)
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", 0))
                port = str(probe.getsockname()[1])
            environment = {"PATH": os.environ["PATH"], "PYTHONPATH": folder, "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port,
                           "OMP_NUM_THREADS": "1"}
            ranks = [subprocess.Popen(["/usr/bin/python3", script], env={**environment, "RANK": str(rank), "LOCAL_RANK": str(rank)},
                                      stdout=subprocess.PIPE, text=True) for rank in range(2)]
            self.assertEqual([each.communicate()[0].splitlines()[-1:] for each in ranks], [[f"{folder} [2.0]"]] * 2)

    def finds_what_is_loaded_when_it_is_needed(self, paceline):
        trace = "job_id,submission_time,duration,num_gpu\na,0,3600,8\n"
        self.bare.by("first", f"printf '{trace}' | gzip > jobs.csv.gz")
        self.assertIn("fifo", self.bare.by("first", f"{paceline} simulate --trace jobs.csv.gz --cluster 1x8 --policy fifo"))
        self.bare.by("first", f"{paceline} up --dir ~/listening --listen 127.0.0.1:0 --slots 1 --detach && "
                              f"{paceline} --server ~/listening down")
        found = self.bare.by("first", f"{paceline} run --workdir . -- sh -c 'ls \"$PYTHONPATH\"/paceline/__init__.py "
                                      "\"$PYTHONPATH\"/paceline/horovod/torch/elastic/__init__.py; "
                                      "ldd \"$PYTHONPATH\"/libpaceline.so.0'")
        self.assertRegex(found, r"lib/paceline/python/paceline/__init__\.py")
        self.assertRegex(found, r"lib/paceline/python/paceline/horovod/torch/elastic/__init__\.py")
        self.assertNotIn("not found", found)
        self.assertNotRegex(found, "libstdc|libcrypto", "it brings along what it needs")

    def test_2_the_package_brings_a_server_for_everybody(self):
        bare = self.bare
        bare.root(f"apt-get install --yes --no-install-recommends {bare.put(self.package)}")
        self.assertNotRegex(bare.root("dpkg --list"), "libx11|libcairo|fontconfig")
        self.assertNotIn("not found", bare.root("ldd /usr/bin/paceline"))
        self.assertIn("paceline cancel", bare.root("zcat /usr/share/man/man1/paceline.1.gz"))
        self.assertIn("complete -F", bare.root("cat /usr/share/bash-completion/completions/paceline"))
        text, code = bare.ask("paceline queue", "first")
        self.assertEqual(code, 69, text)
        self.assertNotIn("Start one", text)
        self.what_roots_server_kept_in_its_home_is_moved()
        self.assertEqual(bare.root("stat -c %a /run/paceline /run/paceline/paceline.sock").split(), ["755", "666"])
        self.assertIn("paceline.db", bare.root(f"ls {STATE}"))
        self.assertIn("it is first", bare.by("first", "paceline run -- sh -c 'echo it is $(id -un)'"))
        self.assertIn("it is second", bare.by("second", "paceline run -- sh -c 'echo it is $(id -un)'"))
        self.assertRegex(bare.by("second", "paceline queue --all"), "first +COMPLETED")
        self.assertNotEqual(bare.ask("paceline logs 1", "second")[1], 0, "a log is its owner's")
        self.finds_what_is_loaded_when_it_is_needed("paceline")
        bare.root("ls /usr/include/paceline/runtime.h /usr/include/paceline/torch.hpp /usr/include/paceline/torch/job.hpp "
                  "/usr/lib/cmake/Paceline/PacelineConfig.cmake /usr/lib/paceline/python/libpaceline.so.0")
        self.assertIn("already runs", bare.ask("paceline up")[0])
        self.completes_in_zsh_and_fish()

    def completes_in_zsh_and_fish(self):
        bare = self.bare
        bare.root("apt-get install --yes --no-install-recommends zsh fish")
        bare.by("first", "zsh -n /usr/share/zsh/vendor-completions/_paceline")
        found = bare.by("first", "zsh -fc 'autoload -Uz compinit; compinit -D -u; print $_comps[paceline]'")
        self.assertEqual(found.strip(), "_paceline")
        self.assertEqual(self.offered_by_fish("paceline sub"), ["submit"])
        self.assertIn("srtf", self.offered_by_fish("paceline policy set s"), "the server is asked")

    def offered_by_fish(self, typed):
        offered = self.bare.by("first", f"fish -c \"complete -C '{typed}'\"")
        return [line.split("\t")[0] for line in offered.splitlines()]

    def what_roots_server_kept_in_its_home_is_moved(self):
        former = "/root/.local/share/paceline"
        self.bare.root(f"paceline up --dir {former} --detach --slots 2 && paceline --server {former} down")
        text, code = self.bare.ask("env -u HOME paceline up --detach --slots 2")  # as systemd starts it
        self.assertEqual(code, 73, text)
        self.assertIn(f"Root's server kept its journal in '{former}'", text)
        self.assertIn(f"'paceline up --move-from {former}'", text)
        self.assertIn(f"'paceline up --dir {former}'", text)
        self.bare.root(f"paceline up --detach --slots 2 --move-from {former}")

    def test_3_an_upgrade_leaves_trainings_alone(self):
        bare = self.bare
        job = bare.by("first", "paceline submit --parsable -- sh -c 'echo $$ > ~/pid; exec sleep 1000'").strip()
        self.until(lambda: bare.ask("test -s ~/pid", "first")[1] == 0, "it did not start")
        pid = bare.by("first", "cat ~/pid").strip()
        bare.root(f"apt-get install --yes {bare.put(self.later)}")
        self.assertIn(UPGRADED, bare.root("dpkg-query --show paceline"))
        bare.root("paceline down && paceline up --detach --slots 2")
        self.assertIn("RUNNING", bare.by("first", f"paceline show {job}"))
        self.assertIn("sleep", Path(f"{bare.path}/proc/{pid}/cmdline").read_text())
        bare.root("kill -9 $(cat /var/lib/paceline/paceline.lock)")
        # Its lock is free once it is gone, which may be later than the signal.
        self.until(lambda: bare.ask("paceline up --detach --slots 2")[1] == 0, "no server begins after a kill")
        self.assertIn("RUNNING", bare.by("first", f"paceline show {job}"))

    def test_4_what_is_removed_is_gone_and_what_people_had_stays_until_it_is_purged(self):
        bare = self.bare
        bare.by("first", "paceline cancel $(paceline queue -o name)")
        bare.root("apt-get remove --yes paceline")
        self.assertNotEqual(bare.ask("paceline version")[1], 0)
        self.assertIn("paceline.db", bare.root(f"ls {STATE}"))
        self.assertNotEqual(bare.ask("test -e /run/paceline/paceline.sock")[1], 0, "the server went with the package")
        bare.root("apt-get purge --yes paceline")
        self.assertNotEqual(bare.ask(f"test -e {STATE}")[1], 0)
        self.assertNotEqual(bare.ask("test -e /etc/default/paceline")[1], 0)


if __name__ == "__main__":
    if os.environ.get("PACELINE_TEST_ALL") and APART not in os.environ:
        go_apart()
    unittest.main()
