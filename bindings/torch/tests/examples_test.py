"""The training examples run, and training is bit-equal from run to run where that is asked for."""
import os
import pathlib
import subprocess
import sys
import unittest

import support

FOLDER = pathlib.Path(__file__).absolute().parents[3] / "examples" / "training"


def run(name, workers, **environment):
    done = subprocess.run([sys.executable, "-W", "ignore", str(FOLDER / name), "--workers", str(workers)],
                          env=dict(os.environ, **environment), capture_output=True, text=True,
                          timeout=support.PATIENCE)
    if done.returncode != 0:
        raise AssertionError(f"{name} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


class Examples(unittest.TestCase):
    def test_ddp_bits(self):
        lines = {run("ddp.py", 4, HCCL_DETERMINISTIC="strict") for _ in range(2)}
        self.assertEqual(len(lines), 1, lines)

    def test_ddp_two_workers(self):
        run("ddp.py", 2)

    def test_sharded(self):
        run("sharded.py", 3)

    def test_experts(self):
        run("experts.py", 3)


if __name__ == "__main__":
    unittest.main(argv=sys.argv, verbosity=2)
