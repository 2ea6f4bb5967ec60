"""Messages: tags, order, sizes, any source."""
import sys
import unittest

import torch
import torch.distributed as dist

import support

SIZES = (0, 1, 500, 1014, 1015, 5000, 300001)  # around the longest that travels in its envelope
BIG = 16 << 20  # elements of 64 MiB


def pattern(rank, tag, count):
    return torch.arange(count, dtype=torch.float32).remainder_(97).add_(rank * 1000 + tag)


def sizes(rank, size):
    for count in SIZES:
        for sender in range(size):
            if rank == sender:
                for other in range(size):
                    if other != rank:
                        dist.send(pattern(rank, 3, count), other, tag=3)
            else:
                got = torch.zeros(count)
                dist.recv(got, sender, tag=3)
                assert torch.equal(got, pattern(sender, 3, count)), (sender, count)


def crossing(rank, size):
    """Both sides post two sends and, in the other order of tags, two receives; waits in any order."""
    other = 1 - rank
    for count in (10, BIG):
        sends = [dist.isend(pattern(rank, tag, count), other, tag=tag) for tag in (1, 2)]
        rooms = {tag: torch.zeros(count) for tag in (2, 1)}
        receives = [dist.irecv(room, other, tag=tag) for tag, room in rooms.items()]
        for work in sends + receives if rank == 0 else receives + sends:
            work.wait()
        for tag, room in rooms.items():
            assert torch.equal(room, pattern(other, tag, count)), tag


def early(rank, size):
    """Messages that nobody has asked for yet are kept, in their order."""
    if rank == 0:
        works = [dist.isend(pattern(i, tag, 2000), 1, tag=tag) for i in range(4) for tag in (5, 6, 7)]
        for work in works:
            work.wait()
    else:
        for tag in (7, 5, 6):
            for i in range(4):
                got = torch.zeros(2000)
                dist.recv(got, 0, tag=tag)
                assert torch.equal(got, pattern(i, tag, 2000)), (i, tag)


def progress_without_help(rank, size):
    """A receive goes on while its owner waits for something else, or for nothing."""
    if rank == 0:
        room = torch.zeros(100000)
        work = dist.irecv(room, 1, tag=9)
        dist.barrier()  # rank 1 comes only after its send has ended
        work.wait()
        assert torch.equal(room, pattern(1, 9, 100000))
        assert torch.equal(work.get_future().wait()[0], room)
    else:
        work = dist.isend(pattern(1, 9, 100000), 0, tag=9)
        work.get_future().wait()
        dist.barrier()


def posted_first(rank, size):
    """A receive is posted at once, though its sender thinks of messages only after a barrier."""
    room = torch.zeros(7)
    if rank == 0:
        work = dist.irecv(room, 1)
        dist.barrier()
        work.wait()
        assert torch.equal(room, pattern(1, 0, 7))
    else:
        dist.barrier()
        dist.send(pattern(1, 0, 7), 0)


def any_source(rank, size):
    if rank == 0:
        got = {}
        for _ in range(2 * (size - 1)):
            room = torch.zeros(3000)
            source = dist.recv(room, tag=4)
            got.setdefault(source, []).append(room)
        assert sorted(got) == list(range(1, size)), got.keys()
        for source, rooms in got.items():
            for i, room in enumerate(rooms):
                assert torch.equal(room, pattern(source, i, 3000)), (source, i)
    else:
        for i in range(2):
            dist.send(pattern(rank, i, 3000), 0, tag=4)
    dist.barrier()


def odd_tensors(rank, size):
    grid = torch.zeros(6, 8)
    if rank == 0:
        dist.send(torch.arange(48.0).reshape(8, 6).t(), 1)
        dist.send(torch.tensor([True, False, True]), 1)
        dist.send(torch.tensor([1 + 2j]), 1)
    else:
        dist.recv(grid[:, :], 0)
        assert torch.equal(grid, torch.arange(48.0).reshape(8, 6).t())
        flags = torch.zeros(3, dtype=torch.bool)
        dist.recv(flags, 0)
        assert flags.tolist() == [True, False, True]
        number = torch.zeros(1, dtype=torch.complex64)
        dist.recv(number, 0)
        assert number.item() == 1 + 2j


def batch(rank, size):
    following, previous = (rank + 1) % size, (rank - 1) % size
    room = torch.zeros(50000)
    works = dist.batch_isend_irecv([
        dist.P2POp(dist.isend, pattern(rank, 0, 50000), following),
        dist.P2POp(dist.irecv, room, previous)])
    for work in works:
        work.wait()
    assert torch.equal(room, pattern(previous, 0, 50000))


def mistakes(rank, size):
    if rank == 0:
        dist.send(torch.zeros(10), 1, tag=1)
        dist.send(torch.zeros(5000), 1, tag=2)
        dist.send(torch.ones(4), 1, tag=3)
    else:
        for tag in (1, 2):
            support.raises(RuntimeError, lambda: dist.recv(torch.zeros(11), 0, tag=tag), "44 bytes",
                           f"tag {tag}")
        room = torch.zeros(4)
        dist.recv(room, 0, tag=3)  # a wrong size does not disturb what follows
        assert torch.equal(room, torch.ones(4))
    support.raises(Exception, lambda: dist.send(torch.ones(1), rank), "itself")


CASES = {sizes: 3, crossing: 2, early: 2, progress_without_help: 2, posted_first: 2, any_source: 3,
         odd_tensors: 2, batch: 4, mistakes: 2}


class PointToPoint(unittest.TestCase):
    pass


def _add(case, size):
    def test(self):  # noqa: ARG001
        support.run(size, case)

    setattr(PointToPoint, f"test_{case.__name__}", test)


for _case, _size in CASES.items():
    _add(_case, _size)

if __name__ == "__main__":
    unittest.main(argv=sys.argv, verbosity=2)
