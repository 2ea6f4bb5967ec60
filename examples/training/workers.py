"""Starts the workers of an example: under torchrun this process is one; else it makes N by fork."""
import multiprocessing
import os
import tempfile

import torch
import torch.distributed as dist

import hccl_torch  # noqa: F401  registers the backend "hccl"


def join(main, rank, size, store, arguments, backend):
    torch.set_num_threads(1)
    torch.manual_seed(0)
    dist.init_process_group(backend, store=store, rank=rank, world_size=size)
    main(rank, size, *arguments)
    dist.destroy_process_group()


def run(main, size, *arguments, backend="hccl"):
    """Runs main(rank, size, *arguments) in every worker; fails if one fails."""
    if "TORCHELASTIC_RUN_ID" in os.environ:
        dist.init_process_group(backend)
        main(dist.get_rank(), dist.get_world_size(), *arguments)
        dist.destroy_process_group()
        return
    fork = multiprocessing.get_context("fork")
    with tempfile.TemporaryDirectory() as folder:
        workers = [fork.Process(target=join, args=(main, rank, size,
                                                   dist.FileStore(f"{folder}/store", size),
                                                   arguments, backend)) for rank in range(size)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    if any(worker.exitcode for worker in workers):
        raise SystemExit("a worker failed")
