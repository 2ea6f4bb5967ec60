"""Tensors in device memory behave like others, and results do not depend on the place."""
import sys
import unittest

import torch
import torch.distributed as dist

import hccl_torch
import support


def places(rank, size):
    for turn in range(3):
        with hccl_torch.arena(1 << 12):
            large = torch.arange(100000.0) + rank
            small = torch.ones(4) * rank
        outside = torch.arange(100000.0) + rank
        for tensor in (large, small, outside):
            dist.all_reduce(tensor)
        assert torch.equal(large, outside) and small[0].item() == sum(range(size))
        parts = list(torch.zeros(size * 100000).chunk(size))
        dist.all_gather(parts, large)
        assert all(torch.equal(part, outside) for part in parts)
        large.resize_(200000).fill_(turn)  # grows where it is, whatever its memory is
        assert large.sum().item() == 200000 * turn


class Arena(unittest.TestCase):
    def test_places(self):
        support.run(2, places)


if __name__ == "__main__":
    unittest.main(argv=sys.argv, verbosity=2)
