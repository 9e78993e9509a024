"""What a bundle is made from, and what it may need."""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path

import pytest

import ptttool.__main__
from packages.bundle import assemble
from packages.bundle.elf import Needs, needs_of
from tests import ROOT

pytestmark = pytest.mark.slow

Requirement = pytest.importorskip("packaging.requirements").Requirement
LOCKED = dict(re.findall(r"(?m)^([\w.-]+)==([\w.]+)", (assemble.HERE / "requirements.txt").read_text(encoding="utf-8")))
MADE = assemble.settings()


def wanted() -> list[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    return [*project["dependencies"], *extras["flow"], *extras["perfetto"]]


@pytest.mark.parametrize("requirement", wanted())
def test_the_lock_file_has_what_the_project_needs(requirement: str) -> None:
    needed = Requirement(requirement)
    assert needed.specifier.contains(LOCKED[needed.name]), "run make packages-lock"


def test_every_locked_package_has_hashes() -> None:
    text = (assemble.HERE / "requirements.txt").read_text(encoding="utf-8")
    blocks = re.split(r"(?m)^(?=\w)", text)[1:]
    assert len(blocks) == len(LOCKED)
    assert all("--hash=sha256:" in block for block in blocks)


def test_platforms_are_not_newer_than_glibc() -> None:
    tags = assemble.platforms("aarch64", "2.28")
    assert tags[0] == "--platform=manylinux_2_28_aarch64"
    assert all(tag.endswith("_aarch64") for tag in tags)
    assert max(int(tag.split("_")[2]) for tag in tags if "manylinux_" in tag) == 28


def test_shell_and_python_read_the_same_settings() -> None:
    script = '. "$0"; for name in DEBIAN PYTHON GLIBC GLIBCXX LIBRARIES; do eval "echo \\"$name=\\$$name\\""; done'
    done = subprocess.run(["sh", "-c", script, str(assemble.HERE / "settings.sh")], capture_output=True, text=True, check=True)
    assert dict(line.split("=", 1) for line in done.stdout.splitlines()) == MADE


def test_an_elf_file_says_what_it_needs(tmp_path: Path) -> None:
    needs = needs_of(Path(sys.executable).resolve())
    assert needs is not None
    assert needs.machine == assemble.ARCHITECTURES[platform.machine()]
    assert needs.glibc >= (2,)
    assert any(name.startswith("libc.so") for name in needs.libraries)
    text = tmp_path / "text"
    text.write_text("no program")
    cut = tmp_path / "cut"
    cut.write_bytes(b"\x7fELF")
    assert needs_of(text) is needs_of(cut) is None


def made_of(monkeypatch: pytest.MonkeyPatch, *needs: Needs) -> None:
    monkeypatch.setattr(assemble, "all_needs", lambda _folder: iter(needs))


def a_program(**changes: object) -> Needs:
    values = {"path": Path("/b/x.so"), "machine": "EM_X86_64", "libraries": ("libc.so.6",), "glibc": (2, 28), "glibcxx": (), "name": None}
    return Needs(**{**values, **changes})  # type: ignore[arg-type]


def test_a_bundle_that_works_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    own = a_program(name="libown.so", path=Path("/b/libown-1.so"))
    user = a_program(libraries=("libown.so", "libgcc_s.so.1", "libstdc++.so.6", "ld-linux-x86-64.so.2"), glibcxx=(3, 4, 21))
    made_of(monkeypatch, own, user)
    assert assemble.checked(Path("/b"), "x86_64", MADE) == [own, user]


@pytest.mark.parametrize(
    "program",
    [
        a_program(glibc=(2, 29)),
        a_program(glibcxx=(3, 4, 25)),
        a_program(machine="EM_AARCH64"),
        a_program(libraries=("libssl.so.3",)),
    ],
    ids=["glibc", "libstdc++", "processor", "library"],
)
def test_a_bundle_that_would_not_work_is_not_made(program: Needs, monkeypatch: pytest.MonkeyPatch) -> None:
    made_of(monkeypatch, a_program(), program)
    with pytest.raises(assemble.CannotBuild):
        assemble.checked(Path("/b"), "x86_64", MADE)


def test_an_empty_bundle_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(assemble.CannotBuild):
        assemble.checked(tmp_path, "x86_64", MADE)


def test_the_archive_is_the_same_each_time(tmp_path: Path) -> None:
    archives = []
    for turn, mode in enumerate((0o600, 0o664)):
        bundle = tmp_path / str(turn) / "bundle"
        (bundle / "bin").mkdir(parents=True)
        (bundle / "bin" / "ptttool").write_text("#!/bin/sh\n")
        (bundle / "bin" / "ptttool").chmod(mode | 0o100)
        (bundle / "data").write_text("data")
        (bundle / "data").chmod(mode)
        (bundle / "link").symlink_to("data")
        file = tmp_path / f"{turn}.tar.gz"
        assemble.archive(bundle, file, 1_700_000_000)
        archives.append(file.read_bytes())
    assert archives[0] == archives[1]
    with tarfile.open(tmp_path / "0.tar.gz") as tar:
        entries = {entry.name: entry for entry in tar.getmembers()}
    assert {entry.uid for entry in entries.values()} == {0}
    assert (entries["bundle/bin/ptttool"].mode, entries["bundle/data"].mode, entries["bundle/link"].linkname) == (0o755, 0o644, "data")
    assert not [*tmp_path.glob("*.part")]


@pytest.mark.parametrize("name", ["bundle", "a folder; of 'mine' $HOME"])
def test_the_command_starts_the_python_beside_it(name: str, tmp_path: Path) -> None:
    """It is called through a link, from elsewhere, with arguments that sh could take apart."""
    bundle = tmp_path / name
    (bundle / "bin").mkdir(parents=True)
    (bundle / "python" / "bin").mkdir(parents=True)
    command = bundle / "bin" / "ptttool"
    command.write_bytes((assemble.HERE / "entry_point").read_bytes())
    command.chmod(0o755)
    python = bundle / "python" / "bin" / "python3"
    python.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    python.chmod(0o755)
    link = tmp_path / "link"
    link.symlink_to(os.path.relpath(command, tmp_path))
    done = subprocess.run([link, "--where", "kind = 'MRd' $(x)"], capture_output=True, text=True, check=True, cwd="/")
    assert done.stdout.splitlines() == ["-I", str(link), "--where", "kind = 'MRd' $(x)"]


def test_python_reads_the_command_as_the_entry_point(monkeypatch: pytest.MonkeyPatch) -> None:
    """Worker processes import it under another name: that must not run it again."""
    calls: list[str] = []
    monkeypatch.setattr(ptttool.__main__, "run", lambda: calls.append("run"))
    compiled = compile((assemble.HERE / "entry_point").read_text(encoding="utf-8"), "ptttool", "exec")
    exec(compiled, {"__name__": "__mp_main__"})
    assert calls == []
    exec(compiled, {"__name__": "__main__"})
    assert calls == ["run"]


@pytest.mark.parametrize("script", sorted(assemble.HERE.glob("*.sh")), ids=lambda path: path.name)
def test_scripts_parse(script: Path) -> None:
    subprocess.run(["sh", "-n", script], check=True)


@pytest.mark.parametrize("shell", assemble.SHELLS)
def test_completion_is_for_the_command(shell: str) -> None:
    script = assemble.completion(shell)
    assert "ptttool" in script
    assert str(ROOT) not in script
    assert "\0" not in script
    assert (shell == "zsh") == script.startswith("#compdef ptttool\n")


def test_the_bundle_does_not_name_the_machine_that_built_it(tmp_path: Path) -> None:
    library = tmp_path / "lib" / "python3.13"
    installed = library / "site-packages" / "ptttool-1.dist-info"
    installed.mkdir(parents=True)
    (installed / "direct_url.json").touch()
    (library / "_sysconfigdata__linux_x86_64-linux-gnu.py").write_text("build_time_vars = {'CC': '/home/me/build/x86_64/bin/cc'}\n")
    assemble.forget_the_builder(tmp_path, Path("/home/me/build"))
    assert [path.read_text() for path in library.glob("*.py")] == ["build_time_vars = {'CC': '/build/x86_64/bin/cc'}\n"]
    assert [*installed.iterdir()] == []
