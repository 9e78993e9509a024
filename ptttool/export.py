"""Frames of TLPs to files: CSV, JSON lines, Parquet, Arrow. Each writer takes frames one by one, so memory stays bounded."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from queue import Full, Queue
from typing import IO

import polars as pl
import polars.selectors as cs
from polars.io.plugins import register_io_source

from ptttool.columns import ALL_COLUMNS, DEFAULT_COLUMNS
from ptttool.errors import UsageError
from ptttool.registry import Registry
from ptttool.textual import as_text

Frames = Iterator[pl.DataFrame]
Schema = Mapping[str, pl.DataType]


@dataclass(frozen=True)
class Format:
    """One way to write frames.

    ``suffixes``: of file names that mean it. ``columns``: what it holds by default. ``binary``: not for a terminal. ``write``: takes
    the frames, their schema, the file and facts about the recording (kept where the format has a place for them).
    """

    name: str
    suffixes: tuple[str, ...]
    columns: tuple[str, ...]
    binary: bool
    write: Callable[[Frames, Schema, IO[bytes], Mapping[str, str]], None]


FORMATS: Registry[Format] = Registry("output format")


def format_of(name: str | None, output: Path | None, others: Mapping[str, tuple[str, ...]]) -> str | None:
    """The format's name: as given with --to, else by the output's suffix; None where neither says one.

    ``others``: formats that are not written here, with their suffixes.
    """
    suffixes = {suffix: known.name for known in FORMATS for suffix in known.suffixes} | {s: n for n, of in others.items() for s in of}
    known_names = sorted({*suffixes.values(), *others})
    if name is not None:
        if name not in known_names:
            raise UsageError(f"no output format is called {name!r}", hint="known: " + ", ".join(known_names), code="unknown-format")
        return name
    if output is None or not output.suffix:
        return None
    found = suffixes.get(output.suffix.lower())
    if found is None:
        raise UsageError(
            f"{output}: the suffix {output.suffix} is no format's",
            hint=f"name one with --to: {', '.join(known_names)}",
            code="unknown-suffix",
        )
    return found


# Seconds after which to look whether the writer still takes frames.
_LOOK = 0.05
# Rows of text made at a time: some ten MB, which the C library does not ask the system for each time anew.
_TEXT_ROWS = 1 << 15


# Text goes through a buffer, so that Python writes it: polars writes to a file's descriptor and words errors its own way.
def _write_csv(frames: Frames, _schema: Schema, file: IO[bytes], _facts: Mapping[str, str]) -> None:
    headline = True
    for frame in frames:
        for part in frame.iter_slices(_TEXT_ROWS) if frame.height else [frame] if headline else []:
            buffer = BytesIO()
            # Nothing of a single column is an empty line, which readers pass over.
            absent = '""' if part.width == 1 else ""
            as_text(part).write_csv(buffer, include_header=headline, null_value=absent, quote_style="never")
            file.write(buffer.getbuffer())
            headline = False


def _write_jsonl(frames: Frames, _schema: Schema, file: IO[bytes], _facts: Mapping[str, str]) -> None:
    for frame in frames:
        # polars writes enums at half the speed of texts.
        for part in frame.iter_slices(_TEXT_ROWS) if frame.height else []:
            buffer = BytesIO()
            as_text(part).with_columns(cs.enum().cast(pl.String)).write_ndjson(buffer)
            file.write(buffer.getbuffer())


def _write_parquet(frames: Frames, schema: Schema, file: IO[bytes], facts: Mapping[str, str]) -> None:
    def sink(lazy: pl.LazyFrame) -> None:
        lazy.sink_parquet(file, compression="zstd", compression_level=1, statistics=True, metadata=dict(facts))

    _stream(frames, schema, sink)


def _write_arrow(frames: Frames, schema: Schema, file: IO[bytes], _facts: Mapping[str, str]) -> None:
    _stream(frames, schema, lambda lazy: lazy.sink_ipc(file))


def _stream(frames: Frames, schema: Schema, sink: Callable[[pl.LazyFrame], None]) -> None:
    """Give frames to one of polars' streaming writers, one waiting while another is written.

    The writer has a thread of its own. Python hears Ctrl-C in the main thread only, which must not be inside polars then; and whatever
    goes wrong in ``frames`` is no concern of polars, whose threads would outlive an error and abort Python at its end.
    """
    waiting: Queue[pl.DataFrame | None] = Queue(maxsize=1)
    ended = threading.Event()
    failures: list[BaseException] = []

    def source(_columns: object, _predicate: object, _rows: object, _batch: object) -> Frames:
        while (frame := waiting.get()) is not None:
            yield frame

    def run() -> None:
        try:
            with _system_errors():
                sink(register_io_source(source, schema=dict(schema)))
        except BaseException as error:
            failures.append(error)
        finally:
            ended.set()

    def put(frame: pl.DataFrame | None) -> None:
        while not ended.is_set():
            with suppress(Full):
                waiting.put(frame, timeout=_LOOK)
                return

    threading.Thread(target=run, name="writer", daemon=True).start()
    try:
        for frame in frames:
            put(frame)
            if ended.is_set():
                break
    finally:
        # Not Thread.join(): Python 3.11 takes a thread for ended when its join is interrupted.
        put(None)
        ended.wait()
    if failures:
        raise failures[0]


@contextmanager
def _system_errors() -> Iterator[None]:
    """polars tells a failed write with the system's number in its text alone: make it a plain OSError again."""
    try:
        yield
    except (pl.exceptions.PolarsError, OSError) as error:
        number = re.search(r"\(os error (\d+)\)|\[Errno (\d+)\]", str(error))
        if number is None:
            raise
        code = int(number[1] or number[2])
        raise OSError(code, os.strerror(code)) from None


FORMATS.add("csv", Format("csv", (".csv",), DEFAULT_COLUMNS, False, _write_csv))
FORMATS.add("jsonl", Format("jsonl", (".jsonl", ".ndjson"), ALL_COLUMNS, False, _write_jsonl))
FORMATS.add("parquet", Format("parquet", (".parquet", ".pq"), ALL_COLUMNS, True, _write_parquet))
FORMATS.add("arrow", Format("arrow", (".arrow", ".ipc", ".feather"), ALL_COLUMNS, True, _write_arrow))
