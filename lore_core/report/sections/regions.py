"""The worst regions: what each is made of, and rows that show it."""

from __future__ import annotations

from markupsafe import Markup

from lore_core.figures.png import png_url
from lore_core.regions.search import MiscalibratedRegion
from lore_core.report.findings import Findings
from lore_core.report.rendering import missing, render

_LISTED = 8
_EXAMPLES = 6
_LARGEST_SIDE = 64


def regions_section(findings: Findings) -> Markup:
    """Write the regions, worst first, each with what it is made of and rows that show it.

    Parameters
    ----------
    findings : Findings
        What the report is about.
    """
    search = findings.search
    if search is None:
        return missing(findings.missing.get("regions", ""))
    tests = search.significance
    return render(
        "regions.html",
        regions=[
            {
                "sign": region.sign,
                "sentence": _capital(region.sentence),
                "mistakes": abs(region.excess),
                "n_rows": region.n_rows,
                "confidence": region.confidence,
                "accuracy": region.accuracy,
                "made_of": _capital(findings.made_of[place]),
                "excess": findings.excess[place],
                "examples": _examples(findings, region),
            }
            for place, region in enumerate(search.regions[:_LISTED])
        ],
        n_hidden=len(search.regions) - _LISTED,
        n_significant=int(tests.significant(search.q).sum()),
        n_rows=len(tests.signed),
        gamma=findings.view.gamma,
        q=search.q,
        masked_share=tests.masked_share,
    )


def _capital(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]


def _examples(findings: Findings, region: MiscalibratedRegion) -> list[dict[str, object]] | None:
    """Rows of a region as small images; None where the data hold no images."""
    dataset, aimed = findings.evaluation, findings.aimed
    if dataset.images is None:
        return None
    rows = region.examples(aimed.confidence, aimed.outcome, _EXAMPLES)
    if dataset.has_image is not None:
        rows = rows[dataset.has_image[rows]]
    shown: list[dict[str, object]] = []
    for row in rows:
        image = dataset.images[row]
        step = max(1, -(-max(image.shape[:2]) // _LARGEST_SIDE))
        predicted, true = (
            dataset.class_name(int(k[row])) for k in (dataset.predictions, dataset.labels)
        )
        shown.append(
            {
                "url": png_url(image[::step, ::step]),
                "words": f"row {row}: said {predicted}, is {true}",
                "confidence": aimed.confidence[row],
            }
        )
    return shown
