"""Inputs that are kept: seeds made by the targets, interesting ones, and those that once were findings."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path

from campaign.fuzz.coverage import Line, lines_of
from campaign.fuzz.targets.contract import Target
from ptttool.errors import PtttoolError

HOME = Path(__file__).parent
CORPUS = HOME / "corpus"
REGRESSIONS = HOME / "regressions"
FINDINGS = HOME / "findings"


def name_of(data: bytes) -> str:
    """Return the file name of an input."""
    return hashlib.sha256(data).hexdigest()[:16]


def kept(target: Target, folder: Path) -> list[bytes]:
    """Return the inputs of a target in a folder, sorted by name."""
    place = folder / target.name
    return [path.read_bytes() for path in sorted(place.iterdir())] if place.is_dir() else []


def inputs(target: Target) -> list[bytes]:
    """Return all inputs that are replayed and mutated, without duplicates."""
    return list(dict.fromkeys([*target.seeds(), *kept(target, CORPUS), *kept(target, REGRESSIONS)]))


def minimised(target: Target, found: Iterable[bytes]) -> list[bytes]:
    """Choose the smallest inputs that together reach every line that the found ones reach beyond the seeds."""
    reached: set[Line] = set()
    for seed in target.seeds():
        reached |= _reach(target, seed)
    chosen = []
    for data in sorted(set(found), key=lambda data: (len(data), data)):
        lines = _reach(target, data)
        if not lines <= reached:
            reached |= lines
            chosen.append(data)
    return chosen


def _reach(target: Target, data: bytes) -> set[Line]:
    place = Path(tempfile.mkdtemp())

    def run() -> None:
        try:
            target.run(data, place)
        except PtttoolError:
            return

    try:
        return lines_of(run)
    finally:
        shutil.rmtree(place)


def replace(target: Target, chosen: Iterable[bytes]) -> None:
    """Make the corpus of a target hold exactly these inputs."""
    place = CORPUS / target.name
    shutil.rmtree(place, ignore_errors=True)
    for data in chosen:
        place.mkdir(parents=True, exist_ok=True)
        (place / name_of(data)).write_bytes(data)
