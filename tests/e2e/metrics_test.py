"""GET /metrics: over the server's socket and for Prometheus over TCP. With PACELINE_TEST_ALL set, a real Prometheus of Debian reads
it, promtool finds no fault with it, and every question of the dashboard is answered."""

import http.client
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.parse
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "script"))
from box import Box, Failed

BINARY = os.environ.get("PACELINE_BINARY", ROOT / "build/release/paceline")
OPEN_METRICS = "application/openmetrics-text; version=1.0.0"


class MetricsBox(Box):
    def __init__(self, *options):
        super().__init__(BINARY, slots=2)
        self.options += ["--metrics", "0", *options]

    @property
    def address(self):
        return re.findall(r"http://([^/]*)/metrics", self.log.read_text())[-1]

    def get(self, path="/metrics", accept=""):
        """Status, type and text."""
        connection = http.client.HTTPConnection(self.address, timeout=30)
        connection.request("GET", path, headers={"Accept": accept} if accept else {})
        answer = connection.getresponse()
        try:
            return answer.status, answer.headers["Content-Type"], answer.read().decode()
        finally:
            connection.close()

    def value(self, series):
        found = re.search(rf"^{re.escape(series)} (\S+)$", self.get()[2], re.MULTILINE)
        return float(found[1]) if found else None


class MetricsTest(unittest.TestCase):
    def test_what_happens_is_counted(self):
        with MetricsBox() as box:
            self.assertEqual(box.value('paceline_node_slots{node="%s",state="free"}' % os.uname().nodename), 2)
            box.wait_state(box.submit("--", "true"), "COMPLETED")
            box.wait_state(box.submit("--", "false"), "FAILED")
            box.wait_state(box.submit("--slots", "2", "--", "sleep", "600"), "RUNNING")
            self.assertEqual(box.value('paceline_jobs_ended_total{state="COMPLETED"}'), 1)
            self.assertEqual(box.value('paceline_jobs_ended_total{state="FAILED"}'), 1)
            self.assertEqual(box.value('paceline_jobs{state="RUNNING"}'), 1)
            self.assertEqual(box.value('paceline_node_slots{node="%s",state="leased"}' % os.uname().nodename), 2)
            self.assertEqual(box.value("paceline_job_wait_seconds_count"), 3)
            self.assertEqual(box.value('paceline_node_slots{node="%s",state="draining"}' % os.uname().nodename), 0)
            self.assertGreater(box.value("paceline_server_resident_bytes"), 1e6)
            box.kill()
            box.up(*box.options[2:])
            self.assertEqual(box.value('paceline_jobs_ended_total{state="COMPLETED"}'), 1)
            self.assertEqual(box.value('paceline_plan_changes_total{change="start"}'), 0)

    def test_each_slot_of_a_node_that_drains_is_in_one_state(self):
        with MetricsBox() as box:
            node = os.uname().nodename
            box.call("drain", node)
            self.assertEqual(box.value('paceline_node_slots{node="%s",state="draining"}' % node), 2)
            states = re.findall(r'^paceline_node_slots{node="%s",state="\w+"} (\d+)$' % re.escape(node), box.get()[2], re.MULTILINE)
            self.assertEqual(sum(map(int, states)), 2)

    def test_jobs_are_told_of_only_where_that_is_asked_for(self):
        with MetricsBox("--metrics-of-jobs") as box:
            job = box.submit("--name", 'a "b\\', "--", "sleep", "600")
            box.wait_state(job, "RUNNING")
            self.assertEqual(box.value(f'paceline_job_slots{{job="{job}",user="{box.job(job)["user"]}",name="a \\"b\\\\"}}'), 1)
        with MetricsBox() as box:
            box.wait_state(box.submit("--", "sleep", "600"), "RUNNING")
            self.assertNotIn("paceline_job_slots", box.get()[2])

    def test_either_format_is_answered_and_nothing_else_over_tcp(self):
        with MetricsBox() as box:
            status, kind, text = box.get(accept=OPEN_METRICS)
            self.assertEqual((status, kind), (200, f"{OPEN_METRICS}; charset=utf-8"))
            self.assertTrue(text.endswith("\n# EOF\n"))
            self.assertIn("# UNIT paceline_server_resident_bytes bytes\n", text)
            self.assertIn("# TYPE paceline_plans counter\n", text)
            status, kind, text = box.get()
            self.assertEqual((status, kind), (200, "text/plain; version=0.0.4; charset=utf-8"))
            self.assertIn("# TYPE paceline_plans_total counter\n", text)
            self.assertEqual(box.get("/v1/jobs")[0], 404)
            curl = subprocess.run(["curl", "-sf", "--unix-socket", box.directory / "paceline.sock", "http://paceline/metrics"],
                                  capture_output=True, text=True, check=True)
            self.assertIn("paceline_build_info{", curl.stdout)

    def test_an_address_that_cannot_be_had_is_refused_with_a_sentence(self):
        with MetricsBox() as box:
            for wrong, words in ((box.address, "Address already in use"), ("203.0.113.7:1", "Cannot assign requested address"),
                                 ("localhost", "is not an address to listen at"), ("99999", "is not an address to listen at")):
                with tempfile.TemporaryDirectory() as directory:
                    done = subprocess.run([str(BINARY), "up", "--slots", "1", "--dir", directory, "--metrics", wrong],
                                          capture_output=True, text=True, timeout=60)
                    self.assertNotEqual(done.returncode, 0)
                    self.assertIn(words, done.stderr)


