"""Metrics by name, from real outputs of the tools."""

from __future__ import annotations

import signal

import pytest

from ptttool.errors import UsageError
from ptttool.sweep.metrics import pattern
from ptttool.sweep.metrics.contract import TOOLS, Better, Known, MetricError, Output, Tool
from ptttool.sweep.metrics.parse import parse_metric, parse_metrics
from tests import ROOT

OUTPUTS = ROOT / "fixtures" / "workloads"


def output_of(name: str) -> Output:
    return Output((OUTPUTS / name).read_bytes(), seconds=1.5)


def value(metric: str, name: str) -> float:
    return parse_metric(metric).read(output_of(name))


def problem(metric: str, name: str) -> str:
    with pytest.raises(MetricError) as caught:
        value(metric, name)
    return caught.value.code


@pytest.mark.parametrize(
    ("metric", "name", "expected"),
    [
        ("fio:read.iops", "fio-3.33.json", 1020000),
        ("fio:read.bw", "fio-3.33.json", 4177920000),
        ("fio:read.clat_mean", "fio-3.33.json", 19.520588),
        ("fio:read.lat_mean", "fio-3.33.json", 46.002696),
        ("fio:read.clat_p99", "fio-3.33.json", 22),
        ("fio:read.clat_p99.99", "fio-3.33.json", 7968),
        ("fio:write.clat_p99.9", "fio-3.33.json", 35),
        ("fio:read.iops", "fio-3.33.txt", 408e3),
        ("fio:read.bw", "fio-3.33.txt", 1594 * 2**20),
        ("fio:write.bw", "fio-3.33.txt", 1606 * 2**20),
        ("fio:read.clat_mean", "fio-3.33.txt", 21.08),
        ("fio:write.clat_mean", "fio-3.33.txt", 20.25),
        ("fio:read.clat_p99.99", "fio-3.33.txt", 9792),
        ("fio:write.clat_p99.99", "fio-3.33.txt", 155),
        ("fio:read.iops", "fio-3.33-read.txt", 10.9e6),
        ("fio:read.bw", "fio-3.33-read.txt", 41.7 * 2**30),
        ("iperf3:sent.bits_per_second", "iperf-3.12.json", 11056957684.368267),
        ("iperf3:sent.retransmits", "iperf-3.12.json", 19),
        ("iperf3:received.bits_per_second", "iperf-3.12.json", 10928067827.19069),
        ("iperf3:cpu.host_percent", "iperf-3.12.json", 8.906949478784115),
        ("iperf3:received.jitter_ms", "iperf-3.12-udp.json", 0.004115200670682622),
        ("iperf3:received.lost_percent", "iperf-3.12-udp.json", 0),
        ("iperf3:sent.bits_per_second", "iperf-3.12.txt", 7.07e9),
        ("iperf3:received.bits_per_second", "iperf-3.12.txt", 7.02e9),
        ("iperf3:sent.retransmits", "iperf-3.12.txt", 31),
        ("iperf3:sent.bits_per_second", "iperf-3.12-streams.txt", 7.15e9),
        ("iperf3:received.bits_per_second", "iperf-3.12-streams.txt", 7.13e9),
        ("iperf3:received.jitter_ms", "iperf-3.12-udp.txt", 0.007),
        ("iperf3:received.lost_percent", "iperf-3.12-udp.txt", 0),
        ("sockperf:latency.mean", "sockperf-3.7-ping-pong.txt", 7.431),
        ("sockperf:latency.p99", "sockperf-3.7-ping-pong.txt", 4.047),
        ("sockperf:latency.p99.9", "sockperf-3.7-ping-pong.txt", 1632.864),
        ("sockperf:latency.max", "sockperf-3.7-ping-pong.txt", 15547.070),
        ("sockperf:dropped", "sockperf-3.7-ping-pong.txt", 0),
        ("sockperf:latency.p50", "sockperf-3.7-under-load.txt", 7.879),
        ("sockperf:rate", "sockperf-3.7-throughput.txt", 204627),
        ("sockperf:bandwidth", "sockperf-3.7-throughput.txt", 21.857),
        ("run:seconds", "fio-3.33.txt", 1.5),
        ("json:jobs[0].read.iops", "fio-3.33.json", 1020000),
        ('$.jobs.0.read.clat_ns.percentile["99.990000"]', "fio-3.33.json", 7968),
        ("read: IOPS=([0-9]+)k", "fio-3.33.txt", 408),
        ("regex:observations.*\\n.*= +([0-9.]+)", "sockperf-3.7-ping-pong.txt", 15547.07),
    ],
)
def test_value(metric: str, name: str, expected: float) -> None:
    assert value(metric, name) == pytest.approx(expected, rel=1e-12)


def test_rates_of_jobs_are_added_up() -> None:
    text = output_of("fio-3.33-jobs.json").json["jobs"]
    assert value("fio:read.iops", "fio-3.33-jobs.json") == sum(job["read"]["iops"] for job in text)
    assert value("fio:read.bw", "fio-3.33-jobs.txt") == pytest.approx(4554 * 2**20 + 10.3 * 2**30, rel=0.02)


