"""Groups begin and end: launchers, fork, exit without destruction, groups again and again."""
import datetime
import os
import subprocess
import sys
import unittest

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, TensorDataset

import hccl_torch
import support

MPIRUN = ("mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none")
# Debian's torchrun under Python 3.11 cannot read its own default for these two.
OUTPUT = ("--redirects", "1", "--tee", "1")
PROGRAM = """
import os, sys
import torch, torch.distributed as dist
import hccl_torch
torch.set_num_threads(1)
if "OMPI_COMM_WORLD_RANK" in os.environ:
    os.environ["RANK"] = os.environ["OMPI_COMM_WORLD_RANK"]
    os.environ["WORLD_SIZE"] = os.environ["OMPI_COMM_WORLD_SIZE"]
dist.init_process_group("hccl")
one = torch.ones(1000)
dist.all_reduce(one)
assert one.sum().item() == 1000 * dist.get_world_size()
handle = dist.all_reduce(one, async_op=True)
future = handle.get_future()
if sys.argv[1] == "destroy":
    handle.wait()
    dist.destroy_process_group()
print("well", flush=True)
"""


def launched(launcher, ending):
    environment = dict(os.environ, MASTER_ADDR="127.0.0.1", MASTER_PORT=support.free_port(),
                       OMP_NUM_THREADS="1")
    run = subprocess.run([*launcher, sys.executable, "-W", "ignore", "-c", PROGRAM, ending],
                         env=environment, capture_output=True, text=True, timeout=support.PATIENCE)
    return run.returncode, run.stdout.count("well"), run.stderr


def loaders(rank, size):
    """DataLoader workers are forks of this process; they come and go while the group works."""
    data = DataLoader(TensorDataset(torch.arange(32.0)), batch_size=4, num_workers=2)
    for _ in range(2):
        total = torch.zeros(1)
        for (batch,) in data:
            total += batch.sum()
            handle = dist.all_reduce(batch, async_op=True)
            handle.wait()
            assert torch.equal(batch / size, (batch / size).round())
        assert total.item() == 496
    child = os.fork()
    if child == 0:
        try:
            dist.all_reduce(torch.ones(1))
        except RuntimeError as error:
            os._exit(0 if "fork" in str(error) else 2)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    dist.barrier()


def again(rank, size):
    """Groups one after the other; the same name in the same store: nobody meets the group before."""
    store = dist.distributed_c10d._get_default_store()
    for turn in range(3):
        dist.destroy_process_group()
        dist.init_process_group("hccl", store=dist.PrefixStore(f"turn {turn}", store), rank=rank,
                                world_size=size)
        one = torch.full((10,), float(turn))
        dist.all_reduce(one)
        assert one[0].item() == turn * size
    for turn in range(3):
        options = dist.distributed_c10d._DistributedBackendOptions()
        options.store, options.group_id = dist.PrefixStore("one name", store), "one name"
        options.group_rank, options.group_size = rank, size
        options.timeout = datetime.timedelta(seconds=support.PATIENCE)
        group = hccl_torch._C.create(options)
        one = torch.full((10,), float(turn))
        group.allreduce([one]).wait()
        assert one[0].item() == turn * size


def forgotten(rank, size):
    """Works and a receive that nobody waits for do not hold the end up."""
    dist.all_reduce(torch.ones(1000), async_op=True)
    if rank == 0:
        dist.irecv(torch.ones(5), 1)
    dist.barrier()


class Lifecycle(unittest.TestCase):
    def test_torchrun(self):
        launcher = [sys.executable, "-W", "ignore", "-m", "torch.distributed.run", "--nproc_per_node",
                    "2", "--master_port", support.free_port(), "--no_python", *OUTPUT]
        code, well, errors = launched(launcher, "exit")
        self.assertEqual((code, well), (0, 2), errors)

    def test_mpirun(self):
        code, well, errors = launched([*MPIRUN, "-n", "2"], "destroy")
        self.assertEqual((code, well), (0, 2), errors)

    def test_fork(self):
        support.run(2, loaders)

    def test_again(self):
        support.run(2, again)

    def test_forgotten(self):
        support.run(2, forgotten)


if __name__ == "__main__":
    unittest.main(argv=sys.argv, verbosity=2)
