"""Defaults of functions, commands and pages: γ, the number of bins; names of splits and targets."""

from __future__ import annotations

#: Bandwidth γ, of the paper's t-SNE maps, and of its runs on PCA features.
GAMMA, RUNS_GAMMA = 0.2, 0.4
#: Confidence bins.
N_BINS = 15
#: Numbers of bins tried where they are suggested.
TRIED_BINS = (1, 5, 10, 15, 30, 50)
#: Range of the bandwidths of curves: on an embedding of unit scale both limits of the LCE.
LEAST_GAMMA, LARGEST_GAMMA = 0.01, 100.0
#: Bandwidths that are easily said, ten a decade where it matters: the steps of a slider.
ROUND_GAMMAS = (
    *(
        round(step * decade, 6)
        for decade in (0.01, 0.1, 1.0)
        for step in (1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0)
    ),
    *(10.0, 20.0, 50.0, 100.0),
)
#: Bandwidths of a slider behind which there is no server.
STORED_GAMMAS = (0.02, 0.03, 0.05, 0.08, 0.12, 0.2, 0.3, 0.5, 0.8, 1.2, 2.0, 4.0, 20.0)
#: What the rows of a dataset are for.
CALIBRATION, EVALUATION = "calibration", "evaluation"
#: What is calibrated: the predicted class, or every class at once, the whole probability vector.
TOP_LABEL, ALL_CLASSES = "top-label", "all"
