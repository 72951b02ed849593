"""The text of docs/paper.md: what the paper shows, what is found here, and why they differ."""

import platform
import textwrap
import tomllib
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np

from benchmarks.paper import published as pub, sections, tables
from benchmarks.paper.measure import GAMMAS, value
from benchmarks.paper.sections import Content, lowest_count, name_of

_PACKAGES = ("lore-lens", "numpy", "scipy", "scikit-learn", "openTSNE", "numba", "plotly")
_PROJECT = Path(__file__).resolve().parents[2] / "pyproject.toml"
RIVALS = (pub.NONE, pub.TS, pub.HB, pub.IR, pub.MMCE)


def write(content: Content) -> str:
    """Return docs/paper.md."""
    parts = (
        _head(content),
        _claims(content),
        sections.NOT_REPRODUCED,
        _settings(content),
        sections.maps(content),
        sections.landscapes(content),
        sections.before_after(content),
        sections.all_methods(content),
        sections.fairness(content),
        sections.correlation(content),
        sections.global_metrics(content),
        sections.rewards(content),
        sections.smooth(content.smooth),
        _compas(content),
        _agreement(content),
        _how(content),
    )
    return _in_lines("\n\n".join(part.strip() for part in parts if part)) + "\n"


def with_section(page: str, section: str) -> str:
    """Return a page that was written before with a section written anew."""
    head = section.split("\n", 1)[0]
    before, found, rest = page.partition(f"{head}\n")
    if not found:
        raise ValueError(f"the page must have the section {head!r}; write all of it first.")
    after = rest.partition("\n## ")
    return f"{before}{_in_lines(section)}\n{after[1]}{after[2]}"


def _in_lines(text: str) -> str:
    return "\n\n".join(_wrapped(block) for block in text.split("\n\n"))


def _wrapped(block: str) -> str:
    """Prose in lines of one length; tables, lists, pictures, headings and code as they are."""
    if block.startswith(("|", "#", "<", "```", "- ")):
        return block
    return textwrap.fill(block, 100, break_long_words=False, break_on_hyphens=False)


def _head(content: Content) -> str:
    return f"""# The paper's figures and tables, on other data

Written by `make paper` (`benchmarks/paper/`); do not edit.

Luo et al., [*Local Calibration: Metrics and Recalibration*](https://arxiv.org/abs/2102.10809)
(UAI 2022). Here its figures and tables are made again with this library, beside the published
numbers: setting 1 in full ({content.runs.n_runs} networks on UCI Communities and Crime), the
ImageNet figures on an image classifier of another data set{_and_compas(content)}. The authors'
networks and splits are not public, so numbers can be near but not the same."""


def _and_compas(content: Content) -> str:
    return "" if content.single is None else ", and setting 4 on one COMPAS run"


def _yes(holds: bool) -> str:
    return "yes" if holds else "**no**"


def _claims(content: Content) -> str:
    runs, images = content.runs, content.images
    best, worst, scaled = (images.bins[side] for side in ("best", "worst", "scaled"))
    others, plain = (
        min(value(runs.table, label, tables.WORST) for label in labels)
        for labels in (RIVALS, (pub.LORE_TSNE, pub.LORE_PCA))
    )
    correlation = runs.correlation(tables.WORST)
    local = max(float(correlation[name]) for name in ("MLCE (t-SNE)", "MLCE (PCA)"))
    averages = max(float(correlation[name]) for name in ("ECE", "NLL", "Brier"))
    world = max(averages, float(correlation["MCE"]))
    after = images.after[pub.LORE_TSNE]
    tsne, pca = lowest_count(content, "tsne"), lowest_count(content, "pca")
    limit = max(
        abs(float(curve.mlce[-1]) - curve.mlce_infinity)
        for result in content.results
        for curve in result.maps.values()
    )
    none, ts, on_tsne, on_pca = (
        value(runs.table, label, "ECE") for label in (pub.NONE, pub.TS, pub.LORE_TSNE, pub.LORE_PCA)
    )
    gain = [curve.gain for label, curve in images.rewards.items() if label in RIVALS]
    ahead = int((images.rewards[pub.LORE_TSNE].gain > np.max(gain, axis=0) + 1e-12).sum())
    n_ratios = len(images.rewards[pub.LORE_TSNE].ratio)
    rows = [
        ["MLCE → 1 for γ → 0 and → MCE for γ → ∞ (Figure 1, Lemma 1)", _yes(limit < 0.02),
         f"at γ = {GAMMAS[-1]:g} within {limit:.3f} of the MCE in every run"],
        ["A bin that is right on average hides local errors (Figure 2)",
         _yes(best.mean_lce > 2 * abs(best.gap)),
         f"best bin: global error {abs(best.gap) * 100:.1f}, mean LCE {best.mean_lce * 100:.1f} "
         f"points; after temperature scaling {abs(scaled.gap) * 100:.1f} and "
         f"{scaled.mean_lce * 100:.1f}"],
        ["LoRe makes the worst bin's landscape flatter and lower (Figure 3)",
         _yes(after.mean_lce < worst.mean_lce),
         f"mean LCE {worst.mean_lce * 100:.1f} → {after.mean_lce * 100:.1f} points"],
        ["LoRe has the lowest MLCE for most γ (Figures 4, 6)",
         _yes(min(tsne, pca) > 15),
         f"lowest at {tsne} (t-SNE) and {pca} (PCA) of 30 γ"],
        ["LoRe has the lowest maximum group-wise MCE (Table 1)", _yes(plain < others),
         f"LoRe {tables.short(plain)}, best global method {tables.short(others)}"],
        ["It goes with the MLCE more than with global metrics (Table 2)",
         _yes(local > world),
         f"correlation {tables.short(local)}; with averages over rows (ECE, NLL, Brier) at most "
         f"{tables.short(averages)}, but with the MCE {tables.short(float(correlation['MCE']))}"],
        ["LoRe does not sacrifice global calibration (Table 3)",
         _yes(max(on_tsne, on_pca) < none / 2),
         f"ECE {on_tsne * 100:.1f} and {on_pca * 100:.1f} % against {none * 100:.1f} before and "
         f"{ts * 100:.1f} by temperature scaling"],
        ["LoRe has the highest reward over a wide range of w/u (Figure 5)",
         _yes(ahead > n_ratios / 2),
         f"highest of the paper's methods at {ahead} of {n_ratios} ratios"],
    ]  # fmt: skip
    return f"""## Does it hold?

{_left(["the paper says", "here", ""], rows)}"""


