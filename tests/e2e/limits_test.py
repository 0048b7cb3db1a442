"""Every limit of docs/limits.md, gone over: those that `up --limit` sets on a server that was given little, the fixed ones on the
same. A row of that page that nothing here goes over fails."""

import ast
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import unittest
from contextlib import closing
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from people import BINARY, OTHER, OWNER, ROOT, PeoplesBox, UnixConnection
from supervisor_test import parent_of
from box import Box

KIB, MIB = 1 << 10, 1 << 20

# Rows whose bound is minutes, or a machine's: the test that goes over them.
ELSEWHERE = {
    "a machine's own health check": "src/agent/linux/health_test.cpp HealthTest.ACheckThatHangsIsKilledWithAllThatItStarted",
    "script-time":
        "tests/e2e/policies_test.py PoliciesTest.test_a_script_whose_words_are_slow_holds_nobody_up",
    "the server's questions to its name service": "src/files/inquiries_test.cpp InquiriesTest.BeyondSoManyNobodyIsAsked",
    "a node's questions to its name service":
        "src/agent/linux/account_inquiries_test.cpp AccountInquiriesTest.BeyondSoManyTheyStandInLine",
    "a node's try of its peers": "src/agent/linux/gang_reach_test.cpp GangReachTest.WhereWhatIsSentIsLostThereIsNoAnswer",
    "a node's door for its peers": "src/agent/linux/gang_reach_test.cpp GangReachTest.ADoorServesMoreThanComeInAtOnce",
    "a request on its way": "src/http/server_test.cpp HttpServerTest.ClosesIdleAndUnfinishedConnections",
    "an event stream": "src/http/stream_test.cpp HttpStreamTest.CutsAReaderThatTakesNothing",
    "lines of those turned away in the server's log":
        "src/app/turned_away_test.cpp TurnedAwayTest.HoweverManyKnockTheLogStaysReadable",
    "a piece of a timeline": "src/wire/timeline_test.cpp Timeline.RefusesWithASentenceWhatIsNone",
    "a worker's timeline": "src/agent/linux/job_log_limit_test.cpp JobLogLimitTest.ATimelineHasABoundOfItsOwnAndKeepsItsNewest",
    "a rank that a signal stopped while others of its gang wait for it":
        "src/agent/linux/host_test.cpp HostTest.AWorkerThatASignalStoppedIsEndedForItsGang",
    "spans that a worker's agent takes none of":
        "runtime/python/tests/test_runtime_timeline.py RecorderTest.test_many_go_in_several_pieces_and_the_oldest_where_nobody_takes_them",
    "the notes of when a log grew": "src/files/log_times_test.cpp LogTimesTest.LeavesOutEveryOtherOneWhereThereAreManyAndKeepsTheNewest",
    "a worker's socket, the port for trainer status": "src/agent/linux/worker_socket_test.cpp SocketTest.HeadersAreBounded",
    "a terminal (`run --pty`)": "src/agent/linux/terminal_test.cpp TerminalTest.ServesEightAndTheNextOnceOneLeaves",
    "progress-interval": "src/scheduler/controller_test.cpp ControllerTest.TellsTheJournalOfProgressNowAndThenAndLosesNothing",
    "absent-nodes-age": "src/scheduler/controller_test.cpp ControllerTest.RetiresANodeThatWasAbsentForLong",
    "failing-owners": "src/scheduler/failing_nodes_test.cpp FailingNodesTest.JobsOfSeveralUsersInARowSetItAside",
    "newcomers-wait":
        "tests/e2e/in_place_test.py ImpatientTest.test_newcomers_that_are_not_ready_in_time_end_and_the_others_go_on",
    "replacements-wait":
        "tests/e2e/in_place_test.py ImpatientTest.test_who_finds_no_room_in_place_of_the_dead_starts_anew",
    "journal-entries": "tests/e2e/journal_test.py JournalTest.test_is_one_in_segments_and_database",
    "--keep": "tests/e2e/journal_test.py JournalTest.test_tells_of_jobs_that_were_dropped",
    "--journal-size": "tests/e2e/journal_test.py JournalTest.test_stays_below_its_size_where_one_is_set",
    "a segment of the journal": "src/store/sqlite/segments_test.cpp SegmentsTest.HaveABoundHoweverLongTheirEntriesAre",
    "a forecast of expected times": "src/scheduler/foresight_test.cpp ForesightTest.IsCutWhereTheBudgetIsSpent",
    "expected times that wait for the truth": "src/scheduler/grades_test.cpp GradesTest.HaveBounds",
    "grades of expected times": "src/scheduler/grades_test.cpp GradesTest.HaveBounds",
    "a page of expected times": "src/api/expected_test.cpp ExpectedTest.IsToldOfAllJobsInPages",
    "messages-per-user": "tests/e2e/messages_test.py FewMessagesTest.test_of_what_is_over_a_limit_nothing_is_told",
    "waiting-messages-per-user":
        "tests/e2e/messages_test.py FewMessagesTest.test_of_what_is_over_a_limit_nothing_is_told",
    "a message on its way": "tests/e2e/messages_test.py MessagesTest.test_sinks_that_are_down_fail_or_are_slow",
    "lines about jobs in the server's log": "src/messages/server_log_test.cpp ServerLogTest.SumsUpWhatWouldFlood",
    "lengths by owner and name": "src/plan/fold_kinds_test.cpp Kinds.ForgetTheLengthsOfNamesThatEndedFirst",
    "which jobs slow each other down": "src/estimate/interference_test.cpp Interference.ForgetsWhatItHeardOfLongestAgo",
    "a log from another node": "src/link/bytes_door_test.cpp BytesDoorTest.ALargeLogComesInBoundedPieces",
    "a node's connection for bytes": "src/link/bytes_door_test.cpp BytesDoorTest.ANodeThatSaysNothingIsGone",
    "logs that a node sent": "src/link/bytes_door_test.cpp BytesDoorTest.LogsOfAJobThatIsOverGoAnHourAfterAllOfThemCame",
    "a terminal on another node": "src/link/bytes_door_test.cpp BytesDoorTest.ATerminalThatCannotBeReachedIsSaidInASentence",
    "the end of followed logs": "src/link/bytes_door_test.cpp BytesDoorTest.OfANodeThatIsGoneNothingMoreIsAwaited",
    "an agent's connection": "src/link/agent_sessions_test.cpp AgentSessionsTest.AnAgentThatNeverReadsIsCutOffAtTheBound",
    "connections of a node": "src/http/tls_test.cpp TlsHttpTest.ANodeHasSoManyTunnels",
    "its connections for words": "src/link/agent_sessions_test.cpp AgentSessionsTest.OfConnectionsWithoutHelloANodeHasOne",
    "an agent's next try": "src/link/backoff_test.cpp Backoff.PausesDoubleUpToTheLongest",
    "what a node tells of itself": "src/wire/agent_bounds_test.cpp AgentBounds.HoldWhatANodeHas",
    "what a node tells of a worker": "src/wire/agent_bounds_test.cpp AgentBounds.HoldAReportsMetrics",
    "checkpoint-size": "tests/e2e/kept_checkpoints_test.py KeptCheckpointsTest.test_what_is_too_large_ties_its_job_to_its_node",
    "ship-size": "tests/e2e/ships_test.py SmallShips.test_over_the_limit_is_one_sentence",
    "ships-per-user": "src/ship/store_test.cpp ShipStoreTest.BeyondItsBoundTheOldestGoThatNoJobNames",
    "ships": "tests/e2e/ships_test.py ShipsTest.test_a_machine_keeps_as_much_of_all_users_as_it_is_told",
    "a shipped directory": "src/ship/manifest_test.cpp Manifest.IsBounded",
    "files on their way to the server": "src/ship/store_test.cpp ShipStoreTest.OfFilesThatAreNotWholeAUserHasFew",
    "a ship on its way to a node": "src/link/ship_fetcher_test.cpp ShipFetcherTest.NotMoreIsOnItsWayThanMay",
    "a request to join": "src/api/routes_joining_test.cpp JoiningTest.BadWishesUseNothingUp",
    "invitations of machines": "src/api/node_book_file_test.cpp NodeBookFileTest.InvitationsAreBounded",
    "nodes that joined": "src/api/node_book_file_test.cpp NodeBookFileTest.NodesAreBounded",
}