@pytest.mark.parametrize(
    ("metric", "name", "code"),
    [
        ("fio:read.clat_p99", "fio-3.33-jobs.json", "several-values"),
        ("fio:read.clat_p99", "fio-3.33-jobs.txt", "several-values"),
        ("fio:trim.iops", "fio-3.33.json", "no-metric"),
        ("fio:trim.iops", "fio-3.33.txt", "no-metric"),
        ("fio:read.iops", "fio-3.33-write.json", "no-metric"),
        ("fio:read.iops", "iperf-3.12.txt", "no-metric"),
        ("iperf3:sent.retransmits", "iperf-3.12-udp.json", "no-metric"),
        ("iperf3:sent.bits_per_second", "iperf-3.12-refused.json", "no-metric"),
        ("iperf3:cpu.host_percent", "iperf-3.12.txt", "no-metric"),
        ("iperf3:sent.retransmits", "fio-3.33.txt", "no-metric"),
        ("sockperf:rate", "sockperf-3.7-ping-pong.txt", "no-metric"),
        ("sockperf:rate", "fio-3.33.txt", "no-metric"),
        ("json:jobs[7].read", "fio-3.33.json", "no-metric"),
        ("json:jobs[0].read", "fio-3.33.json", "not-a-number"),
        ("json:jobs[0].jobname", "fio-3.33.json", "not-a-number"),
        ("json:jobs", "fio-3.33.txt", "no-json"),
        ("nothing=([0-9]+)", "fio-3.33.txt", "no-metric"),
        ("(fio)", "fio-3.33.txt", "not-a-number"),
    ],
)
def test_what_is_not_there_is_said(metric: str, name: str, code: str) -> None:
    assert problem(metric, name) == code


@pytest.mark.parametrize("text", [b"x=nan", b"x=inf", b"x=1e999"])
def test_what_cannot_be_compared_is_refused(text: bytes) -> None:
    with pytest.raises(MetricError) as caught:
        parse_metric("x=(.*)").read(Output(text))
    assert caught.value.code == "not-a-number"


def test_notes_before_the_json_and_numbers_on_standard_error() -> None:
    assert parse_metric("json:a[-1]").read(Output(b'note: both iodepth\n{"a": [1, 2.5]}\n')) == 2.5
    assert parse_metric("json:a").read(Output(b'[warning] x\n[1]\n{broken\n  {"a": 3}\n{"a": 4}')) == 3
    assert parse_metric("json:[1]").read(Output(b"[5, 6]\n")) == 6
    assert parse_metric("([0-9.]+) GB/s").read(Output(b"", b"1,024 bytes, 0.1 s, 1.5 GB/s\n")) == 1.5
    assert parse_metric("json:a").read(Output(b'{"a": 7}')) == 7


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("read.iops", "bad-metric"),
        ("fio:read.iop", "unknown-metric"),
        ("fio:", "unknown-metric"),
        ("foi:read.iops", "unknown-tool"),
        ("regex:(a)(b)", "bad-metric"),
        ("regex:abc", "bad-metric"),
        ("((a)", "bad-metric"),
        ("json:a..b", "bad-metric"),
        ("json:a[x]", "bad-metric"),
        ("$", "bad-metric"),
        ("trace:latency", "bad-metric"),
        ("", "bad-metric"),
    ],
)
def test_bad_metrics(text: str, code: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_metric(text)
    assert caught.value.code == code


def test_which_is_better() -> None:
    metrics = parse_metrics(["fio:read.iops", "fio:read.clat_p99", "x=(.*)"], minimize=True)
    assert [metric.better for metric in metrics] == [Better.HIGHER, Better.LOWER, Better.LOWER]
    assert [metric.unit for metric in metrics] == ["1/s", "ns", None]
    with pytest.raises(UsageError) as caught:
        parse_metrics(["fio:read.iops"], minimize=True)
    assert caught.value.code == "contradiction"
    for texts in ([], ["x=(.*)"] * 2, [f"x{one}=(.*)" for one in range(17)]):
        with pytest.raises(UsageError):
            parse_metrics(texts)


def test_every_tool_has_names_units_and_meanings() -> None:
    assert set(TOOLS.names()) >= {"fio", "iperf3", "run", "sockperf"}
    for tool in TOOLS:
        assert tool.metrics
        for known in tool.metrics.values():
            assert known.unit
            assert known.meaning


def test_a_tool_is_one_class(monkeypatch: pytest.MonkeyPatch) -> None:
    class Toy(Tool):
        name = "toy"
        metrics = {"bells": Known("1/s", Better.HIGHER, "how often it rings")}  # noqa: RUF012

        def read(self, output: Output, metric: str) -> float:
            return output.text.count("ding")

    TOOLS.names()
    monkeypatch.setitem(TOOLS._things, "toy", Toy())
    metric = parse_metric("toy:bells")
    assert (metric.read(Output(b"ding ding")), metric.label) == (2, "toy:bells [1/s]")


def test_an_expression_that_searches_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pattern, "MOST_SECONDS", 0.1)
    before = signal.getsignal(signal.SIGVTALRM)
    with pytest.raises(MetricError) as caught:
        parse_metric("regex:(a+)+$").read(Output(b"a" * 60 + b"!\n", seconds=1.0))
    assert caught.value.code == "slow-metric"
    assert (signal.getsignal(signal.SIGVTALRM), signal.getitimer(signal.ITIMER_VIRTUAL)) == (before, (0.0, 0.0))
