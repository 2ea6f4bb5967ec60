"""The c10d backend "hccl": import this module, then torch.distributed.init_process_group("hccl").

All tensors are CPU tensors. Ranks of one host need different devices: the launcher's local rank, or
the rank, or the environment variable HCCL_TORCH_DEVICE.
"""
import atexit

import torch
import torch.distributed as dist

from . import _C
from ._C import HcclError

__all__ = ["HcclError", "arena", "monitored_barrier"]


class arena:
    """Context in which new CPU tensors of `least_bytes` or more lie in device memory.

    Ranks of one server read such tensors where they lie, without a staging copy. Children made by fork
    cannot read them: data sets for DataLoader workers do not belong there. Needs a process group.
    """

    def __init__(self, least_bytes=1 << 16):
        self.least_bytes = least_bytes

    def __enter__(self):
        _C.use_arena(self.least_bytes)
        return self

    def __exit__(self, *_):
        _C.use_arena(0)


def monitored_barrier(group=None, timeout=None, wait_all_ranks=False):
    """torch.distributed.monitored_barrier, which PyTorch refuses to all backends but Gloo by name.

    Rank 0 raises and names the first rank that does not come in time, or with wait_all_ranks all of them.
    """
    members = group if group is not None else dist.group.WORLD
    if dist.get_rank(group) < 0:
        return
    members.monitored_barrier(dist.default_pg_timeout if timeout is None else timeout, wait_all_ranks)


def _create(options, _group_options=None):
    return _C.create(options)


def _register():
    keywords = {"extended_api": True}
    if int(torch.__version__.split(".")[0]) >= 2:
        keywords["devices"] = ["cpu"]
    dist.Backend.register_backend("hccl", _create, **keywords)


_register()
# Threads of the groups may run callbacks in Python: they end before the interpreter does.
atexit.register(_C.shutdown)