def rows():
    """The first column of the page's tables, without the head."""
    page = (ROOT / "docs/limits.md").read_text()
    found = re.findall(r"^\| (.+?) \| .* \|$", page, re.MULTILINE)
    return [re.sub(r"^`([\w-]+)`$", r"\1", row) for row in found if row not in ("limit", "of")]


def tests_in(file):
    """Suite.Name of every test of a file, C++ or Python."""
    text = file.read_text()
    if file.suffix == ".cpp":
        return {".".join(names) for names in re.findall(r"^TEST(?:_[FP])?\((\w+),\s*(\w+)\)", text, re.MULTILINE)}
    kinds = [kind for kind in ast.parse(text).body if isinstance(kind, ast.ClassDef)]
    return {f"{kind.name}.{part.name}" for kind in kinds for part in kind.body if isinstance(part, ast.FunctionDef)}


class PageTest(unittest.TestCase):
    def test_every_limit_is_gone_over(self):
        kinds = (SetTest, WorkersTest, ForgetTest, FixedTest)
        here = {getattr(getattr(kind, name), "row", None) for kind in kinds for name in dir(kind)}
        self.assertEqual(set(rows()) - here - set(ELSEWHERE), set())
        self.assertEqual((here | set(ELSEWHERE)) - set(rows()) - {None}, set())

    def test_elsewhere_is_somewhere(self):
        for row, place in ELSEWHERE.items():
            with self.subTest(row):
                file, test = place.split()
                self.assertIn(test, tests_in(ROOT / file))

    def test_every_limit_that_can_be_set_is_shown(self):
        with Box(BINARY, slots=1) as box:
            shown = {limit["name"] for limit in box.json("limits")["limits"]}
        settable = [row for row in rows() if re.fullmatch(r"[a-z]+(-[a-z]+)*", row) and row in shown]
        self.assertEqual(set(settable), shown)


