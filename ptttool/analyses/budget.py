"""Budgets of the analyses."""

from __future__ import annotations

from typing import Final

from ptttool.budget import Budget

MAX_STREAM_SIGNS: Final = 1 << 10
MAX_LINE_POINTS: Final = 1 << 12
MAX_REGIONS: Final = 1 << 10
MAX_PAGES: Final = 1 << 16
MAX_TARGETS: Final = 1 << 12
MAX_LISTED: Final = 64
MAX_REQUESTERS: Final = 1 << 11
MAX_BORDER_ROWS: Final = 1 << 15
MAX_BORDER_KEYS: Final = 1 << 18
MAX_LATENCY_BINS: Final = 1 << 18
MAX_ERROR_SUMS: Final = 1 << 16
MAX_BLOCKS: Final = 1 << 9
MAX_IO_PAGES: Final = 1 << 16
MAX_IO_REQUESTERS: Final = 1 << 10
MAX_LONE_LISTS: Final = 1 << 12
MAX_IN_FLIGHT: Final = 1 << 12
MAX_ATTRIBUTE_SUMS: Final = 1 << 16
MAX_PAYLOAD_REQUESTERS: Final = 1 << 8

BUDGETS: Final = (
    Budget("MAX_LINE_POINTS", MAX_LINE_POINTS, "points", "Points of a time line; beyond it they are joined in pairs."),
    Budget("MAX_STREAM_SIGNS", MAX_STREAM_SIGNS, "signs", "Signs of loss in AUX streams that are listed; each stream has two at most."),
    Budget("MAX_REGIONS", MAX_REGIONS, "regions", "Named ranges of addresses that requests are sorted into."),
    Budget(
        "MAX_PAGES",
        MAX_PAGES,
        "sums",
        "Sums by page, direction and operation that are held. Where pages are more, neighbours are added up: exact sums of larger ranges.",
    ),
    Budget(
        "MAX_TARGETS", MAX_TARGETS, "sums", "Sums by target of small writes and by requester; more of them are added up as those of pages."
    ),
    Budget("MAX_IO_PAGES", MAX_IO_PAGES, "pages", "Pages of memory in each table of `analyze io`; accesses to others are counted."),
    Budget("MAX_IO_REQUESTERS", MAX_IO_REQUESTERS, "requesters", "Requesters that `analyze io` looks at; TLPs of others are counted."),
    Budget(
        "MAX_BORDER_ROWS",
        MAX_BORDER_ROWS,
        "rows",
        "Open requests where two parts of a recording join, and completions of requests in front.",
    ),
    Budget(
        "MAX_BORDER_KEYS",
        MAX_BORDER_KEYS,
        "keys",
        "Requesters with their tags that are known where two parts join; 256 functions with 768 tags each are fewer.",
    ),
    Budget("MAX_LONE_LISTS", MAX_LONE_LISTS, "pages", "Pages of a drive that are known to hold lists, as one command at a time read them."),
    Budget(
        "MAX_IN_FLIGHT", MAX_IN_FLIGHT, "commands", "Commands of a drive that are open where two parts join; of more, no times are kept."
    ),
    Budget("MAX_ERROR_SUMS", MAX_ERROR_SUMS, "sums", "Sums of errors by kind and requester; beyond it, the sums are over all requesters."),
    Budget("MAX_LATENCY_BINS", MAX_LATENCY_BINS, "bins", "Bins of latencies; beyond it, requesters have no percentiles of their own."),
    Budget("MAX_PAYLOAD_REQUESTERS", MAX_PAYLOAD_REQUESTERS, "requesters", "Requesters with sizes of their own; others are added up."),
    Budget(
        "MAX_REQUESTERS",
        MAX_REQUESTERS,
        "requesters",
        "Requesters with rows of their own in the results of `summary`, `traffic`, `attributes` and `outstanding`; the others are counted.",
    ),
    Budget("MAX_LISTED", MAX_LISTED, "rows", "Rows of a list in the result of an analysis; the others are counted."),
    Budget("MAX_ATTRIBUTE_SUMS", MAX_ATTRIBUTE_SUMS, "sums", "Sums by requester, kind, direction and attributes; other TLPs are counted."),
    Budget("MAX_BLOCKS", MAX_BLOCKS, "blocks", "Blocks of a recording that are summed up to compare it; a longer one has larger ones."),
)
"""All budgets of this subpackage."""
