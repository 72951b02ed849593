"""LoRe, local recalibration: each confidence becomes the accuracy of its neighbours."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Annotated, Any, TypedDict

import numpy as np

from lore_core.data.arrays import Floats, Ints, Mask
from lore_core.data.binning import (
    Binning,
    ConfidenceBins,
    accuracy_by_bin,
    check_binning,
    check_n_bins,
    confidence_bins,
)
from lore_core.data.defaults import GAMMA, N_BINS
from lore_core.data.rows import Rows
from lore_core.data.rules import EDGES, POSITIVE, STRENGTH, Sizes, Values, refuse
from lore_core.data.validation import (
    InputError,
    OnMaps,
    as_number,
    check_flag,
    check_name,
    check_positive,
)
from lore_core.data.weights import as_weights
from lore_core.kernel_sums import laplacian_means
from lore_core.metrics.local_error import scaled_bandwidth
from lore_core.recalibration import cells
from lore_core.recalibration.base import Recalibrator
from lore_core.recalibration.cells import Counts, Outcomes, RowWeights
from lore_core.recalibration.dataset_rows import coordinates_of

if TYPE_CHECKING:
    from lore_core.data.dataset import Dataset
    from lore_core.data.progress import Progress


class State(TypedDict):
    """Fitted state of LoRe: its settings and its calibration rows."""

    gamma: Annotated[float, POSITIVE]
    floor: bool
    prior_strength: Annotated[float, STRENGTH]
    feature_map: str | None
    binning: Binning  #: how the confidence bins were chosen
    edges: Annotated[Floats, EDGES, "edges of confidence bins{cuts}"]
    count: Counts
    row_weights: RowWeights
    points: Annotated[Floats, Values(("n", "d")), "places of {who} on the map"]
    bin_index: Annotated[Ints, Values(("n",), 0, whole=True, below="b"), "confidence bins of {who}"]
    outcome: Outcomes
    #: The outcome or, with a base, its residual: what is averaged
    leftover: Annotated[
        Floats,
        Values(("n",), -1.0, 1.0),
        "outcomes of {who}, less what a global method says of them",
    ]
    base: Recalibrator | None  #: fitted


@dataclass(eq=False, repr=False)
class LoRe(Recalibrator):
    """Replaces the top-label confidence by the kernel-weighted accuracy of its neighbours.

    Without options it is exactly the paper's method; the options are for few rows.

    Parameters
    ----------
    gamma : float
        Bandwidth γ > 0. The paper uses 0.2 on t-SNE and 0.4 on PCA features.
    n_bins : int
        Confidence bins; 1 compares rows of any confidence.
    binning : {"equal-width", "equal-mass"}
        How their edges are chosen, on the calibration rows.
    floor : bool
        Whether to keep the confidence at 1/K or more, as the largest of K probabilities is.
    prior_strength : float
        s ≥ 0 pseudo-rows of the accuracy of the bin or, with a base, of no residual, mixed into
        each neighbourhood; ``inf``: only these.
    base : Recalibrator, optional
        A global method fitted first, whose residuals LoRe then corrects.
    feature_map : str, optional
        Which embedding to use where several are given by name; by default the first.

    Notes
    -----
    p'(x) = Σ_{j∈β(x)} k_γ(x, x_j) a_j / Σ_{j∈β(x)} k_γ(x, x_j) over the calibration rows in x's
    confidence bin. γ→∞ is histogram binning; γ→0 the nearest calibration row, also where every
    weight underflows.

    With s, p' = (Σ k a_j + s·acc(B)) / (Σ k + s). With a base b, p' = b(x) + Σ k (a_j − b_j) / (Σ k
    + s), clipped to [0, 1] or [1/K, 1]. An empty bin keeps the confidence or b(x). Bins are always
    of the classifier's own confidence.

    A row of weight 2 is two rows where bins are of equal width and s is 0 or infinite: equal-mass
    bins hold as many rows each, whatever these weigh, and a pseudo-row counts as a row does on
    average.

    References
    ----------
    Luo et al., "Local Calibration: Metrics and Recalibration", UAI 2022, eq. 6.
    """

    label = "LoRe"
    color = 3
    numbers_in_words = "bandwidth and other settings"
    needs_embedding = True
    takes_weights = True
    state_type = State

    gamma: float = GAMMA
    n_bins: int = N_BINS
    binning: Binning = "equal-width"
    _: KW_ONLY
    floor: bool = False
    prior_strength: float = 0.0
    base: Recalibrator | None = None
    feature_map: str | None = None

    def _check_params(self) -> None:
        check_positive(self.gamma, "gamma")
        check_n_bins(self.n_bins)
        check_binning(self.binning)
        check_flag(self.floor, "floor")
        strength, base = self.prior_strength, self.base
        if not as_number(strength) >= 0:
            raise InputError(f"'prior_strength' must be a number of 0 or more; got {strength!r}.")
        if not (base is None or (isinstance(base, Recalibrator) and not base.needs_embedding)):
            raise InputError(
                "'base' must be a global recalibrator, one that needs no embedding, such as "
                f"TemperatureScaling(); got {base!r}."
            )
        if self.feature_map is not None:
            check_name(self.feature_map, "feature_map")

    def _fit_on(self, calibration: Dataset, embedding: OnMaps, progress: Progress | None) -> State:
        points = coordinates_of(calibration, embedding, self.feature_map, type(self).label)
        confidence, outcome = calibration.confidence, calibration.outcome
        bins = confidence_bins(confidence, self.n_bins, self.binning)
        base = None if self.base is None else self.base.clone().fit(calibration)
        return {
            "gamma": float(self.gamma),
            "floor": bool(self.floor),
            "prior_strength": as_number(self.prior_strength),
            "feature_map": self.feature_map,
            "binning": bins.binning,
            "edges": bins.edges,
            "count": None,
            "row_weights": as_weights(calibration.weights),
            "points": points,
            "bin_index": bins.assign(confidence),
            "outcome": outcome,
            "leftover": outcome
            if base is None
            else outcome - base.recalibrate(calibration).confidence,
            "base": base,
        }

    @staticmethod
    def used_maps(state: State) -> list[str | None]:
        """Return the name of its map."""
        return [state["feature_map"]]

    @staticmethod
    def apply(state: State, rows: Rows) -> Rows:
        """Replace each confidence by the accuracy of the calibration rows around it."""
        d, bins, weights = state["points"].shape[1], _bins(state), state["row_weights"]
        index = bins.assign(rows.confidence)
        means = laplacian_means(
            rows.place(state["feature_map"], d),
            state["points"],
            state["leftover"],
            weights,
            bandwidth=scaled_bandwidth(state["gamma"], d),
            target_groups=index,
            source_groups=state["bin_index"],
            effective_size=False,
        )
        here = accuracy_by_bin(state["bin_index"], state["outcome"], bins.n_bins, weights)[index]
        base = state["base"]
        start = rows if base is None else base.applied_to(rows)
        usual = np.where(np.isnan(here), rows.confidence, here) if base is None else np.zeros(1)
        new = with_pseudo_rows(means.mean, means.mass, usual, state["prior_strength"])
        if base is not None:
            new = start.confidence + new
        lowest = 1.0 / rows.n_classes if state["floor"] else 0.0
        return start.with_confidence(np.clip(new, lowest, 1.0))

    @staticmethod
    def check_state(state: State, name: str, sizes: Sizes) -> None:
        """Refuse inconsistent rows, invalid bins and a base that needs a map."""
        cells.check_rows(state, name, sizes["calibration_rows"])
        cells.check_edges(state["edges"], name)
        base = state["base"]
        if base is not None and base.needs_embedding:
            raise refuse(f"{name}: base", "a method without a map", type(base).__name__)

    @staticmethod
    def in_cells(state: State, size: int) -> tuple[State, Ints | None]:
        """Replace rows by means over cells of neighbours in the same bin; omit sparse bins."""
        if state["count"] is not None:
            return state, None
        cell = cells.cells_of(state["points"], state["bin_index"], size)
        edges = state["edges"]
        means: Any = {
            **state,
            **cells.in_cells(state, cell, ("outcome", "leftover")),
            "edges": edges if state["binning"] == "equal-width" else cells.rounded(edges),
            "points": cells.means_of(state["points"], cell),
            "bin_index": cells.means_of(state["bin_index"], cell).astype(np.int64),
        }
        return means, cell

    def without_neighbours(self, evaluation: Dataset) -> Mask:
        """Return the rows (n,) in bins without calibration rows, which keep their confidence."""
        state: Any = self.state()
        held = np.unique(state["bin_index"])
        return ~np.isin(_bins(state).assign(evaluation.confidence), held)


def _bins(state: State) -> ConfidenceBins:
    return ConfidenceBins(state["edges"], state["binning"])


def with_pseudo_rows(mean: Floats, mass: Floats, usual: Floats, prior_strength: float) -> Floats:
    """Return (Σ k v + s·usual) / (Σ k + s), shape (n,): ``usual`` where there are no neighbours.

    ``mean``: of v, NaN in empty bins. ``usual``: what the s pseudo-rows say.
    """
    if prior_strength == 0:
        return np.where(np.isnan(mean), usual, mean)
    share = mass / (mass + prior_strength)
    return np.where(np.isnan(mean), usual, np.nan_to_num(mean) * share + usual * (1 - share))
