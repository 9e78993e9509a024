"""Runs one target for some time: ``python -m campaign.fuzz.worker TARGET``."""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path

from campaign.fuzz.corpus import inputs, name_of
from campaign.fuzz.coverage import NewLines
from campaign.fuzz.judge import Finding, Judge, limit_memory
from campaign.fuzz.mutate import mutated
from campaign.fuzz.targets.contract import Target, targets

# One input in so many also goes through the command line, which takes longer.
COMMAND_EVERY = 10


class Session:
    """Judges inputs of a target, counts them, and writes what it finds to a folder.

    Parameters
    ----------
    target : Target
        The target.
    folder : Path
        For the input that is running (``current``), findings (``findings``), new inputs (``new``) and the counts (``counts.json``).
    """

    def __init__(self, target: Target, folder: Path) -> None:
        self._folder = folder
        for name in ("findings", "new"):
            (folder / name).mkdir(exist_ok=True)
        self._judge = Judge(target, folder)
        self.count = 0
        self.kinds: dict[str, int] = {}

    def try_input(self, data: bytes) -> None:
        """Judge an input."""
        (self._folder / "current").write_bytes(data)
        self.count += 1
        self._note(self._judge.try_input(data))
        if self.count % COMMAND_EVERY == 0:
            self._note(self._judge.try_input(data, command=True))
        if self.count % 20 == 0:
            self.save()

    def keep(self, data: bytes) -> None:
        """Keep an input that reached something new."""
        (self._folder / "new" / name_of(data)).write_bytes(data)

    def save(self) -> None:
        """Write the counts."""
        (self._folder / "counts.json").write_text(json.dumps({"inputs": self.count, "kinds": self.kinds}))

    def _note(self, finding: Finding | None) -> None:
        if finding is None:
            return
        self.kinds[finding.kind] = self.kinds.get(finding.kind, 0) + 1
        path = self._folder / "findings" / name_of(finding.kind.encode())
        if not path.exists() or len(finding.data) < path.stat().st_size:  # the smallest of a kind
            path.write_bytes(finding.data)
            path.with_suffix(".txt").write_text(finding.reason, encoding="utf-8", errors="backslashreplace")


def run_own(target: Target, session: Session, seconds: float, seed: int) -> None:
    """Mutate inputs until the time is over; those that reach new lines are mutated further."""
    chance = random.Random(seed)
    pool = inputs(target)
    new = NewLines()
    end = time.monotonic() + seconds
    for data in pool:
        session.try_input(data)
        if time.monotonic() >= end:
            return
    reached = new.count
    while time.monotonic() < end:
        # Late ones are those that reached something new.
        data = chance.choice(pool[-20:] if chance.random() < 0.5 else pool)
        changed = mutated(chance, data, pool, target.words, target.most)
        session.try_input(changed)
        if new.count > reached:
            reached = new.count
            pool.append(changed)
            session.keep(changed)


def run_atheris(target: Target, session: Session, seconds: float, seed: int, folder: Path) -> None:
    """Have libFuzzer choose the inputs; this ends the process."""
    import atheris

    seeds = folder / "seeds"
    seeds.mkdir()
    for data in inputs(target):
        (seeds / name_of(data)).write_bytes(data)
    dictionary = folder / "words"
    lines = ['"' + "".join(f"\\x{byte:02x}" for byte in word) + '"\n' for word in target.words or (b"\xff",)]
    dictionary.write_text("".join(lines))
    options = [
        f"-max_total_time={max(int(seconds), 1)}", f"-max_len={target.most}", f"-seed={seed + 1}", f"-dict={dictionary}", "-timeout=60",
        "-rss_limit_mb=0", f"-artifact_prefix={folder}/", "-print_final_stats=0", "-verbosity=0", str(folder / "new"), str(seeds),
    ]  # fmt: skip
    atheris.Setup([sys.argv[0], *options], session.try_input, internal_libfuzzer=True)
    atheris.Fuzz()


def instrumented(load: Callable[[], dict[str, Target]]) -> dict[str, Target]:
    """Load the targets with ptttool instrumented for atheris."""
    import atheris

    with atheris.instrument_imports(include=["ptttool"], enable_loader_override=False):
        found = load()
        import_readers()
    return found


def import_readers() -> None:
    """Import the modules that readers import when they are first used."""
    import importlib
    import pkgutil

    import ptttool

    for room in ("perfdata", "recording", "decoders", "machine", "tune", "capture", "table", "tlp", "files", "pipeline", "analyses", "cli"):
        package = importlib.import_module(f"{ptttool.__name__}.{room}")
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if "cluster" not in module.name:
                importlib.import_module(module.name)


def main() -> None:
    """Run one target."""
    parser = argparse.ArgumentParser()
    parser.add_argument("target")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--engine", choices=("own", "atheris"), default="own")
    options = parser.parse_args()
    atheris = options.engine == "atheris"
    target = (instrumented(targets) if atheris else targets())[options.target]
    if not atheris:
        import_readers()
    session = Session(target, options.folder)
    for data in list(target.seeds())[:1]:  # what is loaded at first use is loaded before anything is measured
        session.try_input(data)
    limit_memory()
    session = Session(target, options.folder)
    if atheris:
        run_atheris(target, session, options.seconds, options.seed, options.folder)
    else:
        run_own(target, session, options.seconds, options.seed)
    session.save()


if __name__ == "__main__":
    main()
