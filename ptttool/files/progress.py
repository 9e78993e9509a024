"""How far work on a recording has come."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

from msgspec import Struct


class StoppedError(Exception):
    """Nobody waits for the work any more."""


class Progress(Struct):
    """Bytes and things done. ``total``: bytes, None where that is not known (a pipe). ``noun``: what ``records`` are.

    ``is_stopped``: set to have the work end with :class:`StoppedError`.
    """

    done: int = 0
    total: int | None = None
    records: int = 0
    noun: str = "TLPs"
    is_stopped: bool = False


Watch = Callable[[Progress], AbstractContextManager[None]]
"""Shows how far some work has come, while the body runs."""


def unwatched(_progress: Progress) -> AbstractContextManager[None]:
    """Show nothing."""
    return nullcontext()
