"""Budgets of the readers of perf.data: what one recording may make them hold, and how far it may expand.

A recording can be made to ask for much more than it holds: attributes that share ids, lists that state billions of entries, zstd that
expands a thousandfold. Each limit here is far above what perf writes. What exceeds one is left out; everything before it is read as
usual. The recording then has a problem with the code ``over-budget``, which names the offset and the limit, and commands end with the
exit code of a damaged file.
"""

from __future__ import annotations

from typing import Final

from ptttool.budget import Budget

MAX_ATTRIBUTES: Final = Budget(1 << 16, "attributes", "Events of a recording.")
MAX_IDS: Final = Budget(1 << 20, "ids", "Ids of all events together, and entries of ID_INDEX; an id in two attributes counts twice.")
MAX_RECORDS: Final = Budget(1 << 20, "records", "Records that are listed of each kind: AUX, AUXTRACE, AUX_OUTPUT_HW_ID.")
MAX_FEATURE_BYTES: Final = Budget(16 << 20, "bytes", "Feature sections of the header together; an overlap counts twice.")
MAX_LIST: Final = Budget(1 << 16, "entries", "Entries of a list in a feature section.")
MAX_UNKNOWN_TYPES: Final = Budget(1 << 12, "types", "Types of records that perf does not write; more of them are not records.")
MAX_PROBLEMS: Final = Budget(100, "problems", "Problems that are listed.")
EXPANDED_FREE: Final = Budget(16 << 20, "bytes", "Records that compressed records may expand to, whatever their size.")
EXPANDED_RATIO: Final = Budget(64, "bytes per byte", "Further expanded bytes for each compressed byte; perf reaches about 20.")
MAX_WINDOW: Final = Budget(1 << 27, "bytes", "Window of a zstd frame, the largest that perf's levels choose.")
MAX_APART: Final = Budget(64 << 20, "bytes", "Bytes before the data section of a file that comes through a pipe, and bytes after it.")
MAX_FILES: Final = Budget(1 << 12, "files", "Files of a perf.data folder.")
MAX_STREAMS: Final = Budget(1 << 10, "streams", "AUX streams that are decoded as packets; each one has a decoder of its own.")
MAX_DESCRIPTIONS: Final = Budget(64, "changes", "Changes of events and PMU names between payloads that are looked at.")
MAX_TRACEPOINTS: Final = Budget(1 << 12, "tracepoints", "Tracepoints that a recording of the kernel's side describes.")
MAX_FIELDS: Final = Budget(1 << 8, "fields", "Fields of a tracepoint.")
MAX_FIELD_BYTES: Final = Budget(1 << 12, "bytes", "Where the fields of a tracepoint end; a name of one ends as early.")
MAX_SAMPLES: Final = Budget(3 << 17, "samples", "Samples of a tracepoint that are held; of one with more, none is.")
MAX_MAPS: Final = Budget(1 << 10, "maps", "Places of the kernel and of its modules that are known of the kernel's side.")
MAX_THREADS: Final = Budget(1 << 16, "names", "Names of threads, and forks of them, that are known of the kernel's side.")


class OverBudgetError(ValueError):
    """A recording asks for more than a budget allows.

    Parameters
    ----------
    reason : str
        What is too much, as a part of a sentence; it names the limit.
    limit : int
        The limit.
    """

    def __init__(self, reason: str, limit: int) -> None:
        super().__init__(reason)
        self.limit = limit


class Expansion:
    """Bytes that compressed records of one recording have, and have become."""

    def __init__(self) -> None:
        self._compressed = 0
        self._expanded = 0

    def take(self, compressed: int) -> None:
        """Count compressed bytes before they are expanded."""
        self._compressed += compressed

    def give(self, expanded: int) -> None:
        """Count expanded bytes.

        Raises
        ------
        OverBudgetError
            They are more than the compressed bytes allow.
        """
        self._expanded += expanded
        limit = EXPANDED_FREE + EXPANDED_RATIO * self._compressed
        if self._expanded > limit:
            raise OverBudgetError(f"{self._compressed} compressed bytes become more than {limit} bytes", limit)
