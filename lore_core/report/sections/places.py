"""Where it is wrong: the places, each with its evidence and rows that show it."""

from __future__ import annotations

from markupsafe import Markup

from lore_core.data.dataset import TOP_LABEL
from lore_core.figures.svg.drawing import png_url
from lore_core.regions import Place, describe_place, evidence_of
from lore_core.regions.made_of import describe_composition
from lore_core.regions.places.sentences import describe_search
from lore_core.regions.row_tables import telling_rows
from lore_core.report.findings import Findings
from lore_core.report.landscape import LISTED
from lore_core.report.rendering import missing, render
from lore_core.view.where import retraining_words

_EXAMPLES = 6
_LARGEST_SIDE = 64


def places_section(findings: Findings) -> Markup:
    """Write the places, the most interesting first, each with its evidence and examples."""
    search, verdict = findings.search, findings.verdict
    if search is None or verdict is None:
        return missing(findings.missing.get("places", ""))
    return render(
        "places.html",
        places=[
            {
                "sign": place.sign,
                "sentence": describe_place(place, top_label=findings.view.target == TOP_LABEL),
                "evidence": evidence_of(place, search),
                "retraining": retraining_words(place, findings.taught),
                "within": None if place.within is None else place.within + 1,
                "made_of": _made_of(findings, number),
                "examples": _examples(findings, place),
            }
            for number, place in enumerate(search.places[:LISTED])
        ],
        tried=describe_search(search) if search.places else verdict.evidence,
        average=search.gap if search.against == "average" else None,
        vector=findings.vector_sentence,
        n_hidden=len(search.places) - LISTED,
        is_local=findings.view.is_local,
    )


def _made_of(findings: Findings, number: int) -> str:
    """Say what a region holds; a place in words has said it."""
    if number not in findings.compositions:
        return ""
    sentence = describe_composition(findings.compositions[number])
    return f"{sentence[:1].upper()}{sentence[1:]}."


def _examples(findings: Findings, place: Place) -> list[dict[str, object]]:
    """Rows of a place as small images; none where the data hold no images."""
    dataset, aimed = findings.view.evaluation, findings.view.aimed
    if dataset.images is None:
        return []
    rows = place.rows
    if dataset.has_image is not None:
        rows = rows[dataset.has_image[rows]]
    shown: list[dict[str, object]] = []
    for row in telling_rows(aimed.confidence, aimed.outcome, rows, place.sign, n_rows=_EXAMPLES):
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
