"""Processes of this machine: what they send back, and what happens when one is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ptttool.errors import InputError, WorkersError
from ptttool.parquet import Cells, Chunk, Column, chunk_of
from ptttool.pipeline.workers.pool import Pool, Workers, jobs_worth_it, workers_for


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with Pool(2) as pool:
        yield pool


def received() -> int:
    """Bytes that this process has read."""
    return int(Path("/proc/self/io").read_text().split()[1])


def answer_of(size: int, path: str) -> bytes:
    Path(path).write_text(str(os.getpid()))
    return bytes(size)


def kill_in_the_middle(path: Path) -> None:
    """Kill the process that `path` names once 8 MiB of its answer have arrived."""
    start = received()
    while received() < start + (8 << 20):
        time.sleep(0.0005)
    os.kill(int(path.read_text()), signal.SIGKILL)


def test_a_worker_that_is_killed_in_the_middle_of_its_answer(tmp_path: Path) -> None:
    """An older task of another worker is waited for: that must not hang either, as it does with pools that have one queue for all."""
    path = tmp_path / "pid"
    with Pool(2) as pool:
        [promise.result() for promise in [pool.submit(os.getpid) for _ in range(4)]]
        killer = threading.Thread(target=kill_in_the_middle, args=(path,), daemon=True)
        killer.start()
        older = pool.submit(time.sleep, 60)
        large = pool.submit(answer_of, 400 << 20, str(path))
        started = time.monotonic()
        for promise in (older, large):
            with pytest.raises(WorkersError) as caught:
                promise.result()
            assert (caught.value.code, caught.value.exit_code) == ("worker-killed", 9)
        assert time.monotonic() - started < 30
        killer.join()


def test_a_worker_that_is_killed_before_its_answer(tmp_path: Path) -> None:
    with Pool(2) as pool:
        promise = pool.submit(time.sleep, 60)
        while not pool._crew[0].ready:
            pool._collect(0.01)
        for worker in pool._crew:
            worker.process.kill()
        with pytest.raises(WorkersError) as caught:
            promise.result()
        assert caught.value.code == "worker-killed"


def columns_of(size: int) -> dict[str, Any]:
    array = np.arange(size, dtype=np.uint64)
    constant = np.zeros(size, dtype=np.uint16)
    constant.flags.writeable = False
    return {"large": array, "small": array[:3], "strided": array[::3], "fixed": constant, "text": "x" * size, "none": None}


@pytest.mark.parametrize("size", [0, 1, 511, 512, 513, 1 << 20])
def test_arrays_come_back_as_they_are(pool: Pool, size: int) -> None:
    """Of every size around the one from which they go another path, each with its own memory."""
    found, again = (pool.submit(columns_of, size).result() for _ in range(2))
    for name, value in columns_of(size).items():
        assert np.array_equal(found[name], value) if isinstance(value, np.ndarray) else found[name] == value
    found["large"] += 1
    assert np.array_equal(again["large"], np.arange(size))


def chunk_of_numbers(size: int) -> Chunk:
    return chunk_of(Column("x", "u64"), Cells(np.random.default_rng(1).integers(0, 1 << 60, size, dtype=np.uint64)), size)


def test_parquet_pages_come_back_as_they_are(pool: Pool) -> None:
    found = pool.submit(chunk_of_numbers, 1 << 17).result()
    assert isinstance(found.data, memoryview)
    assert found == chunk_of_numbers(1 << 17)


def test_memory_of_answers_is_given_back(pool: Pool) -> None:
    """No descriptors and no maps are left of a hundred answers."""
    pool.submit(columns_of, 1 << 16).result()
    before = len([*Path("/proc/self/fd").iterdir()]), maps()
    for _ in range(100):
        pool.submit(columns_of, 1 << 16).result()
    assert (len([*Path("/proc/self/fd").iterdir()]), maps()) == before


def maps() -> int:
    return Path("/proc/self/maps").read_text().count("memfd:answer")


def test_large_tasks_and_large_answers_do_not_block_each_other(pool: Pool) -> None:
    """Both sides would wait for the other to read if a large task were sent to a worker that sends a large answer."""
    tasks = [pool.submit(bytes.upper, b"a" * (1 << 20)) for _ in range(12)]
    assert all(task.result() == b"A" * (1 << 20) for task in tasks)


def fail(error: Exception) -> None:
    raise error


def function() -> Callable[[], None]:
    return lambda: None


def test_errors_of_tasks(pool: Pool) -> None:
    with pytest.raises(InputError) as caught:
        pool.submit(fail, InputError("x.data", "cut", offset=7, code="truncated")).result()
    assert (caught.value.code, caught.value.offset) == ("truncated", 7)
    with pytest.raises(WorkersError) as other:
        pool.submit(function).result()
    assert other.value.code == "no-answer"
    assert pool.submit(os.getpid).result() != os.getpid()


def test_cancelled_tasks_are_not_run(pool: Pool, tmp_path: Path) -> None:
    slow = [pool.submit(time.sleep, 0.2) for _ in range(4)]
    late = pool.submit(answer_of, 1, str(tmp_path / "late"))
    late.cancel()
    for promise in slow:
        promise.result()
    pool.submit(os.getpid).result()
    assert not (tmp_path / "late").exists()


def test_several_threads_share_a_pool(pool: Pool) -> None:
    with ThreadPoolExecutor(4) as threads:
        found = [*threads.map(lambda number: [pool.submit(abs, -number).result() for _ in range(20)], range(40))]
    assert found == [[number] * 20 for number in range(40)]


def add(first: list[int], second: list[int]) -> list[int]:
    return first + second


def modules() -> set[str]:
    return {*sys.modules}


def test_what_is_imported_first() -> None:
    with Pool(2, preload=("colorsys",)) as pool:
        assert "colorsys" in pool.submit(modules).result()


def test_processes_end_with_their_parent() -> None:
    code = (
        "import os, sys, time; from ptttool.pipeline.workers.pool import Pool\n"
        "if __name__ == '__main__':\n"
        "    workers = Pool(2)\n"
        "    print(*(workers.submit(os.getpid).result() for _ in range(8)), flush=True); time.sleep(60)\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    children = {int(word) for word in parent.stdout.readline().split()}
    assert children
    parent.kill()
    parent.wait()
    parent.stdout.close()
    deadline = time.monotonic() + 60
    while any(Path(f"/proc/{child}/stat").exists() and ") Z " not in Path(f"/proc/{child}/stat").read_text() for child in children):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_closing_takes_busy_processes_along() -> None:
    pool = Pool(2)
    pids = {pool.submit(os.getpid).result()}
    pool.submit(time.sleep, 60)
    pool.close()
    assert not any(Path(f"/proc/{pid}").exists() for pid in pids)


def test_how_many_are_worth_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ptttool.pipeline.workers.pool.available_cores", lambda: 8)
    assert [jobs_worth_it(size << 20, 64 << 20) for size in (0, 1, 127, 128, 512, 4096)] == [1, 1, 1, 2, 8, 8]
    assert jobs_worth_it(1 << 40, 0) == 1
    for path in (str(tmp_path / "none"), "-"):
        workers: Workers
        with workers_for((path,), None, 1) as workers:
            assert workers.jobs == 1
