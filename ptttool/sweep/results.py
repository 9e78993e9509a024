"""The runs of a sweep as a Parquet file: a row for each run."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from pathlib import Path

from ptttool.documents import to_json
from ptttool.files.atomic import output_file
from ptttool.sweep.documents import PlanBody
from ptttool.sweep.log import RunRecord
from ptttool.sweep.plan import SweepPlan

METADATA_KEY = "ptttool.sweep"


def write_results(path: str | Path, plan: SweepPlan, runs: Sequence[RunRecord], *, force: bool = False) -> None:
    """Write the runs. The file appears complete or not at all.

    Its columns are those of :class:`~ptttool.sweep.log.RunRecord`, one for each attribute, and one for each metric. The plan is JSON in
    the metadata, under :data:`METADATA_KEY`.

    Parameters
    ----------
    path : str or Path
        The file.
    plan : SweepPlan
        The sweep.
    runs : Sequence of RunRecord
        Its runs.
    force : bool
        Replace an existing file.

    Raises
    ------
    OutputError, AccessError
        It exists, or cannot be written.
    """
    import polars

    attributes, metrics = plan.design.attributes, [metric.name for metric in plan.options.metrics]
    columns = {
        "round": polars.Series([run.round for run in runs], dtype=polars.UInt16),
        "order": polars.Series([run.order for run in runs], dtype=polars.UInt32),
        "setting": polars.Series([plan.design.label(run.setting) for run in runs], dtype=polars.String),
        **{name: polars.Series([run.setting[at] for run in runs], dtype=polars.UInt16) for at, name in enumerate(attributes)},
        **{name: polars.Series([run.metrics.get(name) for run in runs], dtype=polars.Float64) for name in metrics},
        "ending": polars.Series([run.ending for run in runs], dtype=polars.String),
        "exit": polars.Series([run.exit for run in runs], dtype=polars.Int32),
        "seconds": polars.Series([run.seconds for run in runs], dtype=polars.Float64),
        "started": polars.Series([run.started for run in runs], dtype=polars.String),
        "problem": polars.Series([run.problem for run in runs], dtype=polars.String),
    }
    # polars has an error of its own for a disk that is full.
    content = io.BytesIO()
    polars.DataFrame(columns).write_parquet(content, metadata={METADATA_KEY: json.dumps(to_json(PlanBody.of(plan)))})
    with output_file(path, force=force) as file:
        file.write(content.getbuffer())
