"""PyTorch's own tests of a backend, for gloo and for hccl on this machine.

Fails when a test that passes under gloo does not pass under hccl, unless docs/frameworks.md lists it as
an exception; and when an exception passes, or is no test that passes under gloo.

    python3 pytorch_suite_test.py [--world-sizes 2 3 4] [--tests PART_OF_A_NAME ...] [--show]
"""
import argparse
import collections
import multiprocessing
import os
import pathlib
import re
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent / "pytorch_suite"))
import loading  # noqa: E402
import running  # noqa: E402

BACKENDS = ("gloo", "hccl")
DOCUMENT = pathlib.Path(__file__).absolute().parents[3] / "docs" / "frameworks.md"
EXCEPTION = re.compile(r"^\| `(test_\w+)` \|", re.MULTILINE)
# Seconds for one test: a machine with other work may need most of them.
LIMIT = float(os.environ.get("HCCL_TEST_PATIENCE", "120"))
# Of the tests with 2 and 3 workers, one in so many runs by default; with 4 workers all do.
SHARE = 4
# Fewer passes than this under gloo mean that the suite did not run.
LEAST_PASSES = 100


def documented_exceptions():
    return set(EXCEPTION.findall(DOCUMENT.read_text()))


def everything_is_wanted():
    return os.environ.get("HCCL_TEST_FULL", "0") not in ("", "0")


def chosen(names, world_size, parts):
    if parts:
        return [name for name in names if any(part in name for part in parts)]
    if world_size == 4 or everything_is_wanted():
        return names
    return [name for i, name in enumerate(names) if i % SHARE == world_size % SHARE]


def outcomes_of(world_size, parts, show, queue):
    """In a process of its own, as PyTorch's module reads the world size when it is imported."""
    suite = loading.load(world_size)
    names = chosen(unittest.TestLoader().getTestCaseNames(suite), world_size, parts)
    jobs = [(name, backend) for name in names for backend in BACKENDS]
    at_once = len(os.sched_getaffinity(0)) + 1
    for outcome in running.run(suite, world_size, jobs, LIMIT, at_once):
        if show:
            print(f"{outcome.world_size} {outcome.backend} {outcome.test}: {outcome.kind},"
                  f" {outcome.seconds:.1f} s", flush=True)
        queue.send(outcome)
    queue.send(None)


def collect(world_sizes, parts, show):
    outcomes = []
    for world_size in world_sizes:
        ours, theirs = multiprocessing.Pipe(duplex=False)
        process = multiprocessing.get_context("fork").Process(
            target=outcomes_of, args=(world_size, parts, show, theirs))
        process.start()
        theirs.close()
        while (outcome := ours.recv()) is not None:
            outcomes.append(outcome)
        process.join()
    return outcomes


def table(outcomes):
    """Markdown: what came out for each world size and backend."""
    counts = collections.Counter((o.world_size, o.backend, o.kind) for o in outcomes)
    kinds = (running.PASS, running.FAIL, running.TIME, running.SKIP)
    lines = ["| workers | backend | " + " | ".join(kinds) + " |", "|---" * (2 + len(kinds)) + "|"]
    for size in sorted({o.world_size for o in outcomes}):
        for backend in BACKENDS:
            numbers = " | ".join(str(counts[size, backend, kind]) for kind in kinds)
            lines.append(f"| {size} | {backend} | {numbers} |")
    return "\n".join(lines)


def judge(outcomes, exceptions, complete):
    """The complaints, as texts."""
    kinds = {(o.test, o.world_size, o.backend): o for o in outcomes}
    complaints, failing, passing = [], set(), set()
    for (test, size, backend), ours in sorted(kinds.items()):
        if backend != "hccl" or kinds[test, size, "gloo"].kind != running.PASS:
            continue
        (passing if ours.kind == running.PASS else failing).add(test)
        if ours.kind != running.PASS and test not in exceptions:
            complaints.append(f"{test}, {size} workers: passes under gloo, under hccl: {ours.kind}\n"
                              f"{ours.text}")
    complaints += [f"{test} is an exception and passes" for test in
                   sorted((exceptions & passing) - failing)]
    if complete:
        complaints += [f"{test} is an exception, but does not run"
                       for test in sorted(exceptions - passing - failing)]
        if len(passing) < LEAST_PASSES:
            complaints.append(f"only {len(passing)} tests pass under both backends")
    return complaints


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--world-sizes", type=int, nargs="+", default=[2, 3, 4])
    parser.add_argument("--tests", nargs="+", default=[])
    parser.add_argument("--show", action="store_true", help="each outcome as it comes")
    options = parser.parse_args()
    sys.argv = sys.argv[:1]
    outcomes = collect(options.world_sizes, options.tests, options.show)
    print(table(outcomes))
    complaints = judge(outcomes, documented_exceptions(),
                       complete=4 in options.world_sizes and not options.tests)
    for complaint in complaints:
        print(complaint)
    return 1 if complaints else 0


if __name__ == "__main__":
    raise SystemExit(main())
