"""How far work on a recording has come."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Progress:
    """Bytes and things done. ``total``: bytes, None where that is not known (a pipe). ``noun``: what ``records`` are."""

    done: int = 0
    total: int | None = None
    records: int = 0
    noun: str = "TLPs"
