"""Try bundle, Debian package and RPM package in bare systems, without Python, without network.

``python -m packages.try_in_roots --arch x86_64``, as root. Each is unpacked or installed in a fresh copy of a bare system of Debian's, does
the main job there, and packages are removed again: nothing of them may be left. RPM is tried there, too, for want of another system: a
package that stands for the system provides what it needs.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import ptttool
from packages.build import DEBIAN, version_of
from packages.bundle.assemble import ARCHITECTURES, ROOT, name_of

# Old glibc, and new; both have no Python.
SUITES = ("bullseye", "trixie")
# The main job. It fails at the first command that does.
JOB = """
set -eu
command -v python3 >/dev/null && { echo "this system has Python"; exit 1; }
cd "$(mktemp -d)"
export LANG=C.UTF-8
ptttool --version
ptttool list --demo > list
grep -q hisi_ptt0_0 list
ptttool trace --demo --rootport nvme0 -o nvme.data > trace 2> trace.err || { cat trace.err; exit 1; }
ptttool decode nvme.data --limit 3
ptttool decode nvme.data -o nvme.parquet
ptttool decode nvme.data --to csv -o nvme.csv
ptttool info nvme.data > info
ptttool report nvme.data -o nvme.html
ptttool analyze io nvme.data
# Large enough for several processes.
ptttool generate --size 40M -o big.data
ptttool decode big.data --jobs 2 -o big.parquet
ptttool tune set --demo hisi_ptt0_0 qos_tx_cpl=2
test -s nvme.parquet -a -s nvme.csv -a -s nvme.html -a -s big.parquet
# This system has no PTT device: libudev was asked, and the exit code is that of "no device".
ptttool list 2> none && exit 1 || test $? -eq 3
find / -xdev -path /proc -prune -o -name '*.pyc' -newer list -print | grep . && { echo "modules were compiled again"; exit 1; }
true
"""
# Where a package must be whole, and leave nothing.
PLACES = "usr/bin usr/lib usr/share etc opt var/lib/ptttool run/ptttool lib".split()


class Failed(Exception):
    """A trial failed."""


def run(*command: object, inside: Path | None = None, text: str | None = None) -> str:
    """Run a command, in a root if one is given: without network, with its own /proc."""
    words = [str(word) for word in command]
    if inside is not None:
        script = 'mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" && exec chroot "$0" /usr/bin/env -i "$@"'
        settings = ["PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root"]
        words = ["unshare", "--net", "--mount", "--pid", "--fork", "sh", "-c", script, str(inside), *settings, *words]
    done = subprocess.run(words, input=text, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        raise Failed(f"{' '.join(words)}: exit code {done.returncode}\n{done.stdout}")
    return done.stdout


def bare(suite: str, cache: Path, arch: str) -> Path:
    """Return an archive of a bare system, made once."""
    file = cache / f"{suite}-{arch}.tar"
    if not file.exists():
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache) as folder:
            root = Path(folder) / "root"
            run("debootstrap", "--variant=minbase", f"--arch={DEBIAN[arch]}", suite, root, "http://deb.debian.org/debian")
            shutil.rmtree(root / "var/cache/apt")
            shutil.rmtree(root / "var/lib/apt/lists")
            partial = file.with_suffix(".part")
            run("tar", "-C", root, "-cf", partial, ".")
            partial.rename(file)
    return file


@contextmanager
def fresh(suite: str, cache: Path, arch: str) -> Iterator[Path]:
    """Unpack a bare system for one trial."""
    archive = bare(suite, cache, arch)
    with tempfile.TemporaryDirectory(dir=cache) as folder:
        run("tar", "-C", folder, "-xpf", archive)
        yield Path(folder)


def files(root: Path) -> set[str]:
    """Name all files and folders where packages put theirs."""
    return {
        str((Path(folder) / name).relative_to(root))
        for place in PLACES
        for folder, folders, names in os.walk(root / place)
        for name in (*folders, *names)
    }


def whole(root: Path, completions: str) -> None:
    """Look for what a package brings beside the command."""
    expected = [
        "usr/share/man/man1/ptttool.1.gz",
        "usr/share/man/man1/ptttool-trace.1.gz",
        "usr/share/bash-completion/completions/ptttool",
        f"usr/share/zsh/{completions}/_ptttool",
        "usr/share/fish/vendor_completions.d/ptttool.fish",
        "usr/lib/systemd/system/ptttool-apply@.service",
        "usr/lib/systemd/system/ptttool-metrics.service",
        "usr/lib/systemd/system/ptttool-metrics.timer",
        "usr/lib/udev/rules.d/60-ptttool.rules",
        "etc/ptttool",
    ]
    enabled = [*(root / "etc/systemd/system").rglob("ptttool*")]
    if enabled:
        raise Failed(f"enabled by the installation: {enabled}")
    missing = [path for path in expected if not (root / path).exists()]
    if missing:
        raise Failed(f"not installed: {', '.join(missing)}")


def nothing_left(before: set[str], root: Path, *, but: tuple[str, ...] = ()) -> None:
    """Compare with the files of before."""
    left = sorted(path for path in files(root) - before if not path.startswith(but or "\0"))
    gone = sorted(before - files(root))
    if left or gone:
        raise Failed(f"left: {left[:20]}; gone: {gone[:20]}")


def try_bundle(root: Path, dist: Path, arch: str) -> None:
    """Unpack the archive somewhere, and call it through a link."""
    place = root / "opt" / "a folder"
    place.mkdir(parents=True)
    run("tar", "-C", place, "-xzf", dist / f"{name_of(arch)}.tar.gz")
    (root / "usr/local/bin/ptttool").symlink_to(f"/opt/a folder/{name_of(arch)}/bin/ptttool")
    print(run("sh", "-c", "PATH=$PATH:/usr/local/bin; " + JOB, inside=root))


def try_deb(root: Path, dist: Path, arch: str) -> None:
    """Install the Debian package, use it, purge it."""
    before = files(root)
    file = dist / f"ptttool_{version_of(ptttool.__version__)}_{DEBIAN[arch]}.deb"
    shutil.copy(file, root / "tmp/ptttool.deb")
    run("dpkg", "--install", "/tmp/ptttool.deb", inside=root)
    # minbase leaves no manual pages out.
    whole(root, "vendor-completions")
    print(run("sh", "-c", JOB, inside=root))
    run("dpkg", "--purge", "ptttool", inside=root)
    nothing_left(before, root, but=("var/lib/ptttool", "run/ptttool"))


def try_rpm(root: Path, dist: Path, arch: str, work: Path) -> None:
    """Install the RPM package beside one that provides what a system does, use it, erase it."""
    file = dist / f"ptttool-{version_of(ptttool.__version__)}-1.{arch}.rpm"
    requires = run("rpm", "-qp", "--requires", file).splitlines()
    provided = [line for line in requires if not line.startswith("rpmlib(")]
    spec = work / "system.spec"
    lines = [f"Provides: {line}" for line in provided if not line.startswith("/")]
    head = ["Name: system", "Version: 1", "Release: 1", "Summary: Stands for the system", "License: none", "AutoReqProv: no"]
    spec.write_text("\n".join([*head, *lines, "Provides: /bin/sh", "%description", "It has no files.", "%files", ""]), encoding="utf-8")
    run("rpmbuild", "-bb", f"--define=_topdir {work}", f"--target={arch}-linux", spec)
    (system,) = (work / "RPMS").rglob("system-*.rpm")
    rpm = ["rpm", "--root", root, "--dbpath", "/var/lib/rpm"]
    run(*rpm, "--install", system)
    before = files(root)
    run(*rpm, "--install", file)
    whole(root, "site-functions")
    print(run("sh", "-c", JOB, inside=root))
    run(*rpm, "--verify", "ptttool")
    run(*rpm, "--erase", "ptttool")
    nothing_left(before, root, but=("var/lib/ptttool", "run/ptttool"))


def main() -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description="Try bundle and packages in bare systems.")
    parser.add_argument("--arch", choices=ARCHITECTURES, default=platform.machine())
    parser.add_argument("--dist", type=Path, default=ROOT / "dist")
    parser.add_argument("--roots", type=Path, default=ROOT / "build" / "roots", help="where bare systems are kept")
    parser.add_argument("--only", choices=("bundle", "deb", "rpm"), action="append", help="try only this")
    options = parser.parse_args()
    if os.geteuid() != 0:
        print("error: chroot needs root", file=sys.stderr)
        return 1
    trials = options.only or ("bundle", "deb", "rpm")
    passed = 0
    for suite in SUITES:
        for trial in trials:
            print(f"--- {trial} in a bare Debian {suite}", flush=True)
            try:
                with fresh(suite, options.roots.absolute(), options.arch) as root, tempfile.TemporaryDirectory() as work:
                    if trial == "bundle":
                        try_bundle(root, options.dist, options.arch)
                    elif trial == "deb":
                        try_deb(root, options.dist, options.arch)
                    else:
                        try_rpm(root, options.dist, options.arch, Path(work))
            except Failed as error:
                print(f"error: {trial} in {suite}: {error}", file=sys.stderr)
                return 1
            passed += 1
    print(f"{passed} passed, 0 failed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
