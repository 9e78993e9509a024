"""What ``--json`` prints is what the schemas of ``docs/schemas`` say, for every command, on the demo machine and on real recordings."""

from __future__ import annotations

import copy
import io
import json
from contextlib import redirect_stdout
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from ptttool.api.recording import open as open_recording
from ptttool.api.selftest import judge_recordings
from ptttool.capture.names import sidecar_path
from ptttool.cli.main import main
from ptttool.documents import to_json
from ptttool.machine.measured import MachineKey, Measured, keep
from tests import ROOT
from tests.generated.schemas import schemas
from tests.support import captures, machines

PORT = ["--rootport", "0000:00:10.0"]

# Document, command, exit code; a word in braces is a file of the test.
RUNS = [
    ("list", "list --demo", 0),
    ("list", "list --demo hisi_ptt0_2", 0),
    ("list", "list --sysfs fixtures/machines/kunpeng-6.1", 0),
    ("filters", "filters --demo", 0),
    ("top", "top --demo --rootport 0000:00:10.0 --count 1", 0),
    ("tune-show", "tune show --demo", 0),
    ("tune-show", "tune show --demo hisi_ptt0_2", 0),
    ("tune-get", "tune get --demo hisi_ptt0_0 qos_tx_p", 0),
    ("tune-set", "tune set --demo hisi_ptt0_0 qos_tx_p=2 qos_tx_np=1", 0),
    ("tune-set", "tune set --demo --dry-run hisi_ptt0_0 qos_tx_p=2", 0),
    ("tune-set-all", "tune set --demo --all qos_tx_p=2", 0),
    ("tune-save", "tune save --demo {profile}", 0),
    ("tune-diff", "tune diff --demo {profile}", 0),
    ("tune-apply", "tune apply --demo {profile}", 0),
    ("tune-recover", "tune recover --demo", 0),
    ("tune-history", "tune history --sysfs {machine}", 0),
    ("tune-undo", "tune undo --sysfs {machine}", 0),
    ("tune-profiles", "tune profiles", 0),
    # The options come before the workload.
    ("tune-sweep", "tune sweep --demo --json --device 0_0 --events qos_tx_p --values 2 --metric run:seconds -o {results} -- true", 0),
    ("tune-sweep-plan", "tune sweep --demo --json --device 0_0 --events qos_tx_p --values 2 --metric run:seconds --dry-run -- true", 0),
    ("tune-export", "tune export storage --demo", 0),
    ("tune-export", "tune export storage --demo --to systemd --program /usr/bin/ptttool --install --yes --root {root}", 0),
    ("tune-uninstall", "tune export --to systemd --uninstall --yes --root {root}", 0),
    ("tune-recover", "tune recover --demo --restore", 0),
    ("metrics", "metrics --demo", 0),
    ("metrics", "metrics {capture}", 0),
    ("metrics", "metrics {capture} {cut}", 6),
    ("collect", "collect --demo --dry-run", 0),
    ("doctor", "doctor --demo", 1),
    ("doctor", "doctor --sysfs fixtures/machines/kunpeng-6.1 0_2", 1),
    ("selftest", "selftest --from fixtures/anchors", 1),
    ("event", "event --demo --rootport 0000:00:10.0", 0),
    ("plan", "plan --demo --rootport nvme0 --for latency,traffic --write-speed 1M", 0),
    ("event", "event --demo --requester nvme0 --type np --direction outbound --format 8dw", 0),
    ("explain", "explain --demo 0x7080001", 0),
    ("explain", "explain --demo hisi_ptt0_0/filter=0x80001,type=9,direction=0,format=1/", 0),
    ("explain", "explain {capture}", 0),
    ("trace", "trace --demo --rootport 0000:00:10.0 --force -o {recording}", 0),
    ("trace", "trace --demo --no-decode --rootport 0000:00:10.0 --force -o {recording}", 0),
    ("trace", "trace --demo --rootport 0000:00:10.0 --for io --force -o {recording}", 0),
    ("trace-series", "trace --demo --rootport 0000:00:10.0 --for payload --duration 1 -o {recording}", 0),
    ("trace-until", "trace --demo --rootport 0000:00:10.0 --until tag=1 -o {recording}-until", 0),
    ("trace-until", "trace --demo --rootport 0000:00:10.0 --until length_dw=1000 -o {recording}-never", 1),
    ("trace-dry-run", "trace --demo --dry-run --rootport 0000:00:10.0 --until tag=1", 0),
    ("trace-series-dry-run", "trace --demo --dry-run --rootport 0000:00:10.0 --direction tx --duration 1", 0),
    ("series", "info {series}", 0),
    ("trace-dry-run", "trace --demo --dry-run --rootport 0000:00:10.0", 0),
    ("recover", "recover --dry-run {left}", 0),
    ("recover", "recover {left}", 0),
    ("tlp", "tlp 60000001 01001e0f 00000004 02810040", 0),
    ("tlp", "tlp --pattern v1 --prefix 91000001 4a000001 00800004 01001e40 00000000", 0),
    ("generate", "generate --size 64K -o {generated}", 0),
    ("info", "info {capture}", 0),
    ("info", "info --demo {recording}", 0),
    ("info", "info --protocol riscv-encap -p srcid_bits=6 fixtures/etrace/median-basic.bin", 0),
    ("analyze", "analyze summary {capture}", 0),
    ("analyze", "analyze loss {capture}", 0),
    ("analyze", "analyze summary {cut} --where kind='MRd'", 6),
    ("analyze", "analyze elements --protocol riscv-encap -p srcid_bits=6 fixtures/etrace/median-basic.bin", 0),
    ("analyze-several", "analyze summary,loss {capture}", 0),
    ("analyze-several", "analyze summary {capture} {cut}", 6),
    ("analyze-list", "analyze --list", 0),
    ("report", "report {capture}", 0),
    ("report", "report {capture} {cut} {missing}", 6),
    ("compare", "compare {capture} {capture}", 0),
    ("compare", "compare {capture} {cut}", 6),
    ("compare", "compare {capture} --to {recording} {cut}", 6),
    ("decode-protocols", "decode --protocols", 0),
    ("decode-protocols", "decode --protocols hisi-ptt riscv-flow", 0),
    ("follow", "decode --follow 0 {capture}", 0),
    ("follow", "decode --follow 20 {cut}", 6),
    ("decode-folder", "decode {capture} {recording} -o {folder}/", 0),
    ("decode-folder", "decode {capture} {cut} -o {folder}-cut/", 6),
    ("wireshark", "wireshark install --folder {folder}-lua", 0),
    ("error", "event --demo", 2),
    ("error", "tune get --demo hisi_ptt0_0 nothing", 2),
    ("error", "info {missing}", 6),
    ("error", "decode {missing}", 6),
]


