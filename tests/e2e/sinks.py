"""Where messages arrive: a web hook and a mail server on loopback, which do as they are told. Shared by tests.

    with HookSink() as hook, MailSink() as mail:
        … hook.url, mail.port …
        hook.answers = [500, 500]      # then 204 again
"""

import email
import email.policy
import json
import re
import socketserver
import ssl
import subprocess
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


def uid_of(port):
    """Of the process whose socket on loopback has this port; None: it is gone."""
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        words = line.split()
        if int(words[1].split(":")[1], 16) == port and words[3] == "01":
            return int(words[7])
    return None


class Sink:
    def __init__(self, server):
        self.server = server
        self.server.daemon_threads = True
        self.server.sink = self
        self.lock = threading.Lock()
        self.taken, self.answers, self.delay = [], [], 0
        self.asked = 0
        self.thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self.thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

    @property
    def port(self):
        return self.server.server_address[1]

    def next_answer(self, otherwise):
        with self.lock:
            self.asked += 1
            return self.answers.pop(0) if self.answers else otherwise

    def take(self, what):
        with self.lock:
            self.taken.append(what)

    def all(self):
        with self.lock:
            return list(self.taken)


class HookHandler(BaseHTTPRequestHandler):
    def do_POST(self):
        sink = self.server.sink
        body = self.rfile.read(int(self.headers["Content-Length"]))
        answer = sink.next_answer(204)
        time.sleep(sink.delay)
        if answer == "close":
            return self.connection.close()
        if 200 <= answer < 300:
            sink.take({"path": self.path, "headers": dict(self.headers), "body": json.loads(body),
                       "uid": uid_of(self.client_address[1])})
        self.send_response(answer)
        if answer == 302:
            self.send_header("Location", f"http://127.0.0.1:{sink.port}/elsewhere")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


class HookSink(Sink):
    def __init__(self):
        super().__init__(ThreadingHTTPServer(("127.0.0.1", 0), HookHandler))
        self.url = f"http://127.0.0.1:{self.port}/hook"

    def kinds(self, job=None):
        """The kinds of distinct messages, in the order in which they came."""
        seen = {}
        for taken in self.all():
            if job is None or taken["body"]["job"]["id"] == job:
                seen.setdefault(taken["body"]["id"], taken["body"]["kind"])
        return list(seen.values())


class MailHandler(socketserver.StreamRequestHandler):
    def say(self, line):
        self.wfile.write(line.encode() + b"\r\n")
        self.wfile.flush()

    def handle(self):
        try:
            self.serve()
        except (OSError, ValueError):
            pass  # it went away
        finally:
            self.connection.close()

    def serve(self):
        sink = self.server.sink
        sender, receivers, secure, login = None, [], False, None
        self.say("220 sink")
        while line := self.rfile.readline().decode().rstrip("\r\n"):
            word = line.upper()
            if word.startswith("EHLO"):
                offers = ["sink"] + (["STARTTLS"] if sink.tls and not secure else []) + (["AUTH PLAIN"] if sink.login else [])
                for offer in offers[:-1]:
                    self.say(f"250-{offer}")
                self.say(f"250 {offers[-1]}")
            elif word == "STARTTLS" and sink.tls:
                self.say("220 go on")
                self.connection = sink.tls.wrap_socket(self.connection, server_side=True)
                self.rfile, self.wfile = self.connection.makefile("rb"), self.connection.makefile("wb")
                secure = True
            elif word.startswith("AUTH PLAIN"):
                login = line.split()[2] if len(line.split()) > 2 else None
                if login is None:
                    self.say("334 ")
                    login = self.rfile.readline().decode().strip()
                self.say("235 welcome")
            elif word.startswith("MAIL FROM"):
                sender = re.search("<(.*)>", line)[1]
                self.say("250 ok")
            elif word.startswith("RCPT TO"):
                receivers.append(re.search("<(.*)>", line)[1])
                self.say("250 ok")
            elif word == "DATA":
                self.say("354 go on")
                lines = []
                while (text := self.rfile.readline()) not in (b".\r\n", b""):
                    lines.append(text[1:] if text.startswith(b"..") else text)
                answer = sink.next_answer(250)
                time.sleep(sink.delay)
                if answer == "close":
                    return
                if answer == 250:
                    sink.take({"from": sender, "to": receivers, "secure": secure, "login": login,
                               "mail": email.message_from_bytes(b"".join(lines), policy=email.policy.default)})
                self.say(f"{answer} so it is")
            elif word == "QUIT":
                return self.say("221 bye")
            else:
                self.say("250 ok")


class MailServer(socketserver.ThreadingTCPServer):
    allow_reuse_address = True


class MailSink(Sink):
    tls, login = None, False

    def __init__(self):
        super().__init__(MailServer(("127.0.0.1", 0), MailHandler))

    def encrypt(self, directory):
        """Wants STARTTLS from now on; returns the file of the certificate that it made for 127.0.0.1."""
        key, certificate = directory / "key.pem", directory / "certificate.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1",
                        "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate],
                       check=True, capture_output=True)
        self.tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        self.tls.load_cert_chain(certificate, key)
        return certificate
