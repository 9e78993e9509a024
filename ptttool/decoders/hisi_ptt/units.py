"""PTT records as units of work: parts of a recording that any process can decode by itself."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from ptttool.decoders.decoded import Fetch, Violation
from ptttool.decoders.hisi_ptt.columns import decode
from ptttool.decoders.hisi_ptt.findings import Findings
from ptttool.decoders.hisi_ptt.layout import Layout
from ptttool.decoders.hisi_ptt.records import Piece, Records, Rows, records_of
from ptttool.table.batch import Batch
from ptttool.table.schema import Column, DType, Schema, Style
from ptttool.table.values import Mask, Texts, Values
from ptttool.tlp.columns import KINDS, TLP_SCHEMA
from ptttool.tlp.direction import EITHER, DirectionRule

_UNKNOWN = KINDS.index("Unknown")


class TlpRows:
    """TLPs of some records, decoded when their columns are asked for.

    Parameters
    ----------
    records : Records
        The records.
    index : int
        Number of the first TLP in the recording.
    findings : Findings or None
        Records of unknown kind are added to it the first time that columns are decoded.
    file : str or None
        Value of the column ``file``.
    rows : ndarray of intp or None
        Numbers of the TLPs, counted from the first; None for all.
    """

    def __init__(
        self, records: Records, index: int, findings: Findings | None = None, file: str | None = None, rows: Rows | None = None
    ) -> None:
        self.records, self.index = records, index
        self._findings, self._file, self._rows = findings, file, rows

    @property
    def size(self) -> int:
        """Number of TLPs."""
        return self.records.size

    def batch(self, names: Sequence[str]) -> Batch:
        """Return the columns with these names."""
        findings, self._findings = self._findings, None
        batch = decode(self.records, [name for name in names if name != "file"], index=self.index, findings=findings)
        columns = dict(batch.columns)
        if self._rows is not None and "index" in columns:
            columns["index"] = Values(self._rows.astype(np.uint64) + np.uint64(self.index))
        if "file" not in names:
            return Batch(batch.schema, batch.size, columns, facts=batch.facts)
        columns["file"] = Values(None if self._file is None else Texts(np.zeros(batch.size, dtype=np.uint8), (self._file,)))
        schema = Schema(tuple(TLP_FILE_SCHEMA[name] for name in names))
        return Batch(schema, batch.size, {name: columns[name] for name in names}, facts=batch.facts)

    def taken(self, mask: Mask) -> TlpRows:
        """Return the TLPs for which the mask is true."""
        rows = np.flatnonzero(mask) if self._rows is None else self._rows[mask]
        return TlpRows(self.records.taken(mask), self.index, file=self._file, rows=rows)

    def violation(self) -> Violation | None:
        """Return the first record of unknown kind."""
        batch = decode(self.records, ("kind", "offset"))
        kind, offset = batch.values("kind").array, batch.values("offset").array
        rows = np.flatnonzero(np.asarray(kind) == _UNKNOWN)
        if not len(rows):
            return None
        row = int(rows[0])
        assert offset is not None
        return Violation(row, int(offset[row]), "a record that is not a TLP: no check word, or an unknown Fmt/Type code")  # type: ignore[index,arg-type]


FILE = Column("file", DType.TEXT, "the recording, where there are several", style=Style.PLAIN)
TLP_FILE_SCHEMA = Schema((FILE, *TLP_SCHEMA.columns))
"""The columns of TLPs of several recordings."""


class LoadedTlpUnit(Struct, frozen=True, eq=False):
    """The records of a unit; all-zero ones are left out."""

    records: Records
    file: str | None = None

    @property
    def size(self) -> int:
        """Number of TLPs."""
        return self.records.size

    def decoded(self, index: int) -> tuple[TlpRows, Findings]:
        """Return the rows, and the counts that decoding them adds to.

        Parameters
        ----------
        index : int
            Number of the first row in the recording.
        """
        findings = Findings(records=self.records.size, zero_records=self.records.zeros)
        return TlpRows(self.records, index, findings, self.file), findings


class TlpUnit(Struct, frozen=True, eq=False):
    """Records of one layout, in the order of the recording.

    Parameters
    ----------
    layout : Layout
        Layout of the records.
    pieces : tuple of Piece
        Where they are.
    file : str or None
        Name of the recording, if there are several.
    direction : DirectionRule
        How the direction of the TLPs is found.
    """

    layout: Layout
    pieces: tuple[Piece, ...]
    file: str | None = None
    direction: DirectionRule = EITHER

    @property
    def size(self) -> int:
        """Bytes."""
        return sum(piece.size for piece in self.pieces)

    @property
    def most_rows(self) -> int:
        """Number of records, with those that are all zero."""
        return self.size // self.layout.record_size

    @property
    def is_loaded(self) -> bool:
        """Whether all pieces hold their bytes."""
        return all(piece.data is not None for piece in self.pieces)

    def bare(self, *, is_local: bool = True) -> TlpUnit:
        """Return the unit without its bytes and its open file, for a worker that reads them itself.

        Parameters
        ----------
        is_local : bool
            Whether that is on this machine, where the file has the same identity.
        """

        def bare(piece: Piece) -> Piece:
            identity = piece.file.identity if is_local and piece.file is not None else None
            return replace(piece, data=None, file=None, identity=identity)

        return replace(self, pieces=tuple(map(bare, self.pieces)))

    def load(self, fetch: Fetch, memory: memoryview) -> LoadedTlpUnit:
        """Return the records.

        Parameters
        ----------
        fetch : callable
            Reads a piece without data into a buffer.
        memory : memoryview
            Buffer of at least the size of the unit.
        """
        parts, at = [], 0
        for piece in self.pieces:
            part = piece.data
            if part is None:
                part = memory[at : at + piece.size]
                fetch(piece, part)
            parts.append(part)
            at += piece.size
        return LoadedTlpUnit(records_of(self.layout, self.pieces, parts, self.direction), self.file)
