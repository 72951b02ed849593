"""The sections of docs/paper.md, one a figure or table of the paper.

Numbers are those of the data given. Explanations were written for the sixty runs and the network of
the page that is checked in: with other data read them again.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from benchmarks.paper import published as pub, tables
from benchmarks.paper.images import SMALLEST_BIN, ImagesResult
from benchmarks.paper.measure import ENOUGH_ROWS, MAPS, SUPPORTED, RunResult, Setting, value
from benchmarks.paper.pictures import GLOBAL_METHODS, curves_of, lowest_at
from lore_core.comparison import RunsComparison
from lore_core.metrics.metric import CurveKey


@dataclass(frozen=True)
class Content:
    """Everything the page is written from.

    Attributes
    ----------
    results, runs, setting
        The many runs, their metrics, and the paper's settings for them.
    pictures : dict of str to str
        Markdown of the runs' pictures, by name.
    images : ImagesResult
        The image classifier.
    single : RunResult or None
        One COMPAS run.
    """

    results: list[RunResult]
    runs: RunsComparison
    setting: Setting
    pictures: dict[str, str]
    images: ImagesResult
    smooth: RunsComparison
    single: RunResult | None = None
    single_setting: Setting | None = None


def lowest_count(content: Content, name: str, metric: CurveKey = "mlce") -> int:
    """At how many γ LoRe lies below all global methods."""
    return len(lowest_at(curves_of(content.results, name), "LoRe", GLOBAL_METHODS, metric))


def name_of(images: ImagesResult) -> str:
    """Name of the image classifier's data."""
    return f"`{images.result.name}`"


def maps(content: Content) -> str:
    """Figure 1."""
    return f"""## Figure 1: MLCE against γ, three feature maps

{content.pictures["maps"]}

{content.images.pictures["maps"]}

*No recalibration; upper: mean and band of one standard deviation over {content.runs.n_runs} runs,
lower: the image classifier (the paper: ImageNet, t-SNE 3-D, PCA 50-D, identity 2048-D). The shape
is the published one: 1, or nearly, at the left and the MCE at the right. On t-SNE the descent is
slow and γ = 0.2 lies amid it; γ = 0.4 on PCA is already near the global end in setting 1.*"""


def landscapes(content: Content) -> str:
    """Figure 2."""
    raw, scaled = (content.images.bins[side] for side in ("best", "scaled"))
    pictures = content.images.pictures
    before, after = (
        f"{item.gap * 100:+.1f}".replace("-", "−")
        + f" and a mean LCE of {item.mean_lce * 100:.1f} points"
        for item in (raw, scaled)
    )
    nothing = "; nowhere is it underconfident, so nothing cancels"
    if raw.low < -0.005:
        nothing = ""
    return f"""## Figure 2: what the best and the worst bin hide

{pictures["landscape-best"]} {pictures["cdf-best"]}

{pictures["landscape-worst"]} {pictures["cdf-worst"]}

{pictures["landscape-scaled"]} {pictures["cdf-scaled"]}

*{name_of(content.images)}, t-SNE 2-D, γ = 0.2, one colour scale. Red: overconfident, blue:
underconfident (the paper shows the size only). Pixels with fewer than 10 effective neighbours are
blank. Bins of fewer than {SMALLEST_BIN} rows are passed over.*

{tables.bins_table(content.images)}

The paper's best bin is right on average and wrong locally. Here the best bin has a gap of
{before}{nothing}. With temperature scaling it has a gap of
{after}: what is left is local. The published mean LCE of the worst bin (.0629) lies
below that bin's own error (.0746), which only very uneven kernel weights allow."""


def before_after(content: Content) -> str:
    """Figure 3."""
    pictures = content.images.pictures
    return f"""## Figure 3: the worst bin before and after LoRe

{pictures["before"]} {pictures["after"]}

{pictures["cdf-after"]}

*The same {content.images.bins["worst"].rows:,} evaluation rows in every panel, one colour scale;
LoRe is fitted on the {content.images.result.n_rows[0]:,} calibration rows. Each pixel averages the
local errors of the rows on it.*

{tables.after_table(content.images)}"""


