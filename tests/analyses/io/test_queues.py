"""Commands by queue are those that the kernel's tracepoints counted (`fixtures/README.md`)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ptttool
from ptttool.analyses.io.commands import rings
from ptttool.analyses.io.commands.entries import CommandEntries
from ptttool.analyses.io.commands.follow import Entries
from ptttool.pipeline.analyzing.ask import Ask, run
from tests.support import captures

KERNEL = captures.FOLDER / "kernel"
TRUTH: dict[str, Any] = json.loads((KERNEL / "truth.json").read_text(encoding="utf-8"))


def entries(name: str, folder: Path) -> dict[int, Entries]:
    with ptttool.open(captures.path_of(name, folder)) as recording:
        return {each.queue: each for each in run(recording, Ask(), [CommandEntries]).results["entries"]}


@pytest.mark.parametrize("name", ["rr-qd8-4dw", "mix-4dw"])
def test_the_entries_of_each_queue(name: str, tmp_path: Path) -> None:
    found = entries(f"kernel/{name}", tmp_path)
    commands = {int(queue): count for queue, count in TRUTH[name]["commands by queue"].items()}
    assert {queue: len(each.fetched) for queue, each in found.items()} == commands
    assert {queue: len(each.ended) for queue, each in found.items()} == commands
    for each in found.values():
        assert all((np.diff(rows, axis=0) >= 0).all() for rows in (each.fetched, each.ended, each.doorbells))
        # As fast as the drive may be, the k-th completion comes behind the k-th fetch.
        assert (each.ended[:, 1] > each.fetched[:, 1]).all()


def test_queues_by_the_doorbells_that_the_drive_reads(tmp_path: Path) -> None:
    """Only inbound TLPs were traced: fio's 4000 reads were all of queue 1, as the interrupts of the kernel are."""
    (found,) = entries("workloads/w-randread-8dw", tmp_path).values()
    assert (found.queue, len(found.fetched), len(found.ended), len(found.doorbells)) == (1, 4000, 4000, 0)


def test_pages_beyond_the_limit_are_let_go_the_largest_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rings, "MAX_IO_PAGES", 8)
    ring, keys = rings.Ring(64), rings.key_of(np.full(80, 0x100), np.arange(80) * 4096)
    for part in np.split(np.random.default_rng(1).permutation(keys), 20):
        ring.walk(part, np.zeros(4, dtype=np.int64), np.ones(4, dtype=np.int64))
        ring.cut()
        assert len(ring._walked) <= 10
    assert ring.pages(np.empty(0, dtype=np.int64)).keys.tolist() == keys[:8].tolist()
