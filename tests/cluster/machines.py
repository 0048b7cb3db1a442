"""Machines on one network: each is a process, network, host name and mount namespace of its own, joined to the others by a bridge.

    with Network() as network:
        box, gpu = network.machine("box"), network.machine("gpu-1")
        server = box.start([BINARY, "up", "--listen", f"{box.address}:0"], log=log)
        gpu.run("ping", "-c1", box.address)
        gpu.cut()               # nothing comes or goes; cut(incoming=False): it is heard, and hears nothing
        gpu.heal()
        gpu.part(box)           # they don't hear each other, whatever else they hear; meet(box): they do again
        gpu.narrow("1mbit")     # its line carries no more
        relay = Relay(network.machine("wire"), f"{box.address}:7443", folder)
        relay.orders(delay=0.2, stops=["there"])    # for whoever dials relay.address; see relay.py
        gpu.power_off()         # every process of it dies at once

All machines see the same files, but for /run and /dev/shm, which each has for itself. Nothing of this touches the namespaces of
the process that makes it, and everything ends with it. skip_unless_permitted() ends a test program with 77 where the kernel or
the user doesn't permit such namespaces.
"""

import contextlib
import itertools
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

SECONDS = 60
DIES_WITH_US = ["setpriv", "--pdeathsig", "KILL"]
NOWHERE = "02:00:00:00:00:fe"  # the address of a network card that nobody has


def skip_unless_permitted():
    wanted = ["unshare", "--net", "--uts", "--mount", "--pid", "--fork", "--mount-proc", "sh", "-c",
              "ip link add name bridge type bridge && ip link add name port type veth peer name card && mount -t tmpfs tmpfs /run"]
    done = subprocess.run(wanted, capture_output=True, text=True)
    if done.returncode != 0:
        print(f"skipped: no network namespaces for this user: {done.stderr.strip()}")
        sys.exit(77)


def children(pid):
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def without_shells(pid):
    """The program that a shell waits for, where it is one."""
    while Path(f"/proc/{pid}/comm").read_text().strip() in ("sh", "dash", "bash") and (found := children(pid)):
        pid = found[-1]
    return pid


