"""Gangs whose ranks have GPUs of the tests' own, and an NCCL: which way gradients travel, and what happens where it breaks."""

import json
import re
import unittest
from pathlib import Path

import support
from fake_agent import Agent

SCRIPT = Path(__file__).with_name("training_script.py")
has_stub = unittest.skipUnless(support.STUB_NCCL.exists(), "the tests' NCCL is not built")
BY_NCCL = "paceline: gradients travel by NCCL 2.28.9."
THROUGH_HOST = "paceline: gradients travel through host memory: "
SMALL = {"gpus": True, "buckets_of": 100}  # bytes, so that there are several buckets


def result(output):
    return json.loads(re.search(r"^result (.*)$", output, re.M)[1])


@support.has_torch
@support.has_library
@has_stub
class GpusTest(unittest.TestCase):
    def train(self, size, stub="", environment=None, **asked):
        gang = support.Gang(SCRIPT, size, json.dumps({**SMALL, **asked}),
                            **{"PACELINE_NCCL": str(support.STUB_NCCL), "STUB_NCCL": stub, **(environment or {})})
        self.addCleanup(gang.kill)
        ended = gang.ends()
        for code, output in ended:
            self.assertEqual(code, 0, output[-3000:])
        return [result(output) for _, output in ended], "".join(output for _, output in ended)

    @classmethod
    def alone(cls, **asked):
        key = json.dumps(asked)
        if key not in cls._alone:
            (code, output), = support.Gang(SCRIPT, 1, key).ends()
            assert code == 0, output
            cls._alone[key] = result(output)
        return cls._alone[key]

    _alone = {}

    def assert_same(self, found, alone):
        for each in found:
            self.assertEqual(len(each["weights"]), len(alone["weights"]))
            self.assertLess(max(abs(a - b) for a, b in zip(each["weights"], alone["weights"])), 1e-5)
            self.assertTrue(each["never"])

    # ---- by which way ----

    def test_gradients_travel_by_nccl(self):
        for size, asked in ((2, {}), (3, {"max_local": 4}), (2, {"unused": True}), (2, {"weights": True})):
            found, said = self.train(size, **asked)
            self.assertEqual(said.count(BY_NCCL), 1, said[-3000:])
            if "unused" not in asked:
                self.assert_same(found, self.alone(**asked))

    def test_an_old_nccl_forms_on_a_thread(self):
        found, said = self.train(2, "version=21003")
        self.assertIn("by NCCL 2.10.3.", said)
        self.assert_same(found, self.alone())

    def test_why_they_go_through_host_memory(self):
        for stub, environment, why in (
                ("", {"PACELINE_NCCL": "off"}, r"PACELINE_NCCL=off \(rank 0\)\.$"),
                ("", {"PACELINE_NCCL": "/nowhere/libnccl.so"}, r"NCCL can't be loaded: /nowhere/libnccl\.so.* \(rank 0\)\.$"),
                ("", {"NCCL_COMM_BLOCKING": "1"}, r"NCCL_COMM_BLOCKING=1, by which .* \(rank 0\)\.$"),
                ("", {"STUB_GPU": "GPU-a"}, r"ranks 0 and 1 share a GPU\.$"),
                ("rank=1 version=22703", {}, r"rank 0 has NCCL 2\.28\.9, rank 1 has 2\.27\.3\.$"),
                ("version=20903", {}, r"NCCL 2\.9\.3 is older than 2\.10\.0 \(rank 0\)\.$"),
                ("rank=1 init=error", {}, r"ncclCommGetAsyncError says: what the stub was asked for\.$"),
                ("version=21003 init=error", {}, r"ncclCommInitRank says: what the stub was asked for\.$")):
            with self.subTest(why=why):
                found, said = self.train(2, stub, environment)
                self.assertRegex(said, "(?m)^" + THROUGH_HOST + why)
                self.assert_same(found, self.alone())

    def test_a_communicator_that_is_never_formed(self):
        for stub in ("rank=1 init=hang", "rank=1 version=21003 init=hang"):
            version = "version=21003 " if "version" in stub else ""
            found, said = self.train(2, version + stub, formed_within=1)
            self.assertIn(THROUGH_HOST + "no communicator was formed within 1 s.", said)
            self.assert_same(found, self.alone())

    # ---- where it breaks ----

    def test_an_error_of_nccl_is_nobody_elses_error(self):
        for stub in ("rank=1 error-at=4", "error-at=5"):
            found, said = self.train(3, stub)
            self.assertIn(THROUGH_HOST + "NCCL broke: ncclCommGetAsyncError says: remote process exited", said)
            self.assert_same(found, self.alone())

    def test_a_communicator_that_is_not_let_go_of_ends_the_rank(self):
        gang = support.Gang(SCRIPT, 2, json.dumps({**SMALL, "abort_within": 1}), PACELINE_NCCL=str(support.STUB_NCCL),
                            STUB_NCCL="error-at=4 abort=hang")
        self.addCleanup(gang.kill)
        for code, output in gang.ends():
            self.assertEqual(code, 1, output)
            self.assertIn("NCCL did not let go of the GPU within 1 s: start the script again.", output)


@support.has_torch
@support.has_library
@has_stub
class DeathsTest(unittest.TestCase):
    """A rank dies while others wait for it in NCCL."""

    def start(self, size, stub="", environment=None, **asked):
        agent = Agent(SCRIPT, json.dumps({**SMALL, "epochs": 3, "batch": 30, **asked}), PACELINE_NCCL=str(support.STUB_NCCL),
                      STUB_NCCL=stub, **(environment or {}))
        self.addCleanup(agent.close)
        agent.start(size)
        return agent

    def go_on(self, agent, dead):
        """The rank dies by itself; then those that are left end."""
        agent.ranks[dead].wait()
        agent.kill(dead)
        outputs = []
        for each in agent.ranks:
            self.assertEqual(each.wait(), 0, each.output()[-3000:])
            outputs.append(each.output())
        alone = GpusTest.alone(epochs=3, batch=30)
        for output in outputs:
            self.assertLess(max(abs(a - b) for a, b in zip(result(output)["weights"], alone["weights"])), 1e-5)
        return "".join(outputs)

    def test_those_left_go_on_through_host_memory(self):
        for at in (1, 3, 6):
            with self.subTest(sum=at):
                said = self.go_on(self.start(3, f"rank=1 kill-at={at}"), 1)
                self.assertIn(BY_NCCL, said)
                self.assertIn(THROUGH_HOST + "it goes on in place, and PACELINE_NCCL_IN_PLACE=1 is not set (rank 0).", said)

    def test_those_left_form_it_anew(self):
        said = self.go_on(self.start(3, "rank=2 kill-at=5", {"PACELINE_NCCL_IN_PLACE": "1"}), 2)
        self.assertEqual(said.count(BY_NCCL), 2, said[-3000:])
        self.assertNotIn(THROUGH_HOST, said)

    def test_a_death_is_noticed_while_a_backward_waits(self):
        """The process waits for its GPU before it comes to where it looks after the others."""
        said = self.go_on(self.start(2, "rank=1 kill-at=7", frozen=True, waits_in_step=2), 1)
        self.assertIn("ranks were lost; 1 of 2 go on after step", said)

    def test_a_death_while_a_communicator_is_formed(self):
        said = self.go_on(self.start(3, "rank=2 init=kill", {"PACELINE_NCCL_IN_PLACE": "1"}), 2)
        self.assertEqual(said.count(BY_NCCL), 1, said[-3000:])


if __name__ == "__main__":
    unittest.main()
