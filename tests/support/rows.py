"""Recordings read through the pipeline, for tests: frames, sums, payloads, and what the last walk found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import polars as pl

from ptttool.analyses.summary import TlpSummary
from ptttool.decoders.hisi_ptt.findings import Findings
from ptttool.decoders.hisi_ptt.payloads import Payload, payloads
from ptttool.decoders.parameters import Given
from ptttool.files.progress import Progress
from ptttool.perfdata.model import Attribute, Contents
from ptttool.pipeline.analyzing.ask import Ask, run
from ptttool.pipeline.query import Query
from ptttool.pipeline.recording import OpenRecording, Request
from ptttool.pipeline.walk import Walk
from ptttool.pipeline.workers.pool import ALONE, Workers
from ptttool.recording.opening import InputForm
from ptttool.table.frame import polars_schema
from ptttool.tlp.columns import TLP_SCHEMA


def schema_of(names: Sequence[str]) -> dict[str, pl.DataType]:
    """The polars types of columns of TLPs."""
    return polars_schema(TLP_SCHEMA.select(names))


def request_of(path: str | Path, *, raw_format: str | None = None, pattern: str | None = None) -> Request:
    """A request for a PTT recording."""
    given = {}
    if raw_format is not None:
        given["input"] = Given(raw_format, "test")
    if pattern is not None:
        given["pattern"] = Given(pattern, "test")
    form = InputForm.PERF if raw_format is None else InputForm.RAW
    return Request(str(path), "hisi-ptt" if given else None, given, form)


class Read:
    """A PTT recording; every method is a new walk."""

    def __init__(self, path: str | Path, *, raw_format: str | None = None, pattern: str | None = None) -> None:
        self.recording = OpenRecording(request_of(path, raw_format=raw_format, pattern=pattern))
        self._walk: Walk | None = None

    def walk(self, workers: Workers = ALONE) -> Walk:
        self._walk = self.recording.walk(workers)
        return self._walk

    @property
    def last(self) -> Walk:
        assert self._walk is not None
        return self._walk

    @property
    def findings(self) -> Findings:
        found = self.last.findings
        assert isinstance(found, Findings)
        return found

    @property
    def progress(self) -> Progress:
        return self.last.progress

    @property
    def contents(self) -> Contents:
        return self.recording.contents

    @property
    def attribute(self) -> Attribute | None:
        return self.recording.attribute

    def frames(self, columns: Sequence[str], *, query: Query | None = None, workers: Workers = ALONE) -> Iterator[pl.DataFrame]:
        """Frames of the rows, at least one."""
        for batch in self.walk(workers).batches(query or Query(tuple(columns))):
            yield batch.to_polars()

    def tally(self, workers: Workers = ALONE) -> TlpSummary:
        """The sums."""
        found: Any = run(self.recording, Ask(workers), ("summary",)).results["summary"]
        self._walk = self.recording._last_walk
        assert isinstance(found, TlpSummary)
        return found

    def payloads(self) -> Iterator[Payload]:
        """The payloads as they are."""
        settings: Any = self.recording.stack.settings
        raw = settings.eight_dw if self.recording.is_raw else None
        return payloads(self.recording.source(), raw=raw, done=lambda _position: None)

    def __enter__(self) -> Read:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.recording.close()
