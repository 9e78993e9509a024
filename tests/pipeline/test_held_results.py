"""Results that wait to be merged are few where they are large; freed memory goes back where there is much."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Generic, TypeVar

import pytest

from ptttool.api.recording import open as open_recording
from ptttool.documents import to_json
from ptttool.pipeline.jobs import in_order
from ptttool.pipeline.work import Outcome
from ptttool.pipeline.workers import memory
from ptttool.pipeline.workers.pool import Promise, Workers
from tests.support.captures import path_of

R = TypeVar("R")


class Counted(Workers):
    """Workers that count the tasks under way; every answer has a size."""

    jobs = 2

    def __init__(self, size: int) -> None:
        self.size = size
        self.under_way = 0
        self.seen: list[int] = []

    def submit(self, function: Callable[..., R], *arguments: Any) -> Promise[R]:
        self.under_way += 1
        return Answer(self, lambda: function(*arguments))


class Answer(Generic[R]):
    def __init__(self, workers: Counted, call: Callable[[], R]) -> None:
        self.size = 0
        self._workers, self._call = workers, call

    def result(self) -> R:
        self._workers.seen.append(self._workers.under_way)
        self._workers.under_way -= 1
        self.size = self._workers.size
        return self._call()

    def cancel(self) -> None:
        pass


def nothing(_units: Any, index: int) -> Outcome[int]:
    return Outcome(index)


@pytest.mark.parametrize(("size", "limit", "most"), [(1, 100, 5), (40, 100, 3), (60, 100, 2), (1000, 100, 1), (1000, None, 5)])
def test_large_results_wait_for_each_other(size: int, limit: int | None, most: int) -> None:
    workers = Counted(size)
    parts: list[Any] = [[] for _ in range(12)]
    assert len([*in_order(parts, nothing, workers, needs_index=False, limit=limit)]) == 12
    assert max(workers.seen[1:]) == most
    assert workers.seen[0] == (2 if limit else 5)


def test_results_are_the_same_where_memory_is_given_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("traffic", "latency", "outstanding", "payload")
    found = []
    given: list[int] = []

    def give_back() -> None:
        given.append(1)
        memory.give_back()

    for limit in (1 << 40, 0):
        monkeypatch.setattr(memory, "MAX_KEPT_MEMORY", limit)
        monkeypatch.setattr("ptttool.pipeline.work.give_back", give_back)
        assert memory.has_much_memory() == (limit == 0)
        before = len(given)
        with open_recording(path_of("6.12/m-4dw-port10-type7-dir2", tmp_path)) as recording:
            found.append([to_json(recording.analyze(name)) for name in names])
        assert (len(given) > before) == (limit == 0)
    assert found[0] == found[1]
