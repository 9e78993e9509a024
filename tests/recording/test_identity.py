"""Which event of a recording is PTT's."""

from __future__ import annotations

import pytest

from ptttool.perfdata.model import Attribute, Contents, Mode
from ptttool.recording.identity import aux_type_name, ptt_attribute

OTHER = Attribute(1, 0, 128, 0, True, (), "dummy:u")
PTT = Attribute(11, 5, 128, 0, True)
NAMED = Attribute(11, 5, 128, 0, True, (), "hisi_ptt0_0/type=7/")


@pytest.mark.parametrize(
    ("contents", "found"),
    [
        (Contents(Mode.FILE, [OTHER, PTT], auxtrace_type=6, auxtrace_priv=(11,)), PTT),
        (Contents(Mode.FILE, [OTHER, PTT], {"pmu_mappings": {1: "software", 11: "hisi_ptt0_0"}}, auxtrace_type=6), PTT),
        (Contents(Mode.FILE, [OTHER, PTT], {"pmu_mappings": {1: "software", 11: "hisi_ptt0_0"}}), PTT),
        (Contents(Mode.FILE, [OTHER, NAMED], auxtrace_type=6), NAMED),
        (Contents(Mode.FILE, [OTHER, NAMED]), NAMED),
        (Contents(Mode.FILE, [OTHER, PTT], auxtrace_type=6), None),
        # The words of another type of trace mean something else.
        (Contents(Mode.FILE, [OTHER, PTT], auxtrace_type=3, auxtrace_priv=(11,)), None),
        (Contents(Mode.RAW), None),
    ],
)
def test_one_rule_finds_the_attribute(contents: Contents, found: Attribute | None) -> None:
    assert ptt_attribute(contents) == found


def test_names_of_types() -> None:
    assert [aux_type_name(Contents(Mode.FILE, auxtrace_type=kind)) for kind in (None, 3, 6, 99)] == [
        None, "CoreSight ETM", "HiSilicon PTT", "type 99",
    ]  # fmt: skip
