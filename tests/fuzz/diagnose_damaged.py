"""Damages logs and dumps in thousands of ways: hccl_diagnose must answer, whatever it reads.

Usage: diagnose_damaged.py HCCL_DIAGNOSE [CASES [SEED]]
"""
import contextlib
import importlib.machinery
import importlib.util
import io
import json
import pathlib
import random
import sys
import tempfile
import time

LOG = (
    "[ERROR] HCCL(4711,worker):2026-11-30-12:00:00.123.456 [communicator.cc:10] [4712] [Recv][Transport] "
    "EI0013: the link to rank 2 broke (culprit rank 2)\n"
    "[INFO] HCCL(4711,worker):2026-11-30-12:00:01.000.001 [communicator.cc:20] [4712] destroyed\n"
)
DUMP = {"hccl": {"communicator": "c", "rank": 0, "ranks": 4, "pid": 4711, "failure": {"text": "EI0013 lost", "culprit": 2},
                 "operations": [{"op": "AllReduce", "sequence": 7, "count": 16, "state": "waiting", "waitsFor": 2,
                                 "step": "AwaitOpen"}]}}
WORDS = [b"null", b"-1", b"1e999", b"99999999999999999999", b"{}", b"[]", b'""', b"\xff\xfe", b"\x00", b"true", b"[[[[[[",
         b"culprit rank 99999999999999999999", b"\n", b"[ERROR] HCCL("]


def damaged(text, dice):
    data = bytearray(text)
    for _ in range(dice.randint(1, 4)):
        at = dice.randrange(len(data) + 1)
        choice = dice.randrange(4)
        if choice == 0:
            del data[at:at + dice.randint(1, 40)]
        elif choice == 1:
            data[at:at] = dice.choice(WORDS)
        elif choice == 2 and at < len(data):
            data[at] ^= 1 << dice.randrange(8)
        else:
            data[at:at + dice.randint(1, 12)] = dice.choice(WORDS)
    return bytes(data)


def load(path):
    loader = importlib.machinery.SourceFileLoader("hccl_diagnose", path)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("hccl_diagnose", loader))
    sys.dont_write_bytecode = True
    loader.exec_module(module)
    return module


def main():
    tool = load(sys.argv[1])
    cases = int(sys.argv[2]) if len(sys.argv) > 2 else 1500
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    dice = random.Random(seed)
    codes = {}
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        log, dump = folder / "plog-1_1.log", folder / "flight-1.json"
        for case in range(cases):
            log_bytes, dump_bytes = LOG.encode(), json.dumps(DUMP).encode()
            which = dice.randrange(3)
            log_bytes = damaged(log_bytes, dice) if which != 1 else log_bytes
            dump_bytes = damaged(dump_bytes, dice) if which != 0 else dump_bytes
            log.write_bytes(log_bytes)
            dump.write_bytes(dump_bytes)
            quiet = io.StringIO()
            try:
                with contextlib.redirect_stdout(quiet), contextlib.redirect_stderr(quiet):
                    code = tool.main([name] + (["--json"] if case % 2 else []))
            except BaseException:
                print(f"case {case} of seed {seed}:\n{log_bytes!r}\n{dump_bytes!r}")
                raise
            if code not in (0, 1, 2):
                sys.exit(f"case {case} of seed {seed}: answered {code}")
            codes[code] = codes.get(code, 0) + 1
    print(f"{cases} damaged inputs in {time.monotonic() - begin:.1f} s, answers by exit code: {codes}")
    if set(codes) == {0} or 0 not in codes:
        sys.exit("the damage has no or only one effect: the test is of no use")


if __name__ == "__main__":
    main()
