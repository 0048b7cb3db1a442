"""A gang under an agent of the tests' own: it serves worker sockets and tells processes of their next generation, by a script."""

import http.server
import json
import os
import re
import socketserver
import tempfile
import threading
import time
import urllib.parse
from pathlib import Path

import support

WITHIN_S = 300
WAITS = "wait for the gang's next generation"


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"  # the only one that libpaceline takes

    def do_GET(self):
        path = urllib.parse.urlsplit(self.path)
        process = self.server.process
        if path.path == "/v1/gang":
            return self._answer(process.news_after(int(urllib.parse.parse_qs(path.query)["after"][0])))
        return self._answer({"should_stop": process.stops, "reason": "target_reached" if process.stops else None})

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/v1/timeline":
            self.server.process.timeline.append(body)
        elif self.path == "/v1/stacks":
            self.server.process.takes_stacks(body)
        else:
            self.server.process.says(body)
        self._answer({})

    def _answer(self, body):
        data = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def address_string(self):
        return "worker"

    def log_message(self, *_):
        pass


class _Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True

    def handle_error(self, *_):
        pass  # a worker that is gone reads no answers


class Process(support.Started):
    """One process of the gang, with its socket. `timeline`: the pieces that it told."""

    def __init__(self, command, environment, path):
        self.stops, self.timeline = False, []
        self._asked, self._stacks = 0, None
        self._version, self._next, self.ready, self.stands = 0, None, 0, 0
        self._heard = 0  # the version of the news that it knows
        self._news = threading.Condition()
        self._server = _Server(str(path), _Handler)
        self._server.process = self
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        super().__init__(command, {**environment, "PACELINE_SOCKET": str(path)})

    def tell(self, following):
        with self._news:
            self._version, self._next = self._version + 1, following
            self._news.notify_all()

    def news_after(self, version):
        with self._news:
            self._heard = version
            self._news.notify_all()
            self._news.wait_for(lambda: self._version != version, 1.0)
            return {"version": self._version, "next": self._next, "ready": self.ready, "stands": self.stands,
                    "stacks": self._asked}

    def stacks(self):
        """What it tells of its Python stacks."""
        with self._news:
            self._asked, self._version, self._stacks = self._asked + 1, self._version + 1, None
            self._news.notify_all()
            if not self._news.wait_for(lambda: self._stacks or self.process.poll() is not None, WITHIN_S) or not self._stacks:
                raise AssertionError("no stacks are told:\n" + self.output())
            return self._stacks

    def takes_stacks(self, body):
        with self._news:
            self._stacks = body
            self._news.notify_all()

    def says(self, said):
        with self._news:
            self.ready, self.stands = said.get("ready", self.ready), said.get("stands", self.stands)
            self._news.notify_all()

    def wait_heard(self):
        """Until it knows what it was told."""
        with self._news:
            if not self._news.wait_for(lambda: self._heard == self._version, WITHIN_S):
                raise AssertionError("a worker does not hear:\n" + self.output())

    def wait_said(self, words):
        """Until it has said a line that the expression matches."""
        end = time.monotonic() + WITHIN_S
        while not re.search(words, self.output(), re.M):
            if time.monotonic() > end or self.process.poll() is not None:
                raise AssertionError(f"a worker does not say {words}:\n{self.output()}")
            time.sleep(0.01)

    def wait_ready(self, generation):
        with self._news:
            if not self._news.wait_for(lambda: self.ready == generation or self.process.poll() is not None, WITHIN_S):
                raise AssertionError("a newcomer does not get ready:\n" + self.output())
            assert self.ready == generation, self.output()

    def wait(self):
        return self.process.wait(WITHIN_S)

    def close(self):
        super().close()
        self._server.shutdown()
        self._server.server_close()


