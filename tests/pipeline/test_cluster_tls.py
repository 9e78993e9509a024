"""Clusters whose connections are encrypted, and storage that fails while it is read or written."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import distributed
import pytest

from ptttool.cli.main import main
from ptttool.errors import AccessError, InputError, UsageError, WorkersError
from ptttool.pipeline.workers import cluster as cluster_module
from ptttool.pipeline.workers.cluster import Cluster
from ptttool.pipeline.workers.scheduler import Scheduler
from tests.support.recordings import build_perfdata, words_8dw

LOCAL_CLUSTER: Any = distributed.LocalCluster
SECURITY: Any = distributed.Security
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]


def certificates(folder: Path) -> dict[str, Path]:
    """A certificate that is its own authority, as files: ca, cert, key."""
    made = SECURITY.temporary()
    files = {"ca": made.tls_ca_file, "cert": made.tls_client_cert, "key": made.tls_client_key}
    folder.mkdir()
    for name, text in files.items():
        (folder / name).write_text(text)
        (folder / name).chmod(0o600)
    return {name: folder / name for name in files}


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return certificates(tmp_path_factory.mktemp("ours") / "files")


@pytest.fixture(scope="module")
def theirs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return certificates(tmp_path_factory.mktemp("theirs") / "files")


def cluster(security: Any = None) -> Any:
    return LOCAL_CLUSTER(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0", silence_logs=50, host="127.0.0.1", security=security,
        protocol="tcp://" if security is None else "tls://",
    )  # fmt: skip


@pytest.fixture(scope="module")
def encrypted(ours: dict[str, Path]) -> Iterator[str]:
    files = {f"tls_{role}_{part}": str(ours[part]) for role in ("scheduler", "worker", "client") for part in ("cert", "key")}
    with cluster(SECURITY(tls_ca_file=str(ours["ca"]), require_encryption=True, **files)) as dask:
        yield dask.scheduler_address


@pytest.fixture(scope="module")
def plain() -> Iterator[str]:
    with cluster() as dask:
        yield dask.scheduler_address


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("recording") / "perf.data"
    path.write_bytes(build_perfdata([(0, 0, words_8dw(3000))]))
    return path


def options(address: str, files: dict[str, Path]) -> list[str]:
    return ["--scheduler", address, *(word for name, path in files.items() for word in (f"--tls-{name}", str(path)))]


def test_an_encrypted_cluster(encrypted: str, ours: dict[str, Path], recording: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert encrypted.startswith("tls://")
    assert main(["info", "--json", str(recording)]) == 0
    alone = capsys.readouterr().out
    assert main(["info", "--json", str(recording), *options(encrypted, ours)]) == 0
    assert capsys.readouterr().out == alone


def test_certificates_of_the_configuration(encrypted: str, ours: dict[str, Path]) -> None:
    import dask

    settings = {"ca-file": "ca", "client.cert": "cert", "client.key": "key"}
    with dask.config.set({f"distributed.comm.tls.{name}": str(ours[file]) for name, file in settings.items()}):
        Cluster(encrypted).close()
    with pytest.raises(UsageError) as caught:
        Cluster(encrypted)
    assert caught.value.code == "no-certificates"


def refused(capsys: pytest.CaptureFixture[str], arguments: list[str]) -> tuple[int, str]:
    code = main(["info", "--json", *arguments])
    said = capsys.readouterr()
    assert len([line for line in said.err.splitlines() if line.startswith("ptttool: error: ")]) == 1
    assert "Traceback" not in said.err
    return code, json.loads(said.out)["error"]["code"]


def test_the_two_sides_do_not_fit(
    encrypted: str,
    plain: str,
    ours: dict[str, Path],
    theirs: dict[str, Path],
    recording: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A plain client and a TLS scheduler, the other way round, and a certificate of another authority."""
    monkeypatch.setattr(cluster_module, "PATIENCE", 1)
    for words in (
        ["--scheduler", encrypted.replace("tls:", "tcp:")],
        options(plain.replace("tcp:", "tls:"), ours),
        options(encrypted, theirs),
    ):
        assert refused(capsys, [str(recording), *words]) == (9, "no-scheduler")


def test_options_that_do_not_fit(ours: dict[str, Path], tmp_path: Path, recording: Path, capsys: pytest.CaptureFixture[str]) -> None:
    address = "tls://127.0.0.1:1"
    (tmp_path / "folder").mkdir()
    for words, code in (
        (options("tcp://127.0.0.1:1", ours), (2, "tls-options")),
        (["--tls-ca", str(ours["ca"])], (2, "tls-options")),
        (options(address, {"ca": ours["ca"]}), (2, "tls-options")),
        (options(address, {"cert": ours["cert"]}), (2, "tls-options")),
        (options(address, {**ours, "key": tmp_path / "none"}), (6, "no-such-file")),
    ):
        assert refused(capsys, [str(recording), *words]) == code


@pytest.mark.parametrize(("mode", "taken"), [(0o600, True), (0o640, True), (0o644, False), (0o660, False), (0o602, False)])
def test_a_key_that_others_can_read(ours: dict[str, Path], tmp_path: Path, mode: int, taken: bool) -> None:
    key = tmp_path / "key"
    key.write_bytes(ours["key"].read_bytes())
    key.chmod(mode)
    scheduler = Scheduler("tls://127.0.0.1:1", ours["ca"], ours["cert"], key)
    if taken:
        assert scheduler.security() is not None
    else:
        with pytest.raises(AccessError) as caught:
            scheduler.security()
        assert caught.value.code == "open-key"


def test_files_that_are_no_certificates(encrypted: str, ours: dict[str, Path], tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no certificate\n")
    for name in ours:
        files = {**ours, name: tmp_path / "text"}
        with pytest.raises(InputError) as caught:
            Cluster(Scheduler(encrypted, files["ca"], files["cert"], files["key"]))
        assert caught.value.code == "bad-certificate"


@pytest.mark.parametrize("what", ["Python", "columns of TLPs"])
def test_workers_that_differ(plain: str, monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    """The workers of this test are in this process: the client is what differs."""
    real = cluster_module._identity()

    def identity() -> tuple[tuple[str, str], ...]:
        mine = threading.current_thread() is threading.main_thread()
        return tuple((name, "other" if mine and name == what else value) for name, value in real)

    monkeypatch.setattr(cluster_module, "_identity", identity)
    with pytest.raises(WorkersError, match=what) as caught:
        Cluster(plain)
    assert caught.value.code == "other-version"
