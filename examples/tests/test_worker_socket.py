"""Trainings that are told over the worker socket that their model is good enough."""

import http.server
import json
import socketserver
import tempfile
import threading
import unittest
from pathlib import Path

from support import TINY, Gang, make_tiny_digits, needs_torch
from common.should_stop import ask_should_stop


class WorkerSocket(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    """Answers GET /v1/should_stop with `reply`, (status, body)."""
    daemon_threads = True

    def __init__(self, path):
        super().__init__(str(path), Handler)
        self.reply = (200, {"should_stop": False})
        self.requests = []
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()

    def close(self):
        self.shutdown()
        self.server_close()


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.requests.append(self.path)
        status, answer = self.server.reply
        body = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass

    def address_string(self):
        return "worker"


@needs_torch
class ShouldStop(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.path = self.folder / "worker.sock"
        self.server = WorkerSocket(self.path)
        self.addCleanup(self.server.close)

    def test_only_a_clear_yes_counts(self):
        cases = [((200, {"should_stop": True, "reason": "target_reached"}), "target_reached"),
                 ((200, {"should_stop": True, "reason": "notice"}), "notice"),
                 ((200, {"should_stop": False}), None), ((200, {"should_stop": "yes"}), None),
                 ((200, b"no json"), None), ((200, []), None), ((404, {"should_stop": True}), None)]
        for reply, expected in cases:
            self.server.reply = reply
            self.assertEqual(ask_should_stop(str(self.path)), expected, reply)
        self.assertEqual(set(self.server.requests), {"/v1/should_stop"})

    def test_no_socket_is_no_reason_to_stop(self):
        self.assertIsNone(ask_should_stop(str(self.folder / "missing")))
        self.assertIsNone(ask_should_stop("/" + "x" * 200))

    def test_every_worker_stops_with_a_checkpoint_and_a_final_report(self):
        make_tiny_digits(self.folder)
        arguments = ["--data", self.folder, "--epochs", 1000, "--checkpoint-dir", self.folder / "c"]
        with Gang(2, "vae/train_plain.py", *TINY, *arguments, PACELINE_SOCKET=str(self.path)) as gang:
            gang.read_until(5)
            self.server.reply = (200, {"should_stop": True, "reason": "target_reached"})
            self.assertEqual(gang.finish(), [0, 0], gang.errors())
            checkpoint, final = gang.checkpoints()[-1], gang.reports[-1]
            self.assertTrue(Path(checkpoint["checkpoint"]).is_file())
            self.assertEqual(checkpoint["samples"], final["samples"])
            self.assertLess(final["samples"], 640 * 1000)
            self.assertIn("loss", final)


if __name__ == "__main__":
    unittest.main()
