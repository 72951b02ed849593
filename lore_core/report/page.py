"""index.html: the report one reads, in one file that needs nothing from anywhere else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from markupsafe import Markup

from lore_core.figures.browser import page_script
from lore_core.figures.pictures.landscape_picture import LandscapePicture
from lore_core.figures.svg import Drawing
from lore_core.figures.svg.drawing import page_rules
from lore_core.metrics.glossary import GLOSSARY
from lore_core.report.findings import Findings
from lore_core.report.rendering import render
from lore_core.report.sections.decisions import decisions_section
from lore_core.report.sections.groups import groups_section
from lore_core.report.sections.landscape import landscape_section
from lore_core.report.sections.numbers import numbers_section
from lore_core.report.sections.places import places_section
from lore_core.report.sections.recalibrators import recalibrators_section
from lore_core.report.sections.variables import variables_section


class _Section(NamedTuple):
    anchor: str
    title: str
    content: Markup


def report_page(
    findings: Findings,
    landscape: LandscapePicture | None,
    drawings: Mapping[str, Drawing],
    *,
    version: str,
    digest: str,
    rerun: str,
    contents: Mapping[str, str],
    notes: tuple[str, ...] = (),
) -> str:
    """Write the page.

    ``landscape``: fields at every bandwidth. ``rerun``: the command that makes the report again.
    ``contents``: files of the bundle and what each is, by path. ``notes``: what else a reader
    should know about the bundle.
    """
    dataset, embedding = findings.view.dataset, findings.embedding
    sections = [
        _Section("numbers", "The numbers", numbers_section(findings, drawings)),
        _Section("where", "Where it is wrong", places_section(findings)),
        _Section("map", "On the map", landscape_section(findings, landscape, drawings)),
        _Section("columns", "Columns it goes with", variables_section(findings)),
        _Section(
            "recalibrators", "Does recalibration help?", recalibrators_section(findings, drawings)
        ),
        _Section("groups", "For whom?", groups_section(findings, drawings)),
        _Section("decisions", "Is it worth it?", decisions_section(findings, drawings)),
        _Section("rows", "What was fitted on which rows", _rows(findings)),
        _Section("words", "What the words mean", render("words.html", words=GLOSSARY)),
        _Section("methods", "How it was computed", render("methods.html")),
        _Section("limits", "What this report does not say", _limits(findings)),
        _Section(
            "files",
            "The files, and how to make them again",
            render("files.html", contents=contents, notes=notes, rerun=rerun),
        ),
    ]
    return render(
        "page.html",
        name=dataset.name,
        drawing_rules=Markup(page_rules()),
        script=None if landscape is None else Markup(page_script()),
        rows=findings.view.rows,
        n_calibration=_n_calibration(findings),
        n_classes=dataset.n_classes,
        map_name=None if embedding is None else embedding.label,
        view=findings.view,
        target=findings.view.target_name,
        verdict=render("verdict.html", verdict=findings.verdict),
        sections=sections,
        version=version,
        digest=digest,
    )


def _n_calibration(findings: Findings) -> int:
    calibration = findings.view.dataset.calibration
    return 0 if calibration is None else len(calibration)


def _rows(findings: Findings) -> Markup:
    return render(
        "rows.html",
        rows=findings.view.rows,
        n_rows=len(findings.view.dataset),
        n_calibration=_n_calibration(findings),
        embedding=findings.embedding,
        complete=findings.view.dataset.complete,
    )


def _limits(findings: Findings) -> Markup:
    return render(
        "limits.html",
        n_rows=len(findings.view.evaluation),
        has_groups=findings.view.dataset.groups is not None,
        missing=dict.fromkeys(why for why in findings.missing.values() if why),
    )