class Namespaces:
    """Namespaces that live until close(), held by a process that only sleeps."""

    def __init__(self, name):
        begin = 'mount -t tmpfs tmpfs /run && mount -t tmpfs -o mode=1777 tmpfs /dev/shm && hostname "$0" && ip link set lo up && ' \
                "echo ready && exec sleep infinity"
        self.holder = subprocess.Popen(
            [*DIES_WITH_US, "unshare", "--net", "--uts", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c", begin, name],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        if self.holder.stdout.readline() != "ready\n":
            raise RuntimeError(f"no namespaces for {name}")
        self.pid = children(self.holder.pid)[0]

    def command(self, words, directory="/"):
        return ["nsenter", "--target", str(self.pid), "--net", "--uts", "--mount", "--pid", f"--wdns={directory}", "--", *map(str, words)]

    def run_outside(self, *words):
        """On their network alone, so that it sees the other processes."""
        subprocess.run(["nsenter", "--target", str(self.pid), "--net", "--", *map(str, words)], check=True, timeout=SECONDS)

    def run(self, *words, check=True, cwd="/", **how):
        done = subprocess.run(self.command(words, cwd), capture_output=True, text=True, timeout=SECONDS, stdin=subprocess.DEVNULL
                              if "input" not in how else None, **how)
        if check and done.returncode != 0:
            raise RuntimeError(f"{' '.join(map(str, words))} ended with {done.returncode}: {done.stderr.strip()}")
        return done

    def close(self):
        """Every process in them dies at once."""
        self.holder.kill()
        self.holder.wait()
        self.holder.stdout.close()


class Process:
    """A program on a machine."""

    def __init__(self, machine, words, environment, log):
        self.door = subprocess.Popen([*DIES_WITH_US, *machine.namespaces.command(words)], env=environment, stdin=subprocess.DEVNULL,
                                     stdout=log, stderr=log)

    @property
    def pid(self):
        """As this process sees it; None once it has ended."""
        deadline = time.monotonic() + SECONDS
        while self.door.poll() is None and time.monotonic() < deadline:
            with contextlib.suppress(OSError):
                if found := children(self.door.pid):
                    return without_shells(found[0])
        return None

    def signal(self, number):
        if pid := self.pid:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def kill(self):
        self.signal(signal.SIGKILL)
        self.door.wait(SECONDS)

    def terminate(self):
        self.signal(signal.SIGTERM)
        return self.door.wait(SECONDS)

    def runs(self):
        return self.door.poll() is None


class Machine:
    def __init__(self, network, name, number):
        self.network, self.name = network, name
        self.address, self.port, self.card = f"10.77.0.{number}", f"port{number}", f"02:00:00:00:01:{number:02x}"
        self.is_on, self.hears, self.is_heard = False, True, True

    def power_on(self):
        """As after a boot: nothing runs there."""
        self.namespaces = Namespaces(self.name)
        switch = self.network.switch
        switch.run_outside("ip", "link", "add", "name", self.port, "type", "veth", "peer", "name", "eth0", "netns", self.namespaces.pid)
        switch.run("ip", "link", "set", self.port, "master", "bridge", "up")
        self.run("ip", "link", "set", "eth0", "address", self.card)  # the same after each boot
        self.run("ip", "address", "add", f"{self.address}/24", "dev", "eth0")
        self.run("ip", "link", "set", "eth0", "up")
        self.is_on = True
        self.network.come_true()

    def power_off(self):
        self.namespaces.close()
        self.network.switch.run("ip", "link", "delete", self.port, check=False)  # else it goes in a moment
        self.is_on = False
        self.network.come_true()

    def narrow(self, rate):
        """Its line carries no more than that, both ways: "1mbit". What is too much waits for up to 0.2 s, then is lost."""
        shaped = ["root", "tbf", "rate", rate, "burst", "16kb", "latency", "200ms"]
        self.run("tc", "qdisc", "replace", "dev", "eth0", *shaped)
        self.network.switch.run("tc", "qdisc", "replace", "dev", self.port, *shaped)

    def carried(self):
        """Bytes that its line brought, and took away, so far."""
        card = next(line for line in self.run("cat", "/proc/net/dev").stdout.splitlines() if line.strip().startswith("eth0:")).split()
        return int(card[1]), int(card[9])

    def run(self, *words, **how):
        return self.namespaces.run(*words, **how)

    def start(self, words, environment=None, log=subprocess.DEVNULL):
        return Process(self, words, environment, log)

    def cut(self, outgoing=True, incoming=True):
        """What it sends is lost, and what is sent to it; nobody is told."""
        self.is_heard, self.hears = not outgoing, not incoming
        self.network.come_true()

    def part(self, other):
        """What the two send each other is lost; nobody is told."""
        self.network.parted |= {(self, other), (other, self)}
        self.network.come_true()

    def meet(self, other):
        self.network.parted -= {(self, other), (other, self)}
        self.network.come_true()

    def heal(self):
        self.hears = self.is_heard = True
        self.network.come_true()


class Relay:
    """On a machine: whoever dials it gets `to`, through a line that does what it is ordered to. Needs a folder for its files."""

    def __init__(self, machine, to, folder):
        self.address = f"{machine.address}:{to.rsplit(':', 1)[1]}"
        self.file = folder / "relay.orders"
        self.done_file = folder / "relay.orders.done"
        self.process = machine.start([sys.executable, Path(__file__).with_name("relay.py"), self.address, to, self.file])
        self.number = 0
        self.until(self.done_file.exists, "the relay does not listen")

    def until(self, holds, otherwise):
        deadline = time.monotonic() + SECONDS
        while not holds():
            if time.monotonic() > deadline:
                raise RuntimeError(otherwise)
            time.sleep(0.02)

    def orders(self, **what):
        """Holds from here on."""
        self.number += 1
        fresh = self.file.with_suffix(".new")
        fresh.write_text(json.dumps({"number": self.number, **what}))
        fresh.rename(self.file)
        self.until(lambda: json.loads(self.done_file.read_text())["number"] == self.number, "the relay does not take its orders")

    def done(self):
        """How many breaks and repeats came true."""
        done = json.loads(self.done_file.read_text())
        return {trouble: done[trouble] for trouble in ("breaks", "repeats")}


class Network:
    def __init__(self):
        self.machines = []
        self.lost = set()  # (sender, receiver) between which nothing comes through
        self.parted = set()  # those that it shall not

    def __enter__(self):
        self.switch = Namespaces("switch")
        self.switch.run("ip", "link", "add", "name", "bridge", "type", "bridge")
        self.switch.run("ip", "link", "set", "bridge", "up")
        return self

    def __exit__(self, *_):
        for machine in self.machines:
            machine.namespaces.close()
        self.switch.close()

    def machine(self, name):
        machine = Machine(self, name, len(self.machines) + 1)
        self.machines.append(machine)
        machine.power_on()
        return machine

    def come_true(self):
        """What each machine may send and hear."""
        on = [machine for machine in self.machines if machine.is_on]
        self.lost = {(sender, receiver) for sender, receiver in self.lost if sender.is_on and receiver.is_on}
        for sender, receiver in itertools.permutations(on, 2):
            pair = (sender, receiver)
            lost = pair in self.parted or not (sender.is_heard and receiver.hears)
            if lost and pair not in self.lost:
                sender.run("ip", "neighbour", "replace", receiver.address, "lladdr", NOWHERE, "nud", "permanent", "dev", "eth0")
                self.lost.add(pair)
            elif not lost and pair in self.lost:
                sender.run("ip", "neighbour", "delete", receiver.address, "dev", "eth0")
                self.lost.remove(pair)
