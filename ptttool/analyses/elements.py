"""How many elements of which kind, on which channel, and what is odd about them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct

from ptttool.analyses.contract import ANALYSES, Analysis, AnalysisContext
from ptttool.analyses.drawing.result import Shown
from ptttool.documents import document
from ptttool.table.batch import Batch
from ptttool.table.values import Array, Texts

if TYPE_CHECKING:
    from ptttool.analyses.shown import Names, Part


@document("elements")
class ElementSummary(Shown, Struct, frozen=True):
    """Elements of packet traces, summed up.

    Parameters
    ----------
    records : int
        Number of elements.
    bytes : int
        Bytes of the streams.
    kinds, protocols, flags : Mapping[str, int]
        Number of elements by name.
    channels : Mapping[str, int]
        Number of elements by channel.
    """

    records: int
    bytes: int
    kinds: dict[str, int]
    protocols: dict[str, int]
    channels: dict[str, int]
    flags: dict[str, int]

    def shown(self, names: Names) -> Iterator[Part]:
        """Yield the sums, and a table for each of the counts."""
        from ptttool.analyses.shown import Column, Facts, Table, Unit, text_column

        yield Facts([("records", f"{self.records:,}"), ("bytes", f"{self.bytes:,}")])
        counts = (("kind", self.kinds), ("protocol", self.protocols), ("channel", self.channels), ("flag", self.flags))
        for what, counted in counts:
            if counted:
                columns = (text_column(what.title()), Column("Elements"), Column("Share", Unit.PERCENT, weight=1))
                yield Table(f"By {what}", columns, [(name, count, 100 * count / self.records) for name, count in counted.items()])


class Elements(Analysis[ElementSummary]):
    """Counts elements of packet traces."""

    name = "elements"
    meaning = "elements of packet traces by kind, protocol, channel and flag"
    columns = ("size", "channel", "protocol", "kind", "flags")
    sums_recordings = True

    def __init__(self) -> None:
        self._records = 0
        self._bytes = 0
        self._counts: dict[str, Counter[Any]] = {name: Counter() for name in self.columns[1:]}

    def update(self, batch: Batch) -> None:
        """Add elements."""
        self._records += batch.size
        self._bytes += int(np.asarray(batch.values("size").present()).sum(dtype=np.uint64))
        self._add("kind", np.asarray(batch.values("kind").present()), batch.schema["kind"].values)
        channels, codes = np.unique(np.asarray(batch.values("channel").present()), return_inverse=True)
        self._add("channel", codes, channels.tolist())
        for name in ("protocol", "flags"):
            texts = batch.values(name).present()
            if isinstance(texts, Texts):
                self._add(name, texts.codes, texts.texts)

    def _add(self, name: str, codes: Array, names: Sequence[Any]) -> None:
        counts = np.bincount(codes.astype(np.intp))
        self._counts[name].update({names[code]: int(counts[code]) for code in np.flatnonzero(counts).tolist()})

    def merge(self, later: Elements) -> None:
        """Add the elements behind."""
        self._records += later._records
        self._bytes += later._bytes
        for name, counts in later._counts.items():
            self._counts[name].update(counts)

    def result(self, context: AnalysisContext) -> ElementSummary:
        """Return the counts, the most frequent first; channels by number."""
        kinds, protocols, flags = (dict(self._counts[name].most_common()) for name in ("kind", "protocol", "flags"))
        channels = {str(channel): count for channel, count in sorted(self._counts["channel"].items())}
        return ElementSummary(self._records, self._bytes, kinds, protocols, channels, flags)


ANALYSES.add("elements", Elements)
