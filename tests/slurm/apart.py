"""The same cluster with a machine for the login node and each other one: every one has a network, a host name and processes of its own.

All of them see the same files, but for /run.
"""

import sys
import unittest

from cluster import LOGIN, NODES, ROOT, UID, Cluster

sys.path.insert(0, str(ROOT / "tests/cluster"))
from machines import Network, skip_unless_permitted


class ApartCluster(Cluster):
    talk = ""

    def __enter__(self):
        try:
            skip_unless_permitted()
        except SystemExit:
            raise unittest.SkipTest("no network namespaces for this user") from None
        self.network = Network().__enter__()
        try:
            self.machines = {name: self.network.machine(name) for name in (LOGIN, *NODES)}
            for machine in self.machines.values():
                # What a machine keeps for its user, as after a login there.
                machine.run("install", "-d", "-m", "755", "/run/user")
                machine.run("install", "-d", "-m", "700", "-o", UID, "-g", UID, f"/run/user/{UID}")
            return super().__enter__()
        except BaseException:
            self.network.__exit__()
            raise

    def __exit__(self, *_):
        self.end_jobs()
        self.network.__exit__()
        self.end()

    def place_of(self, name):
        return name, self.machines[name].address

    def words(self, command, place=LOGIN):
        return self.machines[place].namespaces.command(command)
