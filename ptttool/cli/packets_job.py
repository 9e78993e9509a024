"""One ``ptttool packets``: recordings decoded, elements selected, written where they shall go."""

from __future__ import annotations

import shutil
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ptttool.cli.terminal.destination import destination, page_rows
from ptttool.cli.terminal.talk import clean, note, warn
from ptttool.errors import InputError, UsageError
from ptttool.exporters.output_format import chosen_format
from ptttool.perfdata.problems import error_of
from ptttool.wording import counted

if TYPE_CHECKING:
    from ptttool.decoders.parameters import Given
    from ptttool.decoders.stack import Stack
    from ptttool.exporters.packet_rows import Rows
    from ptttool.pipeline.packet_trace import PacketTrace


# Sentences on what is odd about the elements: more say nothing new.
_MOST_REMARKS = 5


@dataclass
class PacketsJob:
    """What was asked for; fields are the options of the command, ``descriptions`` its files of parameters.

    ``without``: kinds of elements that are left out. ``fields``: names of those that are wanted; None for all. ``layout``: of a table.
    ``done``: elements written.
    """

    paths: list[str]
    protocol: str | None
    given: Mapping[str, Given]
    form: str | None = None
    strict: bool = False
    to: str | None = None
    output: Path | None = None
    force: bool = False
    raw: bool = True
    channels: tuple[int, ...] = ()
    limit: int | None = None
    descriptions: tuple[Path, ...] = ()
    without: tuple[str, ...] = ()
    fields: tuple[str, ...] | None = None
    layout: str = "elements"
    done: int = 0
    _failures: list[InputError] = field(default_factory=list)
    _remarks: Counter[str] = field(default_factory=Counter)

    def run(self) -> None:
        """Decode. Raises InputError at the end where a recording is damaged: what could be read is written by then."""
        from ptttool.cli.terminal.interrupts import tidy_end
        from ptttool.exporters.packet_output import BINARY, write
        from ptttool.pipeline.packet_trace import PacketTrace

        name = self._format()
        page = page_rows(name, self.limit) if self._on_terminal else None
        wanted = page if self.limit is None else self.limit
        if self.paths.count("-") > 1:
            raise UsageError("standard input can be read once only", code="stdin-twice")
        with PacketTrace(self.paths[0], self.protocol, self.given, form=self.form, strict=self.strict) as first:
            fields = tuple(field for field in first.stack.fields if self.fields is None or field.name in self.fields)
            facts = {"ptttool.protocol": first.stack.title, **{f"ptttool.{key}": f"{value}" for key, value in first.stack.values.items()}}
            with (
                tidy_end(),
                destination(
                    self.output, self.paths, name, binary=name in BINARY, force=self.force, others=(*self.descriptions, *first.stack.reads)
                ) as file,
            ):
                width = max(shutil.get_terminal_size().columns, 20) if self._on_terminal else None
                cut = write(
                    name,
                    self._rows(first, wanted),
                    fields,
                    file,
                    facts,
                    raw=self.raw,
                    layout=self.layout,
                    width=width,
                )
        if page is not None and self.done >= page:
            note(f"the first {page} elements; --limit N shows more, --to and -o write all")
        if cut:
            note("lines are cut at the terminal's width: '| less -S' shows them whole")
        if self.output is not None:
            note(f"{counted(self.done, 'element')} written to {clean(str(self.output))}")
        for remark, count in self._remarks.most_common(_MOST_REMARKS):
            warn(clean(remark) + (f" ({count} times)" if count > 1 else ""))
        if len(self._remarks) > _MOST_REMARKS:
            warn(f"and {len(self._remarks) - _MOST_REMARKS} more of this kind")
        protocol = first.stack.protocol
        for remark in protocol.afterwards(first.stack.settings):
            warn(clean(remark))
        for failure in self._failures[1:]:
            warn(clean(str(failure)))
        if self._failures:
            raise self._failures[0]

    def _format(self) -> str:
        from ptttool.exporters.packet_output import SUFFIXES

        by_suffix = {suffix: name for name, suffixes in SUFFIXES.items() for suffix in suffixes}
        return chosen_format(self.to, self.output, SUFFIXES, by_suffix) or "table"

    @property
    def _on_terminal(self) -> bool:
        return self.output is None and sys.stdout.isatty()

    def _rows(self, first: PacketTrace, wanted: int | None) -> Iterator[Rows]:
        """Elements of all recordings, as many as are wanted."""
        for number, path in enumerate(self.paths):
            with first if number == 0 else self._next(path, first.stack) as trace:
                for rows in self._of(trace):
                    left = len(rows) if wanted is None else min(wanted - self.done, len(rows))
                    self.done += left
                    yield rows if left == len(rows) else rows.head(left)
                    if self.done == wanted:
                        break
                self._failures += _failures_of(trace)
            if self.done == wanted:
                break
        if not self.done and wanted != 0 and not self._failures:
            warn("no element" + (" of these channels" if self.channels else ""))

    def _next(self, path: str, stack: Stack) -> PacketTrace:
        """A further recording, which must be of the same protocol as the first."""
        from ptttool.pipeline.packet_trace import PacketTrace

        trace = PacketTrace(path, self.protocol, self.given, form=self.form, strict=self.strict)
        if trace.stack.title != stack.title:
            trace.close()
            raise UsageError(f"{path} holds {trace.stack.title}, {self.paths[0]} {stack.title}", hint="decode them one by one")
        return trace

    def _of(self, trace: PacketTrace) -> Iterator[Rows]:
        import numpy as np

        from ptttool.cli.terminal.walking import shown_progress
        from ptttool.decoders.elements import CODES
        from ptttool.exporters.packet_rows import Rows

        if trace.warning is not None:
            warn(f"{clean(trace.path)}: {trace.warning}")
        name = trace.path if len(self.paths) > 1 else None
        protocol = trace.stack.protocol
        without = [CODES[kind] for kind in self.without]
        with nullcontext() if self._on_terminal else shown_progress(trace):
            for part in trace.parts():
                batch = part.batch
                if self.channels:
                    batch = batch.take(np.isin(batch.channel, self.channels))
                self._remarks.update(protocol.remarks(batch, trace.stack.settings))
                if without:
                    batch = batch.take(~np.isin(batch.kind, without))
                if len(batch):
                    yield Rows(batch, name, part.cpu)


def _failures_of(trace: PacketTrace) -> list[InputError]:
    """Damage of a recording, of which all that could be read was given."""
    hint = "what could be read before that place was given"
    return [error_of(problem, trace.path, hint=hint) for problem in trace.problems]
