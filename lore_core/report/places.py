"""The sections of the page about places: the landscape, the regions, the columns."""

from __future__ import annotations

import base64
import json

import numpy as np
from numpy.typing import NDArray

from lore_core.figures.style import INK, NEUTRAL, PAPER, diverging, rgba
from lore_core.regions.search import MiscalibratedRegion
from lore_core.report.findings import Findings
from lore_core.report.markup import points, signed_points, table, text
from lore_core.report.slider import Slider, png

__all__ = ["landscape_section", "regions_section", "still_landscape", "variables_section"]

_LISTED = 8
_EXAMPLES = 6
_COLUMNS = 8
_LARGEST_SIDE = 64


def _json(content: object) -> str:
    """JSON that cannot end the script element it stands in."""
    said = json.dumps(content, separators=(",", ":"), allow_nan=False)
    return said.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _data_url(image: bytes) -> str:
    return "data:image/png;base64," + base64.b64encode(image).decode()


def landscape_section(found: Findings, slider: Slider | None) -> str:
    """Write the landscape with its slider, and a still picture for where no script runs.

    Parameters
    ----------
    found : Findings
        What the report is about.
    slider : Slider or None
        Its fields; None where there is no map.
    """
    if slider is None or found.drawn_on is None or found.embedding is None:
        why = found.missing.get("map") or found.missing.get("summary", "No map could be drawn.")
        return f'<p class="missing">{text(why)}</p>'
    colors = {
        mode: {
            "stops": diverging(mode), "paper": PAPER[mode], "ink": INK[mode],
            "faint": rgba(NEUTRAL[mode], 0.55),
        }
        for mode in ("light", "dark")
    }  # fmt: skip
    limit, kernel = slider.limit, text(found.embedding.description)
    drawn = (
        ""
        if found.drawn_on is found.embedding
        else f" The picture is drawn on {text(found.drawn_on.label)}: rows near each other there "
        "need not be near for the kernel."
    )
    outlined = (
        " Outlined and numbered: the regions below, found at the report’s γ."
        if slider.outlines
        else ""
    )
    still = _data_url(still_landscape(slider))
    return f"""
<div class="live">
<div class="controls">
<label>Bandwidth <input type="range" id="gamma" min="0" step="1" aria-label="Bandwidth γ"></label>
<output id="gamma-said" for="gamma"></output>
<label>Rows <select id="picture"></select></label>
<label><input type="checkbox" id="outlines" checked> regions</label>
</div>
<canvas id="landscape" role="img" aria-label="Signed local error on the map of the features">
</canvas>
<div class="bar"><span>−{limit * 100:.0f} points<br>underconfident</span><canvas id="bar"></canvas>
<span>+{limit * 100:.0f} points<br>overconfident</span></div>
<p id="hover" class="screen" data-idle="Point at the map to read the error and its support."
aria-live="polite">Point at the map to read the error and its support.</p>
<p class="note" id="which"></p>
</div>
<div class="still"><figure><img src="{still}" alt="Signed local error on the map"><figcaption>At
γ = {found.settings.gamma:g}, from −{limit * 100:.0f} points (blue) to +{limit * 100:.0f} points
(red); all confidences together.</figcaption></figure></div>
<p class="note">Red: the model promises more than it delivers here; blue: less. Empty inside the
thin line: fewer than 10 effective neighbours. A kernel works on {kernel}; only rows in the same
confidence bin are compared.{drawn}{outlined} Small γ looks at single rows and is noisy, large γ at
the whole bin: the colours are the same scale at every γ. Values are stored in 255 steps a
picture.</p>
<script type="application/json" id="landscape-data">{_json(slider.payload())}</script>
<script type="application/json" id="landscape-colors">{_json(colors)}</script>"""


def still_landscape(slider: Slider, *, factor: int = 4, lines: bool = True) -> bytes:
    """Draw the report's own bandwidth as a PNG, all confidences together.

    Parameters
    ----------
    slider : Slider
        The fields.
    factor : int
        Pixels a node.
    lines : bool
        Whether to draw the outlines too.
    """
    signed = slider.pictures[0].signed(slider.start)[::-1]
    share = np.clip((signed / slider.limit + 1) / 2, 0, 1)
    stops = diverging("light")
    at = [stop for stop, _ in stops]
    known = np.isfinite(share)
    pixels = np.full((*share.shape, 3), 255, np.uint8)
    for channel in range(3):
        of = [int(color[1 + 2 * channel : 3 + 2 * channel], 16) for _, color in stops]
        pixels[known, channel] = np.rint(np.interp(share[known], at, of)).astype(np.uint8)
    large = pixels.repeat(factor, axis=0).repeat(factor, axis=1)
    for _, _, pieces in [("", (0, 0), slider.shape), *slider.outlines] if lines else []:
        _stroke(large, pieces, slider)
    return png(large)


