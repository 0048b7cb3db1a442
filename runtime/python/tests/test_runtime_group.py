"""libpaceline from Python: what ranks exchange, how they meet, and what they are told when it goes wrong."""

import array
import contextlib
import json
import os
import socket
import threading
import time
import unittest

import support
from paceline.errors import GroupError
from paceline.group import MAX, MEAN, MIN, SUM, Group
from paceline.meeting import meet


class Array:
    """What Group takes of NumPy's arrays, without NumPy."""

    def __init__(self, values, code="f", dtype="float32"):
        self._values = array.array(code, values)
        self.dtype, self.size, self.itemsize = dtype, len(values), self._values.itemsize
        self.flags = type("Flags", (), {"c_contiguous": True, "writeable": True})
        self.ctypes = type("Ctypes", (), {"data": self._values.buffer_info()[0]})

    def __iter__(self):
        return iter(self._values)


def gang(size, run, **options):
    """Connected groups, one on each thread."""
    groups = [Group(rank, size, support.SECRET, **options) for rank in range(size)]
    endpoints = [each.endpoint for each in groups]

    def work(rank):
        with groups[rank] as group:
            group.connect(endpoints)
            return run(group)

    return support.on_threads(size, work)


@support.has_library
class GroupTest(unittest.TestCase):
    def test_reduces(self):
        def run(group):
            results = []
            for op in (SUM, MEAN, MIN, MAX):
                values = Array([group.rank, group.rank + 1.0, -group.rank])
                group.all_reduce(values, op)
                results.append(list(values))
            return results

        for results in gang(3, run):
            self.assertEqual(results, [[3, 6, -3], [1, 2, -1], [0, 1, -2], [2, 3, 0]])

    def test_reduces_many_and_on_its_own_thread(self):
        def run(group):
            many = [Array([1.0] * count) for count in (3, 0, 100_000)]
            group.all_reduce_many(many)
            group.all_reduce_many([])
            started = [Array([group.rank] * count, "q", "int64") for count in (5, 50_000)]
            for wait in [group.start_all_reduce(each, MAX) for each in started]:
                wait()
            return all(set(each) <= {4.0} for each in many) and all(set(each) == {3} for each in started)

        self.assertEqual(gang(4, run), [True] * 4)

    def test_shares_bytes_of_any_length(self):
        def run(group):
            words = [b"", b"a", b"a word of rank %d" % group.rank, b"x" * 200_000]
            gathered = [group.all_gather_bytes(word * group.rank) for word in words]
            return gathered, [group.broadcast_bytes(word if group.rank == 1 else b"", 1) for word in words]

        for gathered, shared in gang(3, run):
            self.assertEqual(gathered[1], [b"", b"a", b"aa"])
            self.assertEqual(gathered[2][2], b"a word of rank 2" * 2)
            self.assertEqual(shared, [b"", b"a", b"a word of rank 1", b"x" * 200_000])

    def test_who_is_gone_is_named(self):
        def run(group):
            if group.rank == 1:
                return group.close()
            group.barrier()

        for error in (each for each in gang(3, run) if each):
            self.assertIsInstance(error, GroupError)
            self.assertEqual((error.cause, error.rank), ("left", 1))
            self.assertIn("Rank 1 has left the group", str(error))

    def test_aborted_by_any_thread(self):
        def run(group):
            if group.rank == 2:
                time.sleep(0.2)
                return group.abort("the disk is full")
            group.barrier()

        errors = gang(3, run)
        self.assertEqual([str(error) for error in errors[:2]], ["Rank 2 aborted the group: the disk is full"] * 2)

    def test_arguments(self):
        with self.assertRaisesRegex(GroupError, "ranks go from 0 to 1"):
            Group(2, 2, support.SECRET)
        with Group(0, 1, support.SECRET) as group:
            with self.assertRaisesRegex(ValueError, "1 endpoints, not 2"):
                group.connect(["a", "b"])
            with self.assertRaisesRegex(ValueError, "complex64 can't be reduced"):
                group.all_reduce(Array([1.0], dtype="complex64"))
            with self.assertRaisesRegex(GroupError, "not connected yet"):
                group.barrier()
        with self.assertRaisesRegex(ValueError, "closed"):
            group.barrier()


