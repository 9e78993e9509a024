"""Kill a worker while it sends its answer, with several pools: ``python -m bench.pools [POOL...]``.

Each pool runs in its own process with two tasks: a short one, and one with an answer of 400 MiB. The worker of the second task is killed
when 8 MiB of its answer have arrived. The result of the short task is waited for first, as in a pipeline that keeps results in order. A
pool passes if both calls end soon, with a result or an error. ``loky`` and ``pebble`` are tried if they are installed. The results are in
docs/decisions/0002-worker-pool.md.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

LARGE, RECEIVED = 400 << 20, 8 << 20
# Seconds after which a call counts as hung.
HUNG = 20.0
Submit = Callable[..., Any]


class Timed:
    """A promise of the project's own pool, with a timeout: a thread waits for it."""

    def __init__(self, promise: Any) -> None:
        self._promise = promise
        self._ended: list[Any] = []

    def result(self, timeout: float | None = None) -> Any:
        """Return the result, or raise its error, or TimeoutError."""
        thread = threading.Thread(target=self._wait, daemon=True)
        thread.start()
        thread.join(timeout)
        if not self._ended:
            raise TimeoutError
        if isinstance(self._ended[0], Exception):
            raise self._ended[0]
        return self._ended[0]

    def _wait(self) -> None:
        try:
            self._ended.append(self._promise.result())
        except Exception as error:
            self._ended.append(error)


def own() -> Submit:
    """Return submit() of the project's own pool."""
    from ptttool.pipeline.workers.pool import Pool

    pool = Pool(2)
    return lambda function, *arguments: Timed(pool.submit(function, *arguments))


def futures() -> Submit:
    """Return submit() of the standard library's pool."""
    from concurrent.futures import ProcessPoolExecutor

    return ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")).submit


def loky() -> Submit:
    """Return submit() of loky's reusable pool."""
    from loky import get_reusable_executor

    submit: Submit = get_reusable_executor(2).submit
    return submit


def pebble() -> Submit:
    """Return submit() of pebble's pool."""
    from pebble import ProcessPool

    pool = ProcessPool(2, context=multiprocessing.get_context("spawn"))
    return lambda function, *arguments: pool.schedule(function, args=arguments)


POOLS: dict[str, Callable[[], Submit]] = {"own": own, "futures": futures, "loky": loky, "pebble": pebble}


def short() -> str:
    """Take two seconds."""
    time.sleep(2)
    return "done"


def large(path: str) -> bytes:
    """Write the number of this process to a file and return a large answer."""
    Path(path).write_text(str(os.getpid()))
    return bytes(LARGE)


def received() -> int:
    """Return the bytes that this process has read."""
    return int(Path("/proc/self/io").read_text().split()[1])


def kill_in_the_middle(path: str) -> None:
    """Kill the process that the file names once the start of its answer has arrived."""
    start = received()
    while received() < start + RECEIVED:
        time.sleep(0.0005)
    os.kill(int(Path(path).read_text()), signal.SIGKILL)


def try_one(name: str) -> None:
    """Print how long the calls took with one pool, and how they ended."""
    started = time.monotonic()
    submit = POOLS[name]()
    submit(os.getpid).result()
    sys.stdout.write(f"{name}: first result after {time.monotonic() - started:.2f} s")
    path = tempfile.mktemp()
    threading.Thread(target=kill_in_the_middle, args=(path,), daemon=True).start()
    calls = {"short": submit(short), "killed": submit(large, path)}
    for call, future in calls.items():
        started = time.monotonic()
        try:
            ended = repr(future.result(timeout=HUNG))[:20]
        except Exception as error:
            ended = "HUNG" if isinstance(error, TimeoutError) else type(error).__name__
        sys.stdout.write(f"; {call}: {ended} after {time.monotonic() - started:.2f} s")
    sys.stdout.write("\n")
    sys.stdout.flush()
    os.killpg(0, signal.SIGKILL)  # a pool that hangs does not close either, and its processes would keep standard error open


def main(names: Sequence[str]) -> int:
    """Try the pools, each in its own process."""
    for name in names or POOLS:
        words = [sys.executable, "-W", "ignore", "-m", "bench.pools", "--one", name]
        done = subprocess.run(words, stderr=subprocess.PIPE, text=True, check=False, start_new_session=True)
        if done.returncode != -signal.SIGKILL:
            sys.stdout.write(f"{name}: {done.stderr.strip().splitlines()[-1]}\n")
    return 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:  # in a session of its own, which it ends
        try_one(sys.argv[2])
    sys.exit(main(sys.argv[1:]))
