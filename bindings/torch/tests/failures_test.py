"""Errors reach Python with the library's text and the rank at fault; nobody hangs."""
import os
import signal
import sys
import time
import unittest

import torch
import torch.distributed as dist

import hccl_torch
import support


def epoch(rank, size, call, victim):
    """Steps without an end; the victim kills itself in the middle. Returns what the others see."""
    model = torch.nn.Linear(200, 200)
    step = 0
    while True:
        step += 1
        if rank == victim and step == 5:
            os.write(NEWS[1], b"x")
            os.kill(os.getpid(), signal.SIGKILL)
        loss = model(torch.ones(8, 200)).sum()
        model.zero_grad()
        loss.backward()
        try:
            call(rank, size, model)
        except hccl_torch.HcclError as error:
            return time.monotonic(), error.culprit, str(error)


def reduce_gradients(rank, size, model):
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad)


def pass_on(rank, size, model):
    send = dist.isend(model.weight.grad, (rank + 1) % size)
    dist.recv(model.weight.grad.clone(), (rank - 1) % size)
    send.wait()


def wait_for_future(rank, size, model):
    dist.all_reduce(model.weight.grad, async_op=True).get_future().wait()


NEWS = os.pipe()


def one_wrong(rank, size):
    """Different calls: the text names the operation and both values."""
    if rank == 0:
        call = lambda: dist.all_reduce(torch.ones(10))  # noqa: E731
    else:
        call = lambda: dist.all_reduce(torch.ones(11))  # noqa: E731
    error = support.raises(hccl_torch.HcclError, call, "EI0005", "count")
    support.raises(hccl_torch.HcclError, lambda: dist.all_reduce(torch.ones(1)))
    return error.culprit


def refused(rank, size):
    support.raises(RuntimeError, lambda: dist.all_reduce(torch.quantize_per_tensor(
        torch.ones(3), 1.0, 0, torch.quint8)), "reduced")
    support.raises(RuntimeError, lambda: dist.broadcast(torch.ones(3, device="meta"), 0), "CPU")
    support.raises(RuntimeError, lambda: dist.all_gather([torch.ones(3)], torch.ones(3)), "each")
    error = support.raises(Exception, lambda: dist.all_to_all_single(torch.ones(size + 1),
                                                                     torch.ones(size)), "rows")
    one = torch.ones(1)
    dist.all_reduce(one)  # the group is as good as before
    assert one.item() == size, error


class Failures(unittest.TestCase):
    def killed(self, call, slowest=1.0):
        workers = support.start(4, epoch, call, 2)
        os.read(NEWS[0], 1)
        killed_at = time.monotonic()
        seen = [r for r in support.collect(workers, dead={2}) if r is not None]
        self.assertEqual(len(seen), 3)
        for at, culprit, text in seen:
            self.assertEqual(culprit, 2, text)
            self.assertRegex(text, r"EI\d{4}")
            # The bound is the product's promise; a loaded machine gets PATIENCE instead.
            self.assertLess(at - killed_at, slowest)

    def test_killed_in_all_reduce(self):
        for _ in range(5):
            self.killed(reduce_gradients, BOUND)

    def test_killed_in_messages(self):
        self.killed(pass_on, support.PATIENCE)

    def test_killed_before_a_future(self):
        self.killed(wait_for_future, BOUND)

    def test_one_wrong_call(self):
        support.run(2, one_wrong)

    def test_refused(self):
        support.run(3, refused)


# Seconds from the death of a worker to the last exception.
BOUND = float(os.environ.get("HCCL_TEST_KILL_SECONDS", "1"))

if __name__ == "__main__":
    unittest.main(argv=sys.argv, verbosity=2)
