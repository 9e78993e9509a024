"""``ptttool generate``: a recording of simulated traffic."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Annotated

import typer

from ptttool.cli.app import ForceOption, JsonOption, app
from ptttool.cli.help.about import Example, Stage
from ptttool.cli.terminal.streams import CLOSED, no_standard_output
from ptttool.cli.terminal.talk import note, print_json
from ptttool.errors import OutputError, UsageError
from ptttool.wording import clean

EXAMPLES = (Example("ptttool generate -o simulated.data --size 1M --profile nvme", "Simulated traffic of an NVMe drive."),)


@app.command("generate", stage=Stage.MORE, rank=10, examples=EXAMPLES)
def generate(
    output: Annotated[str, typer.Option("--output", "-o", metavar="FILE", help="The output; - is standard output.")],
    size: Annotated[
        str,
        typer.Option("--size", metavar="SIZE", help="Largest size of the trace data: 64M, 4G. A record has 32 bytes in 8DW, 16 in 4DW."),
    ] = "64M",
    profile: Annotated[
        str,
        typer.Option("--profile", metavar="<bnxt|drive|gpu|hns3|mixed|mlx5|network|nvme|virtio>", help="What goes over the link."),
    ] = "nvme",
    format: Annotated[str, typer.Option("--format", metavar="<4dw|8dw>", help="The format of the records.")] = "4dw",
    direction: Annotated[
        str,
        typer.Option(
            "--direction",
            metavar="<all|inbound|outbound|both>",
            help="inbound, outbound, both: what the device traces; all: every TLP, also if no single trace can hold them.",
        ),
    ] = "all",
    pattern: Annotated[
        str,
        typer.Option("--pattern", metavar="<legacy|v1>", help="v1: spare header bits hold the fields of PCIe 6 parts."),
    ] = "legacy",
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Seed of the traffic: the same number gives the same file.")] = 0,
    payload_size: Annotated[
        str, typer.Option("--payload-size", metavar="SIZE", help="Largest size of the trace data in an AUXTRACE record.")
    ] = "8M",
    streams: Annotated[
        int,
        typer.Option("--streams", metavar="N", help="CPUs that trace one after the other, each until its AUX area is full."),
    ] = 1,
    force: ForceOption = False,
    json: JsonOption = False,
) -> None:
    """Generate a recording of simulated traffic, of any size.

    It is a perf.data for tests and measurements without hardware.

    A link is simulated for some 30,000 TLPs; the rest are copies with other addresses, tags and times. Requests and completions
    belong together as PCIe requires. perf reads the file like one of a Kunpeng; its host is called "generated". The profiles:

    \b
    bnxt     a network controller as NetXtreme-E: entries of 16 bytes, two for a received packet
    drive    one NVMe drive with little to do: each command has its doorbell, its entry and its interrupt
    gpu      a GPU: long bursts of large reads and writes, tags of 10 bits (14 with pattern v1)
    hns3     a network controller as HNS3: descriptors of 32 bytes, written back in place
    mixed    every kind of TLP: DMA, configuration, I/O, atomics, messages, errors, and a few unknown codes
    mlx5     a network controller as ConnectX: entries of 64 bytes in rings of their own, one for several frames sent
    network  a network adapter with 30 virtual functions: packets of all sizes at any address, in and out
    nvme     four NVMe functions read and write: commands, data, completions, interrupts, doorbells
    virtio   a network controller as virtio: used rings with elements of 8 bytes and an index

    The trace ends inside a buffer of 4 MiB, like one that was stopped: if SIZE fills the last buffer, one record is left out.
    """
    from ptttool.cli.options.units import parse_size
    from ptttool.cli.terminal.interrupts import tidy_end
    from ptttool.cli.terminal.walking import shown_progress
    from ptttool.generate.recording import GeneratedRecording, Wanted

    if json and output == "-":
        raise UsageError("--json and -o - exclude each other: both write to standard output")
    request = Wanted(
        profile=profile,
        format=format,
        size=parse_size(size, "--size"),
        direction=direction,
        pattern=pattern,
        seed=seed,
        payload=parse_size(payload_size, "--payload-size"),
        streams=streams,
    )
    recording = GeneratedRecording(request)
    with tidy_end(), _destination(output, force) as file, shown_progress(recording.progress):
        recording.write(file)
    if json:
        print_json(recording.document(output))
    elif output != "-":
        note(f"{recording.records:,} TLPs written to {clean(output)}")


@contextmanager
def _destination(output: str, force: bool) -> Iterator[IO[bytes]]:
    from ptttool.files.atomic import output_file

    if output == "-" and "stdout" in CLOSED:
        raise no_standard_output()
    with output_file("/dev/stdout" if output == "-" else output, force=force) as file:
        if file.isatty():
            raise OutputError(
                "a recording is binary: not for a terminal", hint="write it to a file: -o perf.data", code="binary-to-terminal"
            )
        yield file
