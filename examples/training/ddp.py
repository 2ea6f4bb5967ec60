"""Data-parallel training: the loss falls, and is that of a single process with the same data.

    python3 ddp.py --workers 4        or        torchrun --nproc_per_node 4 ddp.py

The task is made here: points on two spirals, which a small network tells apart.
"""
import argparse
import math

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

import workers

STEPS, BATCH = 200, 60  # divisible by 2, 3 and 4 workers
# Averaging over workers rounds in another order than one mean over the whole batch does.
TOLERANCE = 1e-4


def spirals(count, seed):
    generator = torch.Generator().manual_seed(seed)
    turn = torch.rand(count, generator=generator) * 1.5 * math.pi
    kind = torch.randint(0, 2, (count,), generator=generator)
    angle = turn + kind * math.pi
    points = torch.stack([angle.cos(), angle.sin()], 1) * turn[:, None] / 4
    return points, kind


def network():
    torch.manual_seed(1)
    return torch.nn.Sequential(torch.nn.Linear(2, 128), torch.nn.Tanh(), torch.nn.Linear(128, 128),
                               torch.nn.Tanh(), torch.nn.Linear(128, 2))


def train(model, rank, size, steps=STEPS):
    """The loss of each step: the mean over this worker's part of the batch."""
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    losses = []
    for step in range(steps):
        points, kinds = spirals(BATCH, step)
        mine = slice(rank * BATCH // size, (rank + 1) * BATCH // size)
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(points[mine]), kinds[mine])
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return torch.stack(losses)


def main(rank, size):
    losses = train(DistributedDataParallel(network()), rank, size)
    dist.all_reduce(losses)
    losses /= size
    if rank != 0:
        return
    alone = train(network(), 0, 1)
    first, last = losses[:10].mean().item(), losses[-10:].mean().item()
    # Small differences grow over the steps: the first ones show that the sums are right.
    difference = (losses[:50] - alone[:50]).abs().max().item()
    bits = losses.view(torch.int32).sum().item()
    print(f"{size} workers: loss {first:.4f} -> {last:.4f}; differs from one process by "
          f"{difference:.1e}; bits {bits}")
    assert last < first / 2, "the loss does not fall"
    assert difference < TOLERANCE, "not the loss of a single process"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--backend", default="hccl")
    options = parser.parse_args()
    workers.run(main, options.workers, backend=options.backend)
