"""Every sample once an epoch, whatever the number of ranks and however often it changes."""

import random
import unittest

import support

if support.HAS_TORCH:
    from paceline.order import Order, Permutation, pieces, share


@support.has_torch
class PermutationTest(unittest.TestCase):
    def test_has_every_index_once(self):
        for length in [*range(1, 130), 255, 256, 257, 1000, 4097]:
            permutation = Permutation(length, seed=length, epoch=3)
            self.assertEqual(sorted(permutation.take(0, length)), list(range(length)))

    def test_differs_by_seed_and_epoch(self):
        def order(seed, epoch):
            permutation = Permutation(1000, seed, epoch)
            return permutation.take(0, 1000)

        orders = [order(seed, epoch) for seed in range(5) for epoch in range(5)]
        for i, one in enumerate(orders):
            for other in orders[:i]:
                same = sum(a == b for a, b in zip(one, other))
                self.assertLess(same, 15, "two permutations by chance have one place in common")

    def test_is_the_same_for_ever(self):
        permutation = Permutation(10, seed=7, epoch=1)
        self.assertEqual(permutation.take(0, 10), EVER)

    def test_parts_are_parts_of_the_whole(self):
        whole = Permutation(10_000, seed=2, epoch=4).take(0, 10_000)
        permutation, chance = Permutation(10_000, seed=2, epoch=4), random.Random(1)
        for _ in range(50):
            begin = chance.randrange(10_000)
            end = chance.randint(begin, min(10_000, begin + 5_000))
            self.assertEqual(permutation.take(begin, end), whole[begin:end])

    def test_leaves_no_pattern(self):
        length = 1 << 14
        permutation = Permutation(length, seed=1, epoch=0)
        order = permutation.take(0, length)
        rises = sum(a < b for a, b in zip(order, order[1:]))
        self.assertAlmostEqual(rises / length, 0.5, delta=0.02)
        for part in range(16):  # each sixteenth holds indices of everywhere
            indices = order[part * length // 16:(part + 1) * length // 16]
            self.assertAlmostEqual(sum(indices) / len(indices) / length, 0.5, delta=0.05)


@support.has_torch
class OrderTest(unittest.TestCase):
    def test_each_index_once_over_any_schedule_of_ranks(self):
        chance = random.Random(5)
        for _ in range(200):
            length, batch = chance.randint(1, 300), chance.randint(1, 40)
            shuffle, epochs = chance.random() < 0.8, 2
            order = Order(length, batch, seed=chance.randint(0, 9), shuffle=shuffle)
            for epoch in range(epochs):
                order.begin(epoch)
                seen = []
                while indices := order.next():
                    ranks = chance.randint(1, 12)  # resized at any boundary
                    for rank in range(ranks):
                        mine = [indices[i] for i in share(len(indices), rank, ranks)]
                        for part in pieces(mine, chance.randint(1, 9)):
                            seen += part
                    if chance.random() < 0.3:  # that batch fails and comes again
                        del seen[-len(indices):]
                    else:
                        order.step(len(indices))
                    if chance.random() < 0.3:  # or all start anew
                        state = order.state()
                        order = Order(length, batch, seed=order.seed, shuffle=shuffle)
                        order.restore(state)
                        order.begin(epoch)
                self.assertEqual(sorted(seen), list(range(length)))

    def test_batches_do_not_depend_on_anything_but_the_place(self):
        order = Order(100, 32, seed=1)
        whole = []
        while indices := order.next():
            whole.append(indices)
            order.step(len(indices))
        self.assertEqual([len(each) for each in whole], [32, 32, 32, 4])
        again = Order(100, 32, seed=1)
        again.restore({"length": 100, "seed": 1, "epoch": 0, "position": 64})
        self.assertEqual(again.next(), whole[2])

    def test_a_last_batch_that_is_not_full_may_be_left_out(self):
        order = Order(100, 32, drop_last=True)
        sizes = []
        while indices := order.next():
            sizes.append(len(indices))
            order.step(len(indices))
        self.assertEqual(sizes, [32, 32, 32])

    def test_a_batch_that_scales_has_at_most_all_samples(self):
        order = Order(100, 40, drop_last=True)
        order.set_batch(120)
        self.assertEqual(sorted(order.next()), list(range(100)))
        order.set_batch(80)
        self.assertEqual(len(order.next()), 80)

    def test_other_data_are_refused(self):
        state = Order(100, 10, seed=1).state()
        with self.assertRaisesRegex(ValueError, "length of the data was 100, now it is 99"):
            Order(99, 10, seed=1).restore(state)
        with self.assertRaisesRegex(ValueError, "seed"):
            Order(100, 10, seed=2).restore(state)
        for arguments, why in (((0, 1), "no samples"), ((5, 0), "at least one sample")):
            with self.assertRaisesRegex(ValueError, why):
                Order(*arguments)

    def test_pieces_are_even(self):
        self.assertEqual([len(part) for part in pieces(range(10), 4)], [3, 3, 4])
        self.assertEqual(pieces([], 4), [])
        for count in range(1, 50):
            for longest in range(1, 12):
                parts = pieces(list(range(count)), longest)
                self.assertEqual(sum(parts, []), list(range(count)))
                self.assertLessEqual(max(map(len, parts)), longest)


EVER = [5, 8, 7, 4, 1, 6, 0, 9, 2, 3]

if __name__ == "__main__":
    unittest.main()
