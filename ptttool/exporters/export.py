"""TLPs to files: CSV, JSON lines, Parquet, Arrow. Blocks are turned into pieces of a file, by many jobs at once; one writer puts them
together, so memory stays bounded."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Protocol

from ptttool.exporters.output_format import chosen_format
from ptttool.registry import Registry
from ptttool.tlp.columns import ALL_COLUMNS, DEFAULT_COLUMNS

if TYPE_CHECKING:
    from ptttool.table.block import Block

Encoder = Callable[["Block"], Any]
"""Makes a piece of a file of a block: something that can be pickled."""


class Writer(Protocol):
    """A file that is being written."""

    def add(self, piece: Any) -> None:
        """Write what the format's encoder made of a block."""

    def close(self) -> None:
        """Finish the file, which stays open."""

    def abandon(self) -> None:
        """Let go of everything without finishing it."""


@dataclass(frozen=True)
class Format:
    """One way to write TLPs.

    ``suffixes``: of file names that mean it. ``columns``: what it holds by default. ``binary``: not for a terminal. ``encoder``: for
    these columns. ``writer``: of a file with these columns and facts about the recording (kept where the format has a place for them).
    ``unit_records``: TLPs of a piece, at most. ``worth_workers``: whether pieces are small enough to be made elsewhere: moving text
    from one process to another takes as long as making it.
    """

    name: str
    suffixes: tuple[str, ...]
    columns: tuple[str, ...]
    binary: bool
    encoder: Callable[[Sequence[str]], Encoder]
    writer: Callable[[IO[bytes], Sequence[str], Mapping[str, str]], Writer]
    unit_records: int
    worth_workers: bool = False


FORMATS: Registry[Format] = Registry("output format")


def suffixes(others: Mapping[str, tuple[str, ...]]) -> dict[str, str]:
    """The format that a suffix means. ``others``: formats that are not written here, with their suffixes."""
    return {suffix: known.name for known in FORMATS for suffix in known.suffixes} | {s: n for n, of in others.items() for s in of}


def format_of(name: str | None, output: Path | None, others: Mapping[str, tuple[str, ...]]) -> str | None:
    """The format's name: as given with --to, else by the output's suffix; None where neither says one.

    ``others``: formats that are not written here, with their suffixes.
    """
    return chosen_format(name, output, sorted({*(known.name for known in FORMATS), *others}), suffixes(others))


def write(name: str, blocks: Iterable[Block], file: IO[bytes], columns: Sequence[str], facts: Mapping[str, str]) -> None:
    """Blocks with these columns to a file, one by one."""
    encoder = FORMATS.get(name).encoder(columns)
    write_pieces(name, map(encoder, blocks), file, columns, facts)


def write_pieces(name: str, pieces: Iterable[Any], file: IO[bytes], columns: Sequence[str], facts: Mapping[str, str]) -> None:
    """Pieces that the format's encoder made."""
    fill(FORMATS.get(name).writer(file, columns, facts), pieces)


def fill(writer: Writer, pieces: Iterable[Any]) -> None:
    """Write all pieces and finish the file; let go of it where something goes wrong."""
    try:
        for piece in pieces:
            writer.add(piece)
    except BaseException:
        with suppress(Exception):  # what went wrong first is what counts
            writer.abandon()
        raise
    writer.close()


class _Text:
    """A file of lines, with a headline or without."""

    def __init__(self, file: IO[bytes], headline: str = "") -> None:
        self._file = file
        file.write(headline.encode())

    def add(self, pieces: Iterable[bytes]) -> None:
        for piece in pieces:
            self._file.write(piece)

    def close(self) -> None:
        """Nothing follows the last line."""

    def abandon(self) -> None:
        """A file of lines holds nothing back."""


def _csv_encoder(columns: Sequence[str]) -> Encoder:
    from ptttool.exporters.rowtext import Lines, csv_form

    return _list_of(Lines(columns, csv_form(columns)))


def _jsonl_encoder(columns: Sequence[str]) -> Encoder:
    from ptttool.exporters.rowtext import Lines, json_form

    return _list_of(Lines(columns, json_form(columns)))


def _list_of(lines: Any) -> Encoder:
    return lambda block: list(lines.text(block))


def _parquet_encoder(_columns: Sequence[str]) -> Encoder:
    from ptttool.exporters.parquet_blocks import row_group_of

    return row_group_of


def _parquet_writer(file: IO[bytes], columns: Sequence[str], facts: Mapping[str, str]) -> Writer:
    from ptttool.exporters.parquet_blocks import CREATED_BY, columns_of
    from ptttool.parquet.file import ParquetFile

    return ParquetFile(file, columns_of(columns), facts, created_by=CREATED_BY)


def _arrow_writer(file: IO[bytes], columns: Sequence[str], _facts: Mapping[str, str]) -> Writer:
    from ptttool.exporters.arrow import ArrowFile

    return ArrowFile(file, columns)


def _same(block: Block) -> Block:
    return block


# Text is many times larger than what it is made of: less of it at a time.
_TEXT_RECORDS, _BLOCK_RECORDS, _RECORDS = 1 << 15, 1 << 16, 1 << 18

FORMATS.add(
    "csv",
    Format(
        "csv", (".csv",), DEFAULT_COLUMNS, False, _csv_encoder,
        lambda file, columns, _facts: _Text(file, ",".join(columns) + "\n"), _TEXT_RECORDS,
    ),
)  # fmt: skip
FORMATS.add(
    "jsonl",
    Format("jsonl", (".jsonl", ".ndjson"), ALL_COLUMNS, False, _jsonl_encoder, lambda file, _columns, _facts: _Text(file), _TEXT_RECORDS),
)
FORMATS.add("parquet", Format("parquet", (".parquet", ".pq"), ALL_COLUMNS, True, _parquet_encoder, _parquet_writer, _RECORDS, True))
FORMATS.add(
    "arrow", Format("arrow", (".arrow", ".ipc", ".feather"), ALL_COLUMNS, True, lambda _columns: _same, _arrow_writer, _BLOCK_RECORDS)
)
