"""``ptttool trace`` beside the counters of a fake machine's ``hisi_pcie`` PMU: the stand-in perf counts what it records, or more."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ptttool.capture import sidecar
from ptttool.cli.main import main
from ptttool.testing import kunpeng
from tests.cli.test_trace import EIGHT_DW, Done, Here, LiveTree

# Inbound memory writes and reads of the bundled recording that the stand-in records.
WRITES, READS = 4930, 639


class WithCounters(Here):
    """The fake machine with counters, as if it ran here."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch, capture: pytest.CaptureFixture[str]) -> None:
        super().__init__(folder, patch, capture)
        machine = kunpeng()
        machine.add_counters("hisi_ptt0_0")
        (tree := folder.with_name(f"{folder.name}-machine")).mkdir()
        machine.write_to(tree)
        patch.setattr("tests.cli.test_trace.LiveTree", lambda _: LiveTree(tree))


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> WithCounters:
    return WithCounters(tmp_path, monkeypatch, capfd)


def body_of(done: Done) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(done.stdout)
    return body


def test_as_many_as_counted(here: WithCounters) -> None:
    done = here.run(*EIGHT_DW, "--fail-on-loss", "--json", "--", "sleep", "0.3")
    assert done.returncode == 0, done.stderr
    body = body_of(done)
    counters = body["counters"]
    assert (counters["pmu"], counters["filter"]) == ("hisi_pcie0_core0", "port=0x1")
    assert {one["event"]: one["value"] for one in counters["counted"]} == {
        "rx_mwr_cnt": WRITES, "rx_mrd_cnt": READS, "rx_mrd_latency": 7, "rx_cpl_flux": 7,
    }  # fmt: skip
    # The command ran, and all of it was counted; the trace lasted longer.
    assert 0.3 <= counters["seconds"] <= body["elapsed"]
    rows = {row["event"]: (row["direction"], row["kinds"], row["recorded"], row["counted"]) for row in body["summary"]["counted"]}
    assert rows == {"rx_mwr_cnt": ("inbound", ["MWr"], WRITES, WRITES), "rx_mrd_cnt": ("inbound", ["MRd"], READS, READS)}
    assert body["signs_of_loss"] == []
    kept = sidecar.load(here.output)
    assert kept is not None
    assert kept.counters is not None
    assert kept.counters.value("rx_mrd_cnt") == READS


def test_fewer_than_counted(here: WithCounters, capfd: pytest.CaptureFixture[str]) -> None:
    done = here.run(*EIGHT_DW, "--json", "--", "true", STANDIN_MORE="3")
    assert done.returncode == 0, done.stderr
    (sign,) = body_of(done)["signs_of_loss"]
    assert (sign["code"], sign["severity"], sign["details"]["missing"]) == ("fewer-than-counted", "warning", 6)
    assert sign["details"]["rx_mwr_cnt"] == {"recorded": WRITES, "counted": WRITES + 3}
    done = here.run(*EIGHT_DW, "--force", "--fail-on-loss", "--json", "--", "true", STANDIN_MORE="3")
    assert (done.returncode, body_of(done)["error"]["signs"]) == (5, ["fewer-than-counted"])
    said = here.run(*EIGHT_DW, "--force", "--", "true", STANDIN_MORE="3").stdout
    assert f"recorded {WRITES:,} of at least {WRITES + 3:,} inbound MWr" in said
    # The file beside the recording says it to other commands; a condition leaves rows out, which is no loss.
    path = str(here.output)
    for words, has_sign in (["analyze", "loss", path], True), (["analyze", "traffic", "--where", "kind = 'MRd'", path], False):
        assert main([*words, "--json"]) == 0
        read = json.loads(capfd.readouterr().out)
        found = [one["code"] for one in read.get("signs", read["loss"])]
        assert found == (["fewer-than-counted"] if has_sign else [])
    assert main(["info", "--json", path]) == 0
    read = json.loads(capfd.readouterr().out)
    assert ([one["code"] for one in read["signs_of_loss"]], len(read["counted"])) == (["fewer-than-counted"], 2)


def test_of_one_requester_only_lengths_are_counted(here: WithCounters) -> None:
    done = here.run("--requester", "nvme0", "--format", "8dw", "--json", "--", "true", STANDIN_MORE="3")
    body = body_of(done)
    assert body["counters"]["filter"] == "bdf=0x100"
    assert {one["event"] for one in body["counters"]["counted"]} == {"rx_mwr_flux", "rx_mrd_flux", "rx_cpl_flux"}
    assert "counted" not in body["summary"]


@pytest.mark.parametrize("case", ["busy", "mute", "killed", "refused", "old"])
def test_the_trace_goes_on_without_counters(here: WithCounters, case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ptttool.capture.perf.told._READY", 0.5)
    done = here.run(*EIGHT_DW, "--fail-on-loss", "--json", "--", "true", STANDIN_STAT=case)
    assert done.returncode == 0, done.stderr
    assert "hisi_pcie0_core0" in done.stderr
    body = body_of(done)
    assert ("counters" in body, "counted" in body["summary"], body["summary"]["records"]) == (False, False, 5569)
    kept = sidecar.load(here.output)
    assert kept is not None
    assert kept.counters is None


def test_a_perf_that_cannot_be_told_when_to_count(here: WithCounters) -> None:
    done = here.run(*EIGHT_DW, "--json", "--", "true", case="no-control")
    assert done.returncode == 0, done.stderr
    assert "hisi_pcie0_core0" in done.stderr
    assert "counters" not in body_of(done)


def test_sidecars_of_other_versions(here: WithCounters) -> None:
    """Those from before are read; counters that cannot be are refused."""
    here.run(*EIGHT_DW, "--", "true")
    file = here.output.with_name("perf.data.ptttool.json")
    body = json.loads(file.read_text())
    counters = body.pop("counters")
    file.write_text(json.dumps(body))
    kept = sidecar.load(here.output)
    assert kept is not None
    assert kept.counters is None
    for wrong in (
        "all",
        {**counters, "counted": [{**counters["counted"][0], "value": -1}]},
        {**counters, "counted": [{**counters["counted"][0], "event": "rx\033[31m"}]},
        {**counters, "seconds": 1e12},
        {**counters, "pmu": "\033]0;x\007"},
        {**counters, "filter": "port=0x1/"},
    ):
        file.write_text(json.dumps({**body, "counters": wrong}))
        found, problem = sidecar.find(here.output)
        assert problem is not None
        assert (found, problem.code) == (None, "sidecar-damaged")


def test_not_when_told_not_to(here: WithCounters) -> None:
    assert "counters" not in body_of(here.run(*EIGHT_DW, "--no-counters", "--json", "--", "true", STANDIN_MORE="3"))


def test_each_run_of_a_series(here: WithCounters) -> None:
    """It has the counters of what it traces."""
    done = here.run(*EIGHT_DW, "--direction", "outbound", "--json", "--", "true")
    runs = {one["types"][0]: {each["event"] for each in one["counters"]["counted"]} for one in body_of(done)["recordings"]}
    assert runs == {"p": {"tx_mwr_flux"}, "np": {"tx_mrd_cnt", "tx_mrd_latency"}, "cpl": {"tx_cpl_flux"}}
