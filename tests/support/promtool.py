"""Prometheus' own checker: of the system, or of Debian's package as `make test` unpacks it."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

_UNPACKED = Path(sys.prefix, "share/prometheus/usr/bin/promtool")


def promtool() -> str:
    """Return the path of promtool."""
    found = shutil.which("promtool")
    if found is None and _UNPACKED.exists():
        found = str(_UNPACKED)
    assert found is not None, "promtool is missing: `make test` unpacks it"
    return found
