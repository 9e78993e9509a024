"""What an exporter is, and the registry of exporters.

An exporter is one new file in this package, or an entry point of the group ``ptttool.exporters`` in another package. It derives
:class:`Exporter` and registers an instance with ``EXPORTERS.add(NAME, ...)``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, ClassVar, Protocol, TypeAlias

from msgspec import Struct

from ptttool.diagnostics import Diagnostic
from ptttool.errors import UsageError
from ptttool.machine.model import Machine
from ptttool.registry import Registry
from ptttool.table.batch import Batch
from ptttool.table.schema import Column, DType, Schema

Encoder: TypeAlias = Callable[[Batch], Any]
"""Makes a piece of a file of a batch; the piece can be pickled."""


class Timing(Struct, frozen=True):
    """What is said of the Time field of TLPs.

    Parameters
    ----------
    model : str
        How it is read: ``counter``, ``delta``, or ``unknown``: then there are no ticks.
    tick_ns : float or None
        Nanoseconds of a tick, where they are known.
    source : str
        Who says so: ``as was said``, or how it was measured.
    """

    model: str = "unknown"
    tick_ns: float | None = None
    source: str = "as was said"


TICKS = Column("ticks", DType.U64, "ticks since the first TLP; absent where it is not known how the Time field counts")
SEGMENT = Column("segment", DType.I64, "how often before this TLP it was not known how much time passed; no time was counted there")
TIME_COLUMNS = (TICKS, SEGMENT)
"""The columns that rows have besides, for exporters with :attr:`Exporter.needs_time`."""


class ExportContext(Struct, frozen=True):
    """What an exporter may want to know besides the rows.

    Parameters
    ----------
    recordings : sequence of str
        Paths of the recordings.
    protocol : str
        Name of the protocol.
    facts : Mapping[str, str]
        Facts about the recording, for formats that have room for them.
    machine : Machine or None
        The machine that was recorded, for names; None where it is not known.
    diagnostics : sequence of Diagnostic
        What is known to be odd by now.
    width : int or None
        Columns of the terminal that lines are cut at; None for whole lines.
    layout : str
        How a table looks: the protocol's name of a layout, or ``columns`` for the columns as they are.
    extra : Mapping[str, bool]
        Options of single exporters.
    timing : Timing
        How the Time field is read.
    ending : callable
        Returns what is known to be odd once all rows were written, signs of loss among it.
    names : Mapping[int, str]
        What IDs are called in columns of texts; empty to write them as they are.
    """

    recordings: Sequence[str] = ()
    protocol: str = ""
    facts: Mapping[str, str] = {}
    machine: Machine | None = None
    diagnostics: Sequence[Diagnostic] = ()
    width: int | None = None
    layout: str = "columns"
    extra: Mapping[str, bool] = {}
    timing: Timing = Timing()
    ending: Callable[[], Sequence[Diagnostic]] = tuple
    names: Mapping[int, str] = {}


class Writer(Protocol):
    """A file that is being written. To derive from it saves the methods of a format that needs nothing at its end."""

    def add(self, piece: Any) -> None:
        """Write what the encoder made of a batch."""

    def close(self) -> None:
        """Finish the file, which stays open."""
        return

    def abandon(self) -> None:
        """Let go of everything without finishing the file."""
        return


class Exporter(ABC):
    """One way to write rows.

    Attributes
    ----------
    name : str
        Name on the command line.
    meaning : str
        One line of documentation.
    suffixes : tuple of str
        Endings of file names that mean it.
    is_binary : bool
        Whether it is not for a terminal.
    rows : int
        Rows of a piece, at most; fewer for pieces that are much larger than the rows.
    worth_workers : bool
        Whether pieces are so small that they are worth making in another process.
    protocols : tuple of str or None
        Names of the protocols that it can write; None for all.
    writes_texts : bool
        Whether it writes values as texts, so that IDs can have names.
    names_devices : bool
        Whether it looks at the context's machine. The command line looks for the machine only then.
    noun : str or None
        What it writes, where that is not a row.
    of_transactions : bool
        Whether it writes :class:`~ptttool.exporters.perfetto.TransactionTrace` of one recording, not rows.
    needs_time : bool
        Whether batches have :data:`TIME_COLUMNS`, too.
    """

    name: ClassVar[str]
    meaning: ClassVar[str]
    suffixes: ClassVar[tuple[str, ...]] = ()
    is_binary: ClassVar[bool] = False
    rows: ClassVar[int] = 1 << 15
    worth_workers: ClassVar[bool] = False
    protocols: ClassVar[tuple[str, ...] | None] = None
    writes_texts: ClassVar[bool] = False
    names_devices: ClassVar[bool] = False
    noun: ClassVar[str | None] = None
    of_transactions: ClassVar[bool] = False
    needs_time: ClassVar[bool] = False

    def columns(self, schema: Schema, context: ExportContext) -> tuple[str, ...]:
        """Return the columns that are written by default."""
        return schema.usual_names

    def encoder(self, schema: Schema) -> Encoder:
        """Return what makes pieces of batches with the columns of a schema. By default a piece is the batch as it is."""
        return _same

    @abstractmethod
    def writer(self, file: IO[bytes], schema: Schema, context: ExportContext) -> Writer:
        """Return what puts pieces together in a file."""


def _same(batch: Batch) -> Batch:
    return batch


EXPORTERS: Registry[Exporter] = Registry("output format", "ptttool.exporters", entry_points="ptttool.exporters")


def exporter_name(name: str | None, output: Path | None) -> str | None:
    """Return the name of the exporter: as given, else by the suffix of the output; None where neither says one.

    Raises
    ------
    UsageError
        The name or the suffix is unknown (code ``unknown-format``).
    """
    if name is not None:
        return EXPORTERS.get(name).name
    if output is None or output.suffix == "":
        return None
    by_suffix = {suffix: exporter.name for exporter in EXPORTERS for suffix in exporter.suffixes}
    exporter = by_suffix.get(output.suffix.lower())
    if exporter is None:
        raise UsageError(
            f"{output}: the suffix {output.suffix} is not that of an output format",
            hint="name one with --to: " + ", ".join(EXPORTERS.names()),
            code="unknown-format",
        )
    return exporter


def write_pieces(writer: Writer, pieces: Iterable[Any]) -> None:
    """Write all pieces and finish the file; let go of it where something goes wrong."""
    try:
        for piece in pieces:
            writer.add(piece)
    except BaseException:
        with suppress(Exception):  # what went wrong first is what counts
            writer.abandon()
        raise
    writer.close()


class TextWriter(Writer):
    """A file of lines: pieces are bytes.

    Parameters
    ----------
    file : IO[bytes]
        The file.
    header : bytes
        What the file begins with.
    """

    def __init__(self, file: IO[bytes], header: bytes = b"") -> None:
        self._file = file
        file.write(header)

    def add(self, piece: bytes) -> None:
        """Write whole lines."""
        self._file.write(piece)
