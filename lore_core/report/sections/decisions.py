"""Whether recalibration is worth it, at the report's costs and at others."""

from __future__ import annotations

from collections.abc import Mapping

from markupsafe import Markup

from lore_core.comparison.tables import beyond_chance
from lore_core.figures.svg import Drawing
from lore_core.report.findings import Findings
from lore_core.report.rendering import missing, render
from lore_core.report.sections.recalibrators import method_colors


def decisions_section(findings: Findings, drawings: Mapping[str, Drawing]) -> Markup:
    """Write the reward of every method, best first."""
    if not findings.own_rewards:
        return missing(findings.missing.get("decisions", ""))
    settings, colors = findings.settings, method_colors(list(findings.own_rewards))
    u, ratio = settings.unsure_cost, settings.wrong_cost / settings.unsure_cost
    methods = []
    for name, item in findings.own_rewards.items():
        low, high = float(item.gain_low[0]) * u, float(item.gain_high[0]) * u
        methods.append(
            {
                "name": name,
                "reward": float(item.reward[0]) * u,
                "answered": item.answered[0],
                "gain": float(item.gain[0]) * u,
                "low": low,
                "high": high,
                "kind": beyond_chance(-high, -low),
            }
        )
    return render(
        "decisions.html",
        sentence=findings.reward_sentence,
        retraining=findings.retraining_sentence,
        first=methods[0]["name"],
        methods=sorted(methods, key=lambda item: -item["reward"]),
        wrong_cost=settings.wrong_cost,
        unsure_cost=u,
        ratio=ratio,
        n_rows=len(findings.view.evaluation),
        drawing=drawings["decisions"],
        colors=colors,
    )
