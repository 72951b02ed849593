"""LoRe, local recalibration: each confidence becomes the accuracy of its neighbours."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Annotated, Any, TypedDict

import numpy as np

from lore_core.data.arrays import Floats, Ints, Mask
from lore_core.data.binning import (
    Binning,
    ConfidenceBins,
    check_binning,
    check_n_bins,
    confidence_bins,
)
from lore_core.data.defaults import GAMMA, N_BINS
from lore_core.data.rows import Rows
from lore_core.data.rules import EDGES, POSITIVE, Sizes, Values
from lore_core.data.validation import OnMaps, check_name, check_positive
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
    feature_map: str | None
    binning: Binning  #: how the confidence bins were chosen
    edges: Annotated[Floats, EDGES, "edges of confidence bins{cuts}"]
    count: Counts
    row_weights: RowWeights
    points: Annotated[Floats, Values(("n", "d")), "places of {who} on the map"]
    bin_index: Annotated[Ints, Values(("n",), 0, whole=True, below="b"), "confidence bins of {who}"]
    outcome: Outcomes


@dataclass(eq=False, repr=False)
class LoRe(Recalibrator):
    """Replaces the top-label confidence by the kernel-weighted accuracy of its neighbours.

    It is exactly the paper's method. For few rows: :class:`~lore_core.SmoothLoRe`.

    ``gamma``: bandwidth γ > 0; the paper uses 0.2 on t-SNE and 0.4 on PCA features. ``n_bins``:
    confidence bins; 1 compares rows of any confidence. ``binning``: how their edges are chosen, on
    the calibration rows. ``feature_map``: which embedding to use where several are given by name;
    by default the first.

    Formula and limits: docs/method.md ("LoRe"). A row of weight 2 is two rows where bins are of
    equal width.

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
    feature_map: str | None = None

    def _check_params(self) -> None:
        check_positive(self.gamma, "gamma")
        check_n_bins(self.n_bins)
        check_binning(self.binning)
        if self.feature_map is not None:
            check_name(self.feature_map, "feature_map")

    def _fit_on(self, calibration: Dataset, embedding: OnMaps, progress: Progress | None) -> State:
        points = coordinates_of(calibration, embedding, self.feature_map, type(self).label)
        confidence = calibration.confidence
        bins = confidence_bins(confidence, self.n_bins, self.binning)
        return {
            "gamma": float(self.gamma),
            "feature_map": self.feature_map,
            "binning": bins.binning,
            "edges": bins.edges,
            "count": None,
            "row_weights": as_weights(calibration.weights),
            "points": points,
            "bin_index": bins.assign(confidence),
            "outcome": calibration.outcome,
        }

    @staticmethod
    def used_maps(state: State) -> list[str | None]:
        """Return the name of its map."""
        return [state["feature_map"]]

    @staticmethod
    def apply(state: State, rows: Rows) -> Rows:
        """Replace each confidence by the accuracy of the calibration rows around it."""
        d, bins = state["points"].shape[1], _bins(state)
        found = laplacian_means(
            rows.place(state["feature_map"], d),
            state["points"],
            state["outcome"],
            state["row_weights"],
            bandwidth=scaled_bandwidth(state["gamma"], d),
            target_groups=bins.assign(rows.confidence),
            source_groups=state["bin_index"],
            effective_size=False,
        ).mean
        new = np.where(np.isnan(found), rows.confidence, found)
        return rows.with_confidence(np.clip(new, 0.0, 1.0))

    @staticmethod
    def check_state(state: State, name: str, sizes: Sizes) -> None:
        """Refuse inconsistent rows and invalid bins."""
        cells.check_rows(state, name, sizes["calibration_rows"])
        cells.check_edges(state["edges"], name)

    @staticmethod
    def in_cells(state: State, size: int) -> tuple[State, Ints | None]:
        """Replace rows by means over cells of neighbours in the same bin; omit sparse bins."""
        if state["count"] is not None:
            return state, None
        cell = cells.cells_of(state["points"], state["bin_index"], size)
        edges = state["edges"]
        means: Any = {
            **state,
            **cells.in_cells(state, cell, ("outcome",)),
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
