"""A C++ program with LibTorch and paceline/torch.hpp: on any number of workers, and after any resizes, it comes to what one process alone
comes to."""

import os
import re
import signal
import subprocess
import unittest

from libtorch_build import BUILD_SECONDS, CLOSE, CONFIG, SAMPLES, TRAINING, build, has_libtorch
from support import PATIENCE, ROOT, FrameworkTest, command_with

RESTARTS = ["--env", "PACELINE_RESIZE=restart"]
COMPARE = """
import sys, torch
one, other = (dict(torch.jit.load(path).model0.named_parameters()) for path in sys.argv[1:])
print(max(float((each - other[name]).abs().max()) for name, each in one.items()))
"""


@unittest.skipUnless(has_libtorch(), "LibTorch's headers are not installed: script/bootstrap --frameworks")
class LibTorchTest(FrameworkTest):
    slots = 4

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        build()

    def setUp(self):
        self.further = {"Paceline_DIR": str(CONFIG)}
        super().setUp()

    def train(self, workers, epochs, folder, *options, paceline=()):
        command = [str(TRAINING), str(epochs), folder, *options]
        return self.box.submit("--slots", workers, "--workdir", str(self.home), *paceline, "--", *command)

    def alone(self, epochs, *options):
        """The weights of one process outside of Paceline."""
        done = subprocess.run([str(TRAINING), str(epochs), "-", *options], capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual(done.returncode, 0, done.stderr)
        return self.weights_in(done.stdout)

    def weights_in(self, text):
        found = re.findall(r"WEIGHTS(.*)", text)
        self.assertEqual(len(found), 1, text[-3000:])
        return [float(each) for each in found[0].split()]

    def expect_weights(self, job, wanted):
        for one, other in zip(self.weights_in(self.logs(job)), wanted, strict=True):
            self.assertAlmostEqual(one, other, delta=CLOSE)

    def expect_each_sample_once_an_epoch(self, job, epochs, repeated=0):
        seen = {epoch: [] for epoch in range(epochs)}
        for epoch, indices in re.findall(r"SAW (\d+) \d+ (.*)", self.logs(job)):
            seen[int(epoch)].extend(map(int, indices.split()))
        self.assertEqual([set(each) for each in seen.values()], [set(range(SAMPLES))] * epochs)
        more = sum(map(len, seen.values())) - SAMPLES * epochs
        self.assertLessEqual(more, repeated, "samples that came twice")

    def test_any_number_of_workers_comes_to_what_one_process_comes_to(self):
        wanted = self.alone(6)
        for workers, options in (("1", []), ("2", []), ("4", []), ("2", ["max_local=4"]), ("1", ["max_local=7"])):
            with self.subTest(workers=workers, options=options):
                job = self.train(workers, 6, "-", *options)
                self.expect_completed(job)
                self.expect_each_sample_once_an_epoch(job, 6)
                self.expect_weights(job, wanted)
                accuracies = [each["accuracy"] for each in self.reports(job) if "accuracy" in each]
                self.assertEqual(len(accuracies), 6)
                self.assertGreater(accuracies[-1], 0.75)

    def test_samples_count_by_what_the_program_says(self):
        wanted = self.alone(2, "weighted", "by_hand")
        plain = self.alone(2)
        self.assertGreater(max(abs(one - other) for one, other in zip(wanted, plain, strict=True)), 10 * CLOSE)
        for options in ([], ["max_local=1"]):
            with self.subTest(workers="alone", options=options):
                for one, other in zip(self.alone(2, "weighted", *options), wanted, strict=True):
                    self.assertAlmostEqual(one, other, delta=CLOSE)
        for workers, options in (("2", []), ("4", ["max_local=1"])):
            with self.subTest(workers=workers, options=options):
                job = self.train(workers, 2, "-", "weighted", *options)
                self.expect_completed(job)
                self.expect_weights(job, wanted)

    def test_weights_that_come_to_nothing_and_those_that_are_left_out_are_told(self):
        self.expect_failure(self.train("2", 1, "-", "weighted", "weightless"), r"was 0 for the whole global batch")
        self.expect_failure(self.train("1", 1, "-", "weighted", "forgets", "max_local=9"), r"for some batches of a global batch only")

    def test_several_models_under_one_loss(self):
        """Ranks' gradients come in different orders, since samples differ in the layers that they use."""
        for options in (["pair"], ["pair", "micro=4", "exact"]):
            wanted = self.alone(2, *options)
            for workers in ("2", "3"):
                with self.subTest(workers=workers, options=options):
                    job = self.train(workers, 2, "-", "tell", *options)
                    self.expect_completed(job)
                    self.expect_the_weights_of_all_to_be(wanted, job)

    def test_layers_that_are_trained_later(self):
        wanted = self.alone(3, "unfreezes")
        for options in ([], ["max_local=4"], ["micro=4", "exact"]):
            with self.subTest(options=options):
                job = self.train("2", 3, "-", "tell", "unfreezes", *options)
                self.expect_completed(job)
                self.expect_the_weights_of_all_to_be(wanted, job)

    def test_what_each_rank_would_train_for_itself_is_told(self):
        self.expect_failure(self.train("2", 1, "-", "unfreezes=2"), r"were set to need gradients after the batch was handed out")
        self.expect_failure(self.train("1", 1, "-", "outside"), r"An optimizer trains a parameter \(5 Float\) of no model")

    def test_a_model_is_handed_out(self):
        job = self.train("2", 2, "-", "publish=models/net.pt")
        model = self.expect_completed(job)["model"]
        path = self.home / "models/net.pt"
        self.assertEqual((model["path"], model["bytes"], model["step"]), (str(path), path.stat().st_size, 2 * -(-SAMPLES // 30)))
        wrote, read = re.findall(r"WEIGHTS(.*)", self.logs(job))
        self.assertEqual(wrote, read)

    def test_a_worker_that_gets_no_sample_computes_along(self):
        job = self.train("4", 2, "-", "samples=601")
        self.expect_completed(job)
        self.expect_weights(job, self.alone(2, "samples=601"))

    def until_it_stands(self, job):
        """From then on it can go on in place."""
        def stands():
            generation = self.box.job(job)["generation"]
            return any((each["kind"], each.get("job"), each.get("generation")) == ("gang_stands", job, generation)
                       for each in self.box.events())

        self.until(stands, job, "never stands")

    def resize_in_place(self, job, workers):
        """Until those that leave are gone, too, as far as the server knows: where a newcomer had to wait for them it would be a
        restart."""
        def only_the_gang_is_left():
            kinds = [each["kind"] for each in self.box.events() if each.get("job") == job]
            pids = self.pids(job)
            return sorted(self.box.processes()) == sorted(pids) and kinds.count("worker_started") == len(pids) + kinds.count("worker_ended")

        self.box.resize(job, workers)
        self.until(only_the_gang_is_left, job, "keeps workers that leave")
        self.until_it_stands(job)

    def pids(self, job):
        return [worker["pid"] for worker in self.box.job(job)["gang"]]

    def test_workers_that_stay_keep_their_processes(self):
        job = self.train("1..4", 30, "kept", "pause=0.03", "tell")
        self.until_it_stands(job)
        self.resize_in_place(job, 1)
        one = self.pids(job)
        self.resize_in_place(job, 3)
        three = self.pids(job)
        self.assertEqual(three[:1], one)
        self.resize_in_place(job, 2)
        self.assertEqual(self.pids(job), three[:2])
        self.pause_and_resume(job)
        shown = self.expect_completed(job)
        self.assertEqual((shown["retries_used"], shown["lost_slot_seconds"]["failure"]), (0, 0))
        self.expect_each_sample_once_an_epoch(job, 30)
        self.expect_the_weights_of_all_to_be(self.alone(30), job)
        self.assertEqual({(before, after) for before, after in re.findall(r"RESIZED (\d+) (\d+)", self.logs(job))} - {("4", "1")},
                         {("1", "3"), ("3", "2")})

    def test_the_others_go_on_where_one_dies(self):
        job = self.train("2..3", 25, "-", "pause=0.03", "tell", paceline=["--retry", "0"])
        self.until_it_stands(job)
        before = self.pids(job)
        os.kill(before[1], signal.SIGKILL)
        self.until(lambda: before[1] not in self.pids(job), job, "keeps a worker that died")
        self.assertEqual([pid for pid in self.pids(job) if pid in before], [before[0], before[2]])
        shown = self.expect_completed(job)
        self.assertEqual((shown["attempt"], shown["retries_used"]), (1, 0))
        self.assertIn("paceline: ranks were lost; 2 of 3 go on after step", self.logs(job))
        self.expect_each_sample_once_an_epoch(job, 25, repeated=30)
        self.expect_the_weights_of_all_to_be(self.alone(25), job)

    def expect_the_weights_of_all_to_be(self, wanted, job):
        everyones = [list(map(float, each.split())) for each in re.findall(r"WEIGHTS(.*)", self.logs(job))]
        self.assertGreater(len(everyones), 1)
        self.assertEqual([each for each in everyones if each != everyones[0]], [], "ranks differ")
        for one, other in zip(everyones[0], wanted, strict=True):
            self.assertAlmostEqual(one, other, delta=5 * CLOSE)

    def test_restarts_and_a_pause_in_the_middle_of_epochs_leave_no_step_out(self):
        job = self.train("1..4", 12, "kept", "pause=0.03", "carries", paceline=RESTARTS)
        told = []
        for workers in (2, 4, 1, 3):
            self.until(lambda: self.box.job(job)["checkpoint"], job, "keeps no checkpoint")
            steps = self.reached(job)
            self.until(lambda: self.reached(job) > steps, job, "does not go on")
            known = len(self.steps(job, "checkpoint"))
            before = len(self.box.job(job)["gang"])
            self.box.call("resize", str(job), "--workers", str(workers))
            self.wait_log(job, rf"on {workers} rank")
            told.extend([(str(before), str(workers))] * workers)
            self.assertGreater(len(self.steps(job, "checkpoint")), known, self.logs(job))
        self.pause_and_resume(job)
        shown = self.expect_completed(job)
        self.assertEqual(shown["retries_used"], 0)
        self.assertEqual(sorted(re.findall(r"RESIZED (\d+) (\d+)", self.logs(job))), sorted(told))
        self.expect_each_sample_once_an_epoch(job, 12)
        self.expect_weights(job, self.alone(12))
        carried = re.findall(r"CARRIED (\d+) (\d+) (\d+) (\d+) (.*)", self.logs(job))
        self.assertEqual({tuple(each) for each in carried}, {(carried[0][0],) * 4 + ("in generation 1",)})
        self.assertEqual(len(list((self.home / "kept").iterdir())), 2, "the newest two, and nothing unfinished")

    def test_exact_weights_are_the_same_bits_through_resizes_and_deaths(self):
        options = ["micro=4", "exact", "chance=2"]
        wanted = self.alone(20, *options)
        job = self.train("1..4", 20, "kept", "pause=0.03", "tell", *options, paceline=["--retry", "0"])
        self.until_it_stands(job)
        dies = self.pids(job)[1]
        os.kill(dies, signal.SIGKILL)
        self.until(lambda: dies not in self.pids(job), job, "keeps a worker that died")
        self.resize_in_place(job, 1)
        self.resize_in_place(job, 3)
        self.pause_and_resume(job)
        self.expect_completed(job)
        everyones = [list(map(float, each.split())) for each in re.findall(r"WEIGHTS(.*)", self.logs(job))]
        self.assertEqual(everyones, [wanted] * len(everyones))

        job = self.train("1..4", 20, "kept-too", "pause=0.03", *options, paceline=RESTARTS)
        for workers in (2, 3):
            self.until(lambda: self.box.job(job)["checkpoint"], job, "keeps no checkpoint")
            self.resize(job, workers)
        self.expect_completed(job)
        self.assertEqual(self.weights_in(self.logs(job)), wanted)
        told = re.findall(r"paceline: (resume.*)$", self.logs(job), re.M)
        self.assertEqual(len(told), 2, told)
        for each in told:
            self.assertRegex(each, r"^resumed at step \d+ of checkpoint ckpt-\d+\.pt: samples, data position, learning rate agree; loss ")

    def reached(self, job):
        return max((each["step"] for each in self.reports(job) if "step" in each), default=0)

    def test_a_notice_outside_of_paceline_is_taken_after_the_step(self):
        for folder, code in (("-", 143), (str(self.home / "kept"), 75)):
            command = [str(TRAINING), "400", folder, "pause=0.01"]
            with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
                for _ in range(5):
                    next(line for line in process.stdout if line.startswith("SAW"))
                process.send_signal(signal.SIGTERM)
                process.stdout.read()
                self.assertEqual(process.wait(PATIENCE), code)
        self.assertRegex(self.types(f"{TRAINING} 1 kept"), r"Going on from \S+, after \d+ samples, on 1 rank\.")

    def test_ranks_that_built_other_models_say_so(self):
        job = self.train("3", 1, "-", "wide=2")
        self.until(lambda: self.box.job(job)["ended_at"], job, "does not end")
        self.assertEqual(self.box.job(job)["state"], "FAILED")
        sentence = (r"paceline: The ranks built different models: rank 0 has first\.bias \(8 Float\), "
                    r"rank 2 has first\.bias \(9 Float\) in its place\.")
        self.assertEqual(len(re.findall(sentence, self.logs(job))), 3, self.logs(job))

    def test_an_exception_on_one_rank_is_told_by_all(self):
        for options in ([], RESTARTS):
            with self.subTest(options=options):
                job = self.train("3", 1, "-", "fails=1", paceline=options)
                self.until(lambda: self.box.job(job)["ended_at"], job, "does not end")
                log = self.logs(job)
                self.assertEqual(len(re.findall(r"paceline: no more of this$", log, re.M)), 1, log)
                self.assertEqual(len(re.findall(r"paceline: Rank 1 aborted the group: no more of this$", log, re.M)), 2, log)

    def test_a_killed_worker_is_named_and_the_job_starts_again_from_its_checkpoint(self):
        job = self.train("3", 12, "kept", "pause=0.03", paceline=["--retry", "1", *RESTARTS])
        self.until(lambda: len(self.steps(job, "checkpoint")) > 2, job, "keeps no checkpoint")
        os.kill(self.box.job(job)["gang"][1]["pid"], signal.SIGKILL)
        self.wait_log(job, r"paceline: Rank 1 is gone: its connection ended\.")
        self.wait_log(job, r"Going on from \S+, after \d+ samples, on 3 ranks\.")
        shown = self.expect_completed(job)
        self.assertEqual(shown["retries_used"], 1)
        self.expect_each_sample_once_an_epoch(job, 12, repeated=SAMPLES)
        self.expect_weights(job, self.alone(12))

    def test_a_checkpoint_of_another_model_and_one_that_is_torn_are_refused(self):
        self.expect_completed(self.train("1", 1, "kept"))
        path = max((self.home / "kept").iterdir(), key=lambda each: each.stat().st_mtime_ns)
        self.expect_failure(self.train("1", 1, "kept", "wide=0"), r"is of another model: it has first\.bias \(8 Float\)")
        path.write_bytes(path.read_bytes()[:-1000])
        self.expect_failure(self.train("2", 1, "kept"), r"is no whole checkpoint of this kind of training")

    def test_what_is_carried_in_other_names_or_too_late_is_told(self):
        self.expect_completed(self.train("1", 1, "kept"))
        job = self.train("1", 2, "kept", "carries")
        self.expect_completed(job)
        self.assertRegex(self.logs(job), r"paceline: 'began' begins anew: it is not in ckpt-\d+\.pt\.")
        job = self.train("1", 3, "kept")
        self.expect_completed(job)
        self.assertRegex(self.logs(job), r"paceline: 'began' is left out: nothing carries it now, and it is in ckpt-\d+\.pt\.")
        self.expect_failure(self.train("1", 1, "other", "carries=2"), r'job\.carry\("late", …\) came too late')

    def expect_failure(self, job, sentence):
        self.until(lambda: self.box.job(job)["ended_at"], job, "does not end")
        self.assertEqual(self.box.job(job)["state"], "FAILED")
        self.assertRegex(self.logs(job), sentence)

    def test_backward_that_runs_twice_is_told(self):
        self.expect_failure(self.train("2", 1, "-", "twice"), "backward\\(\\) ran again on the same batch")

    def test_the_lines_of_the_page_are_the_examples(self):
        shown = re.search(r"```cpp\n(.*?)```", (ROOT / "docs/runtime.md").read_text(), re.DOTALL)[1]
        lines = iter(line.strip() for line in (ROOT / "examples/digits_cpp/train.cpp").read_text().splitlines())
        for line in shown.splitlines():
            self.assertIn(line.strip(), lines)  # in this order

    def test_the_example_is_built_as_the_page_says_and_stops_at_its_target(self):
        self.types(command_with("cmake -S examples/digits_cpp"), BUILD_SECONDS)
        job = self.submit(command_with("digits_cpp/train"))
        self.expect_completed(job)
        self.assertGreaterEqual(max(each.get("accuracy", 0) for each in self.reports(job)), 0.9)
        accuracies = {}
        for workers in ("1", "2", "4"):
            command = ["digits_cpp/train", "--epochs", "2", "--checkpoint-dir", f"kept-{workers}"]
            job = self.box.submit("--slots", workers, "--workdir", str(self.home), "--", *command)
            self.expect_completed(job)
            accuracies[workers] = self.reports(job)[-2]["accuracy"]
        self.assertGreater(accuracies["1"], 0.85)
        for workers in ("2", "4"):
            self.assertAlmostEqual(accuracies[workers], accuracies["1"], delta=0.01)
            self.assertLess(self.difference_of_checkpoints("kept-1", f"kept-{workers}"), CLOSE)

        self.expect_the_example_to_be_resized_in_place()

    def expect_the_example_to_be_resized_in_place(self):
        job = self.box.submit("--slots", "1..3", "--workdir", str(self.home), "--", "digits_cpp/train", "--epochs", "4",
                              "--checkpoint-dir", "kept-in-place")
        self.until_it_stands(job)
        kept = []
        for workers in (1, 3, 2):
            self.resize_in_place(job, workers)
            pids = self.pids(job)
            self.assertEqual(pids[:len(kept)], kept[:workers])
            kept = pids
        shown = self.expect_completed(job)
        self.assertEqual((shown["attempt"], shown["retries_used"]), (1, 0))
        self.assertGreater(self.reports(job)[-2]["accuracy"], 0.9)

    def difference_of_checkpoints(self, *folders):
        """The greatest, of any weight: Python reads them, too."""
        paths = [max((self.home / each).iterdir(), key=lambda path: path.stat().st_mtime_ns) for each in folders]
        return float(subprocess.run([str(self.python), "-c", COMPARE, *map(str, paths)], capture_output=True, text=True, check=True).stdout)


if __name__ == "__main__":
    unittest.main()
