"""What a better confidence earns when being unsure is cheap and being wrong is not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from lore_core.comparison.tables import stacked
from lore_core.figures.chart import PanelChart
from lore_core.figures.pictures.curves import marked
from lore_core.figures.pictures.marks import (
    Axis,
    Band,
    Line,
    Mark,
    Panel,
    PanelPicture,
    Rule,
    Tint,
)
from lore_core.figures.pictures.picture import Hover
from lore_core.figures.style import Mode, method_color
from lore_core.metrics.rewards import RewardCurve


def reward_figure(
    curves: Mapping[str, RewardCurve],
    *,
    rows: str,
    baseline: str,
    ratio: float | None = None,
    mode: Mode = "light",
    height: int = 560,
) -> PanelChart:
    """Gain over the baseline against the cost ratio, above the share of rows answered.

    Parameters
    ----------
    curves : mapping of str to RewardCurve
        By method.
    rows : str
        Which rows these are, in words.
    baseline : str
        The method the others are held against.
    ratio : float, optional
        The reader's own cost ratio, marked.
    mode, height
        Look.
    """
    gains: list[Mark] = []
    answers: list[Mark] = []
    for position, (label, curve) in enumerate(curves.items()):
        color = method_color(label, position)
        if label != baseline:
            interval = curve.ratio, curve.gain_low, curve.gain_high
            name, faint = f"{label}, 95 %", Tint(color, 0.15)
            gains.append(Band(*interval, faint, name=name, group=label, listed=False, detail=True))
        said = ("w/u {x:.3g}", "gain {y:+.3f} u a row ({0:+.3f} to {1:+.3f})")
        gain = Line(
            curve.ratio,
            curve.gain,
            Tint(color),
            name=label,
            group=label,
            hover=Hover(label, lines=said),
            columns=[curve.gain_low, curve.gain_high],
        )
        answered = replace(
            gain,
            y=curve.answered,
            width=1.8,
            hover=Hover(label, lines=("answers {y:.1f} % of the rows",)),
            columns=(),
            listed=False,
        )
        gains.append(gain)
        answers.append(answered)
    gains.append(Rule(0, Tint("quiet"), level=True))
    if ratio is not None:
        gains.append(marked(ratio, f"your w/u = {ratio:g}"))
        answers.append(marked(ratio, ""))
    x = Axis(
        "cost of wrong ÷ cost of unsure, w/u (log scale)",
        log=True,
        brief="cost of wrong ÷ cost of unsure",
    )
    y_answered = Axis("answered", "share", span=(0, 1.02))
    y = Axis("gain a row, in units of u", brief="gain a row, in u")
    picture = PanelPicture(
        title=f"Reward gained over “{baseline}”",
        subtitle=rows,
        how_to_read=(
            "A row is answered where the confidence reaches 1 − u/w, else it costs u. Above zero a "
            "method saves more than the baseline at that cost ratio; bands are paired 95 % "
            "intervals."
        ),
        alt=f"Reward against cost ratio for {', '.join(curves)}, relative to {baseline}",
        name="reward-vs-cost-ratio",
        table=stacked({label: curve.frame() for label, curve in curves.items()}),
        panels=(Panel(x, y, gains, 0.66), Panel(x, y_answered, answers, 0.34, detail=True)),
        gap=0.06,
        legend=True,
    )
    return PanelChart(picture, mode, height)
