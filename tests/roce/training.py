"""See the script "training", which starts this: training.py ADDRESS PORT_OF_THE_DEVICE"""
import os
import pathlib
import sys
import tempfile
import time

import torch
from torch.nn.parallel import DistributedDataParallel

import ddp
import workers

WORKERS = 2
# Emulated processors and links are slow; so many steps show whether gradients arrive as they were sent.
STEPS = 30
# Each step sends at least the gradients of 17,000 parameters, in packets of 4 KiB or less.
LEAST_PACKETS = STEPS * 17


def packets(port):
    for name in ("hw_counters/sent_pkts", "counters/port_xmit_packets"):
        if (port / name).exists():
            return int((port / name).read_text())
    raise SystemExit(f"{port} has no counter of packets")


def worker(rank, size, path):
    losses = ddp.train(DistributedDataParallel(ddp.network()), rank, size, STEPS)
    torch.distributed.all_reduce(losses)
    if rank == 0:
        torch.save(losses / size, path)


def losses_with(folder, name, **environment):
    """The workers' losses; they are made by fork and read the environment themselves."""
    os.environ.update(environment)
    begin = time.monotonic()
    workers.run(worker, WORKERS, f"{folder}/{name}")
    print(f"{name}: {time.monotonic() - begin:.1f} s", flush=True)
    return torch.load(f"{folder}/{name}")


def main(address, port):
    with tempfile.TemporaryDirectory() as folder:
        shared = losses_with(folder, "shared memory", HCCL_DETERMINISTIC="strict")
        before = packets(port)
        remote = losses_with(folder, "RoCE", HCCL_TRANSPORT="auto", HCCL_INTRA_ROCE_ENABLE="1",
                             HCCL_IF_IP=address)
        sent = packets(port) - before
    alone = ddp.train(ddp.network(), 0, 1, STEPS)
    print(f"losses over RoCE: {remote[0]:.4f} to {remote[-1]:.4f}; {sent} packets through the device")
    assert torch.equal(shared, remote), ("not the losses over shared memory", shared, remote)
    assert (remote - alone).abs().max() < ddp.TOLERANCE, ("not a single process' losses", alone)
    assert remote[-5:].mean() < remote[:5].mean(), "the loss does not fall"
    assert sent > LEAST_PACKETS, "the bytes did not go through the device"


if __name__ == "__main__":
    main(sys.argv[1], pathlib.Path(sys.argv[2]))
