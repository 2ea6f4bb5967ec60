"""hccl4py: every operation against NumPy, in processes; errors; many requests."""
import multiprocessing
import os
import signal
import sys
import time
import traceback
import unittest

import numpy as np

import hccl4py

FORK = multiprocessing.get_context("fork")
PATIENCE = 120
TYPES = ("int8", "int16", "int32", "int64", "uint64", "float16", "float32", "float64")


def worker(pipe, function, rank, size):
    try:
        hccl4py.set_device(rank)
        if rank == 0:
            info = hccl4py.root_info()
            for _ in range(size - 1):
                pipe.send(info)
        else:
            info = pipe.recv()
        with hccl4py.Communicator(info, size, rank) as comm:
            pipe.send((True, function(comm)))
            if function in HASTY:
                os._exit(0)
    except BaseException:  # noqa: BLE001  whatever it is, the parent shall show it
        pipe.send((False, traceback.format_exc()))


def answer(pipe):
    if not pipe.poll(PATIENCE):
        raise AssertionError("a worker gave no answer")
    return pipe.recv()


def run(size, function, victim=None):
    """Runs function(comm) in `size` processes; returns their results, None for the victim."""
    os.environ["HCCL_HOST_DEVICES"] = str(size)
    pipes, workers = [], []
    try:
        for rank in range(size):
            mine, theirs = FORK.Pipe()
            pipes.append(mine)
            workers.append(FORK.Process(target=worker, args=(theirs, function, rank, size)))
            workers[-1].start()
            theirs.close()
        for rank in range(1, size):
            pipes[rank].send(answer(pipes[0]))
        results = []
        for rank in range(size):
            fine, result = (True, None) if rank == victim else answer(pipes[rank])
            if not fine:
                raise AssertionError(f"rank {rank}:\n{result}")
            results.append(result)
        return results
    finally:
        for process in workers:
            process.join(PATIENCE)
            process.kill()


def part(rank, count, dtype, salt=0):
    return ((np.arange(count) * 5 + rank * 3 + salt) % 4 + 1).astype(dtype)


def collectives(comm):
    size, rank = comm.size, comm.rank
    for make in (lambda a: a.copy(), in_device_memory):
        for dtype in TYPES:
            for count in (1, 1031):
                parts = [part(r, count, dtype) for r in range(size)]
                for op, combine in (("sum", np.add), ("max", np.maximum), ("min", np.minimum)):
                    whole = combine.reduce(parts).astype(dtype)
                    mine = make(parts[rank])
                    comm.allreduce(mine, op)
                    np.testing.assert_array_equal(mine, whole)
                    out = make(np.zeros_like(mine))
                    comm.reduce(make(parts[rank]), 1, op, out)
                    if rank == 1:
                        np.testing.assert_array_equal(out, whole)
                out = make(np.zeros(count, dtype))
                comm.reduce_scatter(make(np.concatenate([part(rank, count, dtype, r)
                                                         for r in range(size)])), out)
                np.testing.assert_array_equal(out, sum(part(r, count, dtype, rank)
                                                       for r in range(size)).astype(dtype))
                out = make(np.zeros(count * size, dtype))
                comm.allgather(make(parts[rank]), out)
                np.testing.assert_array_equal(out, np.concatenate(parts))
                mine = make(parts[rank])
                comm.broadcast(mine, size - 1)
                np.testing.assert_array_equal(mine, parts[size - 1])
                out = make(np.zeros(count, dtype))
                comm.scatter(make(np.concatenate(parts)) if rank == 1 else None, out, 1)
                np.testing.assert_array_equal(out, parts[rank])
                out = make(np.zeros(count * size, dtype))
                comm.alltoall(make(np.concatenate([part(rank, count, dtype, r)
                                                   for r in range(size)])), out)
                np.testing.assert_array_equal(out, np.concatenate(
                    [part(r, count, dtype, rank) for r in range(size)]))
    comm.barrier()


def in_device_memory(array):
    copy = hccl4py.empty(array.shape, array.dtype)
    copy[...] = array
    return copy


def uneven(comm):
    size, rank = comm.size, comm.rank
    counts = [r + 1 for r in range(size)]
    out = np.zeros(sum(counts))
    comm.allgather(np.full(rank + 1, float(rank)), out, counts)
    np.testing.assert_array_equal(out, np.repeat(np.arange(float(size)), counts))
    out = np.zeros(rank + 1)
    comm.reduce_scatter(np.arange(float(sum(counts))), out, counts=counts)
    begin = sum(counts[:rank])
    np.testing.assert_array_equal(out, size * np.arange(float(begin), begin + rank + 1))
    matrix = np.array([[(i + 2 * j) % 3 for j in range(size)] for i in range(size)])
    sent = np.repeat(np.arange(size) + 10 * rank, matrix[rank])
    expected = np.repeat(rank + 10 * np.arange(size), matrix[:, rank])
    out = np.zeros_like(expected)
    comm.alltoall(sent, out, matrix[rank], matrix[:, rank])
    np.testing.assert_array_equal(out, expected)
    out = np.zeros_like(expected)
    comm.alltoall_matrix(sent, out, matrix)
    np.testing.assert_array_equal(out, expected)


