"""Defaults of functions, commands and pages; names of splits and targets."""

#: Bandwidth γ of the paper's t-SNE maps, and of its runs on PCA features.
GAMMA, RUNS_GAMMA = 0.2, 0.4
N_BINS = 15
TRIED_BINS = (1, 5, 10, 15, 30, 50)
#: Range of γ in curves: on an embedding of unit scale both limits of the LCE.
LEAST_GAMMA, LARGEST_GAMMA = 0.01, 100.0
#: Round bandwidths, ten a decade: the steps of a slider.
ROUND_GAMMAS = (
    *(
        round(step * decade, 6)
        for decade in (0.01, 0.1, 1.0)
        for step in (1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0)
    ),
    *(10.0, 20.0, 50.0, 100.0),
)
#: Slider steps where there is no server to compute others.
STORED_GAMMAS = (0.02, 0.03, 0.05, 0.08, 0.12, 0.2, 0.3, 0.5, 0.8, 1.2, 2.0, 4.0, 20.0)
CALIBRATION, EVALUATION = "calibration", "evaluation"
#: Targets: the predicted class, or the whole probability vector.
TOP_LABEL, ALL_CLASSES = "top-label", "all"
