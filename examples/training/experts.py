"""Expert parallelism: every worker has one expert; tokens travel to their expert and back.

    python3 experts.py --workers 4

A router chooses an expert for each token, so the numbers of tokens between workers differ: first the
counts are exchanged, then the tokens (all_to_all_single with splits, HcclAlltoAllV underneath).
"""
import argparse

import torch
import torch.distributed as dist

import workers

TOKENS, WIDTH = 300, 32


class Exchange(torch.autograd.Function):
    """Rows of `tokens` to other workers; gradients take the way back."""

    @staticmethod
    def forward(ctx, tokens, sent, received):
        ctx.sent, ctx.received = sent, received
        out = tokens.new_empty(sum(received), tokens.shape[1])
        dist.all_to_all_single(out, tokens.contiguous(), received, sent)
        return out

    @staticmethod
    def backward(ctx, gradient):
        back = gradient.new_empty(sum(ctx.sent), gradient.shape[1])
        dist.all_to_all_single(back, gradient.contiguous(), ctx.sent, ctx.received)
        return back, None, None


def expert(number):
    torch.manual_seed(100 + number)
    return torch.nn.Linear(WIDTH, WIDTH)


def tokens_of(rank):
    return torch.randn(TOKENS, WIDTH, generator=torch.Generator().manual_seed(rank))


def main(rank, size):
    mine = expert(rank)
    tokens = tokens_of(rank).requires_grad_()
    choice = (tokens.detach().sum(1) * 100).long().abs() % size
    order = choice.argsort(stable=True)
    sent = torch.bincount(choice, minlength=size)
    received = torch.empty_like(sent)
    dist.all_to_all_single(received, sent)
    arrived = Exchange.apply(tokens[order], sent.tolist(), received.tolist())
    returned = Exchange.apply(mine(arrived), received.tolist(), sent.tolist())
    result = torch.zeros_like(returned).index_copy(0, order, returned)
    result.square().sum().backward()

    again = tokens_of(rank).requires_grad_()
    experts = [expert(number) for number in range(size)]
    local = torch.stack([experts[e](token) for e, token in zip(choice.tolist(), again)])
    local.square().sum().backward()
    assert torch.allclose(result, local, atol=1e-4), "results"
    assert torch.allclose(tokens.grad, again.grad, atol=1e-4), "gradients of tokens"
    # All tokens that an expert saw count for its gradient, whosever they were.
    for number, here in enumerate(experts):
        dist.all_reduce(here.weight.grad)
        if number == rank:
            assert torch.allclose(mine.weight.grad, here.weight.grad, atol=1e-2), "expert"
    if rank == 0:
        print(f"{size} experts: {sent.tolist()} tokens left worker 0; results and gradients are those "
              "of one process")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, default=2)
    workers.run(main, parser.parse_args().workers)
