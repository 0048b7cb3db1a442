"""One server of root's, three people: what is learned and kept of each one's jobs, and what one user may take of the server
while the others live. Who sees what is fields_test.py's."""

import json
import os
import re
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from people import OTHER, OWNER, SharedBox, add_people


def setUpModule():
    add_people()


class SeparateTest(SharedBox):
    """What one user does tells the server nothing about another's."""

    def test_what_a_job_took_is_learned_of_its_owners_jobs_alone(self):
        short = self.submit(OWNER, {"name": "short"}, ["true"])
        self.until(lambda: self.get(OWNER, f"/v1/jobs/{short}")["state"] == "COMPLETED", "it didn't complete")
        again = self.submit(OWNER, {"name": "short", "hold": True}, ["true"])
        other = self.submit(OTHER, {"name": "short", "hold": True}, ["true"])
        self.assertEqual(self.get(OWNER, f"/v1/jobs/{again}")["remaining"]["from"], "name")
        self.assertIsNone(self.get(OTHER, f"/v1/jobs/{other}")["remaining"])

    def test_a_submission_is_the_senders_whatever_it_says(self):
        status, text = self.ask(OTHER, "POST", "/v1/jobs", json.dumps(
            {"spec": {"uid": 0}, "launch": {"command": ["true"], "directory": "/"}}))
        self.assertEqual(status, 400, text)
        job = self.submit(OTHER, {"hold": True}, ["true"])
        self.assertEqual(self.get(OWNER, f"/v1/jobs/{job}")["uid"], OTHER)

    def test_a_key_is_each_users_own_and_of_one_submission(self):
        def post(uid, command):
            return self.ask(uid, "POST", "/v1/jobs", json.dumps(
                {"spec": {"hold": True}, "launch": {"command": [command], "directory": "/"}}), {"Idempotency-Key": "k"})
        first = post(OWNER, "true")
        self.assertEqual(first[0], 201)
        self.assertEqual(post(OWNER, "true"), (200, first[1]))
        status, text = post(OWNER, "false")
        self.assertEqual((status, json.loads(text)["error"]["code"]), (409, "conflict"))
        self.assertEqual(post(OTHER, "false")[0], 201)


def resident_mib(pid):
    return int(re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())[1]) >> 10


# A thread sanitizer takes many times what its program does.
measures_memory = unittest.skipIf(os.environ.get("PACELINE_SANITIZER") == "tsan", "its memory is not the program's")


class GreedyTest(SharedBox):
    """A user who takes what he can get."""

    def assert_others_are_served(self):
        for uid in (0, OWNER):
            self.assertEqual(self.ask(uid, "GET", "/v1/jobs")[0], 200)
        self.assertEqual(self.box.call("queue", check=False).returncode, 0)

    def test_idle_connections_of_one_user_lock_nobody_out(self):
        self.hold(OTHER, 400, b"GET /v1/")
        self.assert_others_are_served()
        status, text = self.ask(OTHER, "GET", "/v1/jobs")
        self.assertEqual(status, 503)
        self.assertIn("as one user may", text)
        self.box.call("down")

    @measures_memory
    def test_large_bodies_of_one_user_take_little(self):
        before = resident_mib(self.box.server.pid)
        size = (4 << 20) - 1
        head = f"POST /v1/jobs HTTP/1.1\r\nHost: p\r\nContent-Length: {size + 1}\r\n\r\n".encode()
        self.hold(OTHER, 400, head + b"x" * size)
        self.assertLess(resident_mib(self.box.server.pid) - before, 120)
        self.assert_others_are_served()

    @measures_memory
    def test_large_bodies_of_the_servers_own_user_take_no_more_than_the_bound(self):
        before = resident_mib(self.box.server.pid)
        size = (4 << 20) - 1
        head = f"POST /v1/jobs HTTP/1.1\r\nHost: p\r\nContent-Length: {size + 1}\r\n\r\n".encode()
        self.hold(0, 400, head + b"x" * size)
        self.assertLess(resident_mib(self.box.server.pid) - before, 256 + 100)
        self.assert_others_are_served()

    def test_answers_that_nobody_reads_take_little(self):
        body = json.dumps({"spec": {"hold": True, "checkpoint": "x" * 4000}, "launch": {"command": ["y" * 200_000], "directory": "/"}})
        for _ in range(20):
            self.assertEqual(self.ask(OTHER, "POST", "/v1/jobs", body)[0], 201)
        before = resident_mib(self.box.server.pid)
        self.hold(OTHER, 64, b"GET /v1/jobs HTTP/1.1\r\nHost: p\r\n\r\n" * 4)
        self.assertLess(resident_mib(self.box.server.pid) - before, 120)
        self.assert_others_are_served()


if __name__ == "__main__":
    unittest.main(verbosity=2)
