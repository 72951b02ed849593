import json
import re
from base64 import b64decode
from html import unescape
from importlib.resources import files

import numpy as np
import pytest
from jinja2 import UndefinedError
from markupsafe import Markup

import lore_core as lore
from lore_core.comparison import conclude_groups, conclude_recalibration
from lore_core.comparison.tables import metric_table
from lore_core.metrics.catalogue import TILES
from lore_core.report.charts import landscape_chart, live_landscape
from lore_core.report.findings import examine
from lore_core.report.page import missing, render
from lore_core.shipping import describe
from lore_core.view.methods import remaining_of
from lore_core.view.where import overall_of
from tests.synthetic import unpacked


@pytest.fixture(scope="module")
def index(files, text_of):
    return text_of(files)


@pytest.fixture(scope="module")
def findings(view, settings):
    return examine(view, settings)


def test_the_page_asks_nobody_and_has_every_section(index, dataset, findings):
    assert "Content-Security-Policy\" content=\"default-src 'none'" in index
    links = set(re.findall(r"https?://[^\"' <]+", index))
    assert links == {"http://www.w3.org/2000/svg"}  # a name, not an address that is opened
    assert not re.search(r'(?:src|href)="(?!data:|#)', index)
    assert len(index.encode()) < 5_000_000
    for words in (
        "Where it is wrong",
        "ranked by NLL, a proper score",
        "minus No recalibration",
        "cells of group and confidence bin",
        "Small groups have wide intervals",
        "What was fitted on which rows",
        "<math",
        "95 % CI",
        "n = 200 evaluation rows",
        "rerun.sh",
    ):
        assert words in index, words
    rows = dataset.evaluation
    ece = lore.expected_calibration_error(rows.confidence, rows.outcome, n_bins=5)
    assert f'ECE, points</abbr></td> <td class="n">{ece * 100:.1f}</td>' in index
    result = findings.comparison
    best = result.recalibrators[result.ranking[0]]
    assert f"Saved as a file: {describe(best.to_bytes()).sentence}" in index


def test_the_summary_says_what_the_sections_come_to(index, findings, view):
    (summary,) = re.findall(r'<h2 id="summary">(.*?)</section>', index, re.DOTALL)
    text = unescape(summary)
    assert findings.reward_sentence in text
    assert conclude_recalibration(findings.comparison, findings.search).sentence in text
    assert conclude_groups(findings.group_reports, findings.min_group_size).sentence in text
    off = findings.verdict.level != "good"
    left = remaining_of(view)
    assert (left.sentence(overall_of(view)) in text) == off
    for anchor in re.findall(r'href="#(\w+)"', summary):
        assert f'<h2 id="{anchor}"' in index
    table = metric_table(findings.summary).set_index("metric")[["low", "high", "estimate"]]
    for metric in TILES:
        low, high, estimate = table.loc[metric.name]
        assert f"<strong>{metric.text(estimate)}</strong>" in text
        assert f"95 % CI {metric.interval_text(low, high)}" in text


def test_the_slider_holds_the_field(index, dataset, embedding):
    (text,) = re.findall(r'id="landscape-data">(.*?)</script>', index, re.DOTALL)
    payload = json.loads(text)
    layer = payload[0]
    scene, held = (unpacked(b64decode(layer[part])) for part in ("scene", "fields"))
    gammas, r = scene["gammas"], scene["field"]["resolution"]
    assert 12 <= len(gammas) <= 16
    assert scene["gamma"] == 0.4
    rows = dataset.evaluation
    z = embedding.coordinates[dataset.in_split("evaluation")]
    start = gammas.index(0.4)
    for k in (start - 2, start, len(gammas) - 1):
        told = held["fields"][str(k)]
        error, support = (held[f"{name}{k}"].reshape(r, r) for name in ("error", "support"))
        local = lore.local_errors(rows.confidence, rows.outcome, z, gamma=gammas[k], n_bins=5)
        field = lore.regions.smoothed_field(local.signed, local.effective_size, z, resolution=r)
        known = np.isfinite(field.signed)
        np.testing.assert_array_equal(error != -128, known)
        shown = error[known] / 127 * told["scale"]
        assert np.abs(shown - field.signed[known]).max() <= told["scale"] / 254 + 1e-5
        n_eff = np.expm1((support[known] - 1.0) / 254 * told["logSupport"])
        np.testing.assert_allclose(n_eff, field.effective_size[known], rtol=0.03, atol=0.05)
    assert layer["note"].startswith("200 evaluation rows, all confidences together; each point av")
    assert "worst" in payload[1]["name"]
    assert payload[1]["note"].endswith("each point shows the exact signed error there.")
    assert "x" not in scene
    assert len(scene["rings"]) == len(scene["worst"]) <= 30


def test_a_bins_field_is_exact(findings, dataset, embedding):
    landscape = live_landscape(findings, landscape_chart(findings))
    rows = dataset.evaluation
    z = embedding.coordinates[dataset.in_split("evaluation")]
    table = lore.reliability_table(rows.confidence, rows.outcome, n_bins=5)
    worst = table.worst_bin(30)
    layer = next(item for item in landscape.layers if "worst" in item.name)
    assert layer.note.startswith(f"{table.count[worst]} evaluation rows")
    inside = table.bins.assign(rows.confidence) == worst
    field = lore.error_field(
        rows.confidence, rows.outcome, z, gamma=0.4, rows=inside, resolution=128
    )
    np.testing.assert_array_equal(layer.fields[landscape.start].signed, field.signed)


def test_templates():
    assert missing("<b> & co") == '<p class="missing">&lt;b&gt; &amp; co</p>'
    assert missing(Markup("<b>ours</b>")) == '<p class="missing"><b>ours</b></p>'
    assert isinstance(missing("a"), Markup)  # so another template takes it as it is
    with pytest.raises(UndefinedError, match="'view' is undefined"):
        render("rows.html")
    folder = files("lore_core.report")
    names = {path.name for path in (folder / "templates").iterdir()}
    sources = [path for path in folder.rglob("*") if path.suffix in (".py", ".html")]
    asked = set(re.findall(r'"(\w+\.(?:html|css))"', "".join(path.read_text() for path in sources)))
    assert asked - {"index.html"} == names