def _left(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Markdown table of words: every column to the left."""
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def _settings(content: Content) -> str:
    setting, images = content.setting, content.images
    fitted, shown = content.results[0].n_rows
    rows = [
        ["data", "UCI Communities and Crime, 1494 / 500 / 500 rows", "the same table, "
         f"{fitted} calibration and {shown} evaluation rows a run"],
        ["networks", "60 seeds, 3 × 100, trained until validation accuracy stops improving",
         f"{content.runs.n_runs} runs, each its own random split"],
        ["groups", "plurality race", f"`{setting.group_column}`: the race whose share is largest "
         "after normalising; very unequal in size"],
        ["confidence bins", "5 equal-width", f"{setting.n_bins} equal-width"],
        ["maps", "last hidden layer; t-SNE 2-D, PCA 20-D",
         f"the same; {setting.map_name('tsne')} (openTSNE) and {setting.map_name('pca')}, made of "
         "calibration and evaluation rows together, without labels"],
        ["scale of the map", "not given", "t-SNE: each dimension has standard deviation 1; PCA: "
         "all divided by one number"],
        ["γ", "0.2 on t-SNE, 0.4 on PCA", "the same, for LoRe and for the MLCE"],
        ["group-wise baselines", "not described", "fitted alone on groups of 20 calibration rows "
         "or more; smaller ones get the fit on all rows"],
        ["image classifier", "ResNet-50 on ImageNet, Inception-v3 features, 25,000 / 25,000 rows",
         f"{name_of(images)}: {images.result.n_rows[0]:,} / {images.result.n_rows[1]:,} rows, "
         f"{images.accuracy:.1%} accurate, its own last layer; 15 bins"],
    ]  # fmt: skip
    return f"""## Settings

{_left(["", "paper", "here"], rows)}

Recalibrators are fitted on calibration rows; numbers and pictures show evaluation rows, binned anew
by their new confidence. "±" is one standard deviation over the {content.runs.n_runs} runs, not an
error of the mean, which is {np.sqrt(content.runs.n_runs):.1f} times smaller. The lowest of each
column is bold."""


def _compas(content: Content) -> str:
    if content.single is None or content.single_setting is None:
        return ""
    fitted, shown = content.single.n_rows
    return f"""## Setting 4: COMPAS, one run

{tables.one_run_table(content.single, 4)}

One network, {fitted:,} calibration and {shown:,} evaluation rows, {content.single_setting.n_bins}
bins, groups by `{content.single_setting.group_column}`; the paper has 60 seeds. The smallest groups
have a few rows, and set the maximum."""


def _agreement(content: Content) -> str:
    if not tables.is_reference(content.runs):
        return ""
    checked, unlike = tables.disagreements(content.runs)
    beyond = [line for line in unlike if ", NLL, " not in line]
    listed = "\n".join(f"- {line}" for line in unlike) or "- none"
    return f"""## Agreement with an independent script

A brute-force O(n²) script, written from the definitions and apart from this library, was run on the
same {content.runs.n_runs} runs. Of its {checked} deterministic values (means and spreads to three
digits: no recalibration, temperature scaling, histogram binning, isotonic regression, LoRe on PCA)
{checked - len(unlike)} are reproduced to the last printed digit{_except(unlike, beyond)}:

{listed}

t-SNE is drawn by openTSNE here and by scikit-learn there, so those rows can only agree in the mean:

{tables.tsne_reference_table(content.runs)}"""


def _except(unlike: list[str], beyond: list[str]) -> str:
    if not unlike:
        return ""
    if not beyond:
        return (
            ". The rest is the NLL of methods that replace the top-label confidence. With two "
            "classes the definition leaves no choice, −log c' where right and −log(1 − c') where "
            "wrong, which is what is computed here (and gives the paper's .48 for histogram "
            "binning). With 10⁻⁶ added to the divisor when the other class is rescaled, a common "
            "guard against zero, the same runs give .503 for histogram binning and .481 for "
            "isotonic regression, near the script's .507 and .480"
        )
    return ". These are not"


def _how(content: Content) -> str:
    rows = [["Python", platform.python_version()]]
    for name in _PACKAGES:
        try:
            rows.append([name, version(name)])
        except PackageNotFoundError:  # this library, in a checkout that was never installed
            rows.append([name, tomllib.loads(_PROJECT.read_text("utf-8"))["project"]["version"]])
    compas = "" if content.single is None else " COMPAS='<calibration file> <test file>'"
    return f"""## How this page was made

```sh
make paper RUNS=<directory of runs> IMAGES='<calibration file> <test file>'{compas}
```

The data are not part of the project. A directory of runs holds `<run>_cal.npz` and `<run>_test.npz`
for each network, with `probs`, `labels`, `features`, `groups` and `group_names`
([format](../README.md#your-data)). Everything is seeded; t-SNE may differ between machines.

{_left(["", "version"], rows)}"""
