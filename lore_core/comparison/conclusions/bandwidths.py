"""At which bandwidth local errors stand clear of chance."""

from __future__ import annotations

import numpy as np

from lore_core.comparison.conclusions.conclusion import Conclusion
from lore_core.data.number_text import interval_words, points_words
from lore_core.inference.simulation import NullBand
from lore_core.inference.whole_vector import VectorBand
from lore_core.metrics.bandwidth import BandwidthCurve, VectorCurve
from lore_core.metrics.catalogue import MLCE_SUPPORTED
from lore_core.metrics.local_error import MIN_EFFECTIVE_SIZE
from lore_core.metrics.metric import CurveKey


def conclude_bandwidths(
    curve: BandwidthCurve | VectorCurve, chance: NullBand | VectorBand | None, *, on: str
) -> Conclusion:
    """Say at which γ local errors stand clear of chance the most.

    That is the supported MLCE, or the average error of the whole vector.

    ``curve``: of the data. ``chance``: what calibrated data with the same confidences show at the
    same bandwidths; None where that was not simulated. ``on``: the feature map.

    The curve is compared with the band that a whole curve of a calibrated model stays in with 95 %
    (:meth:`~lore_core.inference.simulation.NullBand.band`), so where every confidence is right at
    most 5 % of such sentences say that it stands clear.
    """
    of_vector = isinstance(curve, VectorCurve)
    key: CurveKey = "average" if of_vector else "mlce_supported"
    name = f"{'average error of the whole vector' if of_vector else MLCE_SUPPORTED.label} on {on}"
    model = "a model whose every probability is right" if of_vector else "a calibrated model"
    value = getattr(curve, key)
    known = np.isfinite(value)
    if not known.any():
        least = MIN_EFFECTIVE_SIZE if isinstance(curve, VectorCurve) else curve.min_effective_size
        return Conclusion(
            f"No row has {least:g} effective neighbours on {on} at any γ: nothing local can be "
            "told."
        )
    if chance is None:
        return Conclusion(
            f"Whether the {name} stands clear of chance is open: what {model} shows was not "
            "simulated."
        )
    clear = known & chance.clear(key, value)
    if not clear.any():
        return Conclusion(
            f"At no γ does the {name} stand clear of what {model} shows, all {known.sum()} "
            "bandwidths taken together."
        )
    most = int(np.argmax(np.where(clear, chance.excess(key, value), -np.inf)))
    low, high = (end[most] for end in chance.band(key))
    shown = f"{points_words(value[most])} points"
    stays = f"within {interval_words(low, high)}"
    if of_vector:
        shown = f"{points_words(value[most], 1)} points, less its noise"
        stays = f"below {points_words(high, 1)} with 95 %"
    return Conclusion(
        f"The {name} stands clear of chance the most at γ = {curve.gamma[most]:.3g}: {shown}, "
        f"where the curve of {model} stays {stays}. It does so at {clear.sum()} of {known.sum()} "
        "bandwidths.",
        is_significant=True,
    )
