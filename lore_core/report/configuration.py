"""config.json: what a report was made with, and from which data."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version

from lore_core import __version__
from lore_core.report.archive import FORMAT
from lore_core.report.findings import Findings
from lore_core.report.settings import Source, map_option

#: Of the numbers; what else is installed does not change them.
_VERSIONS = ("numpy", "scipy", "pandas", "pyarrow", "scikit-learn", "numba", "plotly")


def configuration(
    findings: Findings,
    digest: str,
    source: Source,
    options: list[str],
    contents: Mapping[str, str],
) -> dict[str, object]:
    """Gather every setting, the versions, and what the data were, as ``config.json`` says it.

    ``options`` are those of the command that makes the report again; ``contents`` says what each
    file of the bundle is, by its path.
    """
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
