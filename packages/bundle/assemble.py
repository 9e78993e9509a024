"""Put a bundle together: interpreter, packages, manual pages, completion, and a check of what it needs of the system.

``python -m packages.bundle.assemble --arch x86_64 --build build/bundle --output dist``
"""

from __future__ import annotations

import argparse
import gzip
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterable
from pathlib import Path

import ptttool
from packages.bundle.elf import Needs, all_needs

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
ARCHITECTURES = {"x86_64": "EM_X86_64", "aarch64": "EM_AARCH64"}
# They are glibc's and gcc's; package managers of Debian and of Red Hat's family need them, too.
OF_THE_SYSTEM = re.compile(r"(lib(c|m|dl|rt|pthread|util|gcc_s|stdc\+\+)\.so\.\d|ld-linux.*\.so\.\d)")
SHELLS = {
    "bash": "bash-completion/completions/ptttool",
    "zsh": "zsh/site-functions/_ptttool",
    "fish": "fish/vendor_completions.d/ptttool.fish",
}
# What nothing of ptttool runs: the C interface, tools for developers, and modules whose C part is not compiled.
_UNUSED = """
    include share bin/idle* bin/pydoc* bin/python*-config lib/pkgconfig lib/*.a
    lib/python*/config-* lib/python*/idlelib lib/python*/tkinter lib/python*/turtledemo lib/python*/turtle.py lib/python*/ensurepip
    lib/python*/pydoc_data lib/python*/ctypes/macholib lib/python*/sqlite3 lib/python*/curses lib/python*/dbm lib/python*/test
    lib/python*/site-packages/bin lib/python*/site-packages/*/tests lib/python*/site-packages/*/*/tests
    lib/python*/site-packages/numpy/f2py lib/python*/site-packages/numpy/_core/include lib/python*/site-packages/numpy/_core/lib
    lib/python*/site-packages/numpy/_core/*_tests.*.so lib/python*/site-packages/capstone/include
""".split()


class CannotBuild(Exception):
    """The bundle would not work."""


def settings() -> dict[str, str]:
    """Read ``settings.sh``."""
    lines = (HERE / "settings.sh").read_text(encoding="utf-8")
    return {name: value.strip('"') for name, value in re.findall(r"(?m)^(\w+)=(.*)$", lines)}


def name_of(arch: str) -> str:
    """Return the name of the folder in the archive; the archive's is this and ``.tar.gz``."""
    return f"ptttool-{ptttool.__version__}-linux-{arch}"


def platforms(arch: str, glibc: str) -> list[str]:
    """Name the platform tags of the wheels that work with a version of glibc, for pip."""
    newest = int(glibc.partition(".")[2])
    return [f"--platform=manylinux_2_{minor}_{arch}" for minor in range(newest, 4, -1)] + [f"--platform=manylinux2014_{arch}"]


def _run(command: Iterable[object], **options: object) -> str:
    words = [str(word) for word in command]
    done = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=False, **options)  # type: ignore[call-overload]
    if done.returncode:
        raise CannotBuild(f"{' '.join(words)}: exit code {done.returncode}")
    return str(done.stdout)


def compiling(arch: str, made: dict[str, str], folder: Path) -> dict[str, str]:
    """Return the environment in which hatch_build.py compiles for the bundle; `folder`: what ``interpreter.sh`` has left."""
    headers = folder / "python" / "include" / f"python{made['PYTHON']}"
    cache = str(folder.parent / "zig-cache")
    return {
        "PTTTOOL_LOOPS": "compiled",
        "PTTTOOL_PLATFORM": f"manylinux_{made['GLIBC'].replace('.', '_')}_{arch}",
        "CC": f"{shlex.quote(str(folder / 'bin' / 'cc'))} -fno-sanitize=undefined -I{shlex.quote(str(headers))}",
        "ZIG_GLOBAL_CACHE_DIR": cache,
        "ZIG_LOCAL_CACHE_DIR": cache,
    }


def install(site: Path, arch: str, made: dict[str, str], work: Path) -> None:
    """Install the wheels of the lock file, which pip compares with their hashes, and ptttool itself."""
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--target", site]
    environment = {**os.environ, "PIP_FIND_LINKS": "", "PIP_EXTRA_INDEX_URL": ""}
    of = [
        f"--python-version={made['PYTHON']}",
        "--implementation=cp",
        "--only-binary=:all:",
        "--no-compile",
        "--ignore-requires-python",
        *platforms(arch, made["GLIBC"]),
    ]
    _run([*pip, *of, "--no-deps", "--require-hashes", "--requirement", HERE / "requirements.txt"], env=environment)
    shutil.rmtree(work, ignore_errors=True)
    compiled = {**os.environ, **compiling(arch, made, work.parent)}
    _run([sys.executable, "-m", "build", "--wheel", "--outdir", work, ROOT], stderr=subprocess.DEVNULL, env=compiled)
    (wheel,) = work.glob("*.whl")
    _run([*pip, *of, "--no-deps", wheel], env=environment)


