"""libpaceline from Python: what ranks exchange, how they meet, and what they are told when it goes wrong."""

import array
import contextlib
import os
import signal
import subprocess
import threading
import time
import unittest

import support
from paceline.errors import GroupError
from paceline.group import MAX, MEAN, MIN, SUM, Group
from paceline.ranks import Place


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

    def test_ranks_that_do_different_things_are_told_so(self):
        def run(group):
            group.all_gather_bytes(b"equal", "begins an epoch")
            with self.assertRaises(GroupError) as raised:
                group.all_gather_bytes(b"bytes", "begins an epoch" if group.rank < 2 else "takes a checkpoint")
            return raised.exception.cause, raised.exception.rank, str(raised.exception)

        for cause, rank, said in gang(3, run):
            self.assertEqual((cause, rank), ("mismatch", 2))
            self.assertTrue(said.startswith("Rank 2 takes a checkpoint where rank 0 begins an epoch. "), said)

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


@support.has_library
class MeetingTest(unittest.TestCase):
    def test_all_meet_at_a_name_or_at_an_address(self):
        for size, name in ((1, None), (3, None), (3, f"paceline-test-{os.getpid()}-all")):
            address, port = "127.0.0.1", support.free_port()

            def come(rank):
                with Group(rank, size, support.SECRET, 3, None if name else address, 20.0) as group:
                    group.meet(name, address, port)
                    return group.all_gather_bytes(bytes([rank]))

            self.assertEqual(support.on_threads(size, come), [[bytes([rank]) for rank in range(size)]] * size)

    @unittest.skipIf(os.geteuid() != 0, "only root can be another user")
    def test_another_user_is_no_member_on_this_host(self):
        name = f"paceline-test-{os.getpid()}-others"

        def come(rank, within_s):
            with Group(rank, 2, support.SECRET, timeout_s=within_s) as group:
                group.meet(name)

        other = os.fork()
        if other == 0:
            os.setuid(65534)
            with contextlib.suppress(GroupError):
                come(0, 5.0)
            os._exit(0)
        os.setresuid(1, 1, 0)  # root's processes are let in
        try:
            with self.assertRaisesRegex(GroupError, "Another user's process waits at paceline-test"):
                while True:
                    try:
                        come(1, 0.5)
                    except GroupError as error:
                        if error.cause != "timed out":
                            raise
        finally:
            os.setresuid(0, 0, 0)
            os.kill(other, 9) if not os.waitpid(other, os.WNOHANG)[0] else None

    def place(self, rank):
        """Of one of two ranks; the other one never comes."""
        return Place({"RANK": str(rank), "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1",
                      "MASTER_PORT": str(support.free_port())})

    # As of libpaceline, which has the same numbers in place_test.cpp.
    def test_where_ranks_of_one_host_meet_is_guessed_by_nobody(self):
        def name(**more):
            return Place({"RANK": "1", "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500",
                          "TORCHELASTIC_RUN_ID": "paceline-7", "PACELINE_GENERATION": "9",
                          "PACELINE_GANG_SECRET": "sixteen bytes ...", **more}).meeting_name("127.0.0.1")

        self.assertEqual(name(), "paceline-11bd2a46ca84e42d5809e78ce69200390fe6d2f538e8e6e6d02c308cc7daf53c")
        self.assertEqual(name(), name(RANK="0"))
        self.assertNotEqual(name(), name(PACELINE_GANG_SECRET="sixteen others .."))
        self.assertNotEqual(name(), name(PACELINE_GENERATION="10"))
        self.assertEqual(name(PACELINE_GANG_SECRET=""), "paceline-paceline-7-127.0.0.1-29500")

    def test_a_gang_may_mix_libpaceline_and_the_package(self):
        other = """
import ctypes, sys
from paceline.library import Error, library
error, join = Error(), ctypes.CDLL(sys.argv[1]).paceline_group_join
join.restype, join.argtypes = ctypes.c_void_p, [ctypes.c_uint64, ctypes.c_void_p, ctypes.POINTER(Error)]
group = join(30000, None, ctypes.byref(error))
sys.exit(library().barrier(group, ctypes.byref(error)) if group else error.message.decode())
"""
        its = {"RANK": "0", "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(support.free_port()),
               "TORCHELASTIC_RUN_ID": f"mixed-{os.getpid()}", "PACELINE_GENERATION": "3",
               "PACELINE_GANG_SECRET": support.SECRET.decode()}
        rank = subprocess.Popen([support.PYTHON, "-c", other, str(support.PACKAGE / "libpaceline.so.0")],
                                env={**os.environ, **its, "RANK": "1", "PYTHONPATH": str(support.PACKAGE)})
        with Place(its).group(30.0) as group:
            group.barrier()
            self.assertEqual(rank.wait(30), 0)

    def test_a_meeting_is_called_off(self):
        for rank in (0, 1):
            called_off = threading.Event()
            timer = threading.Timer(0.3, called_off.set)
            timer.start()
            with self.assertRaisesRegex(GroupError, "goes on without this generation") as raised:
                self.place(rank).group(60.0, called_off.is_set)
            self.assertEqual(raised.exception.cause, "left")
            timer.join()

    def test_a_rank_that_does_not_come_is_named(self):
        with self.assertRaisesRegex(GroupError, "Nothing was heard of rank 1 at paceline-.*within 0.3 s"):
            self.place(0).group(0.3)

    def test_a_person_can_interrupt_it(self):
        before = signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where tests run in the background
        self.addCleanup(signal.signal, signal.SIGINT, before)
        timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        with self.assertRaises(KeyboardInterrupt):
            self.place(1).group(60.0)
        timer.join()


if __name__ == "__main__":
    unittest.main()
