"""HCCL for NumPy arrays, over the C interface.

    import hccl4py
    comm = hccl4py.Communicator(root_info, size, rank)     # root_info: hccl4py.root_info() of one rank
    comm.allreduce(array)                                  # waits; the result is in `array`
    request = comm.allreduce(array, wait=False)            # request.wait() later

Arrays must be contiguous. Errors raise HcclError, whose text is the library's, with its EI code.
"""
from ._api import HcclError
from .communicator import Communicator, Request, empty, root_info, set_device

__all__ = ["Communicator", "HcclError", "Request", "empty", "root_info", "set_device"]
