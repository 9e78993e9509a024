"""How a worker starts: what it may import, and what its parent gets if it cannot start."""

from __future__ import annotations

import os
import subprocess
import sys
import types
from multiprocessing import Pipe
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
    ours, theirs = Pipe()
    child = Child(theirs, report, "safe_path", "dont_write_bytecode")
    assert ours.recv() == [True, sys.flags.dont_write_bytecode, sys.path, b""]
    assert child.outcome() == "exit code 0"


def wait(connection: Connection[Any, Any]) -> None:
    connection.send("ready")
    connection.recv()


def test_a_worker_ends_with_its_handle() -> None:
    before = {*workers_of()}
    ours, theirs = Pipe()
    child = Child(theirs, wait)
    assert ours.recv() == "ready"
    assert len({*workers_of()} - before) == 1
    child.end()
    assert (child.outcome(), {*workers_of()} - before) == ("SIGKILL", set())
    with pytest.raises(EOFError):
        ours.recv()


def test_a_worker_that_cannot_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its function is in a module that only the parent has."""
    module = types.ModuleType("only_here")
    exec("def serve(connection): pass", vars(module))
    monkeypatch.setitem(sys.modules, "only_here", module)
    ours, theirs = Pipe()
    child = Child(theirs, module.serve)
    failure = ours.recv()
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
