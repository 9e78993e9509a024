"""Arrow files, through polars' streaming writer."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from queue import Full, Queue
from typing import IO, TYPE_CHECKING

from ptttool.exporters.contract import EXPORTERS, ExportContext, Exporter, Writer
from ptttool.table.batch import Batch
from ptttool.table.schema import Schema

if TYPE_CHECKING:
    import polars as pl


class Arrow(Exporter):
    """The file format of Arrow IPC."""

    name = "arrow"
    meaning = "Apache Arrow IPC file"
    suffixes = (".arrow", ".ipc", ".feather")
    is_binary = True
    rows = 1 << 16

    def writer(self, file: IO[bytes], schema: Schema, context: ExportContext) -> Writer:
        """Return a writer with a thread of its own."""
        return ArrowFile(file, schema)


# Seconds after which to look whether the writer still takes frames.
_LOOK = 0.05


class ArrowFile:
    """A file that is being written: one frame waits while another is written.

    The writer runs in its own thread, for two reasons. Python handles Ctrl-C in the main thread only, which must not be inside polars at
    that moment. And an error while batches are made must not reach polars: its threads would outlive the error and abort Python at exit.
    """

    def __init__(self, file: IO[bytes], schema: Schema) -> None:
        from ptttool.table.frame import polars_schema

        self._into = file
        self._schema = polars_schema(schema)
        self._waiting: Queue[pl.DataFrame | None] = Queue(maxsize=1)
        self._ended = threading.Event()
        self._failures: list[BaseException] = []
        threading.Thread(target=self._run, name="writer", daemon=True).start()

    def _run(self) -> None:
        from polars.io.plugins import register_io_source

        def source(_columns: object, _predicate: object, _rows: object, _batch: object) -> Iterator[pl.DataFrame]:
            while (frame := self._waiting.get()) is not None:
                yield frame

        try:
            with _system_errors():
                register_io_source(source, schema=self._schema).sink_ipc(self._into)
        except BaseException as error:
            self._failures.append(error)
        finally:
            self._ended.set()

    def _put(self, frame: pl.DataFrame | None) -> None:
        while not self._ended.is_set():
            with suppress(Full):
                self._waiting.put(frame, timeout=_LOOK)
                return

    def add(self, piece: Batch) -> None:
        """Write rows. Raises what the writer met with."""
        self._put(piece.to_polars())
        self._raise()

    def close(self) -> None:
        """Finish the file."""
        self.abandon()
        self._raise()

    def abandon(self) -> None:
        """Let the writer go. Not Thread.join(): Python 3.11 takes a thread for ended when its join is interrupted."""
        self._put(None)
        self._ended.wait()

    def _raise(self) -> None:
        if self._ended.is_set() and self._failures:
            raise self._failures[0]


@contextmanager
def _system_errors() -> Iterator[None]:
    """polars names the system's error number of a failed write only in its message: make it a plain OSError again."""
    import polars as pl

    try:
        yield
    except (pl.exceptions.PolarsError, OSError) as error:
        number = re.search(r"\(os error (\d+)\)|\[Errno (\d+)\]", str(error))
        if number is None:
            raise
        code = int(number[1] or number[2])
        raise OSError(code, os.strerror(code)) from None


EXPORTERS.add("arrow", Arrow())