def all_methods(content: Content) -> str:
    """Figures 4 and 6, and the average LCE of appendix B."""
    pictures, shown = content.pictures, content.images.pictures
    metrics: tuple[CurveKey, ...] = ("mlce", "alce")
    found = {
        (name, metric): lowest_count(content, name, metric) for name in MAPS for metric in metrics
    }
    supported, average = (
        [
            tables.short(value(content.runs.table, label, metric))
            for label in (pub.LORE_TSNE, pub.TS)
        ]
        for metric in ("MLCE, n_eff ≥ 10 (t-SNE)", "ALCE (t-SNE)")
    )
    image = {
        name: lowest_at(curves_of([content.images.result], name), "LoRe", GLOBAL_METHODS)
        for name in MAPS
    }
    sentences = " ".join(
        f"{MAPS[name]}, {metric.upper()}: LoRe is lowest at {count} of 30 γ."
        for (name, metric), count in found.items()
    )
    return f"""## Figures 4 and 6: MLCE against γ, all methods

{pictures["mlce-tsne"]}

{pictures["mlce-pca"]}

*Setting 1, mean and band of one standard deviation over {content.runs.n_runs} runs. LoRe
is fitted on the map it is measured on, at one γ (dashed).*

Counted on the means, against the five global methods: {sentences}
The paper finds LoRe "best (or competitive)" for most γ. Isotonic regression, histogram binning and
LoRe put a few rows into bins of their own, and MLCE and MCE are maxima over those; the
"n_eff ≥ 10" columns leave such rows out. On t-SNE LoRe has {supported[0]} there and temperature
scaling {supported[1]}; by the ALCE they have {average[0]} and {average[1]}.

{tables.local_table(content.runs)}

{shown["mlce-tsne"]}

{shown["mlce_supported-tsne"]}

{shown["mlce-pca"]}

*{name_of(content.images)}, one run: the counterpart of Figure 4 (ImageNet). LoRe is lowest of the
paper's methods at {len(image["tsne"])} (t-SNE) and {len(image["pca"])} (PCA) of 30 γ. Level
stretches are bins of one or two rows; the second picture leaves out rows with fewer than 10
effective neighbours.*

### Average LCE (appendix B)

{pictures["alce-tsne"]}

{shown["alce-tsne"]}

*Mean over rows instead of the largest: upper, setting 1; lower, {name_of(content.images)}.*"""


def fairness(content: Content) -> str:
    """Table 1."""
    worst = pd.concat([result.worst for result in content.results])
    own = worst[worst["method"] == pub.LORE_TSNE]
    rows, inside = (np.median(own[name].to_numpy(np.int64)) for name in ("rows", "bin_rows"))
    few = float((own["bin_rows"].to_numpy(np.int64) < ENOUGH_ROWS).mean())
    table = content.runs.table
    gap = value(table, pub.LORE_TSNE, tables.WORST) - pub.GROUP_MCE[1][pub.LORE_TSNE][0]
    near = []
    for label in pub.IN_THE_PAPER:
        printed, spread = pub.GROUP_MCE[1][label]
        difference = value(table, label, tables.WORST) - printed
        if abs(difference) <= spread:
            near.append(f"{label} " + f"{difference:+.3f}".replace("-", "−"))
    none, plain = (
        tables.short(value(table, label, SUPPORTED)) for label in (pub.NONE, pub.LORE_TSNE)
    )
    ranked = sorted(content.runs.methods, key=lambda label: value(table, label, SUPPORTED))
    best = ", ".join(
        f"{label} {tables.short(value(table, label, SUPPORTED))}" for label in ranked[:3]
    )
    return f"""## Table 1: maximum group-wise MCE

{tables.group_table(content.runs, content.results, 1)}

*Rows of the worst group and of its worst bin are medians over runs.*

{content.pictures["worst-group"]}

Within one published spread (ours minus published): {", ".join(near) or "none"}. LoRe is not among
them: {gap:+.2f} on t-SNE. What sets this number is one nearly empty bin of one group: with LoRe
(t-SNE) the worst group has {rows:.0f} evaluation rows and its worst bin {inside:.0f} (medians over
the runs), and in {few:.0%} of the runs that bin holds fewer than {ENOUGH_ROWS}. Over bins of
{ENOUGH_ROWS} rows or more (last column) no recalibration has {none}, LoRe (t-SNE) {plain}; the
three lowest are {best}. The paper says neither which bins count nor how small a group may be; an
independent brute-force script gets LoRe's high value on these runs too. The groups are those of
`{content.setting.group_column}`, not the rows the paper calls plurality race."""


