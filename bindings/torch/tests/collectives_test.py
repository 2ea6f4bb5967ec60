"""Every collective against Gloo's results, or against plain arithmetic where Gloo has no such thing."""
import datetime
import sys
import unittest

import torch
import torch.distributed as dist

import hccl_torch
import support

OPS = dist.ReduceOp
FLOATS = (torch.float16, torch.float32, torch.float64)
# What Gloo reduces; the other types are compared with arithmetic.
GLOO_TYPES = FLOATS + (torch.int8, torch.uint8, torch.int32, torch.int64)
ALL_TYPES = GLOO_TYPES + (torch.bool, torch.bfloat16, torch.int16, torch.complex64, torch.complex128)
SHAPES = ((), (1,), (3, 5), (1031,), (70001,), (0,))
WIDE = ((33, 7), (4099,))


def data(rank, shape, dtype, salt=0):
    """Small whole numbers, so that sums and products are exact in every type."""
    numbers = torch.arange(int(torch.tensor(shape).prod()) if shape else 1, dtype=torch.int64)
    values = (numbers * 7 + rank * 3 + salt) % 4 + 1
    if dtype == torch.bool:
        values = values > 2
    return values.reshape(shape).to(dtype)


def same(got, expected, *context):
    assert got.dtype == expected.dtype and got.shape == expected.shape, (context, got, expected)
    assert torch.equal(got, expected), (context, got, expected)


def arithmetic(parts, op):
    """parts[0] op parts[1] ..., as the documentation of the backend says."""
    result = parts[0].clone()
    for part in parts[1:]:
        if op in (OPS.SUM, OPS.AVG):
            result = (result | part) if result.dtype == torch.bool else result + part
        elif op == OPS.PRODUCT:
            result = (result & part) if result.dtype == torch.bool else result * part
        elif op == OPS.MAX:
            result = torch.maximum(result, part)
        elif op == OPS.MIN:
            result = torch.minimum(result, part)
        elif op == OPS.BAND:
            result = result & part
        elif op == OPS.BOR:
            result = result | part
        else:
            result = result ^ part
    return result / len(parts) if op == OPS.AVG else result


def ops_for(dtype):
    if dtype.is_complex:
        return (OPS.SUM, OPS.AVG)
    plain = (OPS.SUM, OPS.PRODUCT, OPS.MAX, OPS.MIN)
    if dtype.is_floating_point:
        return plain + (OPS.AVG,)
    return plain + (OPS.BAND, OPS.BOR, OPS.BXOR)


def reductions(rank, size):
    for dtype in ALL_TYPES:
        for op in ops_for(dtype):
            for shape in SHAPES if dtype == torch.float32 else WIDE:
                parts = [data(r, shape, dtype) for r in range(size)]
                expected = arithmetic(parts, op)
                mine = parts[rank].clone()
                dist.all_reduce(mine, op=op)
                same(mine, expected, "all_reduce", dtype, op, shape)
                root = size - 1
                mine = parts[rank].clone()
                dist.reduce(mine, root, op=op)
                same(mine, expected if rank == root else parts[rank], "reduce", dtype, op, shape)
                out = torch.empty_like(parts[rank])
                dist.reduce_scatter(out, [data(rank, shape, dtype, salt=r) for r in range(size)], op=op)
                expected = arithmetic([data(r, shape, dtype, salt=rank) for r in range(size)], op)
                same(out, expected, "reduce_scatter", dtype, op, shape)
    support.raises(RuntimeError, lambda: dist.all_reduce(torch.ones(3, dtype=torch.int32), op=OPS.AVG),
                   "AVG")
    support.raises(RuntimeError, lambda: dist.all_reduce(torch.ones(3), op=OPS.BAND), "bitwise")


