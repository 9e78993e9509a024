"""What a target is, and all of them by name."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

Run = Callable[[bytes, Path], object]
Command = Callable[[bytes, Path], list[str] | None]
REPOSITORY = Path(__file__).resolve().parents[3]
FIXTURES = REPOSITORY / "fixtures"


def _no_command(_data: bytes, _place: Path) -> list[str] | None:
    return None


@dataclass(frozen=True)
class Target:
    """A reader.

    Parameters
    ----------
    name : str
        Its name.
    seeds : Callable
        Makes inputs that it reads without an error.
    run : Callable
        Has it read an input; gets an empty folder. Errors of ptttool are expected.
    command : Callable
        Writes an input to an empty folder and returns a command line that reads it; None where there is none.
    words : Sequence of bytes
        Pieces that mean something to the reader.
    most : int
        Largest size of an input.
    """

    name: str
    seeds: Callable[[], Iterable[bytes]]
    run: Run
    command: Command = _no_command
    words: Sequence[bytes] = field(default=())
    most: int = 16384


_TARGETS: dict[str, Target] = {}


def add(target: Target) -> None:
    """Make a target known."""
    _TARGETS[target.name] = target


def targets() -> dict[str, Target]:
    """Return all targets by name."""
    from campaign.fuzz import targets as folder

    for module in pkgutil.iter_modules(folder.__path__):
        importlib.import_module(f"{folder.__name__}.{module.name}")
    return dict(sorted(_TARGETS.items()))


def saved(data: bytes, place: Path, name: str = "input") -> Path:
    """Write an input to a file."""
    path = place / name
    path.write_bytes(data)
    return path
