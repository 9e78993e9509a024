"""The recordings for the measurements: generated once, and again if the generator has changed."""

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
# Bytes of the disk that must stay free.
SPARE = 1 << 30


@dataclass(frozen=True)
class Input:
    """A recording.

    Parameters
    ----------
    path : Path
        Its file.
    about : dict
        The output of ``ptttool generate --json``.
    """

    path: Path
    about: dict[str, Any]

    @property
    def records(self) -> int:
        """Number of TLPs."""
        return int(self.about["records"])

    @property
    def size(self) -> int:
        """Bytes of trace data."""
        return int(self.about["size"])


class NoRoomError(Exception):
    """The disk is too small for an input."""


def input_name(form: str, size: int) -> str:
    """Return the name of a recording: ``nvme-8dw-256M``."""
    return f"{PROFILE}-{form}-{size >> 20}M"


def prepare(folder: Path, form: str, size: int) -> Input:
    """Return the recording of a format and size; generate it if the folder does not hold it. Raises NoRoomError."""
    path = folder / f"{input_name(form, size)}.data"
    stamp = path.with_suffix(".json")
    if path.exists() and stamp.exists():
        held = json.loads(stamp.read_text())
        if held["generator"] == _generator():
            return Input(path, held["about"])
    folder.mkdir(parents=True, exist_ok=True)
    room = shutil.disk_usage(folder).free + (path.stat().st_size if path.exists() else 0)
    if room < size + SPARE:
        raise NoRoomError(f"no room for {path.name} in {folder}: {size + SPARE >> 20} MiB must be free")
    stamp.unlink(missing_ok=True)
    path.unlink(missing_ok=True)
    words = [*PTTTOOL, "generate", "--profile", PROFILE, "--format", form, "--size", str(size), "-o", str(path), "--json"]
    done = subprocess.run(words, stdout=subprocess.PIPE, check=True, env=environment())
    about = json.loads(done.stdout)
    stamp.write_text(json.dumps({"generator": _generator(), "about": about}))
    return Input(path, about)


def records_of(recording: Input, form: str) -> Iterator[memoryview]:
    """Generate the records of a recording once more, without its container, and yield them in pieces."""
    return Records(PROFILES.get(PROFILE), eight_dw=form == "8dw").pieces(recording.records)


def _generator() -> str:
    """Return a hash of the generator's source code."""
    package = Path(ptttool.__file__).parent
    sources = [*sorted((package / "generate").rglob("*.py")), package / "perfdata" / "writer.py"]
    return hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()
