"""What people of one machine share beside the server: groups, accounts, ports, sockets, tokens. Root's server, and users who
take what they can get."""

import json
import re
import socket
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from people import OTHER, OWNER, SharedBox, add_people, as_user

TEAM, GONE, SERVICE = 40009, 40003, 40004
STATUS = json.dumps({"trainerStatus": {"progressPercentage": 50, "metrics": [{"name": "loss", "value": "0.5"}]}})


def setUpModule():
    add_people({"paceline-gone": GONE, "paceline-service": SERVICE}, teams={"paceline-team": (TEAM, ["paceline-owner"])},
               shells={"paceline-service": "/usr/sbin/nologin"}, expired=["paceline-gone"])


class IdentityTest(SharedBox):
    """A job is what its submitter was."""

    def ids(self, **groups):
        job = self.submit(OWNER, {}, ["sh", "-c", "echo ids $(id -u) $(id -g) $(id -G)"], **groups)
        self.until(lambda: self.get(0, f"/v1/jobs/{job}")["ended_at"], "it doesn't end")
        said = self.ask(OWNER, "GET", f"/v1/jobs/{job}/logs")[1]
        return [int(number) for number in re.search(r"ids ([\d ]+)", said)[1].split()]

    def test_a_job_is_in_the_groups_of_the_process_that_submitted_it(self):
        self.assertEqual(self.ids(), [OWNER, OWNER, OWNER])  # which had left the team
        self.assertEqual(self.ids(groups=[TEAM]), [OWNER, OWNER, OWNER, TEAM])
        self.assertEqual(self.ids(gid=TEAM, groups=[OWNER]), [OWNER, TEAM, TEAM, OWNER])

    def test_the_groups_outlive_the_server(self):
        job = self.submit(OWNER, {"hold": True}, ["sh", "-c", "echo ids $(id -G)"], groups=[TEAM])
        self.box.kill()
        self.box.up()
        self.assertEqual(self.ask(OWNER, "POST", f"/v1/jobs/{job}/resume")[0], 200)
        self.until(lambda: self.get(0, f"/v1/jobs/{job}")["ended_at"], "it doesn't end")
        self.assertIn(f"ids {OWNER} {TEAM}", self.ask(OWNER, "GET", f"/v1/jobs/{job}/logs")[1])

    def test_groups_are_not_asked_for(self):
        status, text = self.ask(OTHER, "POST", "/v1/jobs", json.dumps(
            {"launch": {"command": ["true"], "directory": "/", "groups": [0]}}))
        self.assertEqual(status, 400, text)

    def test_who_may_not_log_in_runs_no_jobs(self):
        for uid, reason in ((GONE, "The account 'paceline-gone' expired on 1970-01-02, so it runs no jobs."),
                            (SERVICE, "The account 'paceline-service' may not log in (its shell is /usr/sbin/nologin), so it "
                                      "runs no jobs.")):
            status, text = self.ask(uid, "POST", "/v1/jobs", '{"launch": {"command": ["true"], "directory": "/"}}')
            self.assertEqual((status, json.loads(text)["error"]["message"]), (403, reason))
            self.assertEqual(self.ask(uid, "GET", "/v1/jobs")[0], 200)

    def test_who_reads_the_log_of_another_one_is_told(self):
        job = self.submit(OWNER, {}, ["echo", "mine"])
        self.until(lambda: self.get(0, f"/v1/jobs/{job}")["ended_at"], "it doesn't end")
        for uid, status in ((OWNER, 200), (OTHER, 403), (0, 200), (0, 200)):
            self.assertEqual(self.ask(uid, "GET", f"/v1/jobs/{job}/logs")[0], status)
        self.assertEqual(re.findall(r"(\S+) looks into job (\d+) of (\S+)\.", self.box.log.read_text()),
                         [("root", str(job), "paceline-owner")])


