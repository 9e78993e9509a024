"""Budgets of this analysis."""

from __future__ import annotations

from typing import Final

from ptttool.budget import Budget

MAX_IO_PAGES: Final = 1 << 16
MAX_IO_REQUESTERS: Final = 1 << 10

BUDGETS: Final = (
    Budget("MAX_IO_PAGES", MAX_IO_PAGES, "pages", "Pages of memory in each table of `analyze io`; the accesses to further ones are counted."),
    Budget("MAX_IO_REQUESTERS", MAX_IO_REQUESTERS, "requesters", "Requesters that `analyze io` looks at; TLPs of further ones are counted."),
)
"""All budgets of this room."""
