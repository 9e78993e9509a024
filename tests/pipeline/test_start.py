"""How a worker starts: what it may import, and what its parent gets if it cannot start."""

from __future__ import annotations

import gc
import os
import resource
import subprocess
import sys
import types
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest

from ptttool.errors import WorkersError
from ptttool.pipeline.workers.pool import Pool
from ptttool.pipeline.workers.start import Child
from tests.support.processes import workers_of


def report(connection: Connection[Any, Any], *names: str) -> None:
    connection.send([getattr(sys.flags, name) for name in names] + [sys.path, os.read(0, 1)])


def test_a_worker_has_its_parents_path_and_not_its_input() -> None:
    child = Child(report, "safe_path", "dont_write_bytecode")
    assert child.connection.recv() == [True, sys.flags.dont_write_bytecode, sys.path, b""]
    assert child.outcome() == "exit code 0"


def wait(connection: Connection[Any, Any]) -> None:
    connection.send("ready")
    connection.recv()


def test_a_worker_ends_with_its_handle() -> None:
    before = {*workers_of()}
    child = Child(wait)
    assert child.connection.recv() == "ready"
    assert len({*workers_of()} - before) == 1
    child.end()
    assert (child.outcome(), {*workers_of()} - before) == ("SIGKILL", set())
    with pytest.raises(EOFError):
        child.connection.recv()


def test_a_worker_that_cannot_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its function is in a module that only the parent has."""
    module = types.ModuleType("only_here")
    exec("def serve(connection): pass", vars(module))
    monkeypatch.setitem(sys.modules, "only_here", module)
    child = Child(module.serve)
    failure = child.connection.recv()
    assert child.outcome() == "exit code 0"
    assert isinstance(failure, WorkersError)
    assert failure.code == "worker-failed"
    assert "ModuleNotFoundError" in failure.__notes__[0]
    with Pool(1, preload=("not_there",)) as pool, pytest.raises(ModuleNotFoundError):
        pool.submit(abs, 1).result()


def test_a_script_without_a_guard(tmp_path: Path) -> None:
    """The worker imports the script, which would start workers again."""
    script = tmp_path / "script.py"
    script.write_text(
        "from ptttool.pipeline.workers.pool import Pool\n"
        "with Pool(1) as pool:\n"
        "    try:\n"
        "        pool.submit(abs, 1).result()\n"
        "    except Exception as error:\n"
        "        print(type(error).__name__, error.code)\n"
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=60)
    assert done.stdout.split()[-2:] == ["WorkersError", "worker-failed"], done


def descriptors() -> set[int]:
    with os.scandir("/proc/self/fd") as entries:
        found = {int(entry.name) for entry in entries}
    return {number for number in found if Path(f"/proc/self/fd/{number}").exists()}


def left_of(before: set[int]) -> set[int]:
    """Those that stay: a descriptor that is open for a moment is not a leak."""
    found = descriptors() - before
    for _ in range(5):
        found &= descriptors()
    return found


@pytest.mark.parametrize("free", [0, 1, 2, 3, 4, 5])
def test_no_descriptors_are_left(free: int) -> None:
    """A connection has two, the start of a process four."""
    before = descriptors()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = next(limit for limit in range(soft) if limit - sum(number < limit for number in before) == free)
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
    try:
        with pytest.raises(WorkersError) as caught:
            Child(wait)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert caught.value.code == "no-worker"
    del caught
    gc.collect()
    assert not left_of(before)
