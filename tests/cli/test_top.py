"""``ptttool top``: samples from the stand-in perf and from replays, line by line and on a screen."""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from msgspec.structs import replace

from ptttool.api.live import Sample, SampleRow, Sampling
from ptttool.capture.perf.counters import CounterPlan, find_counters, parse_perf_stat
from ptttool.capture.perf.tool import PerfTool
from ptttool.cli.main import main
from ptttool.cli.views.top.columns import COLUMNS, COUNTED, NAME, REQUESTER, TLPS, amount, columns_of, fitting, ordered, summary, texts
from ptttool.diagnostics import Diagnostic, Severity
from ptttool.errors import BusyError, UsageError
from ptttool.machine.discovery import require_machine
from ptttool.pci import PciAddress
from tests.cli.test_trace import PORT, Here, LiveTree, here
from tests.support.machines import MACHINES, NEW

__all__ = ["here"]  # a fixture
DEMO = ["top", "--demo", *PORT]


def lines_of(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder for temporary files."""
    folder = tmp_path.with_name(f"{tmp_path.name}-scratch")
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def test_replayed_samples(scratch: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*DEMO, "--json", "--count", "2", "--interval", "50ms"]) == 0
    first, second = lines_of(capsys.readouterr().out)
    assert (first["number"], second["number"]) == (0, 1)
    assert first["passed"] is None
    assert second["passed"] >= 0.05
    assert first["rows"] == second["rows"] != []
    assert "perf record" in first["replay_of"]
    for name in ("tlps", "bytes", "requested_bytes"):
        assert first[name] == sum(row[name] for row in first["rows"])
    assert list(scratch.iterdir()) == []


def test_live_samples(here: Here, scratch: Path) -> None:
    done = here.run(*PORT, "--json", "-n", "2", "--interval", "300ms", "--window", "100ms", command="top")
    assert done.returncode == 0, done.stderr
    samples = lines_of(done.stdout)
    assert [one["replay_of"] for one in samples] == [None, None]
    for one in samples:
        assert one["window"] >= 0.1
        assert one["rows"][0]["tlps_per_second"] == pytest.approx(one["rows"][0]["tlps"] / one["window"])
    assert samples[1]["share"] == pytest.approx(100 * samples[0]["window"] / samples[1]["passed"])
    assert list(scratch.iterdir()) == []
    assert here.files() == set()


def test_an_empty_sample_is_a_sample(here: Here, scratch: Path) -> None:
    done = here.run(*PORT, "--json", "-n", "1", "--window", "10ms", command="top", case="port-mask-empty")
    assert done.returncode == 0, done.stderr
    (sample,) = lines_of(done.stdout)
    assert (sample["tlps"], sample["rows"]) == (0, [])
    assert "empty-trace" in [one["code"] for one in sample["loss"]]


def test_a_failing_perf_ends_the_samples(here: Here, scratch: Path) -> None:
    done = here.run(*PORT, "--json", "--window", "10ms", command="top", case="not-supported")
    assert done.returncode == 5
    assert json.loads(done.stdout)["error"]["code"]
    assert list(scratch.iterdir()) == []


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (["--window", "2s"], "window-too-long"),
        (["--window", "0.5ms"], "bad-duration"),
        (["--count", "0"], "count-too-small"),
    ],
)
def test_options_that_make_no_sense(options: list[str], code: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*DEMO, "--json", *options]) == 2
    assert json.loads(capsys.readouterr().out)["error"]["code"] == code


def test_lines(scratch: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One block of lines for each sample, an empty line between them."""
    assert main([*DEMO, "--batch", "-n", "2", "--interval", "50ms"]) == 0
    blocks = capsys.readouterr().out.split("\n\n")
    assert len(blocks) == 2
    assert all("01:00.0" in block for block in blocks)


# ---- the counters beside it


def test_counters_are_found_by_the_events_that_the_kernel_lists(tmp_path: Path) -> None:
    source = LiveTree(MACHINES / NEW)
    device = require_machine(source, tune=False).devices[0]
    perf = PerfTool("/usr/bin/perf", None, None, None)
    ports = (PciAddress.parse("0000:00:10.0"), PciAddress.parse("0000:00:11.0"))
    assert find_counters(source, device, ports, None, perf) is None

    class WithCounters(LiveTree):
        def names(self, path: str) -> list[str]:
            if path == "/sys/bus/event_source/devices/hisi_pcie0_core0/events":
                return ["rx_mrd_cnt", "rx_mrd_flux", "tx_mrd_flux", "something_new"]
            return super().names(path)

        def read(self, path: str) -> str:
            if "/hisi_pcie0_core0/events/" in path:  # those of a driver that calls completions tx_mrd_flux
                return {"rx_mrd_flux": "event=0x0804\n", "tx_mrd_flux": "event=0x2004\n"}[path.rpartition("/")[2]]
            return super().read(path)

    counting = WithCounters(MACHINES / NEW)
    of_one = find_counters(counting, device, (), PciAddress.parse("0000:01:00.0"), perf)
    assert of_one == CounterPlan("hisi_pcie0_core0", ("rx_mrd_flux",), "bdf=0x100", "/usr/bin/perf")
    plan = find_counters(counting, device, ports, None, perf)
    assert plan == CounterPlan("hisi_pcie0_core0", ("rx_mrd_cnt", "rx_mrd_flux"), "port=0x5", "/usr/bin/perf")
    assert plan.command(1.5)[-3:] == ["--", "sleep", "1.5"]
    found = parse_perf_stat(
        "12;;hisi_pcie0_core0/rx_mrd_cnt,port=0x5/;1200000000;80.00;;\n<not counted>;;hisi_pcie0_core0/rx_mrd_flux,port=0x5/;0\n", plan
    )
    assert [(one.event, one.value, one.seconds) for one in found] == [("rx_mrd_cnt", 12, 1.5), ("rx_mrd_flux", None, None)]
    assert [one.value for one in parse_perf_stat("no counters at all", plan)] == [None, None]
    for text in ("9" * 5000, f"{1 << 64}", "1e30", "-1", "nan"):
        assert parse_perf_stat(f"{text};;hisi_pcie0_core0/rx_mrd_cnt,port=0x5/;1;80.00;;\n", plan)[0].value is None


def test_counters_run_over_the_whole_interval(here: Here, scratch: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "ptttool.api.live.find_counters", lambda *_: CounterPlan("hisi_pcie0_core0", ("rx_mrd_cnt", "rx_mrd_flux"), "port=0x1", "perf")
    )
    done = here.run(*PORT, "--json", "-n", "1", "--interval", "200ms", "--window", "50ms", command="top")
    (sample,) = lines_of(done.stdout)
    assert sample["counters"]["seconds"] == 0.2
    counted = [(one["event"], one["value"], one["seconds"]) for one in sample["counters"]["counted"]]
    # By the nanoseconds that perf says: the stand-in says 1,000,000.
    assert counted == [("rx_mrd_cnt", 1000, 0.001), ("rx_mrd_flux", None, None)]


# ---- the columns


def row(requester: str, tlps: int, **more: Any) -> SampleRow:
    fields: dict[str, Any] = {"name": None, "direction": "inbound", "class_": "P", "bytes": 0, "requested_bytes": 0}
    rates = dict.fromkeys(("tlps_per_second", "bytes_per_second", "requested_per_second", "payload"))
    return SampleRow(requester=requester, tlps=tlps, **{**fields, **rates, **more})


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "-"),
        (0, "0"),
        (7, "7"),
        (999, "999"),
        (999.6, "1.00k"),
        (1000, "1.00k"),
        (12_345, "12.3k"),
        (999_600, "1.00M"),
        (5e13, "50.0T"),
    ],
)
def test_amounts_have_three_digits(value: float | None, text: str) -> None:
    assert amount(value) == text


