"""Budgets of the readers of perf.data: what one recording may make them hold, and how far it may expand.

A recording can be made to ask for much more than it holds: attributes that share ids, lists that state billions of entries, zstd that
expands a thousandfold. Each limit here is far above what perf writes. What exceeds one is left out; everything before it is read as
usual. The recording then has a problem with the code ``over-budget``, which names the offset and the limit, and commands end with the
exit code of a damaged file.
"""

from __future__ import annotations

from typing import Final

from ptttool.budget import Budget

MAX_ATTRIBUTES: Final = 1 << 16
MAX_IDS: Final = 1 << 20
MAX_RECORDS: Final = 1 << 20
MAX_FEATURE_BYTES: Final = 16 << 20
MAX_LIST: Final = 1 << 16
MAX_UNKNOWN_TYPES: Final = 1 << 12
MAX_PROBLEMS: Final = 100
EXPANDED_FREE: Final = 16 << 20
EXPANDED_RATIO: Final = 64
MAX_WINDOW: Final = 1 << 27
MAX_APART: Final = 64 << 20
MAX_FILES: Final = 1 << 12
MAX_STREAMS: Final = 1 << 10
MAX_DESCRIPTIONS: Final = 64


BUDGETS: Final = (
    Budget("MAX_ATTRIBUTES", MAX_ATTRIBUTES, "attributes", "Events of a recording."),
    Budget("MAX_IDS", MAX_IDS, "ids", "Ids of all events together, and entries of ID_INDEX; an id in two attributes counts twice."),
    Budget("MAX_RECORDS", MAX_RECORDS, "records", "Records that are listed of each kind: AUX, AUXTRACE, AUX_OUTPUT_HW_ID."),
    Budget("MAX_FEATURE_BYTES", MAX_FEATURE_BYTES, "bytes", "Feature sections of the header together; an overlap counts twice."),
    Budget("MAX_LIST", MAX_LIST, "entries", "Entries of a list in a feature section."),
    Budget("MAX_UNKNOWN_TYPES", MAX_UNKNOWN_TYPES, "types", "Types of records that perf does not write; more of them are not records."),
    Budget("MAX_PROBLEMS", MAX_PROBLEMS, "problems", "Problems that are listed."),
    Budget("EXPANDED_FREE", EXPANDED_FREE, "bytes", "Records that compressed records may expand to, whatever their size."),
    Budget("EXPANDED_RATIO", EXPANDED_RATIO, "bytes per byte", "Further expanded bytes for each compressed byte; perf reaches about 20."),
    Budget("MAX_WINDOW", MAX_WINDOW, "bytes", "Window of a zstd frame, the largest that perf's levels choose."),
    Budget("MAX_APART", MAX_APART, "bytes", "Bytes before the data section of a file that comes through a pipe, and bytes after it."),
    Budget("MAX_FILES", MAX_FILES, "files", "Files of a perf.data folder."),
    Budget("MAX_STREAMS", MAX_STREAMS, "streams", "AUX streams that are decoded as packets; each one has a decoder of its own."),
    Budget("MAX_DESCRIPTIONS", MAX_DESCRIPTIONS, "changes", "Changes of events and PMU names between payloads that are looked at."),
)
"""All budgets of this subpackage."""


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
