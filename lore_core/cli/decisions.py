"""``lore decisions``: whether recalibrating is worth it at given costs."""

from __future__ import annotations

from lore_core import figures, view as views
from lore_core.cli import source
from lore_core.cli.compare import compare_one, method_option, methods_of
from lore_core.cli.options import ViewOptions, cost_options, view_command
from lore_core.cli.output import Output, Progress, results, text_table
from lore_core.data.defaults import TOP_LABEL
from lore_core.data.number_text import PLAIN, decimal, percent


@view_command(
    "lore decisions demo --wrong-cost 20 --map none",
    "lore decisions model_cal.npz model_test.npz --unsure-cost 1 --wrong-cost 10 -o reward.svg",
)
@cost_options
@method_option
@results(figure=True)
def decisions(
    given: ViewOptions,
    *,
    unsure_cost: float,
    wrong_cost: float,
    names: tuple[str, ...],
    progress: Progress,
) -> Output:
    """Hold recalibrators against each other at your costs.

    Answer only where the confidence reaches 1 − u/w, else say “unsure”: the mean reward a row under
    every method; then what recalibration can gain at most, and what takes the features: a better
    model, or more data. -o writes the reward over many ratios w/u, as a figure or numbers.
    """
    from lore_core.comparison.conclusions import conclude_retraining
    from lore_core.comparison.effects import compare_rewards
    from lore_core.comparison.retraining import retraining_frame
    from lore_core.comparison.tables import stacked
    from lore_core.metrics.rewards import describe_rewards, unsure_threshold

    unsure_threshold(unsure_cost, wrong_cost)  # raises before anything is computed
    ratio = wrong_cost / unsure_cost
    view = source.open_view(given, progress)
    methods = methods_of(given, names, local=view.is_local)
    result = compare_one(view, methods, n_draws=0, progress=progress)
    first = next(iter(result.datasets))
    own, curves = compare_rewards(result.datasets, [ratio]), compare_rewards(result.datasets)
    table = stacked({name: curve.frame() for name, curve in curves.items()})
    table = table[["method", *table.columns.drop("method")]]
    at = {name: curve.frame().to_dict(orient="records")[0] for name, curve in own.items()}
    sentence = describe_rewards(own, unsure_cost=unsure_cost, wrong_cost=wrong_cost)
    known = views.methods.gains_of(view.with_(target=TOP_LABEL))
    losses, gains = (None, None) if known is None else (known.losses(), known.rewards(ratio))
    retraining = conclude_retraining(
        losses,
        gains,
        unsure_cost=unsure_cost,
        has_features=view.dataset.features is not None,
        weighted=view.dataset.weights is not None,
    ).sentence
    steps = None if losses is None else retraining_frame(losses, gains)
    content = {
        **view.settings(),
        "unsure": unsure_cost,
        "wrong": wrong_cost,
        "sentence": sentence,
        "methods": at,
        "curve": table.to_dict(orient="records"),
        "retraining": retraining,
        "at_most": None if gains is None else gains.at_most,
        "steps": [] if steps is None else steps.reset_index().to_dict(orient="records"),
    }
    columns = {
        "": list(at),
        "reward a row, in u": [decimal(item["reward"], 3) for item in at.values()],
        "answered": [percent(item["answered"]) for item in at.values()],
        "gain": [decimal(item["gain"], 3, signed=True) for item in at.values()],
        "95 %": [
            PLAIN.interval_text(item["gain_low"], item["gain_high"], signed=True)
            for item in at.values()
        ],
    }
    chart = figures.reward_figure(
        curves, rows=view.rows, baseline=first, ratio=ratio if 1 <= ratio <= 100 else None
    )
    rows = f"{view.dataset.name}: {view.rows}; gains are over {first}."
    return Output(content, table, [sentence, text_table(columns), rows, retraining], chart=chart)