def test_amounts_always_fit() -> None:
    for exponent in range(13):
        for digits in (1, 9, 9.99, 9.995, 9.9996):
            assert len(amount(digits * 10**exponent)) <= 7


@pytest.mark.parametrize("width", [200, 120, 100, 80, 60, 40])
def test_columns_fit_or_are_those_that_never_go(width: int) -> None:
    shown = fitting(width)
    taken = sum(COLUMNS[number].width + 2 for number in shown)
    assert taken <= width or all(COLUMNS[number].weight == 0 for number in shown)
    assert list(shown) == sorted(shown)
    assert {number for number, column in enumerate(COLUMNS) if column.weight == 0} <= set(shown)


def test_rows_are_sorted_and_filtered() -> None:
    rows = [row("01:00.0", 5, name="nvme0"), row("02:00.0", 9), row("03:00.0", 7, direction="outbound")]
    by_tlps = next(number for number, column in enumerate(COLUMNS) if column.title == "TLPs")
    assert [one.tlps for one in ordered(rows, by_tlps, backwards=False, text="")] == [9, 7, 5]
    assert [one.tlps for one in ordered(rows, by_tlps, backwards=True, text="")] == [5, 7, 9]
    assert [one.requester for one in ordered(rows, 0, backwards=False, text="")] == ["01:00.0", "02:00.0", "03:00.0"]
    assert [one.requester for one in ordered(rows, 0, backwards=False, text="NVME")] == ["01:00.0"]
    assert [one.requester for one in ordered(rows, 0, backwards=False, text="outb")] == ["03:00.0"]


# ---- the screen


def sample(number: int, *rows: SampleRow, **more: Any) -> Sample:
    fields: dict[str, Any] = {
        "number": number, "time": "2026-01-01T00:00:00.000+00:00", "device": "hisi_ptt0_0", "event": "hisi_ptt0_0/filter=0x80001/",
        "window": 0.05, "passed": 1.0, "share": 5.0, "tlps": 0, "bytes": 0, "requested_bytes": 0,
        "rows": list(rows), "errors": [], "loss": [],
    }  # fmt: skip
    return Sample(**{**fields, **more})


class Fed:
    """Gives samples when the test wants them."""

    def __init__(self, stop: Event, *items: Sample | Exception) -> None:
        self.items, self.stop = list(items), stop

    def __iter__(self) -> Iterator[Sample]:
        for item in self.items:
            if isinstance(item, Exception):
                raise item
            yield item
        self.stop.wait(120)


