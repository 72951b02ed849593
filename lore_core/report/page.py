"""index.html: the findings section by section, in one file; names in the data stay text."""

from collections.abc import Callable, Mapping
from functools import cache, partial

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from lore_core.comparison import conclude_bandwidths, conclude_groups
from lore_core.comparison.effects import about_predictions
from lore_core.comparison.tables import beyond_chance, metric_table
from lore_core.comparison.two_models import ModelComparison
from lore_core.data import number_text
from lore_core.data.dataset import TOP_LABEL
from lore_core.data.validation import InputError
from lore_core.figures.browser import landscape_script
from lore_core.figures.browser.landscape import still_layers
from lore_core.figures.drawing import Drawing, page_rules, png_url
from lore_core.figures.pictures.landscape_picture import LandscapePicture
from lore_core.metrics.catalogue import CATALOGUE, GLOBAL_TILES, REPORT_TABLE, TILES, WORST_CELL
from lore_core.metrics.glossary import GLOSSARY
from lore_core.metrics.metric import Metric
from lore_core.metrics.proper_scores import clip_note
from lore_core.regions import Subgroup, describe_composition, telling_rows
from lore_core.regions.subgroups.verdict import generated_name
from lore_core.report.charts import MAX_SHOWN, scene_of
from lore_core.report.findings import Findings
from lore_core.shipping import describe
from lore_core.view.where import subgroup_table

