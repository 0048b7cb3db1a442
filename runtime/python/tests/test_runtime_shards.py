"""Data that can only be gone through, in shards: each sample comes once an epoch, on any number of ranks and through starts."""

import json
import re
import shutil
import tempfile
import unittest
from pathlib import Path

import support

if support.HAS_TORCH:
    import torch
    from paceline.alone import Alone
    from paceline.errors import PacelineError
    from paceline.loading import Loaders
    from paceline.shards import Iterable, Shards

SCRIPT = Path(__file__).with_name("training_script.py")
SIZES = [40, 25, 20, 15]
EVERY_SAMPLE_TWICE = [(epoch, index) for epoch in range(2) for index in range(100)]


class Numbers:
    """Shards of the numbers from 0 on."""

    def __init__(self, *sizes, number=0):
        self.num_shards, self.sizes, self.number = len(sizes), sizes, number

    def shard(self, num_shards, index):
        return Numbers(self.sizes[index], number=sum(self.sizes[:index]))

    def __iter__(self):
        return iter(range(self.number, self.number + self.sizes[0]))


@support.has_torch
class OrderTest(unittest.TestCase):
    def batches(self, shards):
        """What one rank sees to the end of the epoch."""
        group, found = Alone(), []
        shards.agree(group)
        while keys := shards.next():
            shards.read([keys])
            if shards.agree(group):
                found.append([int(each) for each in next(shards.load([keys], shards.epoch))])
                shards.step(len(keys))
        return found

    def test_a_batch_has_a_sample_of_each_shard_in_turn(self):
        shards = Shards(Iterable(Numbers(4, 2, 3)), 4)
        self.assertEqual(self.batches(shards), [[0, 1, 4, 6], [2, 5, 7, 8], [3]])
        self.assertEqual(shards.position, 9)
        shards.begin(1)
        self.assertEqual(len(self.batches(shards)), 3)
        self.assertEqual(self.batches(Shards(Iterable(Numbers(4, 2, 3)), 4, drop_last=True)), [[0, 1, 4, 6], [2, 5, 7, 8]])
        self.assertEqual(self.batches(Shards(Iterable(Numbers(0, 2)), 4)), [[0, 1]])

    def test_it_goes_on_from_its_state_with_other_data_it_does_not(self):
        shards = Shards(Iterable(Numbers(4, 2, 3)), 4)
        keys = shards.next()
        shards.read([keys])
        shards.step(4)
        again = Shards(Iterable(Numbers(4, 2, 3)), 4)
        again.restore(shards.state())
        self.assertEqual(again.digest(), shards.digest())
        self.assertEqual(self.batches(again), [[2, 5, 7, 8], [3]])
        with self.assertRaisesRegex(ValueError, "number of shards of the data was 3, now it is 2"):
            Shards(Iterable(Numbers(4, 2)), 4).restore(shards.state())
        fewer = Shards(Iterable(Numbers(1, 2, 3)), 4)
        fewer.restore(shards.state())
        with self.assertRaisesRegex(PacelineError, "shard 0 had 2 samples at least, now it ends after 1"):
            self.batches(fewer)

    def test_a_dataset_may_keep_and_change_the_state_that_it_was_given(self):
        class Kept(Numbers):
            def shard(self, num_shards, index):
                shard = Kept(self.sizes[index])
                shard.place = {"at": 0}
                return shard

            def __iter__(self):
                while self.place["at"] < self.sizes[0]:
                    self.place["at"] += 1
                    yield self.place["at"] - 1

            def state_dict(self):
                return dict(self.place)

            def load_state_dict(self, found):
                self.place = found

        def step(shards):
            shards.agree(Alone())
            keys = shards.next()
            shards.read([keys])
            batch = next(shards.load([keys], shards.epoch)).tolist()
            shards.step(len(keys))
            return batch

        first, started, newcomer = (Shards(Iterable(Kept(40)), 4) for _ in range(3))
        self.assertEqual(step(first), [0, 1, 2, 3])
        first.gather(Alone())
        started.restore(first.state())
        self.assertEqual(step(started), [4, 5, 6, 7])
        newcomer.restore(started.state())
        self.assertEqual(step(newcomer), [8, 9, 10, 11])

    def test_what_is_drawn_by_chance_belongs_to_the_sample(self):
        class Drawn(Numbers):
            def shard(self, num_shards, index):
                return Drawn(self.sizes[index])

            def __iter__(self):
                return (int(torch.randint(0, 1 << 30, ())) for _ in range(self.sizes[0]))

        torch.manual_seed(5)
        before = torch.get_rng_state()
        first = self.batches(Shards(Iterable(Drawn(4, 2)), 4, seed=1, chance_of_samples=True))
        self.assertTrue(torch.equal(torch.get_rng_state(), before))
        torch.manual_seed(6)
        self.assertEqual(self.batches(Shards(Iterable(Drawn(4, 2)), 4, seed=1, chance_of_samples=True)), first)
        self.assertEqual(len({each for batch in first for each in batch}), 6)

    def test_what_can_not_be_gone_through_again_is_refused(self):
        with self.assertRaisesRegex(PacelineError, "a generator is neither"):
            Loaders().of(each for each in [])
        with self.assertRaisesRegex(PacelineError, "a int is neither"):
            Loaders().of(5)

    def test_all_of_it_is_evaluated_once(self):
        for size in 1, 2, 5:
            for data in Iterable(Numbers(4, 2, 3)), Iterable(Numbers(9).shard(1, 0)):
                counted = [(int(each), counts) for rank in range(size) for batch, counts in data.shares(rank, size, 2) for each in batch]
                self.assertEqual(sorted(each for each, counts in counted if counts), list(range(9)), (size, data.count))
                self.assertGreaterEqual(len(counted), size)


