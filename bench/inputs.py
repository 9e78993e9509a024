"""The recordings that are measured on: generated once, and again where the generator has changed."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ptttool
from bench.commands import environment
from ptttool.generate.profiles import PROFILES
from ptttool.generate.records import Records

PROFILE = "nvme"
_SCRIPT = Path(sys.executable).with_name("ptttool")
PTTTOOL = (str(_SCRIPT),) if _SCRIPT.exists() else (sys.executable, "-m", "ptttool")
# A disk that this leaves no room on is not filled.
SPARE = 1 << 30


@dataclass(frozen=True)
class Input:
    """``path``: the recording. ``about``: what ``ptttool generate --json`` said of it."""

    path: Path
    about: dict[str, Any]

    @property
    def records(self) -> int:
        """TLPs."""
        return int(self.about["records"])

    @property
    def size(self) -> int:
        """Bytes of trace data."""
        return int(self.about["size"])


class NoRoomError(Exception):
    """The disk is too small for an input."""


def input_name(form: str, size: int) -> str:
    """``nvme-8dw-256M``."""
    return f"{PROFILE}-{form}-{size >> 20}M"


def prepare(folder: Path, form: str, size: int) -> Input:
    """The recording of that format and size, from the cache or generated. Raises NoRoomError."""
    path = folder / f"{input_name(form, size)}.data"
    stamp = path.with_suffix(".json")
    if path.exists() and stamp.exists():
        held = json.loads(stamp.read_text())
        if held["generator"] == _generator():
            return Input(path, held["about"])
    folder.mkdir(parents=True, exist_ok=True)
    room = shutil.disk_usage(folder).free + (path.stat().st_size if path.exists() else 0)
    if room < size + SPARE:
        raise NoRoomError(f"no room for {path.name} in {folder}: {size >> 20} MiB are needed, and some more")
    stamp.unlink(missing_ok=True)
    path.unlink(missing_ok=True)
    words = [*PTTTOOL, "generate", "--profile", PROFILE, "--format", form, "--size", str(size), "-o", str(path), "--json"]
    done = subprocess.run(words, stdout=subprocess.PIPE, check=True, env=environment())
    about = json.loads(done.stdout)
    stamp.write_text(json.dumps({"generator": _generator(), "about": about}))
    return Input(path, about)


def records_of(recording: Input, form: str) -> Iterator[memoryview]:
    """A recording's records alone, in pieces, without reading it."""
    return Records(PROFILES.get(PROFILE), eight_dw=form == "8dw").pieces(recording.records)


def _generator() -> str:
    """What tells one state of the generator from another."""
    package = Path(ptttool.__file__).parent
    sources = [*sorted((package / "generate").rglob("*.py")), package / "perfdata" / "writer.py"]
    return hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()
