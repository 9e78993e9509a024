"""``ptttool.analyze``: several analyses of several recordings."""

from __future__ import annotations

import json

import pytest

import ptttool
from ptttool.analyses.needs import Captured, LackCode
from ptttool.capture.event.decode import decode
from ptttool.capture.event.terms import DEFAULT_TERMS, Flow, Format
from ptttool.cli.main import main
from tests.support import captures

TLPS = captures.FOLDER / "6.12" / "m-8dw-port10-type7-dir2.data"
OTHER = captures.FOLDER / "6.12" / "m-8dw-port10-type7-dir1.data"


def test_recordings_and_their_sum() -> None:
    found = ptttool.analyze([TLPS, TLPS], ["summary", "loss"])
    with ptttool.open(TLPS) as recording:
        alone = recording.analyze("summary")
    assert [each.results["summary"] for each in found.recordings] == [alone, alone]
    assert found.sums["summary"].records == 2 * alone.records
    assert dict(found.not_summed) == {"loss": "each-recording"}
    reads = ptttool.analyze(TLPS, "summary", where="kind = 'MRd'", jobs=2)
    assert reads.recordings[0].results["summary"].kinds == {"MRd": alone.kinds["MRd"]}
    assert dict(reads.not_summed) == {"summary": "one-recording"}
    assert dict(ptttool.analyze([TLPS, OTHER], "summary").not_summed) == {"summary": "other-event"}


@pytest.mark.parametrize(
    ("names", "options", "code"),
    [
        ("nothing", {}, "unknown-analysis"),
        ("elements", {}, "missing-columns"),
        ("summary", {"where": "nothing = 1"}, "unknown-column"),
    ],
)
def test_wrong_usage(names: str, options: dict[str, str], code: str) -> None:
    with pytest.raises(ptttool.UsageError) as caught:
        ptttool.analyze(TLPS, names, **options)  # type: ignore[arg-type]
    assert caught.value.code == code


NEED = ptttool.Need("reads", "--direction both --type np,cpl", inbound=("NP",), outbound=("CPL",), unfiltered=True)
BOTH = Flow(inbound=("P", "NP", "CPL B"), outbound=("P", "NP", "CPL"))


@pytest.mark.parametrize(
    ("need", "captured", "codes"),
    [
        (NEED, Captured(BOTH, Format.DW4), []),
        (NEED, Captured(), []),  # a recording that says nothing of its event
        (NEED, Captured(Flow(inbound=("P", "NP", "CPL A")), Format.DW4), [LackCode.NOT_TRACED]),
        (NEED, Captured(BOTH, Format.DW4, requester=0x100), [LackCode.FILTERED]),
        (ptttool.Need("poisoned TLPs", "--format 8dw", format=Format.DW8), Captured(BOTH, Format.DW4), [LackCode.FORMAT]),
        (ptttool.Need("completions", "", inbound=("CPL",)), Captured(BOTH, Format.DW4), []),
        (ptttool.Need("completions A", "", inbound=("CPL A",)), Captured(BOTH, Format.DW4), [LackCode.NOT_TRACED]),
    ],
)
def test_what_is_lacking(need: ptttool.Need, captured: Captured, codes: list[LackCode]) -> None:
    found = list(need.lacks(captured))
    assert [lack.code for lack in found] == codes
    assert all(lack.options == need.options for lack in found)


def test_lacks_of_a_recording() -> None:
    """A recording of one direction and format, and one whose rows have other columns."""
    with ptttool.open(TLPS) as recording:
        assert recording.lacks("summary") == []
        (lack,) = recording.lacks("elements")
        assert lack.code is LackCode.COLUMNS


@pytest.mark.parametrize("name", sorted(set(ptttool.ANALYSES.names())))
def test_the_options_that_are_named_bring_it(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """``trace`` takes them, and a recording made with them lacks it no more."""
    for need in ptttool.ANALYSES.get(name).needs:
        assert main(["event", "--demo", "--rootport", "0000:00:10.0", *need.options.split(), "--json"]) == 0
        built = json.loads(capsys.readouterr().out)
        event = decode(int(str(built["config"]), 0), DEFAULT_TERMS)
        assert list(need.lacks(Captured(event.flow, event.format))) == []
