"""The recordings in ``fixtures/captures``, unpacked where they are packed, and what perf itself says of them."""

from __future__ import annotations

import functools
import json
import lzma
from pathlib import Path
from typing import Any

from tests import ROOT

FOLDER = ROOT / "fixtures" / "captures"


def shapes() -> dict[str, dict[str, Any]]:
    """By ``6.12/x-idle``: what perf and a slow reader of the container found, see ``fixtures/README.md``."""
    loaded: dict[str, dict[str, Any]] = json.loads((FOLDER / "shapes.json").read_text(encoding="utf-8"))
    return loaded


@functools.cache
def content(name: str) -> bytes:
    """The bytes of ``6.12/x-idle``."""
    plain = FOLDER / f"{name}.data"
    return plain.read_bytes() if plain.exists() else lzma.decompress(plain.with_name(plain.name + ".xz").read_bytes())


def path_of(name: str, folder: Path) -> Path:
    """A readable file of ``6.12/x-idle``: itself, or unpacked into ``folder``."""
    plain = FOLDER / f"{name}.data"
    if plain.exists():
        return plain
    unpacked = folder / f"{name.replace('/', '-')}.data"
    unpacked.write_bytes(content(name))
    return unpacked
