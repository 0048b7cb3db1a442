"""Messages about jobs, by web hook and by mail, to real sinks on loopback: each once, whatever happens to the server and the sinks."""

import base64
import json
import os
import random
import re
import shutil
import socket
import sys
import tempfile
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from people import BINARY, OTHER, OWNER, PeoplesBox
from sinks import HookSink, MailSink
from box import Box

TRAIN = """
import json, sys, time
for step in range(3):
    print(json.dumps({"paceline": {"step": step, "accuracy": 0.5 + 0.2 * step}}), flush=True)
    time.sleep(0.05)
"""


class MessagesTest(unittest.TestCase):
    def setUp(self):
        if shutil.which("curl") is None:
            self.skipTest("there is no curl")
        self.folder = Path(tempfile.mkdtemp(prefix="paceline-messages-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.hook, self.mail = HookSink(), MailSink()
        self.addCleanup(self.hook.__exit__)
        self.addCleanup(self.mail.__exit__)
        self.box = Box(BINARY, slots=2)
        self.addCleanup(self.box.close)
        self.script = self.folder / "train.py"
        self.script.write_text(TRAIN)

    def up(self, *options, **keys):
        """With a file of messages that holds these keys, as JSON, which is YAML."""
        if keys:
            file = self.folder / "messages.yaml"
            file.touch(0o600)
            file.write_text(json.dumps({"retry_after": "1s"} | keys))
            options = ("--messages", str(file), *options)
        self.options = options
        self.box.up(*options)

    def again(self):
        self.box.kill()
        self.box.up(*self.options)

    def relay(self, **more):
        return {"relay": f"127.0.0.1:{self.mail.port}", "from": "paceline@lab.example", "starttls": False} | more

    def submit(self, *words, to=None, on="all"):
        return self.box.submit("--notify-to", to or self.hook.url, "--notify", on, *words)

    def until(self, happened, what, seconds=60):
        self.box.until(happened, seconds, what, told=lambda: repr(self.hook.all()) + repr(self.mail.all()))

    def asked(self, job):
        return self.box.json("show", str(job))

    def test_tells_what_happens_to_a_job_in_its_order(self):
        self.up()
        job = self.submit("--name", "digits", "--target", "accuracy>=0.85", "--", sys.executable, str(self.script))
        self.until(lambda: "ended" in self.hook.kinds(job), "the end is not told")
        self.assertEqual(self.hook.kinds(job), ["started", "final", "ended"])
        final = next(each["body"] for each in self.hook.all() if each["body"]["kind"] == "final")
        self.assertEqual(final["version"], 1)
        self.assertEqual(final["job"]["name"], "digits")
        self.assertEqual(final["job"]["target"]["final"], 0.85)
        self.assertAlmostEqual(final["job"]["value"], 0.9)
        self.assertIn("met its target: accuracy is 0.9", final["text"])
        headers = self.hook.all()[0]["headers"]
        self.assertEqual(headers["Idempotency-Key"], self.hook.all()[0]["body"]["id"])
        bad = self.submit("--name", "bad", "--", "sh", "-c", "exit 3")
        self.until(lambda: "failed" in self.hook.kinds(bad), "the failure is not told")
        self.assertIn("(bad) failed", [each["body"]["text"] for each in self.hook.all()][-1])
        self.assertNotIn("ended", self.hook.kinds(bad))

    def test_both_tiers_of_a_target(self):
        self.up()
        file = self.folder / "job.yaml"
        file.write_text(f"run: {sys.executable} {self.script}\ntarget: {{metric: accuracy>=0.6, final: accuracy>=0.85}}\n"
                        f"notify: {{to: '{self.hook.url}', on: [delivered, final]}}\n")
        job = self.box.submit("-f", str(file))
        self.until(lambda: "final" in self.hook.kinds(job), "the final tier is not told")
        self.assertEqual(self.hook.kinds(job), ["delivered", "final"])

    def test_tells_a_job_that_stalls_once_until_it_reports_again(self):
        self.up("--limit", "progress-interval=0")
        script = ("import time\nfor s in 1, 2:\n  print('{\"paceline\": {\"step\": %d}}' % s, flush=True)\n"
                  "  time.sleep(3)\ntime.sleep(600)")
        job = self.submit("--stalled-after", "1s", "--", sys.executable, "-c", script, on="stalled")
        self.until(lambda: self.hook.kinds(job) == ["stalled"] * 2, "it is not told twice")
        self.again()
        time.sleep(2)
        self.assertEqual(self.hook.kinds(job), ["stalled"] * 2)

    def test_a_hook_that_does_not_answer_holds_up_no_other(self):
        with socket.socket() as silent:
            silent.bind(("127.0.0.1", 0))
            silent.listen(200)
            self.up(webhooks=[{"to": f"http://127.0.0.1:{silent.getsockname()[1]}/", "on": ["ended"]},
                              {"to": self.hook.url, "on": ["ended"]}])
            jobs = [self.box.submit("--", "true") for _ in range(40)]
            self.until(lambda: all(self.hook.kinds(job) == ["ended"] for job in jobs), "the other hook is held up", seconds=120)

    def test_each_once_though_the_server_is_killed(self):
        self.up(webhooks=[{"to": self.hook.url + "/ops", "on": ["started", "ended"]}])
        chance, jobs, kills = random.Random(7), [], 12
        for _ in range(kills):
            jobs += [self.submit("--", "sh", "-c", f"sleep 0.1; exit {i % 2}") for i in range(3)]
            time.sleep(chance.uniform(0, 0.4))
            self.again()
        self.box.wait_all(60)
        expected = {(job, kind, path) for i, job in enumerate(jobs) for path in ("/hook", "/hook/ops")
                    for kind in ("started", "failed" if i % 3 == 1 else "ended")}
        told = lambda: [(each["body"]["job"]["id"], each["body"]["kind"], each["path"]) for each in self.hook.all()]
        self.until(lambda: expected <= set(told()), "not all is told")
        time.sleep(1)
        self.assertEqual(set(told()), expected)
        ids = [(each["body"]["id"], each["path"]) for each in self.hook.all()]
        self.assertEqual(len(set(ids)), len(expected))
        self.assertLessEqual(len(ids) - len(set(ids)), 4 * kills)  # sent, and killed before that was noted
        self.again()
        time.sleep(1)
        self.assertEqual(len(self.hook.all()), len(ids))

    def test_each_mail_once_though_the_server_is_killed(self):
        self.up(mail=self.relay())
        chance, jobs, kills = random.Random(11), [], 8
        for _ in range(kills):
            jobs += [self.submit("--", "sh", "-c", f"sleep 0.1; exit {i}", to="ada@lab.example") for i in range(2)]
            time.sleep(chance.uniform(0, 0.4))
            self.again()
        self.box.wait_all(60)
        expected = sorted((job, kind) for i, job in enumerate(jobs) for kind in ("started", "failed" if i % 2 else "ended"))
        self.until(lambda: len(self.mails()) >= len(expected), "not all is told")
        time.sleep(1)
        self.assertEqual(sorted(self.mails().values()), expected, "each has one Message-ID")
        sent = len(self.mail.all())
        self.assertLessEqual(sent - len(expected), 4 * kills)  # taken, and killed before that was noted
        self.again()
        time.sleep(1)
        self.assertEqual(len(self.mail.all()), sent)

    def mails(self):
        """Of each Message-ID the job and the kind."""
        told = [taken["mail"] for taken in self.mail.all()]
        return {mail["Message-ID"]: (int(re.search(r"job (\d+) ", mail["Subject"])[1]), str(mail["X-Paceline-Kind"])) for mail in told}

    def test_sinks_that_are_down_fail_or_are_slow(self):
        self.up(webhooks=[])
        self.hook.answers = [500, "close", 302, 429]
        job = self.submit("--", "true", on="ended")
        self.until(lambda: self.hook.kinds(job) == ["ended"], "it was not tried again")
        self.assertEqual([each["path"] for each in self.hook.all()], ["/hook"])  # no redirect was followed
        self.assertEqual(self.hook.asked, 5)
        with HookSink() as down:
            url = down.url
        dead = [self.submit("--", "true", to=url) for _ in range(4)]
        slow = self.submit("--", "true", to="http://127.0.0.1:9/x")
        self.box.wait_all(60)
        other = self.submit("--", "true", on="ended")
        self.until(lambda: self.hook.kinds(other) == ["ended"], "a dead sink delays another one")
        fared = self.notify(dead[0])
        self.assertEqual((fared["waiting"], fared["given_up"]), (2, 0))
        self.assertIn("could not be reached", fared["problem"])
        self.assertTrue(slow)

    def test_a_sink_that_says_gone_is_given_up(self):
        self.up()
        self.hook.answers = [410]
        job = self.submit("--", "true", on="ended")
        self.until(lambda: self.notify(job)["given_up"] == 1, "it is not given up")
        self.assertIn(f"A message about job {job} (ended) is given up: the answer was 410.", self.box.log.read_text())
        self.assertNotIn(self.hook.url, self.box.log.read_text())

    def notify(self, job):
        return json.loads(self.api(f"/v1/jobs/{job}/notify"))

    def api(self, path):
        from people import UnixConnection
        connection = UnixConnection(self.box.directory / "paceline.sock")
        connection.request("GET", path)
        text = connection.getresponse().read().decode()
        connection.close()
        return text

    def test_mails(self):
        self.up(mail=self.relay())
        name = 'x"äöü – ' + "é" * 40
        job = self.submit("--name", name, "--", "sh", "-c", "exit 1", to="ada@lab.example", on="failed")
        self.until(lambda: self.mail.all(), "no mail came")
        taken = self.mail.all()[0]
        mail = taken["mail"]
        self.assertEqual((taken["from"], taken["to"]), ("paceline@lab.example", ["ada@lab.example"]))
        self.assertIn(f"job {job} ({name}) failed", mail["Subject"])
        self.assertEqual(mail["Auto-Submitted"], "auto-generated")
        self.assertIn(f"paceline show {job}", mail.get_content())
        self.assertEqual(mail.defects, [])
        self.mail.answers = [451, "close"]
        later = self.submit("--", "true", to="mailto:ada@lab.example", on="ended")
        self.until(lambda: len(self.mail.all()) == 2, "it was not tried again")
        self.assertIn(f"job {later} ", self.mail.all()[1]["mail"]["Subject"])
        self.assertEqual(len({taken["mail"]["Message-ID"] for taken in self.mail.all()}), 2)
        self.mail.answers = [550]
        nobody = self.submit("--", "true", to="nobody@lab.example", on="ended")
        self.until(lambda: self.notify(nobody)["given_up"] == 1, "a mailbox that is not there is tried again")

    def test_a_relay_that_wants_encryption_and_a_login(self):
        certificate = self.mail.encrypt(self.folder)
        self.mail.login = True
        self.up(mail=self.relay(starttls=True, login="pace:se\"cr\\et"), ca_file=str(certificate))
        self.submit("--", "true", to="ada@lab.example", on="ended")
        self.until(lambda: self.mail.all(), "no mail came")
        taken = self.mail.all()[0]
        self.assertTrue(taken["secure"])
        self.assertEqual(base64.b64decode(taken["login"]), b"\0pace\0se\"cr\\et")

    def test_a_relay_without_encryption_gets_nothing_where_it_must(self):
        self.up(mail=self.relay(starttls=True))
        job = self.submit("--", "true", to="ada@lab.example", on="ended")
        self.until(lambda: self.notify(job)["problem"], "it is sent without encryption")
        self.assertEqual(self.mail.all(), [])

    def test_without_a_relay_mail_is_refused_with_what_to_do(self):
        self.up()
        refused = self.box.call("submit", "--notify-to", "ada@lab.example", "--", "true", check=False)
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn("knows no mail relay", refused.stderr)
        self.assertIn("--messages FILE", refused.stderr)
        script = self.folder / "batch.sh"
        script.write_text("#!/bin/sh\n#SBATCH --mail-type=END,FAIL\n#SBATCH --mail-user=ada@lab.example\ntrue\n")
        script.chmod(0o755)
        done = self.box.call("submit", str(script))
        self.assertIn("This server sends no mail", done.stderr)

    def test_batch_scripts_mail_as_they_say(self):
        self.up(mail=self.relay())
        script = self.folder / "batch.sh"
        script.write_text("#!/bin/sh\n#SBATCH --mail-type=BEGIN,END\n#SBATCH --mail-user=ada@lab.example\ntrue\n")
        script.chmod(0o755)
        self.box.submit(str(script))
        self.until(lambda: len(self.mail.all()) == 2, "the mails do not come")
        self.assertEqual([taken["mail"]["X-Paceline-Kind"] for taken in self.mail.all()], ["started", "ended"])

    def test_hostile_addresses_and_names_are_refused(self):
        self.up(mail=self.relay())
        for address in ("ada@lab.example\r\nBcc: eve@x", "ada@lab,eve@x", "file:///etc/passwd", "https://h/\"\nurl=x", "-x@h"):
            refused = self.box.call("submit", f"--notify-to={address}", "--", "true", check=False)
            self.assertIn("no address for messages", refused.stderr, address)
        refused = self.box.call("submit", "--name", "a\r\nBcc: eve@x", "--notify-to", "ada@lab.example", "--", "true", check=False)
        self.assertNotEqual(refused.returncode, 0)

    def test_nothing_is_told_of_the_past(self):
        self.up()
        self.box.submit("--", "true")
        running = self.box.submit("--", "sleep", "600")
        self.box.wait_state(running, "RUNNING")
        self.box.kill()
        self.up(webhooks=[{"to": self.hook.url, "on": "all"}])
        self.box.call("cancel", str(running))
        self.until(lambda: "ended" in self.hook.kinds(running), "what happens now is not told")
        self.assertEqual(self.hook.kinds(), ["ended"])

    def test_a_file_that_others_may_read_is_refused(self):
        file = self.folder / "messages.yaml"
        file.write_text("mail: {relay: h, from: a@b}\n")
        file.chmod(0o644)
        up = self.box.call("up", "--messages", str(file), check=False)
        self.assertIn("chmod 600", up.stderr)
        file.chmod(0o600)
        file.write_text("mails: {relay: h}\n")
        self.assertIn("did you mean 'mail'?", self.box.call("up", "--messages", str(file), check=False).stderr)


class PeoplesTest(PeoplesBox):
    def test_each_with_their_own_rights_and_nobody_else_sees_where(self):
        with HookSink() as hook:
            jobs = {}
            for uid in (OWNER, OTHER):
                body = {"spec": {"name": f"of-{uid}"}, "launch": {"command": ["true"], "directory": "/", "umask": 18},
                        "notify": {"to": [f"{hook.url}/{uid}"], "on": ["ended"]}}
                status, text = self.ask(uid, "POST", "/v1/jobs", json.dumps(body))
                self.assertEqual(status, 201, text)
                jobs[uid] = json.loads(text)["id"]
            self.until(lambda: len(hook.all()) == 2, "not all is told")
            for taken in hook.all():
                self.assertEqual(taken["path"], f"/hook/{taken['uid']}")
            self.assertEqual(self.get(OWNER, f"/v1/jobs/{jobs[OWNER]}/notify")["notify"]["to"], [f"{hook.url}/{OWNER}"])
            self.assertEqual(self.ask(OTHER, "GET", f"/v1/jobs/{jobs[OWNER]}/notify")[0], 403)
            for path in (f"/v1/jobs/{jobs[OWNER]}", "/v1/jobs?all=true", "/v1/events", f"/v1/jobs/{jobs[OWNER]}/why"):
                self.assertNotIn("hook", self.ask(OTHER, "GET", path)[1], path)
            self.assertNotIn("hook", self.box.log.read_text())
            for name in ("messages.db", "messages.db-wal"):
                self.assertEqual((self.box.directory / name).stat().st_mode & 0o077, 0)


class FewMessagesTest(PeoplesBox):
    """A server that tells each user little in a day, and keeps less of it."""

    def setUp(self):
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:  # private, as it must be
            file.write('{"retry_after": "1s"}')
            file.flush()
            limits = ("--limit", "waiting-messages-per-user=2", "--limit", "messages-per-user=3")
            self.options = ("--messages", file.name, *limits)
            super().setUp()
        self.hook = HookSink()
        self.addCleanup(self.hook.__exit__)

    def ended(self, uid):
        """A job whose end is to be told, and is over."""
        launch = {"command": ["true"], "directory": "/", "umask": 18}
        body = {"launch": launch, "notify": {"to": [self.hook.url], "on": ["ended"]}}
        status, text = self.ask(uid, "POST", "/v1/jobs", json.dumps(body))
        self.assertEqual(status, 201, text)
        job = json.loads(text)["id"]
        self.until(lambda: self.get(uid, f"/v1/jobs/{job}")["state"] == "COMPLETED", "it doesn't complete")
        return job

    def waiting(self, job):
        return self.get(0, f"/v1/jobs/{job}/notify")["waiting"]

    def told(self):
        return sorted({taken["body"]["job"]["id"] for taken in self.hook.all()})

    def test_of_what_is_over_a_limit_nothing_is_told(self):
        self.hook.answers = [500] * 1000
        first, second, third = (self.ended(OWNER) for _ in range(3))
        left_out = "Messages about jobs of paceline-owner are left out: they are over a limit"
        self.until(lambda: left_out in self.box.log.read_text(), "nothing is left out")
        self.assertEqual([self.waiting(job) for job in (first, second, third)], [1, 1, 0])
        self.hook.answers = []
        self.until(lambda: self.told() == [first, second], "not all that waits is told")
        fourth, fifth = self.ended(OWNER), self.ended(OWNER)
        other = self.ended(OTHER)
        self.until(lambda: self.told() == [first, second, fourth, other], "another one's day is spent, too")
        self.assertEqual([self.waiting(job) for job in (third, fifth)], [0, 0])
        self.assertEqual(self.box.log.read_text().count("are left out"), 1)


if __name__ == "__main__":
    unittest.main()
