"""How many elements of which kind, on which channel, and what is odd about them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from ptttool.analyses.contract import ANALYSES, Analysis, AnalysisContext
from ptttool.analyses.drawing.result import Shown
from ptttool.documents import document
from ptttool.table.batch import Batch
from ptttool.table.values import Texts

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
        self._kinds: Counter[str] = Counter()
        self._protocols: Counter[str] = Counter()
        self._channels: Counter[int] = Counter()
        self._flags: Counter[str] = Counter()

    def update(self, batch: Batch) -> None:
        """Add elements."""
        self._records += batch.size
        self._bytes += int(np.asarray(batch.values("size").present()).sum(dtype=np.uint64))
        kinds = np.bincount(np.asarray(batch.values("kind").present()).astype(np.intp))
        self._kinds.update({batch.schema["kind"].values[code]: int(kinds[code]) for code in np.flatnonzero(kinds).tolist()})
        channels, counts = np.unique(np.asarray(batch.values("channel").present()), return_counts=True)
        self._channels.update(dict(zip(channels.tolist(), counts.tolist(), strict=True)))
        for name, counter in (("protocol", self._protocols), ("flags", self._flags)):
            texts = batch.values(name).present()
            if isinstance(texts, Texts):
                counted = np.bincount(texts.codes.astype(np.intp))
                counter.update({texts.texts[code]: int(counted[code]) for code in np.flatnonzero(counted).tolist()})

    def merge(self, later: Elements) -> None:
        """Add the elements behind."""
        self._records += later._records
        self._bytes += later._bytes
        for mine, theirs in (
            (self._kinds, later._kinds), (self._protocols, later._protocols), (self._flags, later._flags),
        ):  # fmt: skip
            mine.update(theirs)
        self._channels.update(later._channels)

    def result(self, context: AnalysisContext) -> ElementSummary:
        """Return the counts, the most frequent first; channels by number."""
        return ElementSummary(
            records=self._records,
            bytes=self._bytes,
            kinds=dict(self._kinds.most_common()),
            protocols=dict(self._protocols.most_common()),
            channels={str(channel): count for channel, count in sorted(self._channels.items())},
            flags=dict(self._flags.most_common()),
        )


ANALYSES.add("elements", Elements)