@cache
def validators() -> dict[str, jsonschema.Draft202012Validator]:
    return {name: jsonschema.Draft202012Validator(closed(schema)) for name, schema in schemas().items()}


def problems_of(name: str, document: Any) -> list[str]:
    """What does not fit the schema of that name."""
    return [f"{error.json_path}: {error.message}" for error in validators()[name].iter_errors(document)]


def closed(schema: Any) -> Any:
    """The schema with every object that lists its keys holding these alone: the published ones let later versions add keys."""
    schema = copy.deepcopy(schema)
    waiting = [schema]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            if "properties" in one:
                one.setdefault("additionalProperties", False)
            waiting.extend(one.values())
        elif isinstance(one, list):
            waiting.extend(one)
    return schema


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The files that commands name."""
    folder = tmp_path_factory.mktemp("json")
    found = {name: str(folder / name) for name in ("profile", "recording", "generated", "missing", "folder", "cut", "results")}
    found["capture"] = str(captures.path_of("6.12/x-switch-port14", folder))
    Path(found["cut"]).write_bytes(Path(found["capture"]).read_bytes()[:-100])
    found["root"] = str(folder / "root")
    Path(found["root"]).mkdir()
    found["left"] = str(folder / "left")
    Path(found["left"]).mkdir()
    (Path(found["left"]) / f"perf.data.{'0' * 16}.part").write_bytes(Path(found["cut"]).read_bytes())
    found["machine"] = str(machines.copy_of(machines.NEW, folder))
    with redirect_stdout(io.StringIO()):
        assert main(["tune", "save", "--demo", found["profile"]]) == 0
        assert main(["trace", "--demo", *PORT, "-o", found["recording"]]) == 0
        words = ["--direction", "outbound", "--duration", "1", "--no-decode", "-o", str(folder / "runs.data")]
        assert main(["trace", "--demo", *PORT, *words]) == 0
    found["series"] = str(folder / "runs.series.json")
    return found


def printed(command: str, files: dict[str, str], capsys: pytest.CaptureFixture[str], code: int) -> dict[str, Any]:
    if command.startswith("tune undo"):
        assert main(["tune", "apply", "storage", "--sysfs", files["machine"]]) == 0
        capsys.readouterr()
    force = ["--force"] if command.startswith(("tune save", "generate", "decode {capture}")) else []
    assert main([*(word.format(**files) if "{" in word else word for word in command.split()), *force, "--json"]) == code
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return document


@pytest.mark.parametrize(("name", "command", "code"), RUNS, ids=[command for _, command, _ in RUNS])
def test_output_is_as_the_schema_says(
    name: str, command: str, code: int, files: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    document = printed(command, files, capsys, code)
    assert problems_of(name, document) == []


@pytest.mark.parametrize("name", sorted(captures.shapes()))
def test_every_recording_is_as_the_schemas_say(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(captures.path_of(name, tmp_path))
    for command in ("info", "explain"):
        main([command, path, "--json"])
        document = json.loads(capsys.readouterr().out)
        assert problems_of("error" if list(document) == ["error"] else command, document) == []


def test_the_file_of_what_was_measured_is_as_the_schema_says(tmp_path: Path) -> None:
    clocks = judge_recordings(ROOT / "fixtures" / "anchors").clocks
    path = keep(Measured(MachineKey(None, "6.12.95", None), "2026-11-24T00:00:00+00:00", clocks), tmp_path / "machine.json")
    assert problems_of("machine", json.loads(path.read_text(encoding="utf-8"))) == []


def test_every_document_is_run() -> None:
    ours = {name for name in schemas() if not name.startswith("test-")}
    assert {name for name, _, _ in RUNS} == ours - {"sidecar", "machine", "notes"} - {name for name, _ in RESULTS}


RESULTS = [
    ("addresses", "{capture}"),
    ("attributes", "{capture}"),
    ("bandwidth", "{capture}"),
    ("elements", "fixtures/etrace/median-basic.bin"),
    ("errors", "{capture}"),
    ("io", "{capture}"),
    ("latency", "{capture}"),
    ("loss", "{capture}"),
    ("outstanding", "{capture}"),
    ("mmio", "{capture}"),
    ("payload", "{capture}"),
    ("summary", "{capture}"),
    ("traffic", "{capture}"),
]


@pytest.mark.parametrize(("name", "path"), RESULTS)
def test_a_result_is_as_its_schema_says(name: str, path: str, files: dict[str, str]) -> None:
    protocol, parameters = ("riscv-encap", {"srcid_bits": 6}) if name == "elements" else (None, None)
    with open_recording(path.format(**files), protocol, parameters=parameters) as recording:
        assert problems_of(name, to_json(recording.analyze(name))) == []


def test_no_result_has_a_key_of_the_document_around_it() -> None:
    """``analyze --json`` puts both into one object."""
    around = set(schemas()["analyze"]["properties"])
    assert not [name for name, _ in RESULTS if around & set(schemas()[name]["properties"])]


def test_a_sidecar_is_as_its_schema_says(files: dict[str, str]) -> None:
    assert problems_of("sidecar", json.loads(sidecar_path(files["recording"]).read_text(encoding="utf-8"))) == []


def test_keys_of_an_error(files: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    document = printed("event --demo", files, capsys, 2)
    assert list(document) == ["error"]
    assert {"code", "exit_code", "message", "hint"} <= set(document["error"])
