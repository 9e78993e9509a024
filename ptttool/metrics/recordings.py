"""Metrics of recordings: TLPs and bytes, signs of loss, latency in ticks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ptttool.diagnostics import Severity
from ptttool.metrics import catalogue
from ptttool.metrics.model import Samples

ANALYSES = ("traffic", "loss", "latency")
"""The analyses whose results :func:`add_recording` takes; of other traces than those of TLPs, only ``loss``."""

_QUANTILES = {"0.5": "p50", "0.9": "p90", "0.99": "p99", "0.999": "p999"}


def add_recording(samples: Samples, name: str, results: Mapping[str, Any], *, whole: bool, size: int | None) -> None:
    """Add the samples of a recording.

    Parameters
    ----------
    samples : Samples
        The samples so far.
    name : str
        What it is called: the label ``recording``.
    results : Mapping[str, object]
        Results by name of the analysis; none of one that could not be read.
    whole : bool
        Whether it could be read to its end.
    size : int or None
        Size of its file.
    """
    samples.add(catalogue.RECORDING_READABLE, int(whole), recording=name)
    samples.add(catalogue.RECORDING_SIZE, size, recording=name)
    if "traffic" in results:
        _add_traffic(samples, name, results["traffic"])
    if "loss" in results:
        for severity in Severity:
            count = sum(sign.severity is severity for sign in results["loss"].signs)
            samples.add(catalogue.RECORDING_LOSS_SIGNS, count, recording=name, severity=severity)
    if "latency" in results:
        _add_latency(samples, name, results["latency"])


def _add_traffic(samples: Samples, name: str, traffic: Any) -> None:
    """Add the sums by direction and class; those of requesters without rows have no class."""
    sums: dict[tuple[str, str], list[int]] = {}
    for row in traffic.rows:
        _add_up(sums, row.direction, row.class_, row)
    for direction, kinds in traffic.left_out.items():
        for amount in kinds.values():
            _add_up(sums, direction, "", amount)
    for (direction, class_), (tlps, carried, requested) in sorted(sums.items()):
        labels = {"recording": name, "direction": direction, "class": class_}
        samples.add(catalogue.RECORDING_TLPS, tlps, **labels)
        samples.add(catalogue.RECORDING_BYTES, carried, **labels)
        samples.add(catalogue.RECORDING_REQUESTED, requested, **labels)
    samples.add(catalogue.RECORDING_UNDECODABLE, traffic.undecodable, recording=name)


def _add_up(sums: dict[tuple[str, str], list[int]], direction: str, class_: str, amount: Any) -> None:
    cell = sums.setdefault((direction, class_), [0, 0, 0])
    cell[:] = [cell[0] + amount.tlps, cell[1] + amount.bytes, cell[2] + amount.requested_bytes]


def _add_latency(samples: Samples, name: str, latency: Any) -> None:
    spread = latency.ticks
    if spread is None or not spread.n:
        return
    for quantile, field in _QUANTILES.items():
        samples.add(catalogue.RECORDING_LATENCY, getattr(spread, field), recording=name, quantile=quantile)
    samples.add(catalogue.RECORDING_LATENCY, spread.mean * spread.n, "_sum", recording=name)
    samples.add(catalogue.RECORDING_LATENCY, spread.n, "_count", recording=name)
    samples.add(catalogue.RECORDING_LATENCY_MAX, spread.max, recording=name)
