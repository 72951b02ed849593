"""index.html: the report one reads, in one file that needs nothing from anywhere else."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files as package_files
from typing import Any

import numpy as np

from lore_core.report.drawings import curve_drawing, reliability_drawing
from lore_core.report.findings import Findings
from lore_core.report.markup import bounds, heading, number, table, text
from lore_core.report.method_notes import METHOD_NOTES
from lore_core.report.places import landscape_section, regions_section, variables_section
from lore_core.report.remedies import decisions_section, groups_section, recalibrators_section
from lore_core.report.slider import Slider
from lore_core.report.tables import metric_table

__all__ = ["asset", "document"]

#: Nothing may be loaded from anywhere, whatever a name in the data says.
_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'"


def asset(name: str) -> str:
    """Read a file that lies beside this module."""
    return (package_files("lore_core.report") / name).read_text(encoding="utf-8")


def document(
    found: Findings,
    slider: Slider | None,
    *,
    version: str,
    digest: str,
    rerun: str,
    contents: Mapping[str, str],
    notes: tuple[str, ...] = (),
) -> str:
    """Write the page.

    Parameters
    ----------
    found : Findings
        What the report is about.
    slider : Slider or None
        Fields of the landscape.
    version : str
        Of this library.
    digest : str
        Of the data.
    rerun : str
        The command that makes the report again.
    contents : mapping of str to str
        Files of the bundle and what each is, by path.
    notes : tuple of str
        What else a reader should know about the bundle.
    """
    dataset = found.dataset
    sections = [
        ("numbers", "The numbers", _numbers(found)),
        ("where", "Where it is wrong", landscape_section(found, slider)),
        ("regions", "The worst regions", regions_section(found)),
        ("columns", "Columns it goes with", variables_section(found)),
        ("recalibrators", "Does recalibration help?", recalibrators_section(found)),
        ("groups", "For whom?", groups_section(found)),
        ("decisions", "Is it worth it?", decisions_section(found)),
        ("rows", "What was fitted on which rows", _rows(found)),
        ("methods", "How it was computed", METHOD_NOTES),
        ("limits", "What this report does not say", _limits(found)),
        ("files", "The files, and how to make them again", _files(contents, rerun, notes)),
    ]
    said = found.verdict
    verdict = (
        f'<p class="verdict {said.level}">{text(said.sentence)}</p>'
        if said is not None
        else f'<p class="missing">{text(found.missing.get("summary", ""))}</p>'
    )
    links = "".join(f'<a href="#{name}">{title}</a>' for name, title, _ in sections)
    body = "".join(
        f'<section><h2 id="{name}">{title}</h2>{content}</section>'
        for name, title, content in sections
    )
    script = f"<script>{asset('landscape.js')}</script>" if slider is not None else ""
    title = f"Calibration of {text(dataset.name)}"
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{title}</title><style>{asset('style.css')}</style></head><body>"
        f'<header><h1>{title}</h1><p class="quiet">{_settings(found)}</p></header>'
        f'{verdict}<nav aria-label="Sections">{links}</nav><main>{body}</main>'
        f'<footer><p class="note">LoRe Lens {text(version)}; data {digest[:16]}…</p></footer>'
        f"{script}</body></html>\n"
    )


def _settings(found: Findings) -> str:
    settings, dataset = found.settings, found.dataset
    calibration = 0 if dataset.calibration is None else len(dataset.calibration)
    on = (
        f"γ = {settings.gamma:g} on {text(found.embedding.label)}, "
        if found.embedding is not None
        else ""
    )
    return (
        f"{text(found.rows)}, {calibration:,} calibration rows, {dataset.n_classes} classes; "
        f"{on}{settings.n_bins} {settings.binning} confidence bins, target "
        f"{text(found.target_name)}."
    )


def _numbers(found: Findings) -> str:
    summary = found.summary
    if summary is None:
        return f'<p class="missing">{text(found.missing.get("summary", ""))}</p>'
    chance = found.chance is not None
    rows = []
    metrics: Any = metric_table(found)
    for item in metrics.itertuples():
        name = str(item.metric)
        p = "" if not np.isfinite(item.p_value) else f"{item.p_value:.2g}"
        row = [text(heading(name)), number(name, item.value), bounds(name, item.low, item.high)]
        rows.append([*row, p] if chance else row)
    n = summary.n_rows
    caption = f"n = {n:,} evaluation rows, before recalibration."
    if found.chance is not None:
        caption += (
            f" p by chance: share of {found.chance.n_draws} simulations in which every confidence "
            "is right that show as much. What is not below 0.05 may be noise."
        )
    if "chance" in found.missing:
        caption += f" {text(found.missing['chance'])}"
    figures = [
        f"<figure>{reliability_drawing(summary.reliability)}<figcaption>Reliability: each point is "
        "a confidence bin, its line the 95 % interval of the accuracy (Wilson), the bar down to "
        "the diagonal its gap; red promises too much. Below: rows a bin.</figcaption></figure>"
    ]
    if found.curve is not None:
        shade = (
            " Shaded: what a calibrated model shows by chance (5–95 %)."
            if found.band is not None
            else ""
        )
        figures.append(
            "<figure>"
            + curve_drawing({"": found.curve}, gamma=found.settings.gamma, band=found.band)
            + "<figcaption>Largest local error of rows with 10 or more effective neighbours at "
            f"every bandwidth; dashed: the report’s γ.{shade}</figcaption></figure>"
        )
    elif found.embedding is None:
        figures.append(f'<p class="missing">{text(found.missing.get("map", ""))}</p>')
    columns = ["metric", "value", "95 % interval", *(["p by chance"] if chance else [])]
    return table(columns, rows, caption=caption) + f'<div class="pair">{"".join(figures)}</div>'


def _rows(found: Findings) -> str:
    dataset, embedding = found.dataset, found.embedding
    calibration = 0 if dataset.calibration is None else len(dataset.calibration)
    lines = [
        f"Every metric, picture, region, group and reward: {text(found.rows)}.",
        f"Recalibrators: fitted on {calibration:,} calibration rows, which no metric looks at."
        if calibration
        else "No recalibrator was fitted: there are no calibration rows.",
    ]
    if embedding is not None:
        lines.append(
            f"The feature map ({text(embedding.description)}): made of all {len(dataset):,} rows "
            f"without their labels, seed {embedding.random_state}."
        )
    lines.append(
        "Regions: chosen on the evaluation rows; their stated gaps are those of the half of these "
        "rows that had no part in choosing them."
    )
    lines.append(
        "Bandwidth, bins and costs: set by whoever made the report, not chosen by these rows."
    )
    if not dataset.complete:
        lines.append(
            "Only the predicted class’s confidence was known: NLL and Brier are left out, and "
            "methods that need whole probability vectors saw the rest spread evenly."
        )
    return "<ul>" + "".join(f"<li>{line}</li>" for line in lines) + "</ul>"


def _limits(found: Findings) -> str:
    n = len(found.evaluation)
    lines = [
        "Calibration is measured against these rows. Where the classifier is used on other rows "
        "(later, elsewhere, other people) nothing here need hold.",
        f"Rows are taken as independent. Copies, patients or sites that come in clusters make the "
        f"{n:,} rows worth fewer, and every interval here too short.",
        "The map decides which rows are near. Another map, γ or number of bins shows other places; "
        "a place without rows shows nothing at all.",
        "MLCE is a maximum: it grows with noise and with smaller γ. Read it with its interval and "
        "its chance, or use the supported one.",
        "Metrics of LoRe on its own map flatter it a little; measure on another map before relying "
        "on them.",
        "Many comparisons stand here side by side; where it is not said otherwise intervals and "
        "p-values are of one comparison each.",
        "Columns and compositions say what goes with the error, not what causes it.",
    ]
    if n < 500:
        lines.insert(0, f"{n:,} evaluation rows are few: most of what is seen can be chance.")
    if found.dataset.groups is not None:
        lines.append("Small groups have wide intervals: no visible gap is not the same as no gap.")
    missing = {name: why for name, why in found.missing.items() if why}
    if missing:
        said = " ".join(dict.fromkeys(missing.values()))
        lines.append(f"Left out: {text(said)}")
    return "<ul>" + "".join(f"<li>{line}</li>" for line in lines) + "</ul>"


def _files(contents: Mapping[str, str], rerun: str, notes: tuple[str, ...]) -> str:
    rows = [[f"<code>{text(path)}</code>", text(what)] for path, what in contents.items()]
    said = "".join(f'<p class="note">{text(note)}</p>' for note in notes)
    return (
        table(["file", "what it holds"], rows, words=2)
        + said
        + "<p>The same numbers again, from the same data (<code>rerun.sh</code>):</p>"
        + f"<pre><code>{text(rerun)}</code></pre>"
    )
