"""What every decoder gives: rows that become columns when they are asked for, and counts of what was odd."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

from ptttool.diagnostics import Diagnostic
from ptttool.table.batch import Batch, Mask

if TYPE_CHECKING:
    from ptttool.perfdata.model import AuxChunk


class Violation(NamedTuple):
    """What strict decoding may not pass over.

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
        """Just these columns of the rows, in this order."""

    def taken(self, wanted: Mask) -> Decoded:
        """The rows for which a mask of shape (size,) is true; they keep their numbers."""

    def violation(self) -> Violation | None:
        """The first row that strict decoding may not pass over; None if there is none."""


class Findings(Protocol):
    """Counts of what was odd in some rows; those of parts of a recording merge in its order."""

    records: int

    def merge(self, other: Any) -> None:
        """Add what was found in the rows behind."""

    def diagnostics(self) -> list[Diagnostic]:
        """Everything that a user should know of."""


class Piece(Protocol):
    """Bytes of a unit that lie one after the other.

    ``path`` is empty where no other process can read them; ``file_offset`` is their place in that file.
    """

    @property
    def path(self) -> str: ...
    @property
    def file_offset(self) -> int: ...
    @property
    def size(self) -> int: ...


Fetch: TypeAlias = Callable[[Any, memoryview], None]
"""Reads a piece's bytes into memory of its size."""


class Unit(Protocol):
    """A part of a recording that can be decoded by itself, in any process. It can be pickled once it is bare."""

    @property
    def pieces(self) -> Sequence[Piece]:
        """Where its bytes are."""

    @property
    def size(self) -> int:
        """Bytes of trace."""

    @property
    def is_loaded(self) -> bool:
        """Whether it holds its bytes."""

    def bare(self) -> Unit:
        """The same without bytes, for whoever can read them."""

    def load(self, fetch: Fetch, memory: memoryview) -> LoadedUnit:
        """Its records. ``fetch`` reads the pieces of a bare unit into ``memory`` of at least its size."""


class LoadedUnit(Protocol):
    """The records of a unit."""

    @property
    def size(self) -> int:
        """Number of records that become rows."""

    def decoded(self, index: int) -> tuple[Decoded, Findings]:
        """The rows, the first of which has the number ``index``, and the counts that they add to while they are decoded."""


class PlannedUnit(NamedTuple):
    """A unit of work, and what can be let go of once it is done.

    Parameters
    ----------
    unit : Unit
        The work.
    spent : tuple of (AuxChunk, int)
        Chunks, and up to where they are used up.
    position : int
        Byte offset in the recording's file up to which the walk has come.
    """

    unit: Unit
    spent: tuple[tuple[AuxChunk, int], ...]
    position: int


class Splitter(Protocol):
    """Cuts one recording of records of one size into units.

    Parameters
    ----------
    findings : Findings
        What is odd about the recording as a whole; complete when the units have been taken to the end.
    """

    @property
    def findings(self) -> Findings: ...

    def units(self, most: int) -> Iterator[PlannedUnit]:
        """The units in order, of at most so many records each."""

    def nothing(self) -> Decoded:
        """No rows: for a recording without records."""
