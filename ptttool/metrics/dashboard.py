"""The dashboard for Grafana that comes with ptttool."""

from __future__ import annotations

from pathlib import Path
from typing import Final

DASHBOARD: Final = Path(__file__).parents[1] / "share" / "grafana.json"
"""The file; ``tests/metrics/test_dashboard.py`` looks at every query in it."""
