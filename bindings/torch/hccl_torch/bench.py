"""hccl and gloo side by side, in the same processes: python3 -m hccl_torch.bench [--workers N] ...

Each number is a quantile (the median, unless --quantile says otherwise) over the repetitions of the
slowest worker's time. Both backends get the same
tensors, one OpenMP thread a worker, and no binding to cores. "arena" rows are hccl with tensors in
device memory (hccl_torch.arena).
"""
import argparse
import datetime
import multiprocessing
import tempfile
import time

import torch
import torch.distributed as dist

import hccl_torch

OPERATIONS = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all", "ddp_step")


def size_text(count):
    for unit in ("B", "KiB", "MiB"):
        if count < 1024:
            return f"{count} {unit}"
        count //= 1024
    return f"{count} GiB"


def operation(name, size, workers, group):
    """A function that does the operation once, on `size` bytes of float32 a worker."""
    count = max(size // 4 // workers, 1) * workers
    if name == "all_reduce":
        tensor = torch.zeros(count)
        return lambda: dist.all_reduce(tensor, group=group)
    if name == "all_gather":
        outputs, mine = list(torch.zeros(count).chunk(workers)), torch.zeros(count // workers)
        return lambda: dist.all_gather(outputs, mine, group=group)
    if name == "reduce_scatter":
        tensor, part = torch.zeros(count), torch.zeros(count // workers)
        if dist.get_backend(group) == "gloo":  # which has none: all_reduce and take the part
            def stand_in():
                dist.all_reduce(tensor, group=group)
                part.copy_(tensor.chunk(workers)[0])
            return stand_in
        return lambda: dist.reduce_scatter_tensor(part, tensor, group=group)
    if name == "all_to_all":
        out, tensor = torch.zeros(count), torch.zeros(count)
        return lambda: dist.all_to_all_single(out, tensor, group=group)
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

    return step


def measured(run, options, group):
    """A quantile over the repetitions of the slowest worker's microseconds."""
    for _ in range(3):
        run()
    dist.barrier(group=group)
    begin = time.perf_counter()
    run()
    estimate = torch.tensor([time.perf_counter() - begin])
    dist.all_reduce(estimate, op=dist.ReduceOp.MAX)
    repetitions = min(max(int(options.seconds / estimate.item()), 10), 1000)
    times = torch.zeros(repetitions)
    for i in range(repetitions):
        begin = time.perf_counter()
        run()
        times[i] = time.perf_counter() - begin
    dist.all_reduce(times, op=dist.ReduceOp.MAX)
    return times.quantile(options.quantile).item() * 1e6


def worker(rank, options, store_path):
    torch.set_num_threads(1)
    store = dist.FileStore(store_path, options.workers)
    dist.init_process_group("hccl", store=store, rank=rank, world_size=options.workers,
                            timeout=datetime.timedelta(seconds=300))
    gloo = dist.new_group(backend="gloo")
    if rank == 0:
        print(f"{options.workers} workers, times in microseconds, quantile {options.quantile}\n\n"
              f"| {'operation':14} | {'size':>8} | {'gloo':>9} | {'hccl':>9} | {'ratio':>6} |"
              f" {'arena':>9} | {'ratio':>6} |\n"
              f"|{'-' * 16}|{'-' * 9}:|{'-' * 10}:|{'-' * 10}:|{'-' * 7}:|{'-' * 10}:|{'-' * 7}:|",
              flush=True)
    for name in options.operations:
        for size in options.sizes:
            times = []
            for group, place in ((gloo, None), (None, None), (None, hccl_torch.arena())):
                if place is None:
                    run = operation(name, size, options.workers, group)
                    times.append(measured(run, options, group))
                    continue
                with place:
                    run = operation(name, size, options.workers, group)
                    times.append(measured(run, options, group))
            if rank == 0:
                slow, plain, arena = times
                print(f"| {name:14} | {size_text(size):>8} | {slow:9.1f} | {plain:9.1f} |"
                      f" {slow / plain:6.1f} | {arena:9.1f} | {slow / arena:6.1f} |", flush=True)
    dist.destroy_process_group()


def main():
    parser = argparse.ArgumentParser(prog="hccl_torch.bench", description=__doc__)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--sizes", type=int, nargs="+", default=[64, 64 << 10, 1 << 20, 16 << 20])
    parser.add_argument("--operations", nargs="+", default=OPERATIONS, choices=OPERATIONS)
    parser.add_argument("--seconds", type=float, default=0.5, help="time for each row and backend")
    parser.add_argument("--quantile", type=float, default=0.5,
                        help="lower on a machine with other work, where the median shows that work")
    options = parser.parse_args()
    fork = multiprocessing.get_context("fork")
    with tempfile.TemporaryDirectory() as folder:
        workers = [fork.Process(target=worker, args=(rank, options, f"{folder}/store"))
                   for rank in range(options.workers)]
        for process in workers:
            process.start()
        for process in workers:
            process.join()
    return max(abs(process.exitcode) for process in workers)


if __name__ == "__main__":
    raise SystemExit(main())