class LogsBox(PeoplesBox):
    """Looks at logs."""

    def room(self, job):
        return (self.box.directory / f"logs/{job}/rank0.log").stat().st_blocks * 512

    def log(self, uid, job):
        """Its text, and how many bytes are said to have been removed."""
        text, offset = "", 0
        while True:
            chunks = self.get(uid, f"/v1/jobs/{job}/logs?offset=0:{offset}")["chunks"]
            if not chunks:
                removed = re.findall(r"^--- (\d+) bytes were removed ---$", text, re.MULTILINE)
                return text, sum(map(int, removed))
            text += "".join(chunk["text"] for chunk in chunks)
            offset = chunks[-1]["next"]


def goes_over(row):
    def named(test):
        test.row = row
        return test
    return named


@unittest.skipUnless(os.geteuid() == 0, "only root can act for several users")
class SetTest(LogsBox):
    options = ("--limit", "connections=16", "--limit", "connections-per-user=12", "--limit", "traffic=32M",
               "--limit", "traffic-per-user=8M", "--limit", "waiting-jobs=8", "--limit", "waiting-jobs-per-user=3",
               "--limit", "launches-per-user=4M", "--limit", "priority=60", "--limit", "points-per-second=10",
               "--limit", "points-per-second-per-user=10", "--limit", "logs-per-user=1M", "--limit", "checkpoint-entries=1000")

    def test_limits_are_shown(self):
        shown = {limit["name"]: limit for limit in self.get(OTHER, "/v1/limits")["limits"]}
        self.assertEqual(shown["connections"]["value"], 16)
        self.assertEqual(shown["connections"]["default"], 1024)
        self.assertEqual(shown["launches-per-user"]["value"], 4 * MIB)
        self.assertIn("launches-per-user", self.box.call("limits").stdout)

    def assert_refused(self, answer, words):
        self.assertEqual(answer[0], 503, answer)
        self.assertIn(words, answer[1])

    @goes_over("connections-per-user")
    def test_connections_of_one_user(self):
        self.hold(OTHER, 12, b"GET /v1/")
        self.assert_refused(self.ask(OTHER, "GET", "/v1/jobs"), "as one user may")
        self.get(OWNER, "/v1/jobs")

    @goes_over("connections")
    def test_connections(self):
        self.hold(OTHER, 12, b"GET /v1/")
        self.hold(OWNER, 4, b"GET /v1/")
        self.assert_refused(self.ask(OWNER, "GET", "/v1/jobs"), "The server has as many connections as it takes.")
        self.get(0, "/v1/jobs")

    def hold_bodies(self, uid, count):
        """Requests that are never whole, with nearly 4 MiB each."""
        size = 4 * MIB - 64 * KIB
        head = f"POST /v1/jobs HTTP/1.1\r\nHost: p\r\nContent-Length: {size}\r\n\r\n".encode()
        self.hold(uid, count, head + b" " * (size - 1))

    @goes_over("traffic-per-user")
    def test_traffic_of_one_user(self):
        self.hold_bodies(OTHER, 2)
        refused = self.ask(OTHER, "POST", "/v1/jobs", " " * MIB)
        self.assert_refused(refused, "Your requests hold as much of the server's memory")
        self.assertEqual(self.ask(OWNER, "POST", "/v1/jobs", " " * MIB)[0], 400)

    @goes_over("traffic")
    def test_traffic(self):
        """Root leaves to others what one of them may have; three of them want more together."""
        self.hold_bodies(0, 5)
        self.hold_bodies(OTHER, 2)
        self.hold_bodies(OWNER, 1)
        refused = self.ask(OWNER, "POST", "/v1/jobs", " " * MIB)
        self.assert_refused(refused, "All users' requests hold as much of the server's memory")
        self.get(OWNER, "/v1/jobs")

    @goes_over("waiting-jobs")
    def test_waiting_jobs_of_all(self):
        """The last place is root's."""
        body = '{"spec": {"hold": true}, "launch": {"command": ["true"], "directory": "/"}}'
        for uid in 3 * [OWNER] + 3 * [OTHER] + [0]:
            self.assertEqual(self.ask(uid, "POST", "/v1/jobs", body)[0], 201)
        self.assert_refused(self.ask(OTHER, "POST", "/v1/jobs", body), "7 jobs wait already, the most that users' may")
        self.assertEqual(self.ask(0, "POST", "/v1/jobs", body)[0], 201)
        self.assert_refused(self.ask(0, "POST", "/v1/jobs", body), "8 jobs wait already, the most that may")

    @goes_over("waiting-jobs-per-user")
    def test_waiting_jobs(self):
        for _ in range(3):
            self.submit(OTHER, {"hold": True}, ["true"])
        status, text = self.ask(OTHER, "POST", "/v1/jobs", '{"launch": {"command": ["true"], "directory": "/"}}')
        self.assertEqual((status, json.loads(text)["error"]["code"]), (503, "unavailable"))
        self.submit(OWNER, {"hold": True}, ["true"])
        self.submit(0, {"hold": True}, ["true"])

    @goes_over("priority")
    def test_priorities(self):
        body = '{"spec": {"priority": %d, "hold": true}, "launch": {"command": ["true"], "directory": "/"}}'
        self.assertEqual(self.ask(OTHER, "POST", "/v1/jobs", body % 60)[0], 201)
        status, text = self.ask(OTHER, "POST", "/v1/jobs", body % 61)
        self.assertEqual((status, json.loads(text)["error"]["code"]), (403, "forbidden"))
        self.assertIn("Priority 61 is for operators; yours is 60 at most.", text)
        self.assertEqual(self.ask(0, "POST", "/v1/jobs", body % 100)[0], 201)

    @goes_over("launches-per-user")
    def test_what_starts_jobs(self):
        body = json.dumps({"spec": {"hold": True}, "launch": {"command": ["x" * 900_000], "directory": "/",
                                                             "environment": {"A": "y" * 900_000}}})
        answers = [self.ask(OTHER, "POST", "/v1/jobs", body)[0] for _ in range(3)]
        self.assertEqual(answers, [201, 201, 503])

    @goes_over("points-per-second")
    def test_points(self):
        lines = "import json\nfor i in range(20000): print(json.dumps({'paceline': {'step': i, 'loss': 1.0}}))\n"
        job = self.submit(OWNER, {"name": "burst"}, ["python3", "-c", lines])
        self.until(lambda: self.get(OWNER, f"/v1/jobs/{job}")["state"] == "COMPLETED", "it didn't complete")
        page = self.get(OWNER, f"/v1/jobs/{job}/metrics?limit=10000")
        steps = [point["step"] for point in page["points"]]
        self.assertEqual((steps[0], steps[-1]), (0, 19999))
        self.assertLess(len(steps), 2000)
        self.assertGreater(page["passed_over"], 0)

    @goes_over("points-per-second-per-user")
    def test_points_of_several_jobs(self):
        script = ("import json, time\nend = time.monotonic() + 6\ni = 0\nwhile time.monotonic() < end:\n"
                  "    i += 1; print(json.dumps({'paceline': {'step': i, 'loss': 1.0}}), flush=True); time.sleep(0.02)\n")
        jobs = [self.submit(OTHER, {"name": "steady"}, ["python3", "-c", script]) for _ in range(2)]
        for job in jobs:
            self.until(lambda job=job: self.get(OTHER, f"/v1/jobs/{job}")["state"] == "COMPLETED", "it didn't complete")
        pages = [self.get(OTHER, f"/v1/jobs/{job}/metrics?limit=10000") for job in jobs]
        for page in pages:
            self.assertGreater(page["passed_over"], 0)
            self.assertGreater(len(page["points"]), 5)
        self.assertLess(sum(len(page["points"]) for page in pages), 150)

    @goes_over("checkpoint-entries")
    def test_checkpoint_files(self):
        with tempfile.TemporaryDirectory() as directory:
            os.chmod(directory, 0o755)
            for number in range(1100):
                (Path(directory) / f"{number}.pt").touch()
            job = self.submit(OWNER, {"checkpoint": f"{directory}/*.pt"}, ["sleep", "600"])
            self.until(lambda: "write a narrower one" in self.log(OWNER, job)[0], "all are looked at")
            self.ask(OWNER, "POST", f"/v1/jobs/{job}/cancel")

    @goes_over("logs-per-user")
    def test_logs(self):
        writes = "import sys\nfor i in range(60000): print(f'line {i:08}')\nsys.stdout.flush()\n"
        other = self.submit(OTHER, {}, ["python3", "-c", writes])
        old = self.submit(OWNER, {}, ["python3", "-c", writes])
        self.until(lambda: all(self.get(0, f"/v1/jobs/{job}")["ended_at"] for job in (old, other)), "they don't end")
        stays = writes + "import time\ntime.sleep(600)"
        new = self.submit(OWNER, {}, ["python3", "-c", stays])
        self.until(lambda: self.log(OWNER, new)[0].endswith("line 00059999\n"), "it doesn't write")
        self.until(lambda: self.room(old) + self.room(new) <= MIB, "nothing is removed")
        text, removed = self.log(OWNER, old)
        self.assertGreater(removed, 200_000)
        self.assertTrue(text.startswith(f"--- {removed} bytes were removed ---\n"), text[:100])
        self.assertTrue(text.endswith("line 00059999\n"))
        self.assertEqual(self.log(OWNER, new)[1], 0)  # who runs gives last
        self.assertEqual(self.log(OTHER, other)[1], 0)
        self.assertIn(f"{removed} bytes were removed", self.box.call("logs", str(old)).stdout)
        more = self.submit(OWNER, {}, ["python3", "-c", stays])
        self.until(lambda: self.log(OWNER, more)[0].endswith("line 00059999\n"), "it doesn't write")
        self.until(lambda: self.room(old) + self.room(new) + self.room(more) <= MIB, "who runs gives nothing")
        self.assertEqual(self.room(old), 0)
        self.assertGreater(self.log(OWNER, new)[1], 0)


