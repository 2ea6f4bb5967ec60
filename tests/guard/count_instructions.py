"""Counts the instructions of small calls with callgrind and compares them with the ceilings below.

Usage: count_instructions.py SMALL_CALLS
"""
import os
import re
import subprocess
import sys
import tempfile

CALLS = 500
# Instructions a call, of a release build by GCC 12; a quarter above what was measured when they were set. Whoever makes
# the way longer for a good reason raises them, and says why.
CEILINGS = {"enqueue": 3500, "whole": 12000}
COUNTED = {"enqueue": "countedEnqueue", "whole": "countedWhole"}


def count(program, what):
    with tempfile.TemporaryDirectory() as folder:
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/out", f"--toggle-collect={COUNTED[what]}",
                   program, what, str(CALLS)]
        environment = {**os.environ, "HCCL_TRANSPORT": "shm", "HCCL_HOST_DEVICES": "2", "ASCEND_PROCESS_LOG_PATH": folder}
        run = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
        if run.returncode != 0:
            sys.exit(f"{' '.join(command)} ended with {run.returncode}:\n{run.stdout}{run.stderr}")
        return int(re.search(r"Collected : (\d+)", run.stderr).group(1)) / CALLS


def main():
    failed = False
    for what, ceiling in CEILINGS.items():
        # A progress thread may have looked in between: the least of three counts.
        found = min(count(sys.argv[1], what) for _ in range(3))
        failed |= found > ceiling
        print(f"{what}: {found:.0f} instructions a call, ceiling {ceiling}{' EXCEEDED' if found > ceiling else ''}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
