"""One server of root's, three people: every route and every field of the API as the owner of a job, as another user and as
root; and what one user may take of the server while the others live.

A route, a field of a job or a kind of event that the tables below don't name fails the test: whoever adds one says who may
see it."""

import http.client
import json
import os
import re
import shutil
import signal
import socket
import sys
import tempfile
import time
import unittest
from contextlib import ExitStack
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "script"))
import accounts
from box import Box

BINARY = os.environ.get("PACELINE_BINARY", ROOT / "build/release/paceline")
OWNER, OTHER = 40001, 40002
SECRET = "s3cret"  # stands in everything that is the owner's alone

# Who gets what status: owner, other, root. {id}: a running job of the owner's.
ROUTES = {
    ("GET", "/healthz"): ("", 200, 200, 200),
    ("GET", "/readyz"): ("", 200, 200, 200),
    ("GET", "/v1/server"): ("", 200, 200, 200),
    ("GET", "/v1/limits"): ("", 200, 200, 200),
    ("GET", "/v1/rules"): ("", 200, 200, 200),
    ("GET", "/v1/nodes"): ("", 200, 200, 200),
    ("GET", "/v1/users"): ("", 200, 200, 200),
    ("GET", "/v1/jobs"): ("", 200, 200, 200),
    ("GET", "/v1/jobs/{id}"): ("", 200, 200, 200),
    ("GET", "/v1/jobs/{id}/why"): ("", 200, 200, 200),
    ("GET", "/v1/jobs/{id}/wait"): ("", 200, 200, 200),
    ("GET", "/v1/jobs/{id}/logs"): ("", 200, 403, 200),
    ("GET", "/v1/jobs/{id}/metrics"): ("", 200, 403, 200),
    ("GET", "/v1/jobs/{id}/attach"): ("", 409, 403, 409),  # it has no terminal
    ("GET", "/v1/events"): ("", 200, 200, 200),
    ("GET", "/v1/policy"): ("", 200, 200, 200),
    ("GET", "/v1/policy/{name}"): ("", 200, 200, 200),
    ("GET", "/v1/shadow"): ("", 404, 404, 404),  # none is tried
    ("POST", "/v1/jobs"): ('{"spec": {"hold": true}, "launch": {"command": ["true"], "directory": "/"}}', 201, 201, 201),
    ("POST", "/v1/jobs/{id}/pause"): ("", 200, 403, 409),  # root comes second: it is paused already
    ("POST", "/v1/jobs/{id}/resume"): ("", 200, 403, 409),
    ("POST", "/v1/jobs/{id}/resize"): ('{"workers": 1}', 200, 403, 200),
    ("POST", "/v1/jobs/{id}/cancel"): ("", 200, 403, 409),  # it is over by then
    ("PUT", "/v1/rules"): ('{"reclaim_after_seconds": 600}', 403, 403, 200),
    ("PUT", "/v1/policy"): ('{"name": "fifo"}', 403, 403, 200),
    ("PUT", "/v1/policy/{name}"): ('{"script": "x"}', 403, 403, 400),
    ("DELETE", "/v1/policy/{name}"): ("", 403, 403, 404),
    ("POST", "/v1/policy/rollback"): ("", 403, 403, 200),
    ("PUT", "/v1/shadow"): ('{"name": "fifo"}', 403, 403, 200),
    ("POST", "/v1/shadow/promote"): ("", 403, 403, 200),
    ("DELETE", "/v1/shadow"): ("", 403, 403, 404),  # it was promoted
    ("POST", "/v1/shutdown"): ('{"jobs": true}', 403, 403, 200),
}

# Fields of a job that others get as null, and those that everybody gets.
OWNERS_FIELDS = {"command", "directory", "metrics", "checkpoint"}
EVERYBODYS_FIELDS = set(
    "id name user uid state workers min max want pinned slots_per_worker mesh devices affinity anti_affinity exclusive cpus "
    "memory_bytes preemptible priority elastic retry retries_used hold after generation attempt resizes preemptions reason "
    "reason_code progress target gang pids nodes submitted_at started_at ended_at max_duration_seconds min_run_seconds "
    "expect_seconds expect_samples expect_speeds deadline_at remaining waited_seconds ran_seconds paused_seconds slot_seconds "
    "lost_slot_seconds exit_code cause ending asked".split())