class MeetingTest(unittest.TestCase):
    def hold(self, size, change=lambda rank, options: options, within_s=20.0, place=None):
        place = place or ("127.0.0.1", support.free_port())

        def come(rank):
            options = {"secret": support.SECRET, "generation": 3, "within_s": within_s}
            return meet(rank, size, f"endpoint-{rank}", place, **change(rank, options))

        return support.on_threads(size, come)

    def test_all_learn_all(self):
        for size in (1, 2, 9):
            for place in (None, f"paceline-test-{os.getpid()}-{size}"):
                self.assertEqual(self.hold(size, place=place), [[f"endpoint-{rank}" for rank in range(size)]] * size)

    @unittest.skipIf(os.geteuid() != 0, "only root can be another user")
    def test_another_user_is_no_member_on_this_host(self):
        place = f"paceline-test-{os.getpid()}-others"
        other = os.fork()
        if other == 0:
            os.setuid(65534)
            with contextlib.suppress(GroupError):
                meet(0, 2, "endpoint-0", place, support.SECRET, within_s=5.0)
            os._exit(0)
        os.setresuid(1, 1, 0)  # root's processes are let in
        try:
            with self.assertRaisesRegex(GroupError, "Another user's process waits at paceline-test"):
                while True:
                    try:
                        meet(1, 2, "endpoint-1", place, support.SECRET, within_s=0.5)
                    except GroupError as error:
                        if error.cause != "timed out":
                            raise
        finally:
            os.setresuid(0, 0, 0)
            os.kill(other, 9) if not os.waitpid(other, os.WNOHANG)[0] else None

    def test_who_does_not_know_the_secret_is_not_met(self):
        met = self.hold(3, lambda rank, options: {**options, "secret": b"another one, as long"} if rank == 2 else options,
                        within_s=1.0)
        for error in met:
            self.assertIsInstance(error, GroupError)
        self.assertEqual((met[0].cause, met[0].rank, str(met[0])),
                         ("timed out", 2, "Rank 2 did not come to the meeting."))

    def test_a_meeting_is_called_off(self):
        called_off = threading.Event()
        for rank in (0, 1):  # the other one never comes
            called_off.clear()
            timer = threading.Timer(0.3, called_off.set)
            timer.start()
            with self.assertRaisesRegex(GroupError, "goes on without this generation"):
                meet(rank, 2, f"endpoint-{rank}", f"paceline-test-{os.getpid()}", support.SECRET, within_s=60.0,
                     called_off=called_off.is_set)
            timer.join()

    def test_another_generation_is_not_met(self):
        met = self.hold(2, lambda rank, options: {**options, "generation": 4} if rank == 1 else options, within_s=0.5)
        self.assertEqual(met[0].rank, 1)

    def test_strangers_keep_nobody_out(self):
        port = support.free_port()
        said = [b"", b"\n", b"{}\n", b"[1]\n", b"x" * 5000, b'{"rank": 1}\n', b"\xff\xfe\n",
                json.dumps({"rank": 1, "endpoint": "e", "nonce": "n", "proof": "p"}).encode() + b"\n"]

        def come(rank):
            if rank < 2:
                return meet(rank, 2, f"endpoint-{rank}", ("127.0.0.1", port), support.SECRET, within_s=20.0)
            with socket.socket() as stranger:
                while stranger.connect_ex(("127.0.0.1", port)):
                    time.sleep(0.01)
                stranger.sendall(said[rank - 2])
                time.sleep(0.2)

        started = threading.Event()

        def late(rank):
            if rank == 1:
                started.wait(10)
                time.sleep(0.3)
            if rank > 1:
                started.set()
            return come(rank)

        met = support.on_threads(2 + len(said), late)
        self.assertEqual(met[:2], [["endpoint-0", "endpoint-1"]] * 2)

    def test_whoever_answers_is_not_believed(self):
        with socket.create_server(("127.0.0.1", 0)) as server:
            def lie():
                connection, _ = server.accept()
                with connection:
                    connection.sendall(b'{"nonce": "n"}\n')
                    connection.recv(4096)
                    connection.sendall(b'{"endpoints": ["a", "b"], "proof": "p"}\n')

            liar = threading.Thread(target=lie)
            liar.start()
            with self.assertRaisesRegex(GroupError, "not its rank 0"):
                meet(1, 2, "endpoint-1", server.getsockname(), support.SECRET, within_s=10.0)
            liar.join()


if __name__ == "__main__":
    unittest.main()