def prometheus(folder):
    """Where Debian's prometheus and promtool lie; nothing is installed, so that no service begins."""
    done = subprocess.run(["apt-get", "download", "prometheus"], cwd=folder, capture_output=True, text=True)
    if done.returncode != 0:
        raise unittest.SkipTest(f"Debian's prometheus can't be had: {done.stderr.strip()}")
    (package,) = Path(folder).glob("prometheus_*.deb")
    subprocess.run(["dpkg-deb", "-x", package, folder], check=True)
    return Path(folder, "usr/bin")


@unittest.skipUnless(os.environ.get("PACELINE_TEST_ALL"), "needs Debian's prometheus: script/test --all")
class PrometheusTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.programs = prometheus(cls.folder.name)

    def ask(self, port, path, **query):
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}?{urllib.parse.urlencode(query)}", timeout=30) as answer:
            return json.load(answer)["data"]

    def is_ready(self, port):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/-/ready", timeout=30):
                return True
        except urllib.error.HTTPError:
            return False

    def serve(self, box):
        """Prometheus, which asks the box every second; its port."""
        settings = Path(self.folder.name, "prometheus.yml")
        settings.write_text(json.dumps({"scrape_configs": [{"job_name": "paceline", "scrape_interval": "1s",
                                                            "static_configs": [{"targets": [box.address]}]}]}))
        log = Path(self.folder.name, "prometheus.log")
        with log.open("wb") as told:
            server = subprocess.Popen([self.programs / "prometheus", f"--config.file={settings}",
                                       f"--storage.tsdb.path={self.folder.name}/data", "--web.listen-address=127.0.0.1:0"],
                                      stdout=subprocess.DEVNULL, stderr=told)
        self.addCleanup(server.wait)
        self.addCleanup(server.kill)
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            found = re.search(r'msg="Listening on" address=127.0.0.1:(\d+)', log.read_text())
            if found and self.is_ready(found[1]):
                return int(found[1])
            time.sleep(0.05)
        raise Failed(f"Prometheus does not get ready:\n{log.read_text()[-3000:]}")

    def test_a_real_prometheus_reads_it_and_the_dashboard_asks_for_what_is_there(self):
        with MetricsBox("--metrics-of-jobs") as box:
            box.wait_state(box.submit("--", "sleep", "600"), "RUNNING")
            checked = subprocess.run([self.programs / "promtool", "check", "metrics"], input=box.get()[2], capture_output=True,
                                     text=True)
            self.assertEqual((checked.returncode, checked.stdout + checked.stderr), (0, ""))
            port = self.serve(box)
            deadline = time.monotonic() + 60
            while not (found := self.ask(port, "/api/v1/query", query='paceline_jobs{state="RUNNING"}')["result"]):
                self.assertLess(time.monotonic(), deadline, self.ask(port, "/api/v1/targets"))
                time.sleep(0.1)
            self.assertEqual(found[0]["value"][1], "1")
            (target,) = self.ask(port, "/api/v1/targets")["activeTargets"]
            self.assertEqual((target["health"], target["lastError"]), ("up", ""))
            board = json.loads((ROOT / "packaging/grafana/paceline.json").read_text())
            known = set(self.ask(port, "/api/v1/label/__name__/values"))
            asked = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
            for question in asked:
                with self.subTest(question):
                    self.ask(port, "/api/v1/query", query=question.replace("$instance", ".*"))
                    self.assertLessEqual(set(re.findall(r"paceline_\w+", question)), known)


if __name__ == "__main__":
    unittest.main()
