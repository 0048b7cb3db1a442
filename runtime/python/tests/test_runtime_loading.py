"""What loads samples: a DataLoader's own means, whatever is loaded next."""

import os
import random
import unittest

import support

if support.HAS_TORCH:
    import torch
    from paceline.loading import Loaders
    from torch.utils.data import DataLoader


class Samples:
    """Each tells which process made it, and what it drew."""

    def __len__(self):
        return 100

    def __getitem__(self, index):
        return index, os.getpid(), random.randrange(1 << 30)


@support.has_torch
class LoadingTest(unittest.TestCase):
    PARTS = [[0, 1, 2], [3, 4], [5], [6, 7], [8], [9], [10, 11]]

    def loaded(self, batches):
        """The indices of each batch, and the processes that made any."""
        batches = [(indices.tolist(), set(processes.tolist())) for indices, processes, _ in batches]
        return [indices for indices, _ in batches], set().union(*(processes for _, processes in batches))

    def test_workers_stay_when_something_else_is_loaded(self):
        loader = Loaders().of(DataLoader(Samples(), num_workers=2))
        left = loader.load(self.PARTS)
        _, its = self.loaded([next(left), next(left)])  # more is fetched ahead
        indices, processes = self.loaded(loader.load(self.PARTS[1:]))
        self.assertEqual(indices, self.PARTS[1:])
        self.assertEqual((len(processes), processes), (2, its))
        self.assertNotIn(os.getpid(), processes)

    def test_workers_stay_for_the_next_epoch_where_that_is_wanted(self):
        for persistent in True, False:
            loaders, data = Loaders(), DataLoader(Samples(), num_workers=1, persistent_workers=persistent)
            epochs = [self.loaded(loaders.of(data).load(self.PARTS, epoch)) for epoch in range(2)]
            self.assertEqual([indices for indices, _ in epochs], [self.PARTS] * 2)
            self.assertEqual(epochs[0][1] == epochs[1][1], persistent)
            # An evaluation in the middle of an epoch is none of its business.
            under_way = loaders.of(data).load(self.PARTS)
            self.assertEqual(next(under_way)[0].tolist(), self.PARTS[0])
            self.assertEqual(self.loaded(loaders.of(data, evaluates=True).load(self.PARTS))[0], self.PARTS)
            self.assertEqual(self.loaded(under_way)[0], self.PARTS[1:])

    def test_chance_belongs_to_epoch_and_sample_where_a_seed_is_given(self):
        def drawn(data, epoch, parts=self.PARTS, seed=5):
            return {int(index): int(each) for indices, _, draws in loaders.of(data, seed).load(parts, epoch)
                    for index, each in zip(indices, draws)}

        loaders = Loaders()
        expected = drawn(Samples(), 0)
        self.assertEqual(drawn(Samples(), 0, list(reversed(self.PARTS))), expected)
        workers = DataLoader(Samples(), num_workers=2, persistent_workers=True)
        self.assertEqual(drawn(workers, 0), expected)
        self.assertNotEqual(drawn(workers, 1), expected)
        self.assertEqual(drawn(workers, 1), drawn(Samples(), 1))
        self.assertNotEqual(drawn(workers, 0, seed=6), expected)
        self.assertEqual(drawn(DataLoader(Samples()), 0), expected)

    def test_tensors_are_taken_by_the_batch(self):
        batches = Loaders().of(torch.arange(100)).load(self.PARTS)
        self.assertEqual([batch.tolist() for batch in batches], self.PARTS)


if __name__ == "__main__":
    unittest.main()