def correlation(content: Content) -> str:
    """Table 2."""
    paper = content.runs.correlation(tables.WORST)
    others = RunsComparison(
        content.runs.runs[content.runs.runs["method"] != pub.IR].reset_index(drop=True)
    ).correlation(tables.WORST)
    without = ", ".join(
        f"{name} {tables.short(float(others[name]), 2)}" for name in tables.CORRELATED
    )
    said = {name: tables.short(float(paper[name]), 2) for name in tables.CORRELATED}
    return f"""## Table 2: correlation with the maximum group-wise MCE

{tables.correlation_table(content.runs)}

{content.pictures["scatter"]}

Pearson, over runs and methods together ({content.runs.n_runs} × 9; the picture: six methods); the
paper does not say what it correlates over. As
published, the MLCE ({said["MLCE (t-SNE)"]} on t-SNE, {said["MLCE (PCA)"]} on PCA; the paper .64)
goes with the worst group far more than averages over all rows do (ECE {said["ECE"]}, Brier
{said["Brier"]}). Otherwise than published, the global MCE ({said["MCE"]}; the paper .23) does so
too, and the NLL ({said["NLL"]}; the paper .54) hardly. Without isotonic regression, whose rows at
confidence 0 or 1 make all maxima large together, the correlations are {without}. Most of it lies
between methods: inside one method no metric says much about which run has the worst group."""


def global_metrics(content: Content) -> str:
    """Table 3."""
    listed = "\n".join(f"- {line}" for line in tables.far_from_print(content.runs, 1)) or "- none"
    return f"""## Table 3: global metrics, setting 1

{tables.global_table(content.runs, 1)}

Farther apart than the published spread:

{listed}

The published isotonic regression (ECE 30.6 %, Brier .30) is worse than no recalibration and than
saying 50 % to every row, whose Brier score is .25. Temperature scaling and MMCE optimization are
better here than in print: a bounded search finds the temperature that is best on the calibration
rows. The published spread of histogram binning's Brier score, 0.1, must be .01. The MCE is not
published."""


def rewards(content: Content) -> str:
    """Figure 5 and Table 4."""
    return f"""## Figure 5 and Table 4: decisions and global metrics, an image classifier

{content.images.pictures["rewards"]}

*{name_of(content.images)}, {content.images.result.n_rows[1]:,} evaluation rows. A row is answered
where the confidence reaches 1 − u/w, else it costs u; a wrong answer costs w. Gain over no
recalibration; bands: paired 95 % intervals.*

Gain in hundredths of u a row, with the half-width of its 95 % interval:

{tables.reward_table(content.images)}

{tables.images_table(content.images)}

The published Brier column (40.6) is on a scale the paper does not define; ours is Σ_k (p_k − y_k)².
Another data set and network: compare the order of methods."""


def smooth(runs: RunsComparison) -> str:
    """LoRe smooth, which is not in the paper."""
    labels = (pub.TS, pub.LORE_TSNE, pub.SMOOTH_TSNE, pub.SMOOTH_PCA)
    nll = [tables.short(value(runs.table, label, "NLL")) for label in labels]
    worst = [tables.short(value(runs.table, label, SUPPORTED)) for label in labels]
    return f"""## LoRe smooth, setting 1

{tables.smooth_table(runs)}

Not in the paper: this library's default ([how](method.md#lore-smooth)), fitted on the same maps and
calibration rows with its own settings, {runs.n_runs} runs; t-SNE is drawn anew, which moves its
numbers from those above. NLL: temperature scaling {nll[0]}, LoRe
(t-SNE) {nll[1]}, LoRe smooth {nll[2]} (t-SNE) and {nll[3]} (PCA); the worst group's gap in bins of
10 rows or more: {worst[0]}, {worst[1]}, {worst[2]} and {worst[3]}."""


NOT_REPRODUCED = """## Not reproduced

- **CelebA** (settings 2 and 3: hair colour and hair type): neither networks nor features are
  public. Their columns of Tables 1 to 3 and their figures are missing.
- **CIFAR-10 and CIFAR-100** (MLCE against γ on 3-D t-SNE of a network's features): features are not
  public, probabilities alone give no such map.
- **ImageNet**: Figures 1 to 5 and Table 4 are of another data set and network here.
- **COMPAS** (setting 4): one network of 60.
- **The theorem** (uniform convergence of the LCE, for Õ(d / α⁴ε²) rows): neither its proof nor its
  rate is checked. Lemma 1, its limit for γ → ∞, is."""
