"""Pictures: every run is a point, texts cannot become markup, and any values can be drawn."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from ptttool.errors import OutputError, UsageError
from ptttool.machine.model import PttDevice
from ptttool.sweep.log import RunRecord
from ptttool.sweep.metrics.parse import parse_metrics
from ptttool.sweep.picture import figure, html_page, svg, write_picture
from ptttool.sweep.plan import SweepOptions, SweepPlan, plan_sweep
from ptttool.sweep.statistics import MetricResult, analyze

NAMESPACE = "{http://www.w3.org/2000/svg}"
HOSTILE = "regex:(<script>alert</script>\x1b\\[31m&\"')"


def swept(
    values: list[float | None], *, metric: str = "x=(.*)", attributes: tuple[str, ...] = ("qos_tx_p",)
) -> tuple[SweepPlan, list[RunRecord], tuple[MetricResult, ...]]:
    """A sweep whose runs have these values, in their order."""
    device: PttDevice = find_device()
    metrics = parse_metrics([metric])
    plan = plan_sweep(
        device, SweepOptions(attributes, ("0", "1", "2"), metrics, ("true",), rounds=len(values) // 3 ** len(attributes), seed=1)
    )
    settings = [(number, setting) for number, one in enumerate(plan.order, 1) for setting in one]
    runs = [
        RunRecord(number, order, setting, "done" if value is not None else "failed", 0, 1.0, "", {metric: value}, None)
        for order, ((number, setting), value) in enumerate(zip(settings, values, strict=True), 1)
    ]
    table = {(run.round, run.setting): value for run in runs if (value := run.metrics[metric]) is not None}
    return plan, runs, analyze(plan.design, [(metrics[0], table)])


def find_device() -> PttDevice:
    from ptttool.api.machine import find_devices

    return find_devices(demo=True)[0]


@pytest.mark.parametrize(
    "values",
    [
        [float(value) for value in range(21)],
        [5.0] * 21,
        [0.0] * 21,
        [-1e150, 1e150, 1e-300] * 7,
        [None] * 21,
        [None, 1.0, 2.0] * 7,
        [-3.5] * 20 + [None],
    ],
)
def test_any_values_can_be_drawn(values: list[float | None]) -> None:
    plan, runs, results = swept(values)
    root = ElementTree.fromstring(svg(plan, runs, results))
    dots = root.findall(f".//{NAMESPACE}circle")
    assert len(dots) == sum(value is not None for value in values)
    numbers = [float(number) for dot in dots for number in (dot.get("cx", ""), dot.get("cy", ""))]
    assert all(0 <= number < 1000 for number in numbers)
    assert "nan" not in html_page(plan, runs, results)


def test_a_higher_value_is_higher_and_rounds_go_to_the_right() -> None:
    plan, runs, results = swept([float(value) for value in range(21)])
    dots = ElementTree.fromstring(svg(plan, runs, results)).findall(f".//{NAMESPACE}g[@class='base']/{NAMESPACE}circle")
    across = [float(dot.get("cx", "")) for dot in dots]
    down = [float(dot.get("cy", "")) for dot in dots]
    assert across == sorted(across)
    assert down == sorted(down, reverse=True)


def test_texts_are_no_markup() -> None:
    plan, runs, results = swept([float(value) for value in range(21)], metric=HOSTILE)
    for text in (svg(plan, runs, results), html_page(plan, runs, results)):
        assert "<script" not in text
        assert "\x1b" not in text
        assert "&lt;script&gt;" in text
    assert re.findall(r"(?:src|href|url)\s*[=(]", html_page(plan, runs, results)) == []


def test_many_settings_are_wide() -> None:
    plan, runs, results = swept([float(value) for value in range(27)], attributes=("qos_tx_p", "qos_tx_np", "qos_tx_cpl"))
    width = float(ElementTree.fromstring(svg(plan, runs, results)).get("width", ""))
    assert width > 27 * 90


def test_files(tmp_path: Path) -> None:
    made = swept([float(value) for value in range(21)])
    for name, begin in (("a.svg", "<?xml"), ("a.HTML", "<!doctype")):
        write_picture(tmp_path / name, *made)
        assert (tmp_path / name).read_text().startswith(begin)
        with pytest.raises(OutputError):
            write_picture(tmp_path / name, *made)
        write_picture(tmp_path / name, *made, force=True)
    with pytest.raises(UsageError):
        write_picture(tmp_path / "a.png", *made)


def test_figures() -> None:
    texts = {0: "0", 1.5: "1.5", 12345: "12.35k", -2.5e6: "-2.5M", 3e9: "3G", 0.00012: "1.200e-04", None: ""}
    assert {value: figure(value) for value in texts} == texts