# Starts so many processes at most, and says how many there were.
FORKS = """
import os, signal, time
pids = []
try:
    while len(pids) < 200:
        pid = os.fork()
        if pid == 0:
            time.sleep(600)
        pids.append(pid)
except BlockingIOError:
    pass
print("started", len(pids), flush=True)
for pid in pids:
    os.kill(pid, signal.SIGKILL)
"""


@unittest.skipUnless(os.geteuid() == 0, "only root can act for several users")
class WorkersTest(LogsBox):
    """What one job may take of its machine."""

    options = ("--limit", "worker-processes=64", "--limit", "logs-per-job=4M", "--limit", "log-at-end=1M")

    def completed(self, job):
        self.until(lambda: self.get(OWNER, f"/v1/jobs/{job}")["state"] == "COMPLETED", "it didn't complete")

    @goes_over("worker-processes")
    def test_processes(self):
        job = self.submit(OWNER, {}, ["python3", "-c", FORKS])
        self.completed(job)
        self.assertLess(int(re.search(r"^started (\d+)$", self.log(OWNER, job)[0], re.MULTILINE)[1]), 64)

    @goes_over("logs-per-job")
    def test_log(self):
        """Nobody asks for more, and who asks for nothing has no more."""
        more = {"spec": {"log_limit_bytes": 5 * MIB}, "launch": {"command": ["true"], "directory": "/"}}
        status, text = self.ask(OWNER, "POST", "/v1/jobs", json.dumps(more))
        self.assertEqual(status, 400)
        self.assertIn("Logs of 5M are more than the 4M that one job may have here.", text)
        writes = "import sys, time\nfor i in range(600000): print(f'line {i:08}')\nsys.stdout.flush()\ntime.sleep(600)"
        job = self.submit(OWNER, {}, ["python3", "-c", writes])
        self.until(lambda: self.log(OWNER, job)[0].endswith("line 00599999\n"), "it doesn't write")
        self.until(lambda: self.room(job) <= 4 * MIB, "nothing is removed")
        text, removed = self.log(OWNER, job)
        self.assertGreater(removed, 3 * MIB)
        self.assertIn("line 00000000\n", text)
        self.assertTrue(text.endswith("line 00599999\n"))

    @goes_over("log-at-end")
    def test_log_after_the_end(self):
        """Of what was written while no server was there, the middle is not looked through."""
        says = lambda step: f"echo '{json.dumps({'paceline': {'step': step, 'loss': 1.0}})}'; "
        filler = "yes filler | head -c 1500000; "
        script = "until test -e go; do sleep 0.05; done; " + says(1) + filler + says(2) + filler + says(3)
        job = self.submit(OWNER, {}, ["sh", "-c", script])
        self.until(lambda: self.get(OWNER, f"/v1/jobs/{job}")["state"] == "RUNNING", "it doesn't run")
        supervisor = Path(f"/proc/{parent_of(self.get(OWNER, f'/v1/jobs/{job}')['pids'][0])}")
        self.box.kill()
        (self.home / "go").touch()
        self.until(lambda: not supervisor.exists(), "it doesn't end")
        self.box.up(*self.options)
        self.completed(job)
        points = self.get(OWNER, f"/v1/jobs/{job}/metrics?limit=10000")["points"]
        self.assertEqual([point["step"] for point in points], [1, 3])
        self.assertIn("not looked through for reports", self.log(OWNER, job)[0])


