"""What every decoder returns: rows that become columns when they are needed, and counts of what was odd."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias

from ptttool.diagnostics import Diagnostic
from ptttool.files.local import LocalFile
from ptttool.table.batch import Batch
from ptttool.table.values import Mask


class Violation(NamedTuple):
    """A row that strict decoding does not accept.

    Parameters
    ----------
    row : int
        The row; those before it are good.
    offset : int
        Byte offset of the row's record in its AUX stream.
    reason : str
        What is wrong with it.
    """

    row: int
    offset: int
    reason: str


class Decoded(Protocol):
    """Decoded rows of one recording, in order."""

    @property
    def size(self) -> int:
        """Number of rows."""

    def batch(self, names: Sequence[str]) -> Batch:
        """Return these columns of the rows, in this order."""

    def taken(self, mask: Mask) -> Decoded:
        """Return the rows for which a mask of shape (size,) is true; they keep their numbers."""

    def violation(self) -> Violation | None:
        """Return the first row that strict decoding does not accept; None if there is none."""


class Findings(Protocol):
    """Counts of what was odd in some rows; those of parts of a recording merge in its order."""

    records: int

    def merge(self, other: Any) -> None:
        """Add what was found in later rows."""

    def diagnostics(self) -> list[Diagnostic]:
        """Return everything that a user needs to know."""


class Piece(Protocol):
    """Adjacent bytes of a unit."""

    @property
    def path(self) -> str:
        """Path of their file; empty where no other process can read it."""

    @property
    def file_offset(self) -> int:
        """Their offset in that file."""

    @property
    def size(self) -> int:
        """Number of bytes."""

    @property
    def file(self) -> LocalFile | None:
        """The file, where this process has it open."""

    @property
    def identity(self) -> tuple[int, int] | None:
        """Device and inode of the file, for other processes of this machine."""


Fetch: TypeAlias = Callable[[Any, memoryview], None]
"""Reads a piece's bytes into memory of its size."""


class Unit(Protocol):
    """A part of a recording that can be decoded alone, in any process. It can be pickled once it is bare."""

    @property
    def pieces(self) -> Sequence[Piece]:
        """Where its bytes are."""

    @property
    def size(self) -> int:
        """Bytes of trace."""

    @property
    def most_rows(self) -> int:
        """Number of rows, where no record is left out."""

    @property
    def is_loaded(self) -> bool:
        """Whether it holds its bytes."""

    def bare(self, *, is_local: bool = True) -> Unit:
        """Return the unit without its bytes, for processes that can read them: on this machine, or wherever the path is valid."""

    def load(self, fetch: Fetch, memory: memoryview) -> LoadedUnit:
        """Return its records; `fetch` reads the pieces of a bare unit into `memory` of at least its size."""


class LoadedUnit(Protocol):
    """The records of a unit."""

    @property
    def size(self) -> int:
        """Number of records that become rows."""

    def decoded(self, index: int) -> tuple[Decoded, Findings]:
        """Return its rows, numbered from `index` on, and the counts, which are complete when the rows are decoded."""


class PlannedUnit(NamedTuple):
    """A unit of work, and how far it has come in the recording.

    Parameters
    ----------
    unit : Unit
        The work.
    position : int
        Byte offset in the recording's file up to which it was read.
    """

    unit: Unit
    position: int


class Splitter(Protocol):
    """Splits one recording of records of one size into units.

    Parameters
    ----------
    findings : Findings
        What is odd about the recording as a whole; complete when all units were taken.
    """

    @property
    def findings(self) -> Findings:
        """What is odd about the recording as a whole."""

    def units(self, most: int) -> Iterator[PlannedUnit]:
        """Yield the units in order, of at most `most` records each."""

    def nothing(self) -> Decoded:
        """Return no rows, for a recording without records."""