#: Groups and columns listed, and example images of a subgroup.
_GROUPS, _VARIABLES, _EXAMPLES = 30, 8, 6
#: Pixels of an example's larger side at most.
_LARGEST_SIDE = 64
#: What :func:`render` does, with the findings, their view and drawings.
Fill = Callable[..., Markup]


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("lore_core.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.policies["json.dumps_kwargs"] = {"separators": (",", ":"), "allow_nan": False}
    environment.filters |= {
        "decimal": number_text.decimal,
        "p_value": number_text.p_words,
        "percent": number_text.percent,
        "points": number_text.POINTS.text,
        "share": number_text.share_words,
        "signed_gap": number_text.signed_gap,
        "signed_points": number_text.signed_points,
        "thousands": "{:,.0f}".format,
        "unbroken": lambda text: Markup(number_text.unbroken(text)),
    }
    environment.globals |= {"metrics": CATALOGUE, "words": GLOSSARY}
    return environment


def render(template: str, **content: object) -> Markup:
    """Fill a template in ``templates/``; a name it uses that is left out is an error.

    Text is escaped, unless it is Markup, such as what this returns.
    """
    return Markup(_environment().get_template(template).render(content))


def missing(why: str) -> Markup:
    """Say in plain text why there is nothing to show."""
    return Markup('<p class="missing">{}</p>').format(why)


def report_page(
    findings: Findings,
    landscape: LandscapePicture | None,
    drawings: Mapping[str, Drawing],
    *,
    version: str,
    digest: str,
    rerun: str,
    contents: Mapping[str, str],
) -> str:
    """Write the page.

    ``landscape``: fields at every bandwidth. ``rerun``: the command that makes the report again.
    ``contents``: files of the bundle and what each is, by path.
    """
    view, embedding = findings.view, findings.embedding
    dataset, calibration = view.dataset, view.dataset.calibration
    fill = partial(
        render,
        findings=findings,
        view=view,
        drawings=drawings,
        n_rows=len(view.evaluation),
        n_calibration=0 if calibration is None else len(calibration),
    )
    compared = [] if findings.models is None else [_models(findings.models, fill)]
    files = render("files.html", contents=contents, rerun=rerun)
    sections = [
        ("summary", "Summary", _summary(findings, fill)),
        ("numbers", "The numbers", _numbers(findings, fill)),
        ("where", "Where it is wrong", _subgroups(findings, fill)),
        ("map", "On the map", _landscape(findings, landscape, fill)),
        ("columns", "Columns it goes with", _variables(findings, fill)),
        ("recalibrators", "Does recalibration help?", _recalibrators(findings, fill)),
        *(("models", "Compared with another model", section) for section in compared),
        ("groups", "For whom?", _groups(findings, fill)),
        ("decisions", "Is it worth it?", _decisions(findings, fill)),
        ("rows", "What was fitted on which rows", fill("rows.html")),
        ("words", "What the words mean", render("words.html")),
        ("methods", "How it was computed", render("methods.html")),
        ("limits", "What this report does not say", fill("limits.html")),
        ("files", "The files, and how to make them again", files),
    ]
    return fill(
        "page.html",
        name=dataset.name,
        drawing_rules=Markup(page_rules()),
        script=None if landscape is None else Markup(landscape_script("still", "page")),
        map_name=None if embedding is None else embedding.label,
        sections=sections,
        version=version,
        digest=digest,
    )


def _summary(findings: Findings, fill: Fill) -> Markup:
    """Say on one page what the sections come to."""
    conclusions = [("where", findings.remaining)]
    if findings.recalibration is not None:
        conclusions.append(("recalibrators", findings.recalibration.sentence))
    if findings.group_reports:
        found = conclude_groups(findings.group_reports, findings.min_group_size)
        conclusions.append(("groups", found.sentence))
    conclusions.append(("decisions", findings.reward_sentence))
    tiles = [item.name for item in (TILES if findings.view.is_local else GLOBAL_TILES)]
    table = metric_table(findings.summary, findings.chance).set_index("metric", drop=False)
    return fill(
        "summary.html",
        conclusions=[(section, sentence) for section, sentence in conclusions if sentence],
        tiles=table.loc[tiles].to_dict("records"),
    )


def _numbers(findings: Findings, fill: Fill) -> Markup:
    curve, on = findings.curve, findings.view.map_name
    return fill(
        "numbers.html",
        values=metric_table(findings.summary, findings.chance).to_dict("records"),
        note_on_nll=clip_note({"": findings.summary.unclipped_nll}),
        bandwidths=None if curve is None else conclude_bandwidths(curve, findings.band, on=on),
        why_no_curve=missing(findings.missing["map"]) if curve is None else "",
    )


def _subgroups(findings: Findings, fill: Fill) -> Markup:
    search = findings.search
    table = subgroup_table(findings.view, search, findings.gains).head(MAX_SHOWN).to_dict("records")
    texts = {number: describe_composition(of) for number, of in findings.compositions.items()}
    made_of = {number: f"{text[:1].upper()}{text[1:]}." for number, text in texts.items()}
    return fill(
        "subgroups.html",
        subgroups=[
            words
            | {
                "of": subgroup,
                "made_name": generated_name(subgroup) if subgroup.name else "",
                "made_of": made_of.get(number, ""),
                "examples": _examples(findings, subgroup),
            }
            for number, (words, subgroup) in enumerate(zip(table, search.subgroups, strict=False))
        ],
        tried=search.sentence if search.subgroups else findings.verdict.evidence,
        n_hidden=len(search.subgroups) - MAX_SHOWN,
    )


def _examples(findings: Findings, subgroup: Subgroup) -> list[dict[str, object]]:
    dataset, target_rows = findings.view.evaluation, findings.view.target_rows
    if dataset.images is None:
        return []
    rows = subgroup.rows
    if dataset.has_image is not None:
        rows = rows[dataset.has_image[rows]]
    shown: list[dict[str, object]] = []
    for row in telling_rows(
        target_rows.confidence, target_rows.outcome, rows, subgroup.sign, n_rows=_EXAMPLES
    ):
        image = dataset.images[row]
        step = max(1, -(-max(image.shape[:2]) // _LARGEST_SIDE))
        predicted, true = (
            dataset.class_name(int(k[row])) for k in (dataset.predictions, dataset.labels)
        )
        shown.append(
            {
                "url": png_url(image[::step, ::step]),
                "words": f"row {row}: {predicted} → {true}",
                "confidence": target_rows.confidence[row],
            }
        )
    return shown


def _landscape(findings: Findings, landscape: LandscapePicture | None, fill: Fill) -> Markup:
    local, on, embedding = findings.summary.local, findings.picture_map, findings.embedding
    if landscape is None or on is None or embedding is None or local is None:
        return missing(findings.missing["map"])
    layers = still_layers(landscape, curve=findings.curve, band=findings.band)
    return fill(
        "landscape.html",
        sentence=scene_of(findings, local, on).sentence,
        limit=number_text.with_points(landscape.scale.limit),
        drawn_map=None if on is embedding else on.label,
        has_outlines=bool(landscape.regions),
        layers=[layer.as_text() for layer in layers],
    )


def _variables(findings: Findings, fill: Fill) -> Markup:
    frame = findings.variables
    if frame.empty:
        return missing("These data hold no column to look along.")
    return fill("variables.html", variables=frame.head(_VARIABLES).to_dict("records"))


def _recalibrators(findings: Findings, fill: Fill) -> Markup:
    result = findings.comparison
    if result is None:
        return missing(findings.missing.get("recalibrators", ""))
    order, by, first = result.ranking, result.ranked_by, str(result.table.index[0])
    shown = [item for item in REPORT_TABLE if item.name in result.table]
    paired, apart = [item for item in shown if item.is_paired], result.differences
    frames = [
        of.reindex(columns=[item.name for item in shown]).astype(float).to_dict()
        for of in (result.estimates, result.low, result.high)
    ]

    def difference(metric: Metric, method: str) -> tuple[float, float, float, str]:
        value, low, high = (
            float(apart[metric.name][x][method]) for x in ("difference", "low", "high")
        )
        return value, low, high, beyond_chance(low, high)

    try:
        saved = describe(result.recalibrators[order[0]].to_bytes()).sentence
    except InputError:
        saved = ""
    top_label = findings.view.target == TOP_LABEL
    return fill(
        "recalibrators.html",
        is_top_label=top_label,
        by=by,
        names=result.names,
        about_predictions=f"{about_predictions(result.most_probable)} {result.note_on_nll}",
        conclusion=findings.recalibration,
        saved=saved,
        first=first,
        headings=[item.heading for item in shown],
        values={
            name: [(item, *(of[item.name][name] for of in frames)) for item in shown]
            for name in order
        },
        without_interval=[
            item.title for item in shown if item.has_interval and item.name not in result.low
        ],
        has_groups=WORST_CELL.name in result.table,
        paired=paired,
        differences={
            name: [(item, *difference(item, name)) for item in paired]
            for name in order
            if name != first
        },
    )


def _models(found: ModelComparison, fill: Fill) -> Markup:
    rows = list(zip(*found.texts.values(), strict=True))
    return fill("models.html", found=found, headings=list(found.texts), rows=rows)


def _groups(findings: Findings, fill: Fill) -> Markup:
    if findings.group_table is None or not findings.group_reports:
        return missing(findings.missing.get("groups", ""))
    first, report = next(iter(findings.group_reports.items()))
    methods = findings.group_table.rename_axis("method").reset_index().to_dict("records")
    return fill(
        "groups.html",
        n_groups=len(report),
        groups=report.head(_GROUPS).to_dict("records"),
        n_hidden=len(report) - _GROUPS,
        first=first,
        methods=methods,
        conclusion=conclude_groups(findings.group_reports, findings.min_group_size),
    )


def _decisions(findings: Findings, fill: Fill) -> Markup:
    u = findings.settings.unsure_cost
    numbers = {"reward": "reward", "gain": "gain", "low": "gain_low", "high": "gain_high"}
    methods = [
        {
            "name": name,
            "answered": item.answered[0],
            "kind": beyond_chance(-item.gain_high[0], -item.gain_low[0]),
            **{key: float(getattr(item, of)[0]) * u for key, of in numbers.items()},
        }
        for name, item in findings.rewards_at_costs.items()
    ]
    return fill(
        "decisions.html",
        first=methods[0]["name"],
        methods=sorted(methods, key=lambda item: -item["reward"]),
    )
