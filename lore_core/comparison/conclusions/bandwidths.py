"""At which bandwidth local errors stand clear of chance."""

from __future__ import annotations

import numpy as np

from lore_core.chance.simulation import NullBand
from lore_core.comparison.conclusions.conclusion import Conclusion
from lore_core.data.number_text import interval_words, points_words
from lore_core.metrics.bandwidth import BandwidthCurve
from lore_core.metrics.catalogue import MLCE_SUPPORTED
from lore_core.metrics.metric import CurveKey

_KEY: CurveKey = "mlce_supported"


def conclude_bandwidths(curve: BandwidthCurve, chance: NullBand | None, *, on: str) -> Conclusion:
    """Say at which γ the supported MLCE stands clear of chance the most.

    ``curve``: of the data. ``chance``: what calibrated data with the same confidences show at the
    same bandwidths; None where that was not simulated. ``on``: the feature map.

    The curve is compared with the band that a whole curve of a calibrated model stays in with 95 %
    (:meth:`~lore_core.chance.simulation.NullBand.band`), so where every confidence is right at most
    5 % of such sentences say that it stands clear.
    """
    value, name = curve.mlce_supported, f"{MLCE_SUPPORTED.label} on {on}"
    known = np.isfinite(value)
    if not known.any():
        return Conclusion(
            f"No row has {curve.min_effective_size:g} effective neighbours on {on} at any γ: "
            "nothing local can be told."
        )
    if chance is None:
        return Conclusion(
            f"Whether the {name} stands clear of chance is open: what a calibrated model shows was "
            "not simulated."
        )
    low, high = chance.band(_KEY)
    clear = known & (value > high)
    if not clear.any():
        return Conclusion(
            f"At no γ does the {name} stand clear of what a calibrated model shows, all "
            f"{known.sum()} bandwidths taken together."
        )
    above = chance.excess(_KEY, value)
    most = int(np.argmax(np.where(clear, above, -np.inf)))
    return Conclusion(
        f"The {name} stands clear of chance the most at γ = {curve.gamma[most]:.3g}: "
        f"{points_words(value[most])} points, where the curve of a calibrated model stays within "
        f"{interval_words(low[most], high[most])}. It does so at {clear.sum()} of {known.sum()} "
        "bandwidths.",
        is_significant=True,
    )