@support.has_torch
@support.has_library
class ShardsTest(unittest.TestCase):
    def train(self, size, **asked):
        gang = support.Gang(SCRIPT, size, json.dumps({"batch": 10, "stream": {"shards": SIZES}, **asked}))
        self.addCleanup(gang.kill)
        return gang.ends()

    def seen(self, ended):
        return sorted(tuple(each) for _, output in ended for line in re.findall(r"^seen (.*)$", output, re.M)
                      for each in json.loads(line))

    def read(self, ended):
        return len([each for _, output in ended for each in re.findall(r"^read", output, re.M)])

    def weights(self, ended):
        for code, output in ended:
            self.assertEqual(code, 0, output[-3000:])
        return json.loads(re.search(r"^result (.*)$", ended[0][1], re.M)[1])["weights"]

    def folder(self):
        path = tempfile.mkdtemp(prefix="paceline-runtime-")
        self.addCleanup(shutil.rmtree, path)
        return path

    def test_any_number_of_ranks_trains_what_one_trains(self):
        alone = self.weights(self.train(1))
        for size in 2, 3, 5:
            ended = self.train(size)
            for one, other in zip(self.weights(ended), alone):
                self.assertAlmostEqual(one, other, delta=1e-5)
            self.assertEqual(self.seen(ended), EVERY_SAMPLE_TWICE)

    def test_a_start_with_other_ranks_goes_on_where_each_shard_was(self):
        for has_state in True, False:
            folder, stream = self.folder(), {"shards": SIZES, "state": has_state}
            ended = self.train(2, folder=folder, notice_at=4, stream=stream)
            self.assertEqual([code for code, _ in ended], [75, 75])
            before = len(self.seen(ended))
            rest = self.train(1, folder=folder, stream=stream)
            self.assertEqual(self.seen(ended + rest), EVERY_SAMPLE_TWICE)
            self.assertEqual(self.read(rest), 200 - before * has_state, "nothing is read again" if has_state else "all is")

    def test_its_author_is_told_what_can_not_be_promised(self):
        def told(**asked):
            ended = self.train(2, **asked)
            self.assertEqual(self.seen(ended), EVERY_SAMPLE_TWICE)
            return re.findall(r"^paceline: (Stream .*)$", ended[0][1], re.M)

        self.assertEqual(told(), [])
        shards, state, workers = told(stream={"shards": SIZES, "declared": False, "state": False}, loader_workers=2)
        self.assertIn("declares no shards", shards)
        self.assertIn("has no state_dict()", state)
        self.assertIn("without the DataLoader's workers", workers)

    def test_data_without_samples(self):
        for code, output in self.train(2, stream={"shards": [0, 0]}):
            self.assertEqual(code, 1)
            self.assertIn("The data have no samples.", output)
        with self.assertRaisesRegex(PacelineError, "The Numbers has no samples"):
            list(Iterable(Numbers(0, 0)).shares(0, 1, 2))

    def test_checkpoints_of_other_data(self):
        folder = self.folder()
        self.assertEqual(self.train(1, folder=folder, notice_at=2)[0][0], 75)
        for stream, why in (({"shards": [50, 50]}, "number of shards of the data was 4, now it is 2"),
                            (None, "could only be gone through, now they have a length")):
            code, output = self.train(1, folder=folder, stream=stream)[0]
            self.assertEqual(code, 1)
            self.assertIn(why, output)


if __name__ == "__main__":
    unittest.main()
