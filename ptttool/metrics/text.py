"""Samples as text: Prometheus' text format 0.0.4, which node_exporter's textfile collector reads, and OpenMetrics 1.0.

Sources: prometheus.io/docs/instrumenting/exposition_formats, and the OpenMetrics specification.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from ptttool.metrics.model import MetricValue, Samples
from ptttool.wording import clean, shortened

# Characters of a label's value.
_LONGEST = 1000


def text_of(samples: Samples, *, openmetrics: bool = False) -> str:
    """Write samples in Prometheus' text format, or in OpenMetrics'."""
    return "".join(_families(samples, openmetrics=openmetrics)) + ("# EOF\n" if openmetrics else "")


def _families(samples: Samples, *, openmetrics: bool) -> Iterator[str]:
    for metric, family in samples.families.items():
        name, kind = metric.name, str(metric.kind)
        if openmetrics and name.endswith("_info"):  # there the suffix is not part of the metric's name
            name, kind = name.removesuffix("_info"), "info"
        help_text = _escaped(metric.help)
        yield f"# HELP {name} {help_text}\n"
        yield f"# TYPE {name} {kind}\n"
        if openmetrics and metric.unit:
            yield f"# UNIT {name} {metric.unit}\n"
        written: set[str] = set()
        for sample in family:
            series = _series(sample)
            # Prometheus refuses a whole file for one series that is there twice, as two names that are cleaned alike would make it.
            if series not in written:
                written.add(series)
                yield f"{series} {_number(sample.value)}\n"


def _series(sample: MetricValue) -> str:
    labels = ",".join(f'{name}="{_escaped(shortened(clean(value), _LONGEST))}"' for name, value in sample.labels.items())
    return f"{sample.name}{f'{{{labels}}}' if labels else ''}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')


def _number(value: int | float) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "+Inf" if value > 0 else "-Inf"
    return repr(value)