def prune(python: Path) -> None:
    """Remove what nothing runs."""
    for pattern in _UNUSED:
        for path in python.glob(pattern):
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    for cache in [*python.rglob("__pycache__")]:
        shutil.rmtree(cache)
    for path in python.rglob("*"):  # some wheels make all their files executable
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() or path.parent.name == "bin" else 0o644)


def forget_the_builder(python: Path, build: Path) -> None:
    """Remove the paths of the machine that builds this from what Python knows about its own making."""
    for path in python.glob("lib/python*/site-packages/ptttool-*.dist-info/direct_url.json"):
        path.unlink()
    for path in python.glob("lib/python*/_sysconfigdata*.py"):
        path.write_text(path.read_text(encoding="utf-8").replace(str(build), "/build"), encoding="utf-8")


def licences(bundle: Path, build: Path, made: dict[str, str]) -> None:
    """Put the licences of the compiled sources beside those that the wheels bring with them."""
    folder = bundle / "share" / "licenses"
    folder.mkdir(parents=True)
    shutil.copy(ROOT / "LICENSE", folder / "ptttool.txt")
    shutil.copy(build / "sources" / f"python{made['PYTHON']}" / "LICENSE", folder / "python.txt")
    for name in made["LIBRARIES"].split():
        shutil.copy(build / "sources" / name / "debian" / "copyright", folder / f"{name}.txt")


def completion(shell: str) -> str:
    """Return the script that completes ptttool's command line in a shell."""
    script = _run([Path(sys.executable).parent / "ptttool"], env={**os.environ, "_PTTTOOL_COMPLETE": f"source_{shell}"})
    if "ptttool" not in script:
        raise CannotBuild(f"no completion for {shell}")
    script = script.strip() + "\n"
    # zsh loads the file at the first completion, whose answer it expects of the file itself; #compdef stands in its first line.
    if shell == "zsh" and not (script.startswith("#compdef") and "loadautofunc" in script):
        raise CannotBuild("the completion for zsh is not one that zsh loads")
    return script


def shared(bundle: Path, site: Path) -> None:
    """Put manual pages and completion where packages take them from."""
    (bundle / "share").mkdir(exist_ok=True)
    shutil.move(site / "share" / "man", bundle / "share" / "man")
    shutil.rmtree(site / "share")
    for shell, path in SHELLS.items():
        file = bundle / "share" / path
        file.parent.mkdir(parents=True)
        file.write_text(completion(shell), encoding="utf-8")


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split("."))


def _dotted(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))


def checked(bundle: Path, arch: str, made: dict[str, str]) -> list[Needs]:
    """Check what the bundle's programs need of the system.

    Parameters
    ----------
    bundle : Path
        The bundle.
    arch : str
        The processor.
    made : dict
        The settings: the newest versions of glibc and libstdc++ that they may need.

    Returns
    -------
    list of Needs
        What each needs.

    Raises
    ------
    CannotBuild
        A program is for another processor, or needs a newer glibc or libstdc++, or a library that not every system has.
    """
    needs = [*all_needs(bundle)]
    own = {each.name or each.path.name for each in needs} | {each.path.name for each in needs}
    limits = {name: _version(made[name]) for name in ("GLIBC", "GLIBCXX")}
    for each in needs:
        path = each.path.relative_to(bundle)
        if each.machine != ARCHITECTURES[arch]:
            raise CannotBuild(f"{path} is for {each.machine}")
        for name, needed in (("GLIBC", each.glibc), ("GLIBCXX", each.glibcxx)):
            if needed > limits[name]:
                raise CannotBuild(f"{path} needs {name}_{_dotted(needed)}")
        foreign = [name for name in each.libraries if name not in own and not OF_THE_SYSTEM.fullmatch(name)]
        if foreign:
            raise CannotBuild(f"{path} needs {', '.join(foreign)}")
    if not needs:
        raise CannotBuild(f"{bundle} holds no program")
    return needs


