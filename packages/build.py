"""Make a Debian package or an RPM package of a bundle.

``python -m packages.build deb --arch x86_64``; the bundle has been made by ``make bundle``.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from email.utils import formatdate
from pathlib import Path

import ptttool
from packages.bundle.assemble import ARCHITECTURES, ROOT, CannotBuild, name_of, settings, time_of_release

HERE = Path(__file__).resolve().parent
# What Debian calls the processors.
DEBIAN = {"x86_64": "amd64", "aarch64": "arm64"}


def version_of(version: str) -> str:
    """Return a version of Python as Debian and RPM write it: what comes before a release sorts before it by a tilde."""
    return re.sub(r"\.?(a|b|rc|dev)(?=\d)", r"~\1", version)


def _run(command: Iterable[object], folder: Path, log: Path) -> None:
    words = [str(word) for word in command]
    with log.open("wb") as output:
        environment = {**os.environ, "SOURCE_DATE_EPOCH": str(time_of_release())}
        done = subprocess.run(words, cwd=folder, stdout=output, stderr=subprocess.STDOUT, env=environment, check=False)
    if done.returncode:
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
        raise CannotBuild("\n".join([f"{' '.join(words)}: exit code {done.returncode}; {log}:", *lines[-20:]]))


def debian_package(bundle: Path, arch: str, work: Path, output: Path) -> Path:
    """Make the Debian package.

    Parameters
    ----------
    bundle : Path
        The folder of the bundle.
    arch : str
        ``x86_64`` or ``aarch64``.
    work : Path
        A folder for this; it is emptied.
    output : Path
        Folder of the package.

    Returns
    -------
    Path
        The package.

    Raises
    ------
    CannotBuild
        The tools report an error, or lintian does.
    """
    shutil.rmtree(work, ignore_errors=True)
    tree = work / "ptttool"
    tree.mkdir(parents=True)
    shutil.copytree(HERE / "deb" / "debian", tree / "debian")
    shutil.copytree(HERE / "system", tree / "system")
    for name in ("README.md", "CHANGELOG.md"):
        shutil.copy(ROOT / name, tree / name)
    (tree / "bundle").mkdir()
    (tree / "bundle" / bundle.name).symlink_to(bundle.resolve())
    version = version_of(ptttool.__version__)
    control = tree / "debian" / "control"
    control.write_text(control.read_text(encoding="utf-8").replace("@GLIBC@", settings()["GLIBC"]), encoding="utf-8")
    (tree / "debian" / "changelog").write_text(
        f"ptttool ({version}) unstable; urgency=medium\n\n  * /usr/share/doc/ptttool/changelog.gz says what is new.\n\n"
        f" -- The ptttool authors <ptttool@localhost>  {formatdate(time_of_release())}\n",
        encoding="utf-8",
    )
    (tree / "debian" / "rules").chmod(0o755)
    # Nothing is compiled for the other processor here, so its compiler need not be there (-d).
    _run(["dpkg-buildpackage", "-b", "-d", "-us", "-uc", f"--host-arch={DEBIAN[arch]}"], tree, work / "build.log")
    (made,) = work.glob("*.deb")
    _run(["lintian", "--fail-on=error", "--tag-display-limit=0", made], work, work / "lintian.log")
    output.mkdir(parents=True, exist_ok=True)
    return Path(shutil.copy(made, output))


def rpm_package(bundle: Path, arch: str, work: Path, output: Path) -> Path:
    """Make the RPM package.

    Parameters
    ----------
    bundle : Path
        The folder of the bundle.
    arch : str
        ``x86_64`` or ``aarch64``.
    work : Path
        A folder for this; it is emptied.
    output : Path
        Folder of the package.

    Returns
    -------
    Path
        The package.

    Raises
    ------
    CannotBuild
        rpmbuild reports an error.
    """
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    values = {
        "_topdir": work,
        "_dbpath": work / "db",
        "version_of": version_of(ptttool.__version__),
        "glibc": settings()["GLIBC"],
        "bundle": bundle.resolve(),
        "system": HERE / "system",
    }
    defined = [f"--define={name} {value}" for name, value in values.items()]
    _run(["rpmbuild", "-bb", f"--target={arch}-linux", *defined, HERE / "rpm" / "ptttool.spec"], work, work / "build.log")
    (made,) = (work / "RPMS").rglob("*.rpm")
    output.mkdir(parents=True, exist_ok=True)
    return Path(shutil.copy(made, output))


def main() -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description="Make a package of a bundle.")
    parser.add_argument("kind", choices=("deb", "rpm"))
    parser.add_argument("--arch", choices=ARCHITECTURES, default=platform.machine())
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("--output", type=Path, default=ROOT / "dist")
    options = parser.parse_args()
    bundle = options.build / "bundle" / options.arch / name_of(options.arch)
    work = (options.build / options.kind / options.arch).absolute()
    try:
        if not (bundle / "CONTENTS").exists():
            raise CannotBuild(f"{bundle} is not there: make bundle ARCH={options.arch}")
        make = debian_package if options.kind == "deb" else rpm_package
        file = make(bundle, options.arch, work, options.output)
    except CannotBuild as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(f"{file}: {file.stat().st_size / 2**20:.0f} MiB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
