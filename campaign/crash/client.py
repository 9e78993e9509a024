"""Builds the preloaded library, starts servers, and sends them jobs."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

from campaign.crash.events import Call, Mode, calls_of

SOURCE = Path(__file__).with_name("shim.c")
REPOSITORY = Path(__file__).resolve().parents[2]


def build_shim(folder: Path) -> Path:
    """Compile the preloaded library into a folder and return its path."""
    compiler = shutil.which("cc")
    if compiler is None:
        raise SystemExit("there is no C compiler: install gcc and libc6-dev")
    library = folder / "shim.so"
    subprocess.run(
        [compiler, "-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror", "-o", str(library), str(SOURCE), "-ldl"], check=True
    )
    return library


@dataclass(frozen=True)
class Job:
    """One run of a command line.

    Parameters
    ----------
    folder : Path
        The working directory; calls on files below it are counted.
    arguments : Sequence of str
        The command line without ``ptttool``.
    mode, at, error
        What happens at which call; see :class:`campaign.crash.events.Mode`.
    reads : bool
        Whether reads count, too.
    machine : Path or None
        A recorded machine that passes for the running one; its files are not counted except the tune attributes.
    environment : Mapping of str to str
        Variables that are set for the run.
    timeout : float
        Seconds until it is killed.
    """

    folder: Path
    arguments: Sequence[str]
    mode: Mode = Mode.COUNT
    at: int = 0
    error: int = 0
    reads: bool = True
    machine: Path | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    timeout: float = 30.0

    def to_json(self) -> str:
        """Write the job as a line."""
        words = {**vars(self), "folder": str(self.folder), "machine": str(self.machine or ""), "arguments": list(self.arguments)}
        return json.dumps({**words, "environment": dict(self.environment)})


@dataclass(frozen=True)
class Ended:
    """How a run ended.

    Parameters
    ----------
    status : int
        Exit code, or the negative number of the signal.
    out, err : str
        What it printed.
    calls : list of Call
        The counted calls, or the one at which the event happened.
    late : bool
        Whether it, or a process that it left behind, had to be killed.
    """

    status: int
    out: str
    err: str
    calls: list[Call]
    late: bool


class Server:
    """A process that runs jobs, one at a time."""

    def __init__(self, library: Path) -> None:
        environment = {
            **os.environ,
            "LD_PRELOAD": str(library),
            "PYTHONPATH": str(REPOSITORY),
            "OPENBLAS_NUM_THREADS": "1",
            "POLARS_MAX_THREADS": "1",
        }
        for name in ("COLUMNS", "LINES", "FORCE_COLOR"):
            environment.pop(name, None)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "campaign.crash.server"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, text=True,
            cwd=REPOSITORY,
        )  # fmt: skip

    def run(self, job: Job) -> Ended:
        """Run a job and wait for its end."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(job.to_json() + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            raise RuntimeError(f"the server ended with {self._process.wait()}")
        found = json.loads(answer)
        return Ended(found["status"], found["out"], found["err"], calls_of(found["log"]), found["late"])

    def __enter__(self) -> Self:
        """Return the server itself."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """End the process."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()


class Servers:
    """One server for each thread that asks."""

    def __init__(self, library: Path) -> None:
        self._library = library
        self._local = threading.local()
        self._lock = threading.Lock()
        self._all: list[Server] = []

    def mine(self) -> Server:
        """Return this thread's server."""
        if not hasattr(self._local, "server"):
            self._local.server = Server(self._library)
            with self._lock:
                self._all.append(self._local.server)
        server: Server = self._local.server
        return server

    def close(self) -> None:
        """End all servers."""
        for server in self._all:
            server.__exit__(None, None, None)
