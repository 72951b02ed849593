"""config.json and rerun.sh: what a report was made with, and what makes it again."""

import platform
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version

from lore_core import __version__
from lore_core.report.archive import FORMAT
from lore_core.report.findings import Findings, ReportSettings, Source
from lore_core.view import View

#: Of the numbers; what else is installed does not change them.
_VERSIONS = ("numpy", "scipy", "pandas", "pyarrow", "scikit-learn", "numba", "plotly")


def configuration(
    findings: Findings, digest: str, source: Source, options: list[str], contents: Mapping[str, str]
) -> dict[str, object]:
    """Gather settings, versions and what the data were, as ``config.json`` says it."""
    dataset, embedding = findings.view.dataset, findings.embedding
    calibration = dataset.calibration
    seeds = {"simulations": findings.view.seed}
    if embedding is not None:
        seeds["feature map"] = embedding.random_state
    return {
        "format": FORMAT,
        "schema": 1,
        "data": {
            "name": dataset.name,
            "files": list(source.files),
            "sha256": digest,
            "rows": len(dataset),
            "evaluation_rows": len(dataset.evaluation),
            "calibration_rows": 0 if calibration is None else len(calibration),
            "classes": list(dataset.class_names),
            "features": 0 if dataset.features is None else int(dataset.features.shape[1]),
            "group_columns": []
            if dataset.groups is None
            else [str(name) for name in dataset.groups.columns],
        },
        "settings": {
            "target": findings.target_option,
            **findings.view.local,
            **asdict(findings.settings),
            "random_state": findings.view.seed,
            "methods_compared": list(findings.comparison.datasets) if findings.comparison else [],
            "group_column_used": findings.group_column,
            "min_group_size_used": findings.min_group_size if findings.group_column else None,
            "simulations": 0 if findings.chance is None else findings.chance.n_draws,
        },
        "feature_map": None
        if embedding is None
        else {
            "option": map_option(findings.view),
            "description": embedding.description,
            "coordinates_sha256": embedding.digest,
            "drawn_on": None if findings.drawn_on is None else findings.drawn_on.label,
        },
        "seeds": seeds,
        "versions": {
            "lore-lens": __version__,
            "python": platform.python_version(),
            **{name: _version(name) for name in _VERSIONS},
        },
        "left_out": dict(findings.missing),
        "rerun": ["lore", "report", *(source.files or ("DATA",)), *options],
        "contents": dict(contents),
    }


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


def map_option(view: View) -> str:
    """Name the map as the command line does: ``pca-2``, ``tsne-2``, ``identity``, ``none``."""
    return view.embedding.name.typed if view.is_local else "none"


def rerun_command(
    view: View, settings: ReportSettings, *, target_name: str, source: Source, digest: str
) -> tuple[str, list[str]]:
    """Return the script that makes the report again (other data are refused), and its options."""
    looked_at = {
        "--map": map_option(view),
        "--gamma": view.gamma,
        "--bins": view.n_bins,
        "--binning": view.binning,
        "--target": target_name,
    }
    computed = {
        "--simulation-seed": view.seed,
        "--unsure-cost": settings.unsure_cost,
        "--wrong-cost": settings.wrong_cost,
        "--method": settings.methods,
        "--group": settings.group_column,
        "--min-group-size": settings.min_group_size,
        "--draws": settings.n_draws,
        "--expect-data": digest,
    }
    options = [*typed(looked_at), *source.options, *typed(computed)]
    return _script(source.files, options), options


def typed(options: Mapping[str, object]) -> list[str]:
    """Write options as they are typed: None is left out, each of several values named anew."""
    written: list[str] = []
    for name, value in options.items():
        for one in value if isinstance(value, tuple) else (value,):
            written += [] if one is None else [name, str(one)]
    return written


def _script(files: Sequence[str], options: Sequence[str]) -> str:
    if files:
        text = "# DATA may be left out where this is run in the directory of the first run."
        default = f"[ $# -gt 0 ] || set -- {shlex.join(files)}"
    else:
        text = "# DATA: the file (or the calibration and the test file) the report was made from."
        default = ': "${1:?name the data file: sh rerun.sh DATA...}"'
    return "\n".join(
        [
            "#!/bin/sh",
            "# Makes this report again, with the same numbers, from the same data:",
            "#     sh rerun.sh [DATA...]           writes the directory report-again",
            "#     OUT=new.zip sh rerun.sh DATA    writes new.zip",
            text,
            "# Other data than those of the report are refused (--expect-data).",
            "set -eu",
            default,
            f'exec lore report "$@" {shlex.join(options)} -o "${{OUT:-report-again}}"',
            "",
        ]
    )