# Events that others don't get at all, and those that everybody does.
OWNERS_EVENTS = {"progress", "checkpoint_acknowledged"}
EVERYBODYS_EVENTS = {"node_up", "rules_set", "clock_set", "node_down", "job_submitted", "job_requested", "range_set", "policy_set", "worker_started",
                     "worker_ended", "time_limit_reached", "policy_loaded", "policy_failed", "trial_began", "trial_ended", "plan"}

SCRIPT = f"""
echo 'a {SECRET} line'
echo '{{"paceline": {{"step": 1, "{SECRET}_loss": 0.5}}}}'
echo x > {SECRET}.pt
exec sleep 600
"""


def setUpModule():
    if os.geteuid() != 0:
        raise unittest.SkipTest("only root can act for several users")
    try:
        accounts.add({"paceline-owner": OWNER, "paceline-other": OTHER})
    except accounts.NotPermitted as refusal:
        raise unittest.SkipTest(str(refusal))


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("paceline", timeout=30)
        self.path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(30)
        self.sock.connect(self.path)


def as_user(uid, act):
    """What `act` returns in a process of that user's: a value that JSON can hold."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setresgid(uid, uid, uid)
            os.setresuid(uid, uid, uid)
            told = json.dumps({"value": act()})
        except BaseException as error:  # the parent tells
            told = json.dumps({"error": repr(error)})
        os.write(writing, told.encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        told = json.loads(pipe.read())
    os.waitpid(child, 0)
    if "error" in told:
        raise AssertionError(told["error"])
    return told["value"]


class SharedBox(unittest.TestCase):
    options = ()

    def setUp(self):
        stack = ExitStack()
        self.addCleanup(stack.close)
        self.box = Box(BINARY, slots=2)
        self.box.directory.chmod(0o711)
        stack.callback(self.box.close)
        self.box.up(*self.options)
        self.socket = self.box.directory / "paceline.sock"
        self.home = Path(tempfile.mkdtemp(prefix="paceline-users-"))
        stack.callback(shutil.rmtree, self.home, ignore_errors=True)
        os.chown(self.home, OWNER, OWNER)
        self.home.chmod(0o755)

    def ask(self, uid, method, path, body="", headers=None):
        def act():
            connection = UnixConnection(self.socket)
            try:
                connection.request(method, path, body or None, headers or {})
            except BrokenPipeError:
                pass  # turned away: why is there to be read
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        status, text = as_user(uid, act)
        return status, text

    def get(self, uid, path):
        status, text = self.ask(uid, "GET", path)
        self.assertEqual(status, 200, text)
        return json.loads(text)

    def submit(self, uid, spec, command):
        body = {"spec": spec, "launch": {"command": command, "directory": str(self.home), "umask": 18,
                                         "environment": {"PATH": os.environ["PATH"], "TOKEN": SECRET}}}
        status, text = self.ask(uid, "POST", "/v1/jobs", json.dumps(body))
        self.assertEqual(status, 201, text)
        return json.loads(text)["id"]

    def until(self, happened, what):
        deadline = time.monotonic() + 60
        while not happened():
            self.assertLess(time.monotonic(), deadline, f"{what}:\n{self.box.log.read_text()[-3000:]}")
            time.sleep(0.05)


class PrivacyTest(SharedBox):
    """What is whose."""

    def setUp(self):
        super().setUp()
        self.running = self.submit(OWNER, {"name": "train", "checkpoint": f"{SECRET}*.pt"}, ["sh", "-c", SCRIPT])
        self.failed = self.submit(OWNER, {"name": "broken"}, [f"/nonexistent/{SECRET}-program"])
        self.until(lambda: self.get(OWNER, f"/v1/jobs/{self.running}")["checkpoint"], "no checkpoint was seen")
        self.until(lambda: self.get(OWNER, f"/v1/jobs/{self.running}")["metrics"], "nothing was reported")
        self.until(lambda: self.get(OWNER, f"/v1/jobs/{self.failed}")["state"] == "FAILED", "it didn't fail")

    def path(self, pattern):
        return pattern.replace("{id}", str(self.running)).replace("{name}", "fifo" if "DELETE" not in pattern else "x")

    def test_every_route_has_its_row(self):
        routes = set()
        for source in (ROOT / "src/api").glob("routes_*.cpp"):
            routes |= set(re.findall(r'router\.add\(\s*"([A-Z]+)",\s*"([^"]+)"', source.read_text()))
        self.assertEqual(routes, set(ROUTES))

    def test_every_route_as_owner_other_and_root(self):
        for (method, pattern), (body, *statuses) in ROUTES.items():
            # Who may do nothing asks first: what he tries must change nothing for the others.
            for who, uid, wanted in sorted(zip(("owner", "other", "root"), (OWNER, OTHER, 0), statuses),
                                           key=lambda row: row[0] != "other"):
                name = "mine" if "{name}" in pattern and method != "GET" else "fifo"
                path = pattern.replace("{id}", str(self.running)).replace("{name}", name)
                path += "?timeout_seconds=0" if path.endswith("/wait") else ""
                headers = {"Connection": "Upgrade", "Upgrade": "paceline-pty"} if path.endswith("/attach") else {}
                with self.subTest(f"{method} {pattern}", who=who):
                    self.settle()
                    status, text = self.ask(uid, method, path, body, headers)
                    self.assertEqual(status, wanted, text)
                    if who == "other":
                        self.assertNotIn(SECRET, text)

    def settle(self):
        """Until no job is between two states: then it is known what a command answers."""
        self.until(lambda: self.get(0, f"/v1/jobs/{self.running}")["state"] not in ("STARTING", "STOPPING", "RESIZING", "PENDING"), "it is not settled")

    def test_every_field_of_a_job(self):
        for job in (self.running, self.failed):
            own, seen, root = (self.get(uid, f"/v1/jobs/{job}") for uid in (OWNER, OTHER, 0))
            self.assertEqual(set(seen), OWNERS_FIELDS | EVERYBODYS_FIELDS)
            self.assertEqual({key for key in seen if seen[key] is None} & OWNERS_FIELDS, OWNERS_FIELDS)
            self.assertNotIn(SECRET, json.dumps(seen))
            for whole in (own, root):
                self.assertIn(SECRET, whole["command"])
                self.assertEqual(whole["directory"], str(self.home))
            for key in ("id", "name", "uid", "state", "target", "submitted_at", "gang", "exit_code", "cause"):
                self.assertEqual(own[key], seen[key], key)
        self.assertIn(SECRET, own["ending"])
        self.assertEqual(seen["ending"], "could not be started")
        self.assertEqual(seen["reason"], "could not be started")
        listed = {job["id"]: job for job in self.get(OTHER, "/v1/jobs?all=1")["jobs"]}
        self.assertIsNone(listed[self.running]["command"])

    def test_why(self):
        for job in (self.running, self.failed):
            self.assertNotIn(SECRET, self.ask(OTHER, "GET", f"/v1/jobs/{job}/why")[1])
        first = self.get(OWNER, f"/v1/jobs/{self.failed}/why")["lines"][0]
        self.assertIn(SECRET, first)
        self.assertFalse(first.endswith(".."), first)
        self.assertIn(SECRET, self.get(0, f"/v1/jobs/{self.failed}/why")["lines"][0])

    def test_every_kind_of_event(self):
        own, seen, root = (self.get(uid, "/v1/events")["events"] for uid in (OWNER, OTHER, 0))
        self.assertEqual(own, root)
        self.assertTrue(OWNERS_EVENTS <= {event["kind"] for event in own})
        self.assertTrue({event["kind"] for event in seen} <= EVERYBODYS_EVENTS)
        self.assertEqual(len(seen), len([event for event in own if event["kind"] not in OWNERS_EVENTS]))
        self.assertIn(SECRET, json.dumps([event for event in own if event["kind"] == "worker_ended"]))
        self.assertIn(SECRET, json.dumps([event for event in own if event["kind"] == "job_submitted"]))
        self.assertNotIn(SECRET, json.dumps(seen))

    def test_every_kind_of_event_has_its_row(self):
        kinds = re.search(r"kEventKinds = \{([^}]*)\}", (ROOT / "src/wire/entry_json.cpp").read_text())[1]
        self.assertEqual(set(re.findall(r'"([a-z_]+)"', kinds)) | {"plan"}, OWNERS_EVENTS | EVERYBODYS_EVENTS)

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


class GreedyTest(SharedBox):
    """A user who takes what he can get."""

    def hold(self, uid, count, send):
        """A process of that user's with so many connections, on each of which was sent what the server takes of it. It leaves
        when the test is over."""
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reading)
            try:
                os.setgroups([])
                os.setresgid(uid, uid, uid)
                os.setresuid(uid, uid, uid)
                clients = [socket.socket(socket.AF_UNIX) for _ in range(count)]
                for client in clients:
                    client.settimeout(20)
                    client.connect(str(self.socket))
                    try:
                        client.sendall(send)
                    except OSError:
                        pass  # turned away
                os.write(writing, b"done")
                signal.pause()
            finally:
                os._exit(1)
        os.close(writing)
        self.addCleanup(os.waitpid, child, 0)
        self.addCleanup(os.kill, child, signal.SIGKILL)
        with os.fdopen(reading) as pipe:
            self.assertEqual(pipe.read(4), "done")

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

    def test_large_bodies_of_one_user_take_little(self):
        before = resident_mib(self.box.server.pid)
        size = (4 << 20) - 1
        head = f"POST /v1/jobs HTTP/1.1\r\nHost: p\r\nContent-Length: {size + 1}\r\n\r\n".encode()
        self.hold(OTHER, 400, head + b"x" * size)
        self.assertLess(resident_mib(self.box.server.pid) - before, 120)
        self.assert_others_are_served()

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


class FullTest(SharedBox):
    """A server that keeps very little."""
    options = ("--limit", "connections=16", "--limit", "waiting-jobs-per-user=3", "--limit", "launches-per-user=4M",
               "--limit", "points-per-second=10")

    def test_limits_are_shown(self):
        shown = {limit["name"]: limit for limit in self.get(OTHER, "/v1/limits")["limits"]}
        self.assertEqual(shown["connections"]["value"], 16)
        self.assertEqual(shown["connections"]["default"], 1024)
        self.assertEqual(shown["launches-per-user"]["value"], 4 << 20)
        self.assertIn("launches-per-user", self.box.call("limits").stdout)

    def test_waiting_jobs(self):
        for _ in range(3):
            self.submit(OTHER, {"hold": True}, ["true"])
        status, text = self.ask(OTHER, "POST", "/v1/jobs", '{"launch": {"command": ["true"], "directory": "/"}}')
        self.assertEqual((status, json.loads(text)["error"]["code"]), (503, "unavailable"))
        self.submit(OWNER, {"hold": True}, ["true"])
        self.submit(0, {"hold": True}, ["true"])

    def test_what_starts_jobs(self):
        body = json.dumps({"spec": {"hold": True}, "launch": {"command": ["x" * 900_000], "directory": "/",
                                                             "environment": {"A": "y" * 900_000}}})
        answers = [self.ask(OTHER, "POST", "/v1/jobs", body)[0] for _ in range(3)]
        self.assertEqual(answers, [201, 201, 503])

    def test_points(self):
        lines = "import json\nfor i in range(20000): print(json.dumps({'paceline': {'step': i, 'loss': 1.0}}))\n"
        job = self.submit(OWNER, {"name": "burst"}, ["python3", "-c", lines])
        self.until(lambda: self.get(OWNER, f"/v1/jobs/{job}")["state"] == "COMPLETED", "it didn't complete")
        page = self.get(OWNER, f"/v1/jobs/{job}/metrics?limit=10000")
        steps = [point["step"] for point in page["points"]]
        self.assertEqual((steps[0], steps[-1]), (0, 19999))
        self.assertLess(len(steps), 2000)
        self.assertGreater(page["passed_over"], 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)