def messages(comm):
    size, rank = comm.size, comm.rank
    following, previous = (rank + 1) % size, (rank - 1) % size
    token = np.zeros(3, "int32")
    if rank == 0:
        comm.send(np.array([1, 2, 3], "int32"), following)
        comm.recv(token, previous)
    else:
        comm.recv(token, previous)
        comm.send(token, following)
    np.testing.assert_array_equal(token, [1, 2, 3])
    out = np.zeros(200000)
    comm.exchange([(np.full(200000, float(rank)), following)], [(out, previous)])
    np.testing.assert_array_equal(out, np.full(200000, float(previous)))


def parts_of_communicators(comm):
    evens = list(range(0, comm.size, 2))
    half = comm.split(evens, 7)
    if comm.rank in evens:
        one = np.ones(5)
        half.allreduce(one)
        np.testing.assert_array_equal(one, np.full(5, float(len(evens))))
        half.close()
    else:
        assert half is None


def requests(comm):
    arrays = [np.full(20000, float(i)) for i in range(30)]
    begun = [comm.allreduce(array, wait=False) for array in arrays]
    for request in reversed(begun):
        request.wait()
        assert request.done()
    for i, array in enumerate(arrays):
        np.testing.assert_array_equal(array, np.full(20000, float(i * comm.size)))
    if comm.rank == 0:
        late = comm.allreduce(np.ones(3), wait=False)
        try:
            late.wait(0.05)
            raise AssertionError("the others have not come yet")
        except TimeoutError:
            pass
        comm.send(np.ones(1), 1)
        late.wait()
    elif comm.rank == 1:
        comm.recv(np.zeros(1), 0)
        comm.allreduce(np.ones(3))
    else:
        comm.allreduce(np.ones(3))


def mistakes(comm):
    def error_of(call):
        try:
            call()
        except Exception as error:  # noqa: BLE001  which one it is, is asserted below
            return error
        raise AssertionError("no error")

    assert isinstance(error_of(lambda: comm.allreduce(np.ones(3, complex))), TypeError)
    assert isinstance(error_of(lambda: comm.allreduce(np.ones((4, 4))[:, 0])), ValueError)
    assert isinstance(error_of(lambda: comm.allreduce(np.ones(3), "xor")), ValueError)
    assert isinstance(error_of(lambda: comm.allgather(np.ones(3), np.ones(4))), ValueError)
    error = error_of(lambda: comm.broadcast(np.ones(3), comm.size))
    assert isinstance(error, hccl4py.HcclError) and error.code == 1 and error.ei == "EI0003", error
    comm.allreduce(np.ones(3))


def until_error(comm):
    if comm.rank == 2:
        comm.allreduce(np.ones(10))
        os.kill(os.getpid(), signal.SIGKILL)
    comm.allreduce(np.ones(10))
    begin = time.monotonic()
    try:
        while True:
            comm.allreduce(np.ones(100000))
    except hccl4py.HcclError as error:
        return error.culprit, error.ei, time.monotonic() - begin


def broadcasts_until_error(comm):
    """Ranks 1 and 3 have no link to rank 2: they hear of its end from rank 0, which ends, too."""
    if comm.rank == 2:
        for _ in range(100):
            comm.broadcast(np.ones(4), 0)
        os.kill(os.getpid(), signal.SIGKILL)
    try:
        while True:
            comm.broadcast(np.ones(4), 0)
    except hccl4py.HcclError as error:
        return error.culprit


HASTY = (broadcasts_until_error,)
CASES = (collectives, uneven, messages, parts_of_communicators, requests, mistakes)


class Hccl4py(unittest.TestCase):
    def test_a_killed_rank_is_named(self):
        for culprit, ei, _ in [r for r in run(4, until_error, victim=2) if r is not None]:
            self.assertEqual(culprit, 2)
            self.assertIsNotNone(ei)

    def test_a_killed_rank_is_named_by_who_hears_of_it(self):
        for _ in range(3):
            culprits = run(4, broadcasts_until_error, victim=2)
            self.assertEqual(culprits, [2, 2, None, 2])


def _add(case, size):
    def test(self):  # noqa: ARG001
        run(size, case)

    setattr(Hccl4py, f"test_{case.__name__}_{size}", test)


for _case in CASES:
    for _size in (2, 3):
        _add(_case, _size)

if __name__ == "__main__":
    unittest.main(argv=sys.argv, verbosity=2)
