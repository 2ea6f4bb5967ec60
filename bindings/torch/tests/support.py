"""Starts workers of one process group and collects what they return."""
import datetime
import multiprocessing
import os
import socket
import tempfile
import traceback

import torch
import torch.distributed as dist

import hccl_torch  # noqa: F401  registers the backend

# Workers are made by fork, before the library is used, so that PyTorch is loaded only once.
FORK = multiprocessing.get_context("fork")
PATIENCE = float(os.environ.get("HCCL_TEST_PATIENCE", "240"))


def _worker(pipe, function, rank, size, store_path, arguments):
    try:
        torch.set_num_threads(1)
        store = dist.FileStore(store_path, size)
        dist.init_process_group("hccl", store=store, rank=rank, world_size=size,
                                timeout=datetime.timedelta(seconds=PATIENCE / 2))
        result = function(rank, size, *arguments)
        dist.destroy_process_group()
        pipe.send((True, result))
    except BaseException:  # noqa: BLE001  whatever it is, the parent shall show it
        pipe.send((False, traceback.format_exc()))


def start(size, function, *arguments):
    """Starts the workers; returns [(process, pipe)]."""
    folder = tempfile.mkdtemp(prefix="hccl_torch_test_")
    workers = []
    for rank in range(size):
        mine, theirs = FORK.Pipe(duplex=False)
        process = FORK.Process(target=_worker, args=(theirs, function, rank, size,
                                                     f"{folder}/store", arguments))
        process.start()
        theirs.close()
        workers.append((process, mine))
    return workers


def collect(workers, dead=()):
    """What each worker returned; raises for the first that failed. `dead` are not asked."""
    results = []
    try:
        for rank, (process, pipe) in enumerate(workers):
            if rank in dead:
                results.append(None)
                continue
            if not pipe.poll(PATIENCE):
                raise AssertionError(f"worker {rank} gave no answer in {PATIENCE} s")
            fine, result = pipe.recv()
            if not fine:
                raise AssertionError(f"worker {rank} failed:\n{result}")
            results.append(result)
        for rank, (process, _) in enumerate(workers):
            process.join(PATIENCE)
            if rank not in dead and process.exitcode != 0:
                raise AssertionError(f"worker {rank} ended with {process.exitcode}")
    finally:
        for process, _ in workers:
            if process.is_alive():
                process.kill()
            process.join()
    return results


def run(size, function, *arguments):
    return collect(start(size, function, *arguments))


def raises(expected, call, *words):
    """Runs call(); it must raise `expected` with all the words in its text."""
    try:
        call()
    except expected as error:
        text = str(error)
        missing = [word for word in words if word not in text]
        assert not missing, f"{missing} missing in: {text}"
        return error
    raise AssertionError(f"{expected} was not raised")


def free_port():
    """A port of this host that nobody uses, as text."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return str(listener.getsockname()[1])
