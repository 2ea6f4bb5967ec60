"""Sharded training: every worker holds a part of the parameters and of the optimizer's state.

    python3 sharded.py --workers 4

Each step gathers the parameters (all_gather), computes, and keeps the own part of the summed
gradients (reduce_scatter). The result is the one of a single process.
"""
import argparse

import torch
import torch.distributed as dist
from torch.nn.utils import parameters_to_vector, vector_to_parameters

import workers
from ddp import BATCH, network, spirals

STEPS = 50


def gradient(model, points, kinds):
    model.zero_grad()
    torch.nn.functional.cross_entropy(model(points), kinds).backward()
    return parameters_to_vector([p.grad for p in model.parameters()])


def main(rank, size):
    model = network()
    whole = parameters_to_vector(model.parameters()).detach()
    count = whole.numel()
    part = -(-count // size)  # rounded up: the last parts are filled with zeros
    padded = torch.nn.functional.pad(whole, (0, part * size - count))
    mine = padded[rank * part:(rank + 1) * part].clone()
    momentum = torch.zeros_like(mine)
    for step in range(STEPS):
        dist.all_gather_into_tensor(padded, mine)
        vector_to_parameters(padded[:count], model.parameters())
        points, kinds = spirals(BATCH, step)
        own = slice(rank * BATCH // size, (rank + 1) * BATCH // size)
        grads = torch.nn.functional.pad(gradient(model, points[own], kinds[own]),
                                        (0, part * size - count))
        reduced = torch.empty_like(mine)
        dist.reduce_scatter_tensor(reduced, grads, op=dist.ReduceOp.AVG)
        momentum.mul_(0.9).add_(reduced)
        mine.sub_(0.1 * momentum)
    dist.all_gather_into_tensor(padded, mine)

    alone, momentum = network(), torch.zeros(count)
    values = parameters_to_vector(alone.parameters()).detach()
    for step in range(STEPS):
        momentum.mul_(0.9).add_(gradient(alone, *spirals(BATCH, step)))
        values = values - 0.1 * momentum
        vector_to_parameters(values, alone.parameters())
    difference = (padded[:count] - values).abs().max().item()
    if rank == 0:
        print(f"{size} workers, {part} of {count} parameters each: parameters differ from those of "
              f"one process by {difference:.1e}")
    assert difference < 1e-4


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, default=2)
    workers.run(main, parser.parse_args().workers)
