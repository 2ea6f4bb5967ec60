"""Communicators and their operations."""
import ctypes
import math
import weakref

import numpy

from . import _api
from ._api import HcclError, function

TYPES = {"int8": 0, "int16": 1, "int32": 2, "float16": 3, "float32": 4, "int64": 5, "uint64": 6,
         "uint8": 7, "uint16": 8, "uint32": 9, "float64": 10, "bool": 7}
OPS = {"sum": 0, "prod": 1, "max": 2, "min": 3}
_TIMED_OUT = 507046  # ACL_ERROR_RT_STREAM_SYNC_TIMEOUT
_SEND, _RECEIVE = 0, 1
_F = {name: function(name) for name in _api._FUNCTIONS}


def set_device(device):
    """Makes `device` the calling thread's device. Ranks of one host need different ones."""
    _F["aclrtSetDevice"](device)


def root_info():
    """The root information of a new communicator, as bytes, which all its ranks need."""
    buffer = ctypes.create_string_buffer(_api.ROOT_INFO_BYTES)
    _F["HcclGetRootInfo"](buffer)
    return buffer.raw


def empty(shape, dtype="float32"):
    """An array in device memory, which ranks of one server read where it lies."""
    dtype = numpy.dtype(dtype)
    size = math.prod(numpy.atleast_1d(shape).tolist()) * dtype.itemsize
    address = ctypes.c_void_p()
    _F["aclrtMalloc"](ctypes.byref(address), max(size, 1), 0)
    memory = (ctypes.c_byte * size).from_address(address.value)
    weakref.finalize(memory, _F["aclrtFree"], address.value)
    return numpy.frombuffer(memory, dtype=dtype).reshape(shape)


def _type(array):
    try:
        return TYPES[array.dtype.name]
    except KeyError:
        raise TypeError(f"HCCL does not know elements of {array.dtype}") from None


def _op(name):
    try:
        return OPS[name]
    except KeyError:
        raise ValueError(f"the reduction is one of {', '.join(OPS)}, not {name!r}") from None


def _address(array, writes=False):
    if not isinstance(array, numpy.ndarray):
        raise TypeError(f"a NumPy array is needed, not {type(array).__name__}")
    if not array.flags.c_contiguous:
        raise ValueError("the array is not contiguous")
    if writes and not array.flags.writeable:
        raise ValueError("the array cannot be written")
    return array.ctypes.data


def _counts(values, ranks):
    counts = [int(value) for value in values]
    if len(counts) != ranks or min(counts) < 0:
        raise ValueError(f"{ranks} counts of 0 or more are needed")
    return counts


def _numbers(values):
    return (ctypes.c_uint64 * len(values))(*values)


def _begins(counts):
    return [sum(counts[:i]) for i in range(len(counts))]


def _same(condition, text):
    if not condition:
        raise ValueError(text)


class Request:
    """An operation that was begun. Keeps its arrays alive."""

    def __init__(self, communicator, stream, arrays, name):
        self._communicator, self._stream, self._arrays, self._name = communicator, stream, arrays, name

    def wait(self, timeout=None):
        """Waits until the operation has ended; raises TimeoutError after `timeout` seconds."""
        if self._stream is None:
            return
        milliseconds = -1 if timeout is None else max(1, int(timeout * 1000))
        try:
            _F["aclrtSynchronizeStreamWithTimeout"](self._stream, milliseconds)
        except HcclError as error:
            if error.code == _TIMED_OUT:
                raise TimeoutError(f"{self._name} did not end in {timeout} s; it goes on") from None
            self._end()
            raise
        self._end()

    def done(self):
        """Whether the operation has ended. Never waits."""
        if self._stream is None:
            return True
        status = ctypes.c_int(1)
        _F["aclrtStreamQuery"](self._stream, ctypes.byref(status))
        return status.value == 0

    def _end(self):
        self._communicator._idle.append(self._stream)
        self._communicator._pending.discard(self)
        self._stream = self._arrays = None


