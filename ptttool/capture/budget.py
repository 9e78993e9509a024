"""Budgets of what stands beside a recording, and of event strings."""

from __future__ import annotations

from typing import Final

from ptttool.budget import Budget

MAX_SIDECAR_BYTES: Final = Budget(4 << 20, "bytes", "A sidecar; each PCI function behind the root ports takes some 600 bytes.")
MAX_SERIES_BYTES: Final = Budget(1 << 20, "bytes", "The file of a series; each run takes some 200 bytes.")
MAX_SERIES_RUNS: Final = Budget(64, "runs", "Runs of a series; a plan has up to seven.")
MAX_EVENT: Final = Budget(1 << 12, "characters", "An event string; one with all terms has some 100.")
MAX_ARGUMENTS: Final = Budget(1 << 14, "bytes", "Arguments of each other process that are looked at for a trace.")
