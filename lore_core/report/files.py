"""Files of a report: page, figures, tables, settings and a script that reruns it."""

import platform
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from lore_core import __version__
from lore_core.comparison.two_models import ModelComparison
from lore_core.data.binning import Binning
from lore_core.data.dataset import TOP_LABEL, Dataset
from lore_core.data.defaults import GAMMA, N_BINS
from lore_core.data.errors import require
from lore_core.data.export_text import as_json
from lore_core.data.progress import Progress, part_of, tell
from lore_core.embedding import Embedding, embed
from lore_core.kernel_sums.schedule import do_both
from lore_core.regions import SavedSubgroup, saved_subgroups
from lore_core.regions.subgroups.saved import subgroups_json
from lore_core.report.archive import FORMAT, check_output_path, option_words, write_bundle
from lore_core.report.findings import Comparing, Findings, ReportSettings, Source, examine
from lore_core.report.tables import ABOUT_TABLES, table_files, tables
from lore_core.view import SumsView, View
from lore_core.view.methods import group_columns

#: Packages whose versions can change the numbers.
_VERSIONS = ("numpy", "scipy", "pandas", "pyarrow", "scikit-learn", "numba", "plotly")


def configuration(
    findings: Findings, digest: str, source: Source, options: list[str], contents: Mapping[str, str]
) -> dict[str, object]:
    """Return the content of ``config.json``: settings, versions and a description of the data."""
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
            "group_columns": group_columns(dataset),
        },
        "settings": {
            "target": target_option(findings.view),
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
            "drawn_on": None if findings.picture_map is None else findings.picture_map.label,
        },
        "seeds": seeds,
        "versions": {
            "lore-lens": __version__,
            "python": platform.python_version(),
            **{name: version(name) for name in _VERSIONS},
        },
        "left_out": dict(findings.missing),
        "rerun": ["lore", "report", *(source.files or ("DATA",)), *options],
        "contents": dict(contents),
    }


def map_option(view: View) -> str:
    """Return the map as an option: ``pca-2``, ``tsne-2``, ``identity`` or ``none``."""
    return view.embedding.name.typed if view.is_local else "none"


def target_option(view: View) -> str:
    """Return the target as an option of the command line."""
    return view.target_name.removeprefix("class ")


def view_options(view: View) -> list[str]:
    """Write what is looked at as options of the command line."""
    looked_at = {
        "--map": map_option(view),
        "--gamma": view.gamma,
        "--bins": view.n_bins,
        "--binning": view.binning,
        "--target": target_option(view),
    }
    return option_words(looked_at)


def figures_command(
    view: View, files: Sequence[str], options: Sequence[str], *, width_mm: float
) -> str:
    """Return the command that writes all figures of a view as PDF; see :class:`Source`."""
    data = [*(files or ("DATA",)), *view_options(view), *options]
    return f"lore figures {shlex.join(data)} --width {width_mm:g} -o figures"


def rerun_command(
    view: View, settings: ReportSettings, *, source: Source, digest: str
) -> tuple[str, list[str]]:
    """Return the script that makes the report again (other data are refused), and its options."""
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
    options = [*view_options(view), *source.options, *option_words(computed)]
    default = ': "${1:?name the data file: sh rerun.sh DATA...}"'
    if source.files:  # run in the directory of the first run
        default = f"[ $# -gt 0 ] || set -- {shlex.join(source.files)}"
    lines = [
        "#!/bin/sh",
        "# Makes this report again, with the same numbers, from the same data; others are refused:",
        "#     sh rerun.sh [DATA...]           writes the directory report-again",
        "#     OUT=new.zip sh rerun.sh DATA    writes new.zip",
        "set -eu",
        default,
        f'exec lore report "$@" {shlex.join(options)} -o "${{OUT:-report-again}}"',
    ]
    return "\n".join([*lines, ""]), options


def require_packages() -> None:
    """Raise InputError if a package that a report needs is missing, before anything is computed."""
    require("A report", "plotly", "jinja2", "PIL", "reportlab")


