"""Budgets of what stands beside a recording, and of event strings."""

from __future__ import annotations

from typing import Final

from ptttool.budget import Budget

MAX_SIDECAR_BYTES: Final = 4 << 20
MAX_SERIES_BYTES: Final = 1 << 20
MAX_SERIES_RUNS: Final = 64
MAX_EVENT: Final = 1 << 12
MAX_ARGUMENTS: Final = 1 << 14

BUDGETS: Final = (
    Budget("MAX_SIDECAR_BYTES", MAX_SIDECAR_BYTES, "bytes", "A sidecar; each PCI function behind the root ports takes some 600 bytes."),
    Budget("MAX_SERIES_BYTES", MAX_SERIES_BYTES, "bytes", "The file of a series; each run takes some 200 bytes."),
    Budget("MAX_SERIES_RUNS", MAX_SERIES_RUNS, "runs", "Runs of a series; a plan has up to seven."),
    Budget("MAX_EVENT", MAX_EVENT, "characters", "An event string; one with all terms has some 100."),
    Budget("MAX_ARGUMENTS", MAX_ARGUMENTS, "bytes", "Arguments of each other process that are looked at for a trace."),
)
"""All budgets of this subpackage."""
