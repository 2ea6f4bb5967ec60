"""Runs tests, each in a process group of its own with a time limit, several at once."""
import multiprocessing
import os
import signal
import sys
import tempfile
import time
import traceback
import unittest
from dataclasses import dataclass

import loading

FORK = multiprocessing.get_context("fork")
PASS, FAIL, SKIP, TIME = "pass", "fail", "skip", "time limit"


@dataclass
class Outcome:
    test: str
    backend: str
    world_size: int
    kind: str
    text: str  # why it did not pass
    seconds: float


class _Running:
    """A test that runs."""

    def __init__(self, suite, test, backend, world_size, limit):
        self.test, self.backend, self.world_size = test, backend, world_size
        self.began = time.monotonic()
        self.deadline = self.began + limit
        self.output = tempfile.TemporaryFile()
        self.pipe, theirs = FORK.Pipe(duplex=False)
        self.process = FORK.Process(target=_run, args=(suite, test, backend, self.output, theirs))
        self.process.start()
        theirs.close()

    def outcome(self):
        """What came out, or None while it runs."""
        if self.pipe.poll(0):
            try:
                kind, text = self.pipe.recv()
            except EOFError:
                kind, text = FAIL, "the process of the test died"
        elif time.monotonic() > self.deadline:
            kind, text = TIME, "still running"
        else:
            return None
        self._end()
        if kind in (FAIL, TIME):
            self.output.seek(0)
            text += "\n" + self.output.read().decode(errors="replace")[-6000:]
        return Outcome(self.test, self.backend, self.world_size, kind, text,
                       time.monotonic() - self.began)

    def _end(self):
        try:  # the workers, too
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.join()


def _run(suite, test, backend, output, pipe):
    os.setsid()
    for stream in (1, 2):
        os.dup2(output.fileno(), stream)
    try:
        loading.choose(backend)
        result = unittest.TestResult()
        suite(test).run(result)
        troubles = result.errors + result.failures
        if troubles:
            answer = (FAIL, troubles[0][1])
        elif result.skipped:
            answer = (SKIP, result.skipped[0][1])
        else:
            answer = (PASS, "")
    except BaseException:  # noqa: BLE001  whatever it is, it is the outcome
        answer = (FAIL, traceback.format_exc())
    sys.stdout.flush()
    pipe.send(answer)
    pipe.close()


def run(suite, world_size, jobs, limit, at_once):
    """Yields the outcome of each job, a pair (test, backend), as they end."""
    waiting, running = list(reversed(jobs)), []
    while waiting or running:
        while waiting and len(running) < at_once:
            running.append(_Running(suite, *waiting.pop(), world_size, limit))
        multiprocessing.connection.wait([r.pipe for r in running], timeout=1)
        for entry in list(running):
            if (outcome := entry.outcome()) is not None:
                running.remove(entry)
                yield outcome
