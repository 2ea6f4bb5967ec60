"""Contenders of a comparison: how each is built and started, and the line to its ranks."""
import os
import pathlib
import shutil
import socket
import subprocess
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
FLAGS = "-std=c++20 -O3 -march=native -DOMPI_SKIP_MPICXX -DMPICH_SKIP_MPICXX".split()
ROOM = (4 << 30) + 0x155000  # of a bare rank: address space, not memory; odd, lest all ranks share cache ways
YARDSTICKS = ("bare", "memcpy", "stream")
# Open MPI's own advice against the cost of fresh memory: keep it.
KEEP = {"MALLOC_MMAP_THRESHOLD_": str(8 << 30), "MALLOC_TRIM_THRESHOLD_": str(64 << 30), "MALLOC_TOP_PAD_": str(64 << 20)}
OPENMPI = "mpirun.openmpi --allow-run-as-root --oversubscribe --bind-to none".split()

# Name: driver, words before the driver ("" is started rank by rank), environment.
CONTENDERS = {
    "hccl": ("hccl", [], {}),
    "hccl-malloc": ("hccl", [], {"PEER_MEMORY": "malloc"}),
    "hccl-tcp": ("hccl", [], {"HCCL_TRANSPORT": "tcp"}),
    "openmpi": ("openmpi", OPENMPI, {}),
    "openmpi-kept": ("openmpi", OPENMPI, KEEP),
    "openmpi-tcp": ("openmpi", OPENMPI + ["--mca", "btl", "self,tcp", "--mca", "btl_tcp_if_include", "lo"], KEEP),
    "mpich": ("mpich", ["mpirun.mpich"], {}),
    "gloo": ("gloo", [], {}),
    "bare": ("bare", [], {}),
    "memcpy": ("memcpy", [], {}),
    "stream": ("stream", [], {}),
}
SETS = {
    "shm": ["hccl", "hccl-malloc", "openmpi", "openmpi-kept", "mpich", "gloo", "bare", "memcpy"],
    "tcp": ["hccl-tcp", "openmpi-tcp", "gloo", "stream"],
}


def build(folder, prefix):
    """Compiles the drivers that are older than their sources."""
    folder.mkdir(parents=True, exist_ok=True)
    link = [f"-I{HERE.parent.parent}/include", f"-L{prefix}", "-lhccl", "-lascendcl", f"-Wl,-rpath,{prefix}"]
    compilers = {"openmpi": ("mpicxx.openmpi", "mpi.cc", []), "mpich": ("mpicxx.mpich", "mpi.cc", []),
                 "gloo": ("g++", "gloo.cc", ["-lgloo", "-lpthread"]), "hccl": ("g++", "own.cc", link),
                 "bare": ("g++", "bare.cc", []), "memcpy": ("g++", "memcpy.cc", []), "stream": ("g++", "stream.cc", [])}
    newest = max(file.stat().st_mtime for file in HERE.iterdir())
    for name, (compiler, source, libraries) in compilers.items():
        target = folder / name
        if target.exists() and target.stat().st_mtime > newest:
            continue
        sources = [str(HERE / file) for file in ("driver.cc", "control.cc", source)]
        subprocess.run([compiler, *FLAGS, *sources, "-o", str(target), *libraries], check=True)


class Line:
    """One rank's connection: lines of text."""

    def __init__(self, connection, limit):
        connection.settimeout(limit)
        self.file = connection.makefile("rw", newline="\n")

    def send(self, text):
        self.file.write(text + "\n")
        self.file.flush()

    def receive(self):
        line = self.file.readline()
        if not line:
            raise ConnectionError("a rank has ended")
        return line.rstrip("\n")


class Job:
    """The ranks of one contender, all asleep until they are asked."""

    def __init__(self, name, ranks, drivers, limit=300):
        self.name, self.ranks, self.processes = name, ranks, []
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="peers-"))
        driver, before, environment = CONTENDERS[name]
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listener.bind(str(self.folder / "socket"))
        listener.listen(ranks)
        listener.settimeout(60)
        self.shared = os.memfd_create("peers")
        os.ftruncate(self.shared, (1 << 16) + ROOM * ranks)
        common = {**os.environ, **environment, "PEER_RANKS": str(ranks), "PEER_ROOM": str(ROOM),
                  "PEER_STORE": str(self.folder), "PEER_SHARED": f"/proc/{os.getpid()}/fd/{self.shared}",
                  "HCCL_HOST_DEVICES": str(ranks), "ASCEND_PROCESS_LOG_PATH": str(self.folder)}
        command = [str(drivers / driver), str(self.folder / "socket")]
        starts = [(before + ["-n", str(ranks)], {})] if before else [([], {"PEER_RANK": str(r)}) for r in range(ranks)]
        for words, more in starts:
            self.processes.append(subprocess.Popen(words + command, env={**common, **more}, stdin=subprocess.DEVNULL))
        lines, invitation = {}, ""
        for _ in range(ranks):
            line = Line(listener.accept()[0], limit)
            _, rank, *rest = line.receive().split(" ")
            lines[int(rank)] = line
            if int(rank) == 0:
                invitation = rest[0]
        self.lines = [lines[rank] for rank in range(ranks)]
        self.ask(invitation or "-")

    def ask(self, text):
        """Every rank's answer."""
        for line in self.lines:
            line.send(text)
        return [line.receive() for line in self.lines]

    def run(self, op, size, iterations, warmup, sync, pairs):
        """Microseconds per call of the slowest rank."""
        answers = self.ask(f"run {op} {size} {iterations} {warmup} {int(sync)} {pairs}")
        return max(float(answer) for answer in answers)

    def close(self):
        for line in self.lines:
            try:
                line.send("quit")
            except OSError:
                pass
        for process in self.processes:
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        os.close(self.shared)
        shutil.rmtree(self.folder, ignore_errors=True)
