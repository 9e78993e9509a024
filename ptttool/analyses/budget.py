"""Budgets of the analyses."""

from __future__ import annotations

from typing import Final

from ptttool.budget import Budget

MAX_LINE_POINTS: Final = Budget(1 << 12, "points", "Points of a time line; beyond it they are joined in pairs.")
MAX_STREAM_SIGNS: Final = Budget(1 << 10, "signs", "Signs of loss in AUX streams that are listed; each stream has two at most.")
MAX_REGIONS: Final = Budget(1 << 10, "regions", "Named ranges of addresses that requests are sorted into.")
MAX_PAGES: Final = Budget(
    1 << 16,
    "sums",
    "Sums by page, direction and operation that are held. Where pages are more, neighbours are added up: exact sums of larger ranges.",
)
MAX_TARGETS: Final = Budget(
    1 << 12, "sums", "Sums by target of small writes and by requester; more of them are added up as those of pages."
)
MAX_IO_PAGES: Final = Budget(1 << 16, "pages", "Pages of memory in each table of `analyze io`; accesses to others are counted.")
MAX_IO_REQUESTERS: Final = Budget(1 << 10, "requesters", "Requesters that `analyze io` looks at; TLPs of others are counted.")
MAX_BORDER_ROWS: Final = Budget(1 << 15, "rows", "Open requests where two parts of a recording join, and completions of requests in front.")
MAX_BORDER_KEYS: Final = Budget(
    1 << 18, "keys", "Requesters with their tags that are known where two parts join; 256 functions with 768 tags each are fewer."
)
MAX_IN_FLIGHT: Final = Budget(1 << 12, "commands", "Commands of a drive that are open where two parts join; of more, no times are kept.")
MAX_OPEN_STEPS: Final = Budget(
    1 << 20, "steps", "Doorbells, fetches and completions of drives that wait for what follows them; of more, no times are given."
)
MAX_JOINED: Final = Budget(1 << 21, "events", "Entries, doorbells and interrupts that are kept for the kernel's side; of more, none is.")
MAX_CONTROLLERS: Final = Budget(1 << 8, "controllers", "Controllers of the kernel's side that are tried; of more, none is.")
MAX_ERROR_SUMS: Final = Budget(1 << 16, "sums", "Sums of errors by kind and requester; beyond it, the sums are over all requesters.")
MAX_LATENCY_BINS: Final = Budget(1 << 18, "bins", "Bins of latencies; beyond it, requesters have no percentiles of their own.")
MAX_PAYLOAD_REQUESTERS: Final = Budget(1 << 8, "requesters", "Requesters with sizes of their own; others are added up.")
MAX_REQUESTERS: Final = Budget(
    1 << 11,
    "requesters",
    "Requesters with rows of their own in the results of `summary`, `traffic`, `attributes` and `outstanding`; the others are counted.",
)
MAX_LISTED: Final = Budget(64, "rows", "Rows of a list in the result of an analysis; the others are counted.")
MAX_ATTRIBUTE_SUMS: Final = Budget(1 << 16, "sums", "Sums by requester, kind, direction and attributes; other TLPs are counted.")
MAX_BLOCKS: Final = Budget(1 << 9, "blocks", "Blocks of a recording that are summed up to compare it; a longer one has larger ones.")
MAX_COMPARED: Final = Budget(100, "recordings", "Recordings of a side that `compare` takes: the exact test of more takes too long.")