def against_gloo(rank, size):
    """The same call on both backends: bits must be equal."""
    gloo = dist.new_group(backend="gloo")
    for dtype in GLOO_TYPES:
        for shape in SHAPES[1:5]:
            def twice(call, make):
                results = []
                for group in (None, gloo):
                    tensors = make()
                    call(tensors, group)
                    results.append(tensors[-1])
                for got, expected in zip(*results):
                    same(got, expected, call, dtype, shape)

            mine = data(rank, shape, dtype)
            rooms = lambda: [torch.zeros(shape, dtype=dtype) for _ in range(size)]  # noqa: E731
            for op in (OPS.SUM, OPS.PRODUCT, OPS.MAX, OPS.MIN):
                twice(lambda t, g: dist.all_reduce(t[0][0], op=op, group=g), lambda: [[mine.clone()]])
            twice(lambda t, g: dist.broadcast(t[0][0], 1, group=g), lambda: [[mine.clone()]])
            twice(lambda t, g: dist.all_gather(t[0], mine, group=g), lambda: [rooms()])
            twice(lambda t, g: dist.gather(mine, t[0] if rank == 1 else None, 1, group=g),
                  lambda: [rooms()])
            twice(lambda t, g: dist.scatter(t[0][0], [data(r, shape, dtype) for r in range(size)]
                                            if rank == 1 else None, 1, group=g),
                  lambda: [[torch.zeros(shape, dtype=dtype)]])
            rows = size * 3
            twice(lambda t, g: dist.all_to_all_single(t[0][0], data(rank, (rows, 5), dtype), group=g),
                  lambda: [[torch.zeros(rows, 5, dtype=dtype)]])
            sent = [(rank + r) % 3 for r in range(size)]
            twice(lambda t, g: dist.all_to_all_single(t[0][0], data(rank, (sum(sent), 5), dtype),
                                                      sent, sent, group=g),
                  lambda: [[torch.zeros(sum(sent), 5, dtype=dtype)]])


def moves(rank, size):
    """What Gloo cannot do, or does not do for all types."""
    for dtype in ALL_TYPES:
        for shape in WIDE:
            parts = [data(r, shape, dtype) for r in range(size)]
            flat = torch.zeros(size * parts[0].numel(), dtype=dtype)
            dist.all_gather_into_tensor(flat, parts[rank].flatten())
            same(flat, torch.cat([p.flatten() for p in parts]), "all_gather_into_tensor", dtype)
            out = [torch.zeros(shape, dtype=dtype) for _ in range(size)]
            dist.all_to_all(out, [data(rank, shape, dtype, salt=r) for r in range(size)])
            for r in range(size):
                same(out[r], data(r, shape, dtype, salt=rank), "all_to_all", dtype)
    uneven = [torch.zeros(r + 1) for r in range(size)]
    dist.all_gather(uneven, torch.full((rank + 1,), float(rank)))
    for r in range(size):
        same(uneven[r], torch.full((r + 1,), float(r)), "uneven all_gather")
    out = torch.zeros(rank + 1)
    dist.reduce_scatter(out, [torch.full((r + 1,), float(rank)) for r in range(size)])
    same(out, torch.full((rank + 1,), float(sum(range(size)))), "uneven reduce_scatter")
    out = torch.zeros(5)
    dist.reduce_scatter_tensor(out, torch.arange(5.0 * size))
    same(out, torch.arange(5.0 * rank, 5.0 * rank + 5) * size, "reduce_scatter_tensor")
    lists = [[torch.zeros(2), torch.zeros(3, 3)] for _ in range(size)]
    dist.all_gather_coalesced(lists, [torch.full((2,), float(rank)), torch.full((3, 3), rank + 0.5)])
    for r in range(size):
        same(lists[r][0], torch.full((2,), float(r)), "all_gather_coalesced")
        same(lists[r][1], torch.full((3, 3), r + 0.5), "all_gather_coalesced")
    tensors = [torch.full((4,), float(rank)), torch.full((2, 2), 1.0)]
    dist.all_reduce_coalesced(tensors)
    same(tensors[0], torch.full((4,), float(sum(range(size)))), "all_reduce_coalesced")
    same(tensors[1], torch.full((2, 2), float(size)), "all_reduce_coalesced")


def layouts(rank, size):
    """Tensors with holes, transposed ones, views, leaves that need gradients."""
    grid = torch.arange(48.0).reshape(6, 8)
    for view in (lambda t: t.t(), lambda t: t[:, ::2], lambda t: t[1:3], lambda t: t[::2, 3]):
        whole = grid + rank
        untouched = torch.ones_like(whole, dtype=torch.bool)
        view(untouched).fill_(False)
        dist.all_reduce(view(whole))
        same(view(whole), view(grid * size + sum(range(size))), "a view")
        same(whole[untouched], (grid + rank)[untouched], "around a view")
    leaf = torch.ones(5000, requires_grad=True)
    dist.all_reduce(leaf)
    same(leaf.detach(), torch.full((5000,), float(size)), "leaf")
    support.raises(RuntimeError, lambda: dist.broadcast(torch.eye(3).to_sparse(), 0), "dense")