def write_report(
    dataset: Dataset,
    path: str | Path,
    *,
    embedding: Embedding | None = None,
    target: str | int = TOP_LABEL,
    gamma: float = GAMMA,
    n_bins: int = N_BINS,
    binning: Binning = "equal-width",
    methods: tuple[str, ...] | list[str] | None = None,
    group_column: str | None = None,
    min_group_size: int | None = None,
    unsure_cost: float = 1.0,
    wrong_cost: float = 10.0,
    n_draws: int | None = None,
    random_state: int = 0,
    source: Source | None = None,
    progress: Progress | None = None,
) -> Path:
    """Write a full report on a classifier's calibration to one bundle; return its path.

    ``dataset``: rows, with a split if recalibrators are to be compared. ``path``: a ``.zip`` file,
    or a directory: a new one, an empty one, or an earlier report, which is replaced; written as a
    whole or not at all. ``embedding``: all rows on the feature map the kernel works on; by default
    PCA to two dimensions where there are features. ``target, gamma, n_bins, binning``: see
    :func:`~lore_core.comparison.summary.summarize`. ``methods``: labels of the recalibrators to
    compare, the reference first; by default those of
    :func:`~lore_core.recalibration.standard_recalibrators`. ``group_column``: of the fairness
    section; by default the first. ``min_group_size``: smaller groups do not set the maximum; by
    default 30. ``unsure_cost, wrong_cost``: of the decisions section. ``n_draws``: simulations
    behind intervals and p-values; by default what takes some seconds. ``random_state``: seed of
    simulations and halves. ``source``: where the data came from, for ``rerun.sh``. ``progress``:
    called with the share done and the current step; may raise to cancel.

    Raises InputError if a setting names what is not there, or ``path`` cannot be written. Data that
    lack features, calibration rows or groups give a report that says so.

    ``index.html`` is the report to read, without a request to anywhere. Beside it lie ``figures/``
    (interactive, and SVG and PDF), ``tables/`` (CSV and Parquet), ``config.json`` (settings,
    versions, digest of the data) and ``rerun.sh``. The same inputs give the same bytes.
    """
    require_packages()
    check_output_path(path)
    settings = ReportSettings(
        methods=None if methods is None else tuple(methods),
        group_column=group_column,
        min_group_size=min_group_size,
        unsure_cost=float(unsure_cost),
        wrong_cost=float(wrong_cost),
        n_draws=n_draws,
    )
    view = View(dataset, target, float(gamma), n_bins, binning, seed=random_state)
    if embedding is None and dataset.features is not None:
        embedding = embed(dataset.features, n_components=min(2, *dataset.features.shape))
    if embedding is not None:
        view = view.with_(maps={embedding.name.title: embedding})
    files = report_files(view, settings, source=source or Source(), progress=progress)
    return write_bundle(files, path)


def report_files(
    view: View | SumsView,
    settings: ReportSettings,
    *,
    source: Source | None = None,
    progress: Progress | None = None,
    comparing: Comparing | None = None,
    saved: Sequence[SavedSubgroup] = (),
    models: ModelComparison | None = None,
) -> dict[str, bytes]:
    """Make the files of a bundle, without writing them anywhere.

    ``view``: what to look at; without a map global metrics only, of sums what they say. ``source,
    progress``: see :func:`write_report`. ``comparing, saved``: see
    :func:`~lore_core.report.findings.examine`. ``models``: how another model differs, for a section
    of its own. Returns them by path in the bundle.
    """
    require_packages()
    from lore_core.report.charts import (
        figure_files,
        landscape_chart,
        live_landscape,
        report_charts,
        report_drawings,
    )
    from lore_core.report.page import report_page
    from lore_core.report.pdf import report_pdf
    from lore_core.report.sums_report import sums_report_files

    if isinstance(view, SumsView):
        return sums_report_files(view, settings.n_draws, progress=progress)
    findings = examine(view, settings, part_of(progress, 0.0, 0.7), comparing, saved)
    findings.models = models

    def figures(progress: Progress | None) -> tuple[Any, Any, Any]:
        still = landscape_chart(findings)
        charts, landscape = report_charts(findings, still), None
        if still is not None:
            landscape = live_landscape(findings, still, part_of(progress, 0.0, 0.4))
        drawings = report_drawings(findings, charts, landscape)
        return landscape, drawings, figure_files(charts, progress=part_of(progress, 0.4, 1.0))

    own = part_of(progress, 0.7, 0.97)
    of_tables, (landscape, drawings, files) = do_both(partial(_tables, findings), figures, own)
    contents: dict[str, str] = {
        "index.html": "this page",
        "report.pdf": "the same on paper",
        "figures/*.html": "the figures, interactive, without a network",
    }
    contents["figures/*.svg, *.pdf"] = "the same for print, 84 mm wide"
    for name, (n_lines, made) in of_tables.items():
        files |= made
        contents[f"tables/{name}.csv, .parquet"] = f"{ABOUT_TABLES[name]} ({n_lines:,} lines)"
    found = saved_subgroups(findings.search, view.evaluation)
    files["subgroups.json"] = subgroups_json(found).encode()
    contents["subgroups.json"] = "the subgroups, for lore subgroups --file and the dashboard"
    contents["config.json"] = "every setting, versions, the digest of the data"
    contents["rerun.sh"] = "makes the report again"
    digest = view.dataset.content_digest
    script, options = rerun_command(view, settings, source=source or Source(), digest=digest)
    config = configuration(findings, digest, source or Source(), options, contents)
    files["config.json"] = (as_json(config) + "\n").encode()
    files["rerun.sh"] = script.encode()
    rerun = script.rstrip().splitlines()[-1]
    page = report_page(
        findings,
        landscape,
        drawings,
        version=__version__,
        digest=digest,
        rerun=rerun,
        contents=contents,
    )
    files["index.html"] = page.encode()
    files["report.pdf"] = report_pdf(page, drawings.values(), view.dataset.name)
    tell(progress, 1.0, "done")
    return dict(sorted(files.items()))


def _tables(
    findings: Findings, progress: Progress | None
) -> dict[str, tuple[int, dict[str, bytes]]]:
    """Return lines and files of each table, by its name."""
    tell(progress, 0.0, "writing tables")
    return {
        name: (len(frame), table_files(name, frame)) for name, frame in tables(findings).items()
    }
