"""The options that commands which read recordings share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import typer

from ptttool.cli.app import DemoOption, SysfsOption
from ptttool.cli.help.commands import OptionGroup
from ptttool.cli.help.panels import Panel
from ptttool.cli.terminal.talk import note
from ptttool.errors import UsageError

if TYPE_CHECKING:
    from ptttool.api.recording import Request, TimeOptions
    from ptttool.decoders.parameters import Given
    from ptttool.machine.model import Machine
    from ptttool.pipeline.workers.pool import Workers

RecordingArgument = Annotated[str | None, typer.Argument(metavar="FILE", help="The recording; - reads standard input.")]
RecordingsArgument = Annotated[list[str], typer.Argument(metavar="FILE...", help="The recordings; - reads standard input.")]
RecordingsOrFolders = Annotated[
    list[str] | None, typer.Argument(metavar="FILE...", help="Recordings, or folders of them; - reads standard input.")
]
ParameterOption = Annotated[
    list[str] | None,
    typer.Option("-p", "--parameter", metavar="KEY=VALUE", help="A parameter of the protocol or of its framing."),
]
ParamsOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--params",
        metavar="FILE",
        help="Parameters from a file with one key=value a line, such as .scf and flat TOML files. -p comes before it.",
        readable=False,
    ),
]
InputOption = Annotated[
    str | None,
    typer.Option(
        "--input",
        metavar="<perf|raw|4dw|8dw>",
        help="What FILE is: perf.data or raw trace; 4dw and 8dw: raw PTT records of this format. By default its first bytes say it; "
        "standard input is perf.data, or raw where --protocol names a packet protocol.",
    ),
]
StrictOption = Annotated[
    bool, typer.Option("--strict", help="End with an error at the first damaged row, such as one with a reserved value.")
]
ChannelOption = Annotated[
    list[str] | None,
    typer.Option("--channel", metavar="N", help="Packet protocols: only this source ID or trace ID (0x… too); may be repeated."),
]
JobsOption = Annotated[
    int | None,
    typer.Option(
        "--jobs",
        "-j",
        metavar="N",
        min=1,
        max=1024,
        help="Work with this number of processes, each some 50 to 100 MiB. By default info, report, Parquet and folders of PTT recordings "
        "use as many as there are processors and as the recording is large enough for, everything else one. The result is the same.",
    ),
]

_FORMS = ("perf", "raw", "4dw", "8dw")
# What --demo stands for: reads of an NVMe drive with their completions, both directions.
_BUNDLED = "w-randread-4dw.data.xz"


class Protocol(OptionGroup, frozen=True):
    """The options that say what a recording is decoded as."""

    protocol: Annotated[
        str | None,
        typer.Option(
            "--protocol",
            metavar="NAME",
            help="What the trace is: 'ptttool decode --protocols' lists the names. By default the recording's type of AUX trace says it.",
        ),
    ] = None
    parameter: ParameterOption = None
    params: ParamsOption = None


class Input(OptionGroup, frozen=True):
    """The options that say what a recording looks like, and what of it is decoded."""

    strict: StrictOption = False
    channel: ChannelOption = None
    input_format: InputOption = None
    pattern: Annotated[
        str | None,
        typer.Option(
            "--pattern",
            metavar="<legacy|v1>",
            rich_help_panel=Panel.INPUT,
            help="PTT: read spare header bits as this layout, whatever the recording says: v1 is that of PCIe 6 parts.",
        ),
    ] = None
    downstream: Annotated[
        str | None,
        typer.Option(
            "--downstream",
            metavar="BUSES",
            help="PTT: the buses behind the traced root ports, such as 01-03,05 (hexadecimal, as in addresses). Recordings of both "
            "directions need them to tell in from out. By default the file that 'ptttool trace' keeps beside a recording says them, or "
            "--sysfs.",
        ),
    ] = None


class TlpInput(Input, frozen=True):
    """The same for a command that reads recordings of TLPs only."""

    left_out: ClassVar = ("channel",)


class Origin(OptionGroup, frozen=True):
    """The options that say which machine a recording is of."""

    sysfs: SysfsOption = None
    demo: DemoOption = False

    @property
    def is_named(self) -> bool:
        """Whether the user names a machine."""
        return self.sysfs is not None or self.demo

    def machine(self, *, details: bool = False) -> Machine:
        """Return the machine; `details`: with addresses and settings of its functions."""
        from ptttool.machine.details.read import with_details
        from ptttool.machine.discovery import open_source, require_machine

        source = open_source(self.sysfs, self.demo)
        machine = require_machine(source, tune=False)
        return with_details(source, machine) if details else machine


class OriginOrFile(Origin, frozen=True):
    """The same for a command that has a recording of the demo machine, which stands for FILE where none is given."""

    demo: Annotated[
        bool,
        typer.Option(
            "--demo", help="Use the recorded machine that comes with ptttool; without FILE, a recording of it (fio, random reads)."
        ),
    ] = False

    def files(self, context: typer.Context, files: Sequence[str] | None, *, hint: str) -> tuple[list[str], dict[str, str]]:
        """Return the recordings that a command is to read.

        Parameters
        ----------
        context : typer.Context
            The command. The copy of a bundled recording exists until it ends.
        files : sequence of str or None
            Those of the command line.
        hint : str
            What to do where there is neither.

        Returns
        -------
        paths : list of str
            The recordings.
        shown : dict of str
            What to call those that are copies of bundled ones, by path.

        Raises
        ------
        UsageError
            If there is neither: ``no-file``.
        """
        if files:
            return list(files), {}
        if not self.demo:
            raise UsageError("FILE is missing", hint=hint, code="no-file")
        from ptttool.capture.replay import bundled, unpack
        from ptttool.files.ownership import scratch_folder

        recording = next(each for each in bundled() if each.file == _BUNDLED)
        path = context.with_resource(scratch_folder()) / _BUNDLED.removesuffix(".xz")
        unpack(recording, path)
        note(f"a recording that comes with ptttool: {recording.what}")
        return [str(path)], {str(path): path.name}


class Time(OptionGroup, frozen=True):
    """The options that say how the Time field of TLPs is read."""

    time_model: Annotated[
        str,
        typer.Option(
            "--time-model",
            metavar="<auto|delta|counter>",
            help="How the Time field is read: as a counter that wraps around, or as the ticks since the TLP before. No document says "
            "which; auto looks at the recording and says what it saw.",
        ),
    ] = "auto"
    tick_ns: Annotated[
        float | None,
        typer.Option(
            "--tick-ns",
            metavar="N",
            help="Nanoseconds of a tick of Time. Without it, times are nanoseconds only where the self-test has measured a tick, or the "
            "recording's own timestamps give the unit.",
        ),
    ] = None

    @property
    def options(self) -> TimeOptions:
        """What analyses are told."""
        from ptttool.api.recording import TimeOptions

        return TimeOptions(self.time_model, self.tick_ns)


class Work(OptionGroup, frozen=True):
    """The options that say who works."""

    jobs: JobsOption = None
    scheduler: Annotated[
        str | None,
        typer.Option(
            "--scheduler",
            metavar="tcp|tls://HOST:PORT",
            help="Have the workers of this Dask cluster do it. They read the recording themselves: its path, or address (s3://…), must "
            "mean the same to them. Whoever reaches a scheduler without TLS can run code on its workers.",
        ),
    ] = None
    tls_ca: Annotated[
        Path | None,
        typer.Option(
            "--tls-ca",
            metavar="FILE",
            help="For tls://: certificates of the authority (PEM). Without these options, those of Dask's configuration.",
            readable=False,
        ),
    ] = None
    tls_cert: Annotated[
        Path | None,
        typer.Option("--tls-cert", metavar="FILE", help="For tls://: the certificate of this client (PEM).", readable=False),
    ] = None
    tls_key: Annotated[
        Path | None,
        typer.Option(
            "--tls-key",
            metavar="FILE",
            help="For tls://: its key (PEM); by default in the file of --tls-cert.",
            readable=False,
        ),
    ] = None

    @contextmanager
    def workers(self, paths: Sequence[str], worth: int) -> Iterator[Workers]:
        """Start a cluster's workers, or this machine's: as many as the user says, or as the largest recording is large enough for.

        Parameters
        ----------
        paths : sequence of str
            The recordings.
        worth : int
            Bytes of trace above which one more worker pays for its start-up; 0: it never does.

        Raises
        ------
        UsageError
            Standard input would be read more than once (code ``stdin-twice``), or the options exclude each other.
        """
        from ptttool.cli.terminal.interrupts import tidy_end

        check_paths(paths)
        with tidy_end(), self._chosen(paths, worth) as workers:
            yield workers

    def _chosen(self, paths: Sequence[str], worth: int) -> Workers:
        if self.scheduler is None:
            if self.tls_ca or self.tls_cert or self.tls_key:
                hint = "--scheduler tls://HOST:PORT"
                raise UsageError("--tls-ca, --tls-cert and --tls-key need --scheduler", hint=hint, code="tls-options")
            from ptttool.pipeline.workers.memory import keep_memory
            from ptttool.pipeline.workers.pool import workers_for

            keep_memory()
            return workers_for(paths, self.jobs, worth)
        if self.jobs is not None:
            raise UsageError("--jobs and --scheduler exclude each other", hint="a cluster has as many jobs as its workers have threads")
        if "-" in paths:
            raise UsageError("a cluster cannot read standard input", hint="save it where the workers can read it", code="stdin-cluster")
        from ptttool.pipeline.workers.cluster import Cluster
        from ptttool.pipeline.workers.scheduler import Scheduler

        return Cluster(Scheduler(self.scheduler, self.tls_ca, self.tls_cert, self.tls_key))


def check_paths(paths: Sequence[str]) -> None:
    """Raise a UsageError if standard input is to be read more than once."""
    if list(paths).count("-") > 1:
        raise UsageError("standard input can be read only once", code="stdin-twice")


def given_parameters(options: Protocol) -> dict[str, Given]:
    """Return the parameters of files and of the command line, which comes first."""
    files, words = options.params or (), options.parameter or ()
    if not files and not words:
        return {}
    from ptttool.decoders.parameters import parse_options, read_file

    return {name: value for path in files for name, value in read_file(path).items()} | parse_options(words)


def request_of(
    path: str,
    chosen: Protocol,
    input: Input,
    extra: Mapping[str, Given] | None = None,
) -> Request:
    """Return which recording is to be read, and as what.

    Parameters
    ----------
    path : str
        The recording.
    chosen, input
        The options.
    extra : mapping of str to Given, optional
        Parameters that other options set.

    Raises
    ------
    UsageError
        The input format is unknown, or options exclude each other.
    """
    from ptttool.api.recording import InputForm, Request
    from ptttool.decoders.hisi_ptt.protocol import NAME
    from ptttool.decoders.parameters import Given

    protocol, input_format = chosen.protocol, input.input_format
    parameters = {**given_parameters(chosen), **(extra or {})}
    if input_format not in (None, *_FORMS):
        raise UsageError(f"unknown input format {input_format!r}", hint="known: " + ", ".join(_FORMS), code="unknown-input-format")
    form = None if input_format is None else InputForm.PERF if input_format == "perf" else InputForm.RAW
    is_of_ptt = input_format in ("4dw", "8dw")
    # The options that are parameters of PTT recordings.
    for name, value in {"input": input_format if is_of_ptt else None, "pattern": input.pattern, "downstream": input.downstream}.items():
        if value is None:
            continue
        option, hint = (f"--input {value}", "--input raw") if name == "input" else (f"--{name}", "leave it out")
        if protocol not in (None, NAME):
            raise UsageError(f"{option} is of {NAME}, not of {protocol}", hint=hint, code="other-protocol")
        parameters[name] = Given(value, f"--{name}")
    if is_of_ptt:
        protocol = NAME
    if input.downstream is not None:
        from ptttool.tlp.direction import parse_buses

        parse_buses(input.downstream, "--downstream")
    return Request(path, protocol, parameters, form, input.strict, channels=tuple(_channel(text) for text in input.channel or ()))


def _channel(text: str) -> int:
    try:
        value = int(text, 0)
    except ValueError:
        value = -1
    if not 0 <= value < 1 << 16:
        raise UsageError(f"--channel {text} is not a channel", hint="a number such as 16 or 0x10", code="bad-channel")
    return value