class Communicator:
    """One rank's membership in a group. To be used by one thread at a time.

    Operations wait for their end, or return a Request with wait=False. In a `with` statement the
    communicator is destroyed at the end.
    """

    def __init__(self, info, size, rank):
        if len(info) != _api.ROOT_INFO_BYTES:
            raise ValueError(f"root information has {_api.ROOT_INFO_BYTES} bytes, not {len(info)}")
        handle = ctypes.c_void_p()
        _F["HcclCommInitRootInfo"](size, ctypes.create_string_buffer(info, len(info)), rank,
                                   ctypes.byref(handle))
        self._take(handle, size, rank)

    def _take(self, handle, size, rank):
        self._handle, self.size, self.rank = handle, size, rank
        self._idle, self._pending = [], set()

    @classmethod
    def from_mpi(cls, mpi_comm, device=None):
        """The ranks of an mpi4py communicator. Without `device`: the rank's number on its host."""
        if device is None:
            from mpi4py import MPI
            host = mpi_comm.Split_type(MPI.COMM_TYPE_SHARED)
            device = host.rank
            host.Free()
        set_device(device)
        info = mpi_comm.bcast(root_info() if mpi_comm.rank == 0 else None, root=0)
        return cls(info, mpi_comm.size, mpi_comm.rank)

    def split(self, ranks, number):
        """A communicator of the listed ranks; None for the others. `number` must differ each time."""
        part = object.__new__(Communicator)
        handle = ctypes.c_void_p()
        member = self.rank in ranks
        listed = (ctypes.c_uint32 * len(ranks))(*ranks)
        config = _api.CommConfig()
        index = ranks.index(self.rank) if member else 0
        _F["HcclCreateSubCommConfig"](ctypes.byref(self._handle), len(ranks),
                                      listed if member else None,
                                      number if member else 0xFFFFFFFF, index, ctypes.byref(config),
                                      ctypes.byref(handle))
        if not member:
            return None
        part._take(handle, len(ranks), index)
        return part

    def close(self):
        """Destroys the communicator; operations that have not ended are given up."""
        if self._handle is None:
            return
        for request in list(self._pending):
            _F["aclrtDestroyStreamForce"](request._stream)
            request._stream = request._arrays = None
        for stream in self._idle:
            _F["aclrtDestroyStreamForce"](stream)
        handle, self._handle, self._idle, self._pending = self._handle, None, [], set()
        _F["HcclCommDestroy"](handle)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _run(self, name, arguments, arrays, wait):
        if self._handle is None:
            raise HcclError(name, 7, "the communicator is closed")
        if self._idle:
            stream = self._idle.pop()
        else:
            stream = ctypes.c_void_p()
            _F["aclrtCreateStream"](ctypes.byref(stream))
        try:
            _F[name](*arguments, self._handle, stream)
        except HcclError:
            self._idle.append(stream)
            raise
        request = Request(self, stream, arrays, name)
        self._pending.add(request)
        if not wait:
            return request
        request.wait()
        return None

    # -- reductions

    def allreduce(self, array, op="sum", out=None, wait=True):
        """out (or array) = array of all ranks combined, on every rank."""
        out = array if out is None else out
        _same(out.size == array.size and out.dtype == array.dtype, "out must be like the input")
        return self._run("HcclAllReduce", (_address(array), _address(out, True), array.size,
                                           _type(array), _op(op)), (array, out), wait)

    def reduce(self, array, root, op="sum", out=None, wait=True):
        """As allreduce, on `root` only; `out` of the others may hold anything afterwards."""
        out = array if out is None else out
        _same(out.size == array.size and out.dtype == array.dtype, "out must be like the input")
        return self._run("HcclReduce", (_address(array), _address(out, True), array.size,
                                        _type(array), _op(op), root), (array, out), wait)

    def reduce_scatter(self, array, out, op="sum", counts=None, wait=True):
        """out = the own part of all arrays combined. `counts`: the parts' sizes, equal if not given."""
        _same(out.dtype == array.dtype, "out must have the input's type")
        if counts is None:
            _same(array.size == out.size * self.size, "array must be `size` times as large as out")
            return self._run("HcclReduceScatter", (_address(array), _address(out, True), out.size,
                                                   _type(array), _op(op)), (array, out), wait)
        counts = _counts(counts, self.size)
        _same(sum(counts) == array.size and counts[self.rank] == out.size, "counts do not fit")
        return self._run("HcclReduceScatterV",
                         (_address(array), _numbers(counts), _numbers(_begins(counts)),
                          _address(out, True), out.size, _type(array), _op(op)), (array, out), wait)

    # -- copies

    def broadcast(self, array, root, wait=True):
        """array = root's array."""
        return self._run("HcclBroadcast", (_address(array, True), array.size, _type(array), root),
                         (array,), wait)

    def allgather(self, array, out, counts=None, wait=True):
        """out = the arrays of all ranks, one after the other. `counts`: their sizes, if not equal."""
        _same(out.dtype == array.dtype, "out must have the input's type")
        if counts is None:
            _same(out.size == array.size * self.size, "out must be `size` times as large as array")
            return self._run("HcclAllGather", (_address(array), _address(out, True), array.size,
                                               _type(array)), (array, out), wait)
        counts = _counts(counts, self.size)
        _same(sum(counts) == out.size and counts[self.rank] == array.size, "counts do not fit")
        return self._run("HcclAllGatherV",
                         (_address(array), array.size, _address(out, True), _numbers(counts),
                          _numbers(_begins(counts)), _type(array)), (array, out), wait)

    def scatter(self, array, out, root, wait=True):
        """out = the own part of root's array; the others' array may be None."""
        if self.rank == root:
            _same(array.size == out.size * self.size and array.dtype == out.dtype,
                  "array must be `size` times as large as out, of its type")
        source = _address(array) if self.rank == root else None
        return self._run("HcclScatter", (source, _address(out, True), out.size, _type(out), root),
                         (array, out), wait)

    def alltoall(self, array, out, send_counts=None, recv_counts=None, wait=True):
        """Part r of array goes to rank r, part r of out comes from rank r."""
        _same(array.dtype == out.dtype, "out must have the input's type")
        kind = _type(array)
        if send_counts is None and recv_counts is None:
            _same(array.size == out.size and array.size % self.size == 0,
                  "arrays must be equally large, and divisible by the number of ranks")
            part = array.size // self.size
            return self._run("HcclAlltoAll", (_address(array), part, kind, _address(out, True), part,
                                              kind), (array, out), wait)
        sent, received = _counts(send_counts, self.size), _counts(recv_counts, self.size)
        _same(sum(sent) == array.size and sum(received) == out.size, "counts do not fit")
        return self._run("HcclAlltoAllV",
                         (_address(array), _numbers(sent), _numbers(_begins(sent)), kind,
                          _address(out, True), _numbers(received), _numbers(_begins(received)),
                          kind), (array, out), wait)

    def alltoall_matrix(self, array, out, matrix, wait=True):
        """As alltoall: matrix[i][j] elements go from rank i to rank j, the same on all ranks."""
        _same(array.dtype == out.dtype, "out must have the input's type")
        matrix = numpy.ascontiguousarray(matrix, dtype=numpy.uint64)
        _same(matrix.shape == (self.size, self.size), "the matrix needs a row for each rank")
        _same(int(matrix[self.rank].sum()) == array.size and
              int(matrix[:, self.rank].sum()) == out.size, "the matrix does not fit the arrays")
        return self._run("HcclAlltoAllVC", (_address(array), matrix.ctypes.data, _type(array),
                                            _address(out, True), _type(out)), (array, out), wait)

    # -- messages

    def send(self, array, to, wait=True):
        """Sends to rank `to`, which must receive as much."""
        return self._run("HcclSend", (_address(array), array.size, _type(array), to), (array,), wait)

    def recv(self, out, source, wait=True):
        """Receives from rank `source`; messages of a pair come in the order of their sends."""
        return self._run("HcclRecv", (_address(out, True), out.size, _type(out), source), (out,), wait)

    def exchange(self, sends, receives, wait=True):
        """All of [(array, to), ...] and [(out, source), ...] at the same time, without an order."""
        items = [(_SEND, _address(a), a, peer) for a, peer in sends]
        items += [(_RECEIVE, _address(a, True), a, peer) for a, peer in receives]
        table = (_api.SendRecvItem * len(items))(
            *[_api.SendRecvItem(kind, address, array.size, _type(array), peer)
              for kind, address, array, peer in items])
        return self._run("HcclBatchSendRecv", (table, len(items)), (table, items), wait)

    def barrier(self, wait=True):
        """Ends when all ranks have called it."""
        return self._run("HcclBarrier", (), (), wait)