@unittest.skipUnless(os.geteuid() == 0, "only root can act for several users")
class ForgetTest(PeoplesBox):
    """What leaves the server's memory is told of as before."""

    options = ("--limit", "ended-jobs=3", "--limit", "ended-jobs-age=3s")

    def run_jobs(self, count):
        jobs = [self.submit(OWNER, {"name": f"short-{i}"}, ["sh", "-c", f"echo {i}"]) for i in range(count)]
        for job in jobs:
            self.until(lambda: self.get(OWNER, f"/v1/jobs/{job}")["state"] == "COMPLETED", "it didn't complete")
        return jobs

    def forgotten(self):
        events = self.get(0, "/v1/events?from=1&limit=1000")["events"]
        return [job for event in events if event["kind"] == "jobs_forgotten" for job in event["jobs"]]

    def are_told_of(self, jobs):
        for number, job in enumerate(jobs):
            told = self.get(OWNER, f"/v1/jobs/{job}")
            self.assertEqual((told["state"], told["exit_code"], told["name"]), ("COMPLETED", 0, f"short-{number}"))
            chunks = self.get(OWNER, f"/v1/jobs/{job}/logs?offset=0:0")["chunks"]
            self.assertTrue("".join(chunk["text"] for chunk in chunks).endswith(f" ---\n{number}\n"))
        self.assertEqual([job["id"] for job in self.get(OWNER, "/v1/jobs?all=1")["jobs"]], jobs)

    @goes_over("ended-jobs")
    def test_ended_jobs(self):
        jobs = self.run_jobs(6)
        self.until(lambda: len(self.forgotten()) >= 3, "nothing was forgotten")
        self.are_told_of(jobs)

    @goes_over("ended-jobs-age")
    def test_ended_jobs_age(self):
        jobs = self.run_jobs(2)
        self.until(lambda: sorted(self.forgotten()) == jobs, "they were not forgotten")
        self.are_told_of(jobs)


