"""Numbers to compare with, typed from print: Luo et al. 2022, and an independent script's.

Each pair is (mean, standard deviation over runs).
"""

import lore_core as lore

Pair = tuple[float, float]

NONE = lore.NoRecalibration.label
TS = lore.TemperatureScaling.label
HB = lore.HistogramBinning.label
IR = lore.IsotonicRegression.label
MMCE = lore.MMCEOptimization.label
GROUP_TS, GROUP_HB = (f"{method}, group-wise" for method in (TS, HB))
LORE_TSNE = "LoRe (t-SNE)"
LORE_PCA = "LoRe (PCA)"

SMOOTH = "LoRe smooth"
SMOOTH_TSNE, SMOOTH_PCA = f"{SMOOTH} (t-SNE)", f"{SMOOTH} (PCA)"

#: The paper's nine methods, in its order.
IN_THE_PAPER = (NONE, TS, HB, IR, MMCE, GROUP_TS, GROUP_HB, LORE_TSNE, LORE_PCA)

#: What LoRe smooth, which is not in the paper, is shown beside.
BESIDE_SMOOTH = (NONE, TS, LORE_TSNE, LORE_PCA, SMOOTH_TSNE, SMOOTH_PCA)

#: Table 1, maximum group-wise MCE: settings 1 (Communities and Crime) and 4 (COMPAS).
GROUP_MCE: dict[int, dict[str, Pair]] = {
    1: {
        NONE: (0.588, 0.107), TS: (0.521, 0.092), HB: (0.515, 0.081), IR: (0.596, 0.063),
        MMCE: (0.526, 0.172), GROUP_TS: (0.423, 0.066), GROUP_HB: (0.542, 0.083),
        LORE_TSNE: (0.351, 0.084), LORE_PCA: (0.392, 0.071),
    },
    4: {
        NONE: (0.480, 0.122), TS: (0.403, 0.108), HB: (0.368, 0.108), IR: (0.425, 0.047),
        MMCE: (0.411, 0.088), GROUP_TS: (0.411, 0.110), GROUP_HB: (0.414, 0.090),
        LORE_TSNE: (0.215, 0.037), LORE_PCA: (0.300, 0.065),
    },
}  # fmt: skip

#: Table 2, Pearson correlation with the maximum group-wise MCE: settings 1 to 4.
CORRELATION: dict[str, tuple[float, float, float, float]] = {
    "ECE": (0.102, -0.061, -0.195, 0.012),
    "MCE": (0.233, 0.439, 0.281, 0.387),
    "NLL": (0.542, 0.045, -0.287, 0.051),
    "Brier": (0.101, 0.144, -0.280, 0.024),
    "MLCE (t-SNE)": (0.642, 0.801, 0.591, 0.566),
    "MLCE (PCA)": (0.639, 0.659, 0.778, 0.603),
}

#: Table 3, global metrics: ECE (a share here, per cent there), NLL, Brier.
GLOBAL: dict[int, dict[str, tuple[Pair, Pair, Pair]]] = {
    1: {
        NONE: ((0.151, 0.027), (0.96, 0.25), (0.17, 0.02)),
        TS: ((0.049, 0.017), (0.43, 0.03), (0.14, 0.01)),
        HB: ((0.033, 0.011), (0.48, 0.03), (0.15, 0.1)),
        IR: ((0.306, 0.023), (0.79, 0.05), (0.30, 0.02)),
        MMCE: ((0.044, 0.013), (0.43, 0.03), (0.14, 0.01)),
        LORE_TSNE: ((0.035, 0.011), (0.42, 0.02), (0.13, 0.01)),
        LORE_PCA: ((0.045, 0.014), (0.44, 0.02), (0.14, 0.01)),
    },
    4: {
        NONE: ((0.036, 0.014), (0.408, 0.023), (0.124, 0.008)),
        TS: ((0.029, 0.012), (0.405, 0.021), (0.124, 0.007)),
        HB: ((0.027, 0.011), (0.414, 0.023), (0.126, 0.008)),
        IR: ((0.344, 0.017), (0.707, 0.021), (0.253, 0.004)),
        MMCE: ((0.034, 0.019), (0.415, 0.039), (0.125, 0.009)),
        LORE_TSNE: ((0.027, 0.011), (0.410, 0.022), (0.125, 0.007)),
        LORE_PCA: ((0.025, 0.010), (0.410, 0.021), (0.126, 0.008)),
    },
}

#: Table 4, one ResNet-50 on ImageNet: ECE, NLL, Brier as printed.
IMAGENET: dict[str, tuple[float, float, float]] = {
    NONE: (0.037, 0.959, 40.64),
    TS: (0.022, 0.948, 40.60),
    HB: (0.012, 0.952, 40.59),
    IR: (0.011, 0.945, 40.59),
    MMCE: (0.061, 0.965, 40.67),
    LORE_TSNE: (0.007, 0.955, 40.58),
}

#: Section 3.3, ImageNet: a bin's global error and the mean LCE of its rows.
BINS = {"best": (0.0061, 0.0411), "worst": (0.0746, 0.0629)}

#: What a brute-force O(n²) script, written apart from this library, found on the sixty runs
#: without t-SNE.
REFERENCE_COLUMNS = ("max group-wise MCE", "ECE", "MCE", "NLL", "Brier", "MLCE (PCA)")
REFERENCE: dict[str, tuple[Pair, ...]] = {
    NONE: ((0.575, 0.175), (0.153, 0.014), (0.194, 0.053), (0.961, 0.099), (0.168, 0.014),
           (0.221, 0.048)),
    TS: ((0.498, 0.120), (0.023, 0.013), (0.056, 0.038), (0.427, 0.022), (0.137, 0.008),
         (0.071, 0.036)),
    HB: ((0.519, 0.153), (0.027, 0.016), (0.155, 0.116), (0.507, 0.036), (0.151, 0.010),
         (0.181, 0.113)),
    IR: ((0.630, 0.202), (0.035, 0.014), (0.342, 0.316), (0.480, 0.053), (0.140, 0.010),
         (0.364, 0.315)),
    LORE_PCA: ((0.512, 0.164), (0.050, 0.030), (0.203, 0.125), (0.494, 0.035), (0.147, 0.009),
               (0.222, 0.125)),
}  # fmt: skip
#: The same with t-SNE, which another program draws differently: max group-wise MCE, ECE, MCE,
#: Brier, MLCE (t-SNE) of plain LoRe, then MLCE (t-SNE) of the others.
REFERENCE_LORE_TSNE: dict[str, Pair] = {
    "max group-wise MCE": (0.529, 0.139),
    "ECE": (0.030, 0.012),
    "MCE": (0.184, 0.138),
    "Brier": (0.137, 0.009),
    "MLCE (t-SNE)": (0.300, 0.122),
}
REFERENCE_MLCE_TSNE: dict[str, Pair] = {
    NONE: (0.393, 0.051),
    TS: (0.187, 0.048),
    HB: (0.322, 0.087),
    IR: (0.469, 0.279),
    LORE_PCA: (0.326, 0.107),
}