def sparse(rank, size):
    """Ranks have different numbers of elements, the first none; rows may have dense dimensions."""
    for shape, sparse_dims in (((6, 4), 2), ((6, 4), 1), ((size,), 1)):
        for op in (OPS.SUM, OPS.AVG):
            parts = [torch.zeros(shape) for _ in range(size)]
            for r, part in enumerate(parts):
                part[:r] = r + 0.5
            mine = parts[rank].to_sparse(sparse_dims)
            dist.all_reduce(mine, op=op)
            same(mine.to_dense(), arithmetic(parts, op), "sparse", shape, sparse_dims, op)
    handle = dist.all_reduce(parts[rank].to_sparse(), async_op=True)
    same(handle.get_future().wait()[0].to_dense(), sum(parts), "sparse future")
    support.raises(RuntimeError, lambda: dist.all_reduce(torch.eye(3).to_sparse(), op=OPS.MAX), "summed")


def monitored(rank, size):
    """All pass; then the last comes too late, and rank 0 names it."""
    hccl_torch.monitored_barrier()
    halves = dist.new_group([0, size - 1])
    hccl_torch.monitored_barrier(halves)
    hccl_torch.monitored_barrier(wait_all_ranks=True)
    if rank == size - 1:
        dist.recv(torch.zeros(1), 0)
        dist.barrier()
        return
    limit = datetime.timedelta(milliseconds=200)
    support.raises(RuntimeError, lambda: hccl_torch.monitored_barrier(timeout=limit, wait_all_ranks=True),
                   "monitoredBarrier", f"Rank {size - 1} failed" if rank == 0 else f"Rank {rank} succ")
    if rank == 0:
        dist.send(torch.zeros(1), size - 1)
    dist.barrier()  # who ends earlier gives up the answer that he still waits for, and with it the messages


def objects(rank, size):
    got = [None] * size
    dist.all_gather_object(got, {"rank": rank, "text": "x" * (rank + 1)})
    assert got == [{"rank": r, "text": "x" * (r + 1)} for r in range(size)], got
    box = [("from", rank)]
    dist.broadcast_object_list(box, src=size - 1)
    assert box == [("from", size - 1)], box


def groups(rank, size):
    halves = [dist.new_group([r for r in range(size) if r % 2 == part]) for part in range(2)]
    part = rank % 2
    members = [r for r in range(size) if r % 2 == part]
    one = torch.full((100,), float(rank))
    dist.all_reduce(one, group=halves[part])
    same(one, torch.full((100,), float(sum(members))), "group")
    dist.broadcast(one, members[-1], group=halves[part])
    everybody = dist.new_group()
    dist.all_reduce(one, group=everybody)
    dist.destroy_process_group(halves[part])
    dist.barrier()
    again = dist.new_group(members if part == 0 else [r for r in range(size) if r % 2 == 0])
    if part == 0:
        two = torch.ones(3)
        dist.all_reduce(two, group=again)
        same(two, torch.full((3,), float(len(members))), "group after a group")


def works(rank, size):
    tensors = [torch.full((50000,), float(i)) for i in range(40)]
    handles = [dist.all_reduce(t, async_op=True) for t in tensors]
    for handle in reversed(handles):
        assert handle.wait() is True and handle.is_completed() and handle.is_success()
    for i, tensor in enumerate(tensors):
        same(tensor, torch.full((50000,), float(i * size)), "async")
    handle = dist.all_reduce(tensors[1], async_op=True)
    future = handle.get_future().then(lambda f: f.value()[0] + 1)
    same(future.wait(), torch.full((50000,), float(size * size + 1)), "future")
    same(handle.get_future().wait()[0], tensors[1], "future of an ended work")
    for _ in range(300):  # nobody waits for these
        dist.all_reduce(tensors[2], async_op=True)
    dist.barrier()
    if size > 1:
        if rank == 0:
            handle = dist.all_reduce(torch.ones(1), async_op=True)
            support.raises(RuntimeError, lambda: handle.wait(datetime.timedelta(milliseconds=50)),
                           "time limit")
            assert not handle.is_completed()
            dist.send(torch.ones(1), 1)
            handle.wait()
        elif rank == 1:
            dist.recv(torch.ones(1), 0)
            dist.all_reduce(torch.ones(1))
        else:
            dist.all_reduce(torch.ones(1))


CASES = (reductions, against_gloo, moves, layouts, sparse, objects, groups, works, monitored)


class Collectives(unittest.TestCase):
    pass


def _add(case, size):
    def test(self):  # noqa: ARG001
        support.run(size, case)

    setattr(Collectives, f"test_{case.__name__}_{size}", test)


for _case in CASES:
    for _size in (2, 3, 4):
        _add(_case, _size)

if __name__ == "__main__":
    unittest.main(argv=sys.argv, verbosity=2)
