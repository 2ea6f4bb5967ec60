"""The ranks of MPI_COMM_WORLD, with HCCL for the large arrays.

    mpirun -n 4 python3 with_mpi4py.py
"""
import os

import numpy
from mpi4py import MPI

world = MPI.COMM_WORLD
os.environ.setdefault("HCCL_HOST_DEVICES", str(world.size))

import hccl4py  # noqa: E402  the library reads the environment at its first call

with hccl4py.Communicator.from_mpi(world) as comm:
    plain = numpy.full(1_000_000, comm.rank + 1.0, "float32")
    comm.allreduce(plain)

    # Arrays of hccl4py.empty lie in device memory: other ranks of the host read them in place.
    fast = hccl4py.empty(1_000_000, "float32")
    fast[:] = comm.rank + 1.0
    comm.allreduce(fast)

    expected = comm.size * (comm.size + 1) / 2
    assert (plain == expected).all() and (fast == expected).all()
    # MPI goes on beside it.
    assert world.allreduce(comm.rank) == expected - comm.size
    print(f"rank {comm.rank} of {comm.size}: every element is {plain[0]:g}")
