"""At which bandwidth the whole vector's local errors stand clear of chance."""

from __future__ import annotations

import numpy as np

from lore_core.chance.vector_bands import VectorBand
from lore_core.comparison.conclusions.conclusion import Conclusion
from lore_core.data.number_text import points_words
from lore_core.metrics.vector_bandwidth import VectorCurve


def conclude_vector(curve: VectorCurve, band: VectorBand, *, on: str) -> Conclusion:
    """Say at which γ the whole vector's average error stands clear of chance the most.

    Parameters
    ----------
    curve, band : VectorCurve and VectorBand
        Of the data, and what holds it against models whose every probability is right.
    on : str
        The feature map.

    Notes
    -----
    Where every probability is right at most 5 % of such sentences say that it stands clear
    (:func:`~lore_core.chance.vector_bands.vector_band`).
    """
    known = int(np.isfinite(curve.mean_squared).sum())
    name = f"The average error of the whole vector on {on}"
    if not known:
        return Conclusion(
            f"No row has ten effective neighbours on {on} at any γ: nothing local can be told.",
            is_significant=False,
        )
    clear = band.clear("average")
    if not clear.any():
        return Conclusion(
            f"{name} stands clear of what a model whose every probability is right shows at no γ, "
            f"all {known} bandwidths taken together.",
            is_significant=False,
        )
    most = int(np.argmax(np.where(clear, band.excess("average"), -np.inf)))
    return Conclusion(
        f"{name} stands clear of chance the most at γ = {curve.gamma[most]:.3g}: "
        f"{points_words(curve.average[most], 1)} points, less its noise, where the curve of a "
        "model whose every probability is right stays below "
        f"{points_words(band.level('average')[most], 1)} with 95 %. It does so at {clear.sum()} of "
        f"{known} bandwidths.",
        is_significant=True,
    )
