"""Hostile inputs: what makes them, and what a command must do with them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Bomb:
    """An input that is small and asks for much.

    Parameters
    ----------
    name : str
        Its name, after what reads it: ``machine-cpumask``.
    what : str
        What is hostile about it, in a few words.
    make : Callable
        Takes an empty folder and a size. Makes the input there, and returns the arguments of ptttool that read it.
    size : int
        The size to begin with; what it counts is up to `make`.
    exit_code : int
        Exit code of the command.
    code : str or None
        Code of the error; None if the command succeeds.
    """

    name: str
    what: str
    make: Callable[[Path, int], list[str]]
    size: int
    exit_code: int = 0
    code: str | None = None


BOMBS: dict[str, Bomb] = {}
"""All bombs, by name."""


def bomb(
    name: str, what: str, size: int, exit_code: int = 0, code: str | None = None
) -> Callable[[Callable[[Path, int], list[str]]], Callable[[Path, int], list[str]]]:
    """Register a function that makes a bomb; the parameters are those of :class:`Bomb`."""

    def register(make: Callable[[Path, int], list[str]]) -> Callable[[Path, int], list[str]]:
        BOMBS[name] = Bomb(name, what, make, size, exit_code, code)
        return make

    return register


def bytes_below(folder: Path) -> int:
    """Return the size of all files in a folder."""

    def sizes() -> Iterator[int]:
        for path in folder.rglob("*"):
            if path.is_file() and not path.is_symlink():
                yield path.stat().st_size

    return sum(sizes())
