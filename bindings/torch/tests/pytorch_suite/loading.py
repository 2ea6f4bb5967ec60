"""PyTorch's own tests of a backend, torch/testing/_internal/distributed/distributed_test.py, for any
backend of this process.

What a test needs is decided when that module is imported, by the backend's name. It is imported as for
"gloo", so that nothing is left out for a name that PyTorch does not know; the backend is chosen
afterwards, in the process of each test.
"""
import importlib
import logging
import multiprocessing
import os
import sys
import types
import unittest

MODULE = "torch.testing._internal.distributed.distributed_test"
# Lists of that module: backends whose operations must appear in the profiler.
PROFILED = ("PROFILING_SUPPORTED_BACKENDS", "SEND_RECV_PROFILING_SUPPORTED_BACKENDS")


def _stand_in_for_expecttest():
    """PyTorch's test classes derive from this module's, which Debian does not package; none of the
    tests for backends uses what it adds to unittest."""
    module = types.ModuleType("expecttest")
    module.ACCEPT = False
    module.TestCase = unittest.TestCase
    sys.modules["expecttest"] = module


def _leave_out_replicated_tensors():
    """The tests switch DDP to an experimental kind of parameters. PyTorch 1.13 cannot import it under
    Python 3.11, and DDP fails on every backend; DDP as users have it is what is tested here."""
    try:
        importlib.import_module("torch.distributed._shard")
    except ValueError:
        from torch.nn.parallel import _replicated_tensor_ddp_utils
        _replicated_tensor_ddp_utils._set_ddp_with_replicated_tensor = lambda value: None


def load(world_size):
    """The class of tests for this world size; once in a process."""
    os.environ.update(BACKEND="gloo", WORLD_SIZE=str(world_size))
    sys.argv = sys.argv[:1]  # PyTorch's module has options of its own
    try:
        importlib.import_module("expecttest")
    except ImportError:
        _stand_in_for_expecttest()
    import torch
    import hccl_torch  # noqa: F401  registers the backend
    tests = importlib.import_module(MODULE)
    _leave_out_replicated_tensors()
    logging.getLogger().setLevel(logging.ERROR)
    torch.set_num_threads(1)
    for name in PROFILED:
        getattr(tests, name).append("hccl")

    class Suite(tests.TestDistBackend, tests.DistributedTest._DistTestBase):
        def setUp(self):
            super().setUp()
            # By fork, so that PyTorch is loaded once and not in every worker of every test.
            self._start_processes(multiprocessing.get_context("fork").Process)

    return Suite


class _LikeGloo(str):
    """A backend's name. Tests that ask for it to learn on which device a backend works shall take the
    way of Gloo, the backend for CPUs that they know."""

    __hash__ = str.__hash__

    def __eq__(self, other):
        return str.__eq__(self, other) or str.__eq__("gloo", other)


def choose(backend):
    """From now on the tests of this process use the backend."""
    if backend == "hccl":
        # PyTorch's function asks for Gloo by name and refuses others before they are asked.
        import hccl_torch
        import torch.distributed
        torch.distributed.monitored_barrier = hccl_torch.monitored_barrier
    sys.modules[MODULE].BACKEND = _LikeGloo(backend)
    os.environ["BACKEND"] = backend