class Agent:
    """REQUIRES: close() is called. `ranks`: the processes of the gang, by rank."""

    def __init__(self, script, *arguments, **environment):
        self._command = [support.PYTHON, "-u", str(script), *map(str, arguments)]
        self._environment = environment
        self._folder = tempfile.TemporaryDirectory(prefix="paceline-agent-")
        self.generation, self.ranks, self.all, self.killed = 0, [], [], []

    def close(self):
        for each in self.all:
            each.close()
        self._folder.cleanup()

    def start(self, size):
        self._form([], size, joins=False)

    def kill(self, *ranks):
        """They die, and the others that have not ended go on as the next generation."""
        self.resize(self._left_by(ranks))

    def replace(self, *ranks):
        """They die, and the others that have not ended wait until as many have come in place of those."""
        left = self._left_by(ranks)
        self.generation += 1  # they are it while they wait, and are not told so
        self.resize(left, len(ranks))

    def _left_by(self, ranks):
        for rank in ranks:
            self.ranks[rank].process.kill()
            self.ranks[rank].process.wait()
            self.killed.append(self.ranks[rank])
        return [rank for rank, each in enumerate(self.ranks) if each.process.poll() is None]

    def resize(self, keep, new=0):
        """The processes at the ranks `keep` go on, in that order, and `new` others come; the rest leaves."""
        before = self.ranks
        self._form([before[rank] for rank in keep], new, joins=True)
        for rank, each in enumerate(self.ranks[:len(keep)]):
            each.tell({"generation": self.generation, "environment": self._places[rank]})
        for each in set(before) - set(self.ranks):
            each.tell({"generation": self.generation, "environment": None})

    def come_too_late(self, new):
        """So many others get ready, of which those that train do not hear. Returns them."""
        trains = self.ranks
        self._form(trains, new, joins=True)
        return self.ranks[len(trains):]

    def dismiss(self, newcomers):
        for each in newcomers:
            each.tell({"generation": self.generation + 1, "environment": None})

    def wait_until_all_wait(self):
        """Or have ended."""
        end = time.monotonic() + WITHIN_S
        while not all(each.process.poll() is not None or WAITS in each.output() for each in self.ranks):
            if time.monotonic() > end:
                raise AssertionError("\n".join(each.output()[-2000:] for each in self.ranks))
            time.sleep(0.02)

    def play(self, chance, has_trained, until):
        """Some resizes and deaths. `has_trained(output)`: its rank can stay alone; `until(steps)` returns after so many more."""
        for _ in range(chance.randint(2, 5)):
            size = len(self.ranks)
            trains = [rank for rank, each in enumerate(self.ranks) if has_trained(each.output())]
            stays = sorted({chance.choice(trains), *chance.sample(range(size), chance.randint(0, size - 1))})
            if len(stays) < size and chance.random() < 0.6:
                chance.choice([self.kill, self.replace])(*[rank for rank in range(size) if rank not in stays])
            else:
                chance.shuffle(stays)
                self.resize(stays, chance.randint(0, 2) if len(stays) < 4 else 0)
            # At once, in the middle of the change, or after it.
            if chance.random() < 0.5:
                time.sleep(chance.random() * 0.1)
            else:
                until(chance.randint(1, 3))

    def _form(self, kept, new, joins):
        self.generation += 1
        size, port = len(kept) + new, support.free_port()
        self._places = [{"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(size),
                         "LOCAL_WORLD_SIZE": str(size), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port),
                         "PACELINE_GANG_SECRET": support.SECRET.decode(),
                         "PACELINE_GENERATION": str(self.generation)} for rank in range(size)]
        newcomers = [self._spawn(self._places[rank], joins) for rank in range(len(kept), size)]
        self.ranks = [*kept, *newcomers]
        for each in newcomers if joins else []:
            each.wait_ready(self.generation)

    def _spawn(self, place, joins):
        environment = {**os.environ, **place, "PYTHONPATH": str(support.PACKAGE), "OMP_NUM_THREADS": "1",
                       "PYTHONDONTWRITEBYTECODE": "1", "PACELINE_RESIZE": "in-place",
                       **({"PACELINE_JOINS": "1"} if joins else {}), **self._environment}
        self.all.append(Process(self._command, environment, Path(self._folder.name) / f"{len(self.all)}.sock"))
        return self.all[-1]
