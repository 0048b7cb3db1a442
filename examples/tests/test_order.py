import unittest

from support import HAS_TORCH, needs_torch

if HAS_TORCH:
    import numpy as np
    from common.order import SampleOrder, share


def trained(size, epochs, batch, worlds, seed=3):
    """The samples in the order of their use by gangs of the sizes `worlds`, a step each in turn."""
    used, position, step = [], 0, 0
    while position < size * epochs:
        count = min(batch, size * epochs - position)
        world = worlds[step % len(worlds)]
        order = SampleOrder(size, seed)  # each step as after a restart
        for rank in range(world):
            first, stop = share(count, rank, world)
            used.extend(order.indices(position + first, position + stop))
        position, step = position + count, step + 1
    return np.array(used)


@needs_torch
class Order(unittest.TestCase):
    def test_each_sample_comes_once_per_epoch_for_any_number_of_workers(self):
        for world in (1, 2, 3, 5, 8, 13):
            with self.subTest(world=world):
                used = trained(size=101, epochs=3, batch=8, worlds=[world])
                for epoch in used.reshape(3, 101):
                    self.assertEqual(sorted(epoch), list(range(101)))

    def test_the_order_is_the_same_for_any_number_of_workers_and_over_resizes(self):
        alone = trained(size=101, epochs=3, batch=8, worlds=[1])
        for worlds in ([2], [7], [4, 1, 3], [1, 16]):
            with self.subTest(worlds=worlds):
                np.testing.assert_array_equal(trained(101, 3, 8, worlds), alone)

    def test_epochs_and_seeds_differ(self):
        order = SampleOrder(50, 1)
        first = order.indices(0, 50)
        self.assertFalse((first == order.indices(50, 100)).all())
        self.assertFalse((first == SampleOrder(50, 2).indices(0, 50)).all())

    def test_shares_are_even_to_one_sample(self):
        for count in range(20):
            for world in range(1, 9):
                shares = [share(count, rank, world) for rank in range(world)]
                sizes = [stop - first for first, stop in shares]
                self.assertEqual(sum(sizes), count)
                self.assertLessEqual(max(sizes) - min(sizes), 1)


if __name__ == "__main__":
    unittest.main()