class FixedTest(unittest.TestCase):
    """What nobody sets."""

    @classmethod
    def setUpClass(cls):
        cls.box = Box(BINARY, slots=2).__enter__()
        cls.addClassCleanup(cls.box.close)

    def ask(self, method, path, body=None, headers=None):
        with closing(UnixConnection(self.box.directory / "paceline.sock")) as connection:
            try:
                connection.request(method, path, body, headers or {})
            except BrokenPipeError:
                pass  # turned away: why is there to be read
            answer = connection.getresponse()
            text = answer.read().decode()
        return answer.status, json.loads(text) if text.startswith("{") else text

    def submit(self, spec, headers=None, **launch):
        body = {"spec": {"hold": True, **spec}, "launch": {"command": ["true"], "directory": "/", **launch}}
        return self.ask("POST", "/v1/jobs", json.dumps(body), headers)[0]

    def ends_well(self, *words):
        job = self.box.submit("--retry", "0", "--", *words)
        self.assertEqual(self.box.wait_state(job, "COMPLETED", "FAILED", seconds=120)["state"], "COMPLETED")
        return job

    @goes_over("the header of a request")
    def test_header(self):
        self.assertEqual(self.ask("GET", "/v1/jobs", headers={"X": "y" * 65 * KIB})[0], 413)

    @goes_over("the body of a request")
    def test_body(self):
        self.assertEqual(self.ask("POST", "/v1/jobs", " " * (4 * MIB + 1))[0], 413)
        self.assertEqual(self.ask("POST", "/v1/jobs", '{"spec":' + "[" * 33 + "]" * 33 + "}")[0], 413)
        self.assertEqual(self.ask("POST", "/v1/jobs", '{"spec":[' + "0," * MIB + "0]}")[0], 413)

    @goes_over("a page of jobs or events")
    def test_page(self):
        for route in ("jobs", "events"):
            self.assertEqual(self.ask("GET", f"/v1/{route}?limit=1000")[0], 200)
            self.assertEqual(self.ask("GET", f"/v1/{route}?limit=1001")[0], 400)

    @goes_over("a page of metric points")
    def test_points(self):
        job = self.ends_well("true")
        self.assertEqual(self.ask("GET", f"/v1/jobs/{job}/metrics?limit=10000")[0], 200)
        self.assertEqual(self.ask("GET", f"/v1/jobs/{job}/metrics?limit=10001")[0], 400)

    @goes_over("a page of logs")
    def test_logs(self):
        job = self.ends_well("python3", "-c", "print('x' * (2 << 20))")
        chunks = self.ask("GET", f"/v1/jobs/{job}/logs")[1]["chunks"]
        self.assertEqual(chunks[-1]["next"], MIB)
        self.assertEqual(self.ask("GET", f"/v1/jobs/{job}/logs?rank=1023")[0], 200)
        status, said = self.ask("GET", f"/v1/jobs/{job}/logs?rank=1024")
        self.assertEqual(status, 400)
        self.assertIn("0 to 1023", said["error"]["message"])

    @goes_over("a drain")
    def test_drain(self):
        def ask(**order):
            return self.ask("POST", f"/v1/nodes/{node}/drain?dry_run=1", json.dumps(order))[0]

        node = self.ask("GET", "/v1/nodes")[1]["nodes"][0]["name"]
        year, now = 366 * 86400, time.time()
        self.assertEqual([ask(reason="x" * length) for length in (256, 257)], [200, 400])
        self.assertEqual([ask(within_seconds=span) for span in (year, year + 1)], [200, 400])
        for begins, status in ((now + year - 60, 200), (now + year + 60, 400)):
            self.assertEqual(ask(begins_at=begins), status)

    @goes_over("nodes of Slurm's")
    def test_slurm(self):
        for key, most in (("nodes_max", 256), ("cpus", 4096), ("time_seconds", 365 * 86400), ("look_every_seconds", 3600)):
            statuses = [self.ask("POST", "/v1/slurm", json.dumps({key: value}))[0] for value in (most, most + 1)]
            self.assertEqual(statuses, [409, 400], key)  # this server listens for nobody, or is root's
        self.assertEqual([self.ask("POST", "/v1/slurm", json.dumps({"gres": "g" * length}))[0] for length in (128, 129)], [409, 400])

    @goes_over("a wait for a job")
    def test_wait(self):
        job = self.ends_well("true")
        self.assertEqual(self.ask("GET", f"/v1/jobs/{job}/wait?timeout_seconds=60")[0], 200)
        self.assertEqual(self.ask("GET", f"/v1/jobs/{job}/wait?timeout_seconds=61")[0], 400)

    @goes_over("an `Idempotency-Key`")
    def test_key(self):
        self.assertEqual(self.submit({}, {"Idempotency-Key": "k" * 128}), 201)
        self.assertEqual(self.submit({}, {"Idempotency-Key": "k" * 129}), 400)

    @goes_over("a name of a job or a metric")
    def test_name(self):
        self.assertEqual(self.submit({"name": "n" * 128}), 201)
        self.assertEqual(self.submit({"name": "n" * 129}), 400)

    @goes_over("a command, an environment")
    def test_launch(self):
        self.assertEqual(self.submit({}, command=["x" * (MIB + 1)]), 413)
        self.assertEqual(self.submit({}, environment={"A": "x" * (MIB + 1)}), 413)

    @goes_over("addresses of a job for messages")
    def test_notify(self):
        def submit(*addresses):
            launch = {"command": ["true"], "directory": "/"}
            return self.ask("POST", "/v1/jobs", json.dumps({"launch": launch, "notify": {"to": addresses, "on": ["stalled"]}}))[0]
        self.assertEqual(submit(*["http://127.0.0.1:9"] * 8), 201)
        self.assertEqual(submit(*["http://127.0.0.1:9"] * 9), 400)
        self.assertEqual(submit("http://127.0.0.1:9/" + "x" * 512), 400)

    @goes_over("messages to the operator's web hooks")
    def test_hooks(self):
        hooks = "\n".join(f"  - {{to: http://127.0.0.1:9/{i}, on: [ended]}}" for i in range(33))
        with tempfile.TemporaryDirectory() as directory:
            file = Path(directory) / "messages.yaml"
            file.touch(mode=0o600)
            file.write_text(f"webhooks:\n{hooks}\n")
            done = subprocess.run([BINARY, "up", "--slots", "1", "--messages", str(file)], capture_output=True, text=True,
                                  env={**os.environ, "PACELINE_DIR": directory}, timeout=60)
        self.assertEqual(done.returncode, 64, done.stderr)
        self.assertIn("at most 32", done.stderr)

    @goes_over("a checkpoint pattern")
    def test_pattern(self):
        self.assertEqual(self.submit({"checkpoint": "p" * 4096}), 201)
        self.assertEqual(self.submit({"checkpoint": "p" * 4097}), 400)

    @goes_over("a job")
    def test_job(self):
        for spec in ({"workers": 100_001}, {"slots_per_worker": 1025}, {"retry": 1001}, {"after": [1] * 1001},
                     {"devices": ["a100"] * 33}):
            self.assertEqual(self.submit(spec), 400, spec)

    @goes_over("a job file")
    def test_job_file(self):
        for text in ("# " + "x" * MIB, "run: true\nenv: " + "[" * 20 + "]" * 20):
            with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
                file.write(text)
                file.flush()
                self.assertIn(self.box.call("submit", "-f", file.name, check=False).returncode, (64, 65))

    @goes_over("a report")
    def test_report(self):
        job = self.ends_well("python3", "-c", """
import json
print(json.dumps({'paceline': {'step': 1, 'loss': 1.0}}))
print(json.dumps({'paceline': {'step': 2, 'loss': 1.0, 'x': 'y' * (64 << 10)}}))
""")
        self.assertEqual(self.box.job(job)["progress"]["step"], 1)

    @goes_over("the metrics of a job")
    def test_metrics(self):
        job = self.ends_well("python3", "-c", """
import json
for i in range(70): print(json.dumps({'paceline': {'step': i, f'm{i:02}': 1.0}}))
""")
        self.assertEqual(sorted(self.box.job(job)["metrics"]), [f"m{i:02}" for i in range(64)])

    @goes_over("a policy in Lua")
    def test_policy(self):
        for text, said in (("-- " + "x" * 256 * KIB, "at most 262144 bytes"), ("while true do end", "within 20000000 instructions")):
            status, answer = self.ask("PUT", "/v1/policy/mine", json.dumps({"script": text}))
            self.assertEqual(status, 400)
            self.assertIn(said, answer["error"]["message"])

    @goes_over("a node")
    def test_node(self):
        with tempfile.TemporaryDirectory() as directory:
            for labels in ([f"k{i}=v" for i in range(65)], ["k" * 64 + "=v"], ["k=" + "v" * 257]):
                words = [word for label in labels for word in ("--label", label)]
                done = subprocess.run([BINARY, "up", "--slots", "1", *words], env={**os.environ, "PACELINE_DIR": directory},
                                      capture_output=True, timeout=60)
                self.assertEqual(done.returncode, 64, done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