def _stroke(pixels: NDArray[np.uint8], lines: NDArray[np.float64], slider: Slider) -> None:
    """Draw lines dot by dot."""
    height, width = pixels.shape[:2]
    t = np.linspace(0, 1, 9)
    x = (lines[:, [0]] * (1 - t) + lines[:, [2]] * t - slider.x[0]) / np.ptp(slider.x)
    y = (lines[:, [1]] * (1 - t) + lines[:, [3]] * t - slider.y[0]) / np.ptp(slider.y)
    column = np.clip(np.rint(x * (width - 1)), 0, width - 1).astype(int)
    row = np.clip(np.rint((1 - y) * (height - 1)), 0, height - 1).astype(int)
    pixels[row, column] = (31, 41, 51)


def regions_section(found: Findings) -> str:
    """Write the regions, worst first, each with what it is made of and rows that show it.

    Parameters
    ----------
    found : Findings
        What the report is about.
    """
    search = found.search
    if search is None:
        return f'<p class="missing">{text(found.missing.get("regions", ""))}</p>'
    tests, settings = search.significance, found.settings
    n_significant = int(tests.significant(search.q).sum())
    said = (
        f'<p class="note">{n_significant:,} of {len(tests.signed):,} evaluation rows are '
        f"significant at γ = {settings.gamma:g} (Benjamini–Yekutieli, q = {search.q:g}); "
        f"{tests.masked_share:.0%} have too few effective neighbours to be tested."
    )
    if not search.regions:
        return f"<p>No region is beyond chance.</p>{said}</p>"
    cards = [
        _region(found, region, number) for number, region in enumerate(search.regions[:_LISTED])
    ]
    hidden = len(search.regions) - _LISTED
    more = f" {hidden} more are in tables/regions.csv." if hidden > 0 else ""
    return (
        "".join(cards) + said + " Gaps are those of held-out rows: found on one half of the rows, "
        "measured on the other, both ways; confirmed where p is at most 0.05 over the number of "
        f"regions.{more}</p>"
    )


def _region(found: Findings, region: MiscalibratedRegion, number: int) -> str:
    kind = "over" if region.sign > 0 else "under"
    sentence = region.sentence[:1].upper() + region.sentence[1:]
    made_of, excess = found.made_of[number], found.excess[number]
    few = f"{abs(region.excess):,.0f} {'more' if region.sign > 0 else 'fewer'} mistakes"
    return (
        f'<div class="region"><h3><span class="tag {kind}">{number + 1}</span> {text(sentence)}'
        f"</h3><p>{few} than promised on {region.n_rows:,} rows (promised "
        f"{region.confidence:.1%}, got {region.accuracy:.1%}). "
        f"{text(made_of[:1].upper() + made_of[1:])}. {text(excess)}</p>"
        f"{_examples(found, region)}</div>"
    )


def _examples(found: Findings, region: MiscalibratedRegion) -> str:
    dataset, aimed = found.evaluation, found.aimed
    if dataset.images is None:
        return ""
    assert dataset.predictions is not None  # set by Dataset
    rows = region.examples(aimed.confidence, aimed.outcome, _EXAMPLES)
    if dataset.has_image is not None:
        rows = rows[dataset.has_image[rows]]
    shown = []
    for row in rows:
        image = dataset.images[row]
        step = max(1, -(-max(image.shape[:2]) // _LARGEST_SIDE))
        predicted, true = (
            dataset.class_name(int(k[row])) for k in (dataset.predictions, dataset.labels)
        )
        words = f"row {row}: said {predicted}, is {true}"
        shown.append(
            f'<figure><img src="{_data_url(png(np.ascontiguousarray(image[::step, ::step])))}" '
            f'alt="{text(words)}" title="{text(words)}"><figcaption>{aimed.confidence[row]:.0%}'
            "</figcaption></figure>"
        )
    what = "most confident mistakes" if region.sign > 0 else "least confident hits"
    return f'<div class="thumbs">{"".join(shown)}</div><p class="note">Its {what}.</p>'


def variables_section(found: Findings) -> str:
    """Write which columns the error goes with.

    Parameters
    ----------
    found : Findings
        What the report is about.
    """
    frame = found.variables
    if frame is None or frame.empty:
        why = found.missing.get("variables", "These data hold no column to look along.")
        return f'<p class="missing">{text(why)}</p>'
    rows = []
    for record in frame.head(_COLUMNS).to_dict("records"):
        worst = f"{text(record['worst_value'])} ({record['worst_rows']:,} rows)"
        interval = f"{signed_points(record['worst_low'])} to {signed_points(record['worst_high'])}"
        p = record["p_adjusted"]
        rows.append(
            [
                text(record["variable"]), worst, signed_points(record["worst_gap"]), interval,
                points(record["spread"]), "< 0.0001" if p < 1e-4 else f"{p:.2g}",
            ]
        )  # fmt: skip
    return table(
        ["column", "worst part", "gap, points", "95 %", "spread, points", "p, adjusted"],
        rows,
        words=2,
        caption=f"The {len(rows)} of {len(frame)} columns with the strongest evidence that the gap "
        "differs along them (Cochran’s Q, Holm). Gap: confidence − accuracy. The true class is "
        "left out: along the answer even a calibrated model looks wrong.",
    )