def shown(app: Any) -> list[str]:
    table = app.query_one("DataTable")
    return [str(table.get_row_at(number)[0]) for number in range(table.row_count)]


def heads(app: Any) -> list[str]:
    return [str(column.label) for column in app.query_one("DataTable").columns.values()]


async def ready(pilot: Any, rows: int) -> None:
    for _ in range(200):
        await pilot.pause(0.02)
        if pilot.app.query_one("DataTable").row_count == rows:
            return
    raise AssertionError("the sample was not shown")


def test_the_screen() -> None:
    """Sorting, filtering, pausing, resizing, quitting."""
    from ptttool.cli.views.top.screen import TopScreen

    stop, hold = Event(), Event()
    rows = [row("01:00.0", 5, tlps_per_second=500.0), row("02:00.0", 9, tlps_per_second=100.0, class_="NP"), row("03:00.0", 7)]
    lost = Diagnostic(Severity.WARNING, "aux-full", "the trace ended early\x1b[31m")
    app = TopScreen(iter(Fed(stop, sample(0, *rows, loss=[lost]))), stop, hold, "top")

    async def use() -> None:
        async with app.run_test(size=(120, 30)) as pilot:
            await ready(pilot, 3)
            assert shown(app) == ["01:00.0", "02:00.0", "03:00.0"]
            assert any("▼" in head for head in heads(app))
            text = str(app.query_one("#summary").render())
            assert "5.0 %" in text
            assert "\x1b" not in text
            await pilot.press("r")
            assert shown(app) == ["03:00.0", "02:00.0", "01:00.0"]
            await pilot.press("r", "less_than_sign")
            assert shown(app) == ["02:00.0", "03:00.0", "01:00.0"]  # by TLPs
            await pilot.press("slash", "n", "p", "enter")
            assert shown(app) == ["02:00.0"]
            await pilot.press("p")
            assert hold.is_set()
            await pilot.resize_terminal(60, 12)
            await pilot.pause(0.2)
            assert len(heads(app)) == len(fitting(60))
            await pilot.press("p", "escape")
            assert not hold.is_set()
            assert len(shown(app)) == 3
            await pilot.press("q")

    asyncio.run(use())
    assert stop.is_set()
    assert app.failure is None


def test_an_error_ends_the_screen() -> None:
    from ptttool.cli.views.top.screen import TopScreen

    stop = Event()
    error = BusyError("busy", code="busy")
    app = TopScreen(iter(Fed(stop, sample(0, row("01:00.0", 5)), error)), stop, Event(), "top")

    async def use() -> None:
        async with app.run_test(size=(80, 20)) as pilot:
            await pilot.pause(0.5)

    asyncio.run(use())
    assert app.failure is error


def test_sampling_is_checked() -> None:
    for interval, window, code in ((1, 2, "window-too-long"), (1, 1e-5, "window-too-short")):
        with pytest.raises(UsageError) as caught:
            Sampling(interval=interval, window=window)
        assert caught.value.code == code


@pytest.mark.parametrize("width", [200, 100, 80, 60, 40])
def test_the_column_of_sorting_is_there_with_its_arrow_and_the_name_stays(width: int) -> None:
    for number, column in enumerate(COLUMNS):
        shown = fitting(width, number)
        assert {number, NAME} <= set(shown)
        assert len(column.title) < column.width
        (name,) = [cell for at, cell in zip(shown, texts(row("01:00.0", 5, name="nvme0"), shown), strict=True) if at == NAME]
        assert name == "nvme0"
    narrow = fitting(60)
    assert REQUESTER not in narrow
    assert "01:00.0" in texts(row("01:00.0", 5), narrow)


@pytest.mark.parametrize(("width", "heads"), [(120, ["TLPs", "Bytes", "Asked"]), (50, ["TLPs", "Bytes"]), (40, ["TLPs"])])
def test_counts_stand_for_rates_that_are_not_known(width: int, heads: list[str]) -> None:
    without = replace(row("01:00.0", 5, name="nvme0"), tlps_per_second=None, bytes_per_second=None, requested_per_second=None)
    assert columns_of(sample(0, without)) is COUNTED
    assert columns_of(sample(0, replace(without, tlps_per_second=1.0))) is COLUMNS
    numbers = fitting(width, columns=COUNTED)
    titles = [COUNTED[number].title for number in numbers]
    assert [title for title in titles if title in ("TLPs", "Bytes", "Asked")] == heads
    assert not any(title.endswith("/s") for title in titles)
    assert TLPS not in numbers
    assert texts(without, numbers, COUNTED)[titles.index("TLPs")] == "5"


def test_lines_above_the_table_fit() -> None:
    for width in (40, 60, 80):
        assert max(map(len, summary(sample(7), width))) <= width


def test_a_port_needs_no_name_where_there_is_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["top", "--demo", "--json", "-n", "1"]) == 2
    error = json.loads(capsys.readouterr().out)["error"]
    assert (error["code"], len(error["ports"])) == ("no-filter", 4)
