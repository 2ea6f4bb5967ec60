"""hccl and gloo side by side, in the same processes: python3 -m hccl_torch.bench [--workers N ...] ...

Each number is a quantile (the median, unless --quantile says otherwise) over the repetitions of the slowest
worker's time. The backends take turns in several rounds, so that what else the machine does meets all of
them. Both get the same tensors and one OpenMP thread a worker. Before each repetition
the workers write their tensors, so that the data are where a program would have them, and meet in a
barrier; neither is in the time. "arena" columns are hccl with tensors in device memory (hccl_torch.arena).
"""
import argparse
import datetime
import multiprocessing
import os
import tempfile
import time

import torch
import torch.distributed as dist

import hccl_torch

OPERATIONS = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all", "ddp_step")
ROUNDS = 4
MOST_REPETITIONS = 2000  # of an operation, backend and size


def size_text(count):
    for unit in ("B", "KiB", "MiB"):
        if count < 1024:
            return f"{count} {unit}"
        count //= 1024
    return f"{count} GiB"


def operation(name, size, workers, group):
    """A function that does the operation once on `size` bytes of float32 a worker, and its inputs."""
    count = max(size // 4 // workers, 1) * workers
    if name == "all_reduce":
        tensor = torch.zeros(count)
        return lambda: dist.all_reduce(tensor, group=group), tensor
    if name == "all_gather":
        outputs, mine = list(torch.zeros(count).chunk(workers)), torch.zeros(count // workers)
        return lambda: dist.all_gather(outputs, mine, group=group), mine
    if name == "reduce_scatter":
        tensor, part = torch.zeros(count), torch.zeros(count // workers)
        if dist.get_backend(group) == "gloo":  # which has none: all_reduce and take the part
            def stand_in():
                dist.all_reduce(tensor, group=group)
                part.copy_(tensor.chunk(workers)[0])
            return stand_in, tensor
        return lambda: dist.reduce_scatter_tensor(part, tensor, group=group), tensor
    if name == "all_to_all":
        out, tensor = torch.zeros(count), torch.zeros(count)
        return lambda: dist.all_to_all_single(out, tensor, group=group), tensor
    return ddp_step(size, group)


def ddp_step(size, group):
    """A training step of a model with about `size` bytes of parameters, on one sample."""
    width = max(int((size / 8) ** 0.5), 8)
    model = torch.nn.Sequential(torch.nn.Linear(width, width), torch.nn.ReLU(),
                                torch.nn.Linear(width, width))
    model = torch.nn.parallel.DistributedDataParallel(model, process_group=group)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    sample = torch.ones(1, width)

    def step():
        optimizer.zero_grad()
        model(sample).sum().backward()
        optimizer.step()

    return step, sample


def once(run, tensor):
    """Seconds of one repetition."""
    tensor.fill_(1)
    dist.barrier()
    begin = time.perf_counter()
    run()
    return time.perf_counter() - begin


def repetitions(run, tensor, seconds):
    """How many fit into the time, by the slowest worker's third try."""
    for _ in range(3):
        estimate = torch.tensor([once(run, tensor)])
    dist.all_reduce(estimate, op=dist.ReduceOp.MAX)
    return min(max(int(seconds / estimate.item()), 10), MOST_REPETITIONS)


def measured(contenders, options):
    """For each (run, tensor) the quantile of the slowest worker's microseconds."""
    counts = [repetitions(run, tensor, options.seconds) for run, tensor in contenders]
    times = [[] for _ in contenders]
    for _ in range(ROUNDS):
        for (run, tensor), count, mine in zip(contenders, counts, times):
            once(run, tensor)  # after the others' turn
            mine += [once(run, tensor) for _ in range(-(-count // ROUNDS))]
    results = []
    for mine in times:
        slowest = torch.tensor(mine, dtype=torch.float64)
        dist.all_reduce(slowest, op=dist.ReduceOp.MAX)
        results.append(slowest.quantile(options.quantile).item() * 1e6)
    return results


def worker(rank, workers, options, store_path):
    torch.set_num_threads(1)
    if options.bind:
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {cores[rank % len(cores)]})
    store = dist.FileStore(store_path, workers)
    dist.init_process_group("hccl", store=store, rank=rank, world_size=workers,
                            timeout=datetime.timedelta(seconds=300))
    gloo = dist.new_group(backend="gloo")
    for name in options.operations:
        for size in options.sizes:
            contenders = [operation(name, size, workers, group) for group in (gloo, None)]
            with hccl_torch.arena(1024):
                contenders.append(operation(name, size, workers, None))
                slow, plain, arena = measured(contenders, options)
            del contenders
            if rank == 0:
                print(f"| {name:14} | {size_text(size):>8} | {slow:9.1f} | {plain:9.1f} |"
                      f" {slow / plain:6.1f} | {arena:9.1f} | {slow / arena:6.1f} |", flush=True)
    dist.destroy_process_group()


def compare(workers, options):
    """Prints the table for so many workers; returns 0 if all of them ended well."""
    print(f"\n{workers} workers on {len(os.sched_getaffinity(0))} cores, load "
          f"{os.getloadavg()[0]:.1f} before; microseconds, quantile {options.quantile}\n\n"
          f"| {'operation':14} | {'size':>8} | {'gloo':>9} | {'hccl':>9} | {'ratio':>6} |"
          f" {'arena':>9} | {'ratio':>6} |\n"
          f"|{'-' * 16}|{'-' * 9}:|{'-' * 10}:|{'-' * 10}:|{'-' * 7}:|{'-' * 10}:|{'-' * 7}:|",
          flush=True)
    fork = multiprocessing.get_context("fork")
    with tempfile.TemporaryDirectory() as folder:
        processes = [fork.Process(target=worker, args=(rank, workers, options, f"{folder}/store"))
                     for rank in range(workers)]
        for process in processes:
            process.start()
        for process in processes:
            process.join()
    return max(abs(process.exitcode) for process in processes)


def main():
    parser = argparse.ArgumentParser(prog="hccl_torch.bench", description=__doc__)
    parser.add_argument("--workers", type=int, nargs="+", default=[2, 4])
    parser.add_argument("--sizes", type=int, nargs="+", default=[64, 64 << 10, 1 << 20, 16 << 20])
    parser.add_argument("--operations", nargs="+", default=OPERATIONS, choices=OPERATIONS)
    parser.add_argument("--seconds", type=float, default=0.5, help="time for each row and backend")
    parser.add_argument("--quantile", type=float, default=0.5,
                        help="lower on a machine with other work, where the median shows that work")
    parser.add_argument("--bind", action="store_true", help="each worker, for both backends, to one core")
    options = parser.parse_args()
    return max(compare(workers, options) for workers in options.workers)


if __name__ == "__main__":
    raise SystemExit(main())