def contents(build: Path, needs: list[Needs], bundle: Path, made: dict[str, str], arch: str) -> str:
    """Say what the bundle is made of, and what it needs."""
    newest = max(each.glibc for each in needs)
    needing = sorted(str(each.path.relative_to(bundle)) for each in needs if each.glibc == newest)
    sources = [
        (build / "sources" / f"{name}.version").read_text(encoding="utf-8").strip()
        for name in (f"python{made['PYTHON']}", *made["LIBRARIES"].split())
    ]
    wheels = re.findall(r"(?m)^([\w.-]+)==([\w.]+)", (HERE / "requirements.txt").read_text(encoding="utf-8"))
    return "\n".join(
        [
            f"ptttool {ptttool.__version__} for Linux on {arch}",
            "",
            f"Needs glibc {_dotted(newest)} or newer (symbol versions of {len(needs)} programs and libraries; newest in {needing[0]}),",
            f"and libstdc++ with GLIBCXX_{_dotted(max(each.glibcxx for each in needs))} and libgcc_s, which come with GCC 5 and newer.",
            "libudev is the system's own, for finding devices; perf is the system's own, for recording.",
            "",
            "Compiled from Debian's sources:",
            *(f"  {name}" for name in sources),
            "From PyPI:",
            *(f"  {name} {version}" for name, version in wheels),
            "",
        ]
    )


def archive(bundle: Path, file: Path, when: int) -> None:
    """Write the archive; the same bundle gives the same bytes."""

    def plain(entry: tarfile.TarInfo) -> tarfile.TarInfo:
        entry.uid = entry.gid = 0
        entry.uname = entry.gname = "root"
        entry.mtime = when
        entry.mode = 0o755 if entry.isdir() or entry.mode & 0o100 else 0o644
        return entry

    partial = file.with_name(file.name + ".part")
    with (
        partial.open("wb") as raw,
        gzip.GzipFile(filename="", mode="wb", compresslevel=6, fileobj=raw, mtime=when) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.GNU_FORMAT) as tar,
    ):
        for path in [bundle, *sorted(bundle.rglob("*"))]:
            tar.add(path, arcname=str(path.relative_to(bundle.parent)), recursive=False, filter=plain)
    partial.replace(file)


def time_of_release() -> int:
    """Return the time of the last commit, which archives get as the time of their files; today's where there is no repository."""
    given = os.environ.get("SOURCE_DATE_EPOCH")
    if given is None:
        done = subprocess.run(["git", "-C", ROOT, "log", "-1", "--format=%ct"], capture_output=True, text=True, check=False)
        given = done.stdout.strip() or str(int((ROOT / "pyproject.toml").stat().st_mtime))
    return int(given)


def assemble(arch: str, build: Path, output: Path) -> Path:
    """Make the bundle.

    Parameters
    ----------
    arch : str
        ``x86_64`` or ``aarch64``.
    build : Path
        The folder in which ``interpreter.sh`` has left the interpreter.
    output : Path
        Folder of the archive.

    Returns
    -------
    Path
        The archive.

    Raises
    ------
    CannotBuild
        A step failed, or the bundle would need more than is promised.
    """
    made = settings()
    bundle = build / arch / name_of(arch)
    shutil.rmtree(bundle, ignore_errors=True)
    shutil.copytree(build / arch / "python", bundle / "python", symlinks=True)
    site = bundle / "python" / "lib" / f"python{made['PYTHON']}" / "site-packages"
    install(site, arch, made, build / arch / "wheel")
    shared(bundle, site)
    prune(bundle / "python")
    forget_the_builder(bundle / "python", build)
    # Compiled modules are the same for every processor. Their sources are not looked at when they are loaded: nobody changes them.
    native = build / platform.machine() / "python" / "bin" / f"python{made['PYTHON']}"
    _run(
        [
            native,
            "-I",
            "-m",
            "compileall",
            "-q",
            "-j0",
            "--invalidation-mode=unchecked-hash",
            "-s",
            bundle,
            "-p",
            "/",
            bundle / "python" / "lib",
        ]
    )
    command = bundle / "bin" / "ptttool"
    command.parent.mkdir()
    shutil.copy(HERE / "entry_point", command)
    command.chmod(0o755)
    licences(bundle, build, made)
    needs = checked(bundle, arch, made)
    (bundle / "CONTENTS").write_text(contents(build, needs, bundle, made, arch), encoding="utf-8")
    output.mkdir(parents=True, exist_ok=True)
    file = output / f"{bundle.name}.tar.gz"
    archive(bundle, file, time_of_release())
    return file


def main() -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description="Put a bundle together.")
    parser.add_argument("--arch", choices=ARCHITECTURES, default=platform.machine())
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "bundle")
    parser.add_argument("--output", type=Path, default=ROOT / "dist")
    options = parser.parse_args()
    try:
        file = assemble(options.arch, options.build.absolute(), options.output)
    except CannotBuild as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    text = (options.build / options.arch / name_of(options.arch) / "CONTENTS").read_text(encoding="utf-8")
    print(f"{file}: {file.stat().st_size / 2**20:.0f} MiB. {text.splitlines()[2]} {text.splitlines()[3]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