class MachineTest(SharedBox):
    """What everybody may take of a machine."""

    def status_port(self):
        return int((self.box.directory / "agent/status_port").read_text())

    def run_one(self, uid):
        job = self.submit(uid, {}, ["sleep", "600"])
        self.until(lambda: self.get(0, f"/v1/jobs/{job}")["state"] == "RUNNING", "it doesn't run")
        return job, self.box.directory / f"run/{job}.1.0.token"

    def post_status(self, job, token):
        with socket.create_connection(("127.0.0.1", self.status_port()), timeout=30) as connection:
            connection.sendall(f"POST /v1/workers/{job}.1.0/status HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: "
                               f"Bearer {token}\r\nContent-Length: {len(STATUS)}\r\n\r\n{STATUS}".encode())
            return int(connection.makefile("rb").readline().split()[1])

    def test_names_of_the_abstract_socket_space_stop_no_start(self):
        def take():
            names = []
            for port in range(20000, 36000, 8):
                name = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
                name.bind(f"\0paceline/ports/{port}")
                names.append(name)
            return names
        import resource
        limits = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(8192, limits[1]), limits[1]))
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, limits)
        self.assertGreater(self.occupy(OTHER, take), 1500)
        job = self.submit(OWNER, {"workers": 2}, ["true"])
        self.until(lambda: self.get(0, f"/v1/jobs/{job}")["ended_at"], "it doesn't end")
        told = self.get(OWNER, f"/v1/jobs/{job}")
        self.assertEqual((told["state"], told["generation"]), ("COMPLETED", 1))

    def secrets(self):
        """Of the ranks of a gang of two."""
        job = self.submit(OWNER, {"workers": 2}, ["sh", "-c", "echo \"secret $PACELINE_GANG_SECRET.\""])
        self.until(lambda: self.get(0, f"/v1/jobs/{job}")["ended_at"], "it doesn't end")
        return re.findall(r"secret (\w*)\.", self.ask(OWNER, "GET", f"/v1/jobs/{job}/logs")[1])

    def test_a_gang_of_one_machine_has_a_secret_from_which_the_name_where_it_meets_is_drawn(self):
        one, other = self.secrets(), self.secrets()
        for each in (one, other):
            self.assertEqual((len(each), len(set(each)), len(each[0])), (2, 1, 64), each)
        self.assertNotEqual(one, other)
        for file in self.box.directory.glob("paceline.db*"):
            self.assertNotIn(one[0].encode(), file.read_bytes(), file)

    def test_a_token_is_of_one_worker(self):
        mine, my_file = self.run_one(OWNER)
        other, other_file = self.run_one(OTHER)
        self.assertEqual(as_user(OWNER, my_file.read_text), my_file.read_text())
        with self.assertRaisesRegex(AssertionError, "PermissionError"):
            as_user(OTHER, my_file.read_text)
        caught = my_file.read_text()
        self.assertEqual(self.post_status(mine, other_file.read_text()), 403)
        self.assertEqual(self.post_status(mine, caught), 200)
        self.assertEqual(self.ask(OWNER, "POST", f"/v1/jobs/{mine}/cancel")[0], 200)
        self.until(lambda: self.get(0, f"/v1/jobs/{mine}")["ended_at"], "it doesn't end")
        self.assertEqual(self.post_status(mine, caught), 403)

    def test_the_status_port_is_nobody_elses_while_the_server_is_away(self):
        job, token = self.run_one(OWNER)
        port = self.status_port()
        self.box.kill()

        def take():
            taken = socket.socket()
            taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            taken.bind(("0.0.0.0", port))
        with self.assertRaisesRegex(AssertionError, "Address already in use"):
            as_user(OTHER, take)
        self.box.up()
        self.assertEqual(self.status_port(), port)
        self.assertEqual(self.post_status(job, token.read_text()), 200)

    def test_idle_connections_stop_no_post(self):
        job, token = self.run_one(OWNER)
        port = self.status_port()
        self.assertEqual(self.occupy(OTHER, lambda: [socket.create_connection(("127.0.0.1", port)) for _ in range(200)]), 200)
        for _ in range(5):
            self.assertEqual(self.post_status(job, token.read_text()), 200)


class EndlessTest(SharedBox):
    """What a user can make endless: where checkpoints are looked for, and a log, which is its owner's."""

    slots = 10
    waits = "until test -e go; do sleep 0.05; done"

    def maze(self):
        """A directory that leads to itself, by many ways."""
        (self.home / "maze").mkdir()
        for number in range(40):
            (self.home / f"maze/{number}").symlink_to(".")

    def test_what_ended_while_no_server_was_there_holds_up_neither_its_start_nor_another_one(self):
        self.maze()
        jobs = [self.submit(OTHER, {"checkpoint": "maze/*/*/*/*/*"}, ["sh", "-c", self.waits]) for _ in range(8)]
        jobs.append(self.submit(OTHER, {}, ["sh", "-c", f"truncate -s 8T /proc/self/fd/1; {self.waits}"]))
        log = self.box.directory / f"logs/{jobs[-1]}/rank0.log"
        self.until(lambda: log.exists() and log.stat().st_size >= 8 << 40, "its log doesn't grow")
        for job in jobs:
            self.until(lambda job=job: self.get(0, f"/v1/jobs/{job}")["state"] == "RUNNING", f"job {job} doesn't run")
        self.assertGreaterEqual(len(self.box.processes()), len(jobs))
        self.box.kill()
        (self.home / "go").touch()
        self.until(lambda: not self.box.processes(), "they don't end")
        self.box.up()
        saves = "while true; do echo all of it > at.new; mv at.new at.pt; sleep 0.7; done"
        honest = self.submit(OWNER, {"checkpoint": "at.pt"}, ["sh", "-c", saves])
        self.until(lambda: self.get(OWNER, f"/v1/jobs/{honest}")["checkpoint"], "its checkpoint is not acknowledged")
        for job in jobs:
            self.until(lambda job=job: self.get(0, f"/v1/jobs/{job}")["state"] == "COMPLETED", f"job {job} doesn't end")


if __name__ == "__main__":
    unittest.main()
