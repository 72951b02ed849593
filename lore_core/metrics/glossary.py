"""What the words mean: one sentence each, for the pages, the report and the guide alike."""

from lore_core.metrics.catalogue import CATALOGUE

HOLM, COCHRAN, FISHER = "Holm", "Cochran's Q", "Fisher's exact test"


#: In the order of reading.
GLOSSARY: dict[str, str] = {
    "confidence": "The probability of the class the model predicts, or of the class that is the "
    "target.",
    "gap": "Mean confidence − accuracy, in points: + is overconfident, − underconfident.",
    "point": "A hundredth: from 78 % to 88 % it is 10 points.",
    "calibration rows": "Rows that recalibrators are fitted on. What is shown and measured is of "
    "other rows, the evaluation rows.",
    "subgroup": "Rows that columns (a slice) or the map (a region) set apart and whose confidence "
    "is significantly wrong.",
    "held-out rows": "Rows of a subgroup that had no part in finding it. Only their numbers are "
    "unbiased: the others were chosen because they look bad.",
    "confidence bin": "Rows of about the same confidence, which alone are compared with each "
    "other.",
    "LCE": "Local calibration error of a row: the size of the mean gap of the rows near it in its "
    "confidence bin, nearer ones weighing more.",
    "γ, bandwidth": "How near another row must be to count: towards 0 each row stands alone, "
    "towards ∞ all rows of a confidence bin count alike.",
    "effective neighbours, n_eff": "How many rows of equal weight a local error is worth. Below 10 "
    "it is no evidence, and nothing is drawn.",
    **{
        CATALOGUE[name].words: CATALOGUE[name].explanation
        for name in (
            *("NLL", "Brier", "ALCE held out", "ECE held out", "MLCE supported"),
            *("ALCE", "ECE", "MCE", "MLCE"),
        )
    },
    "95 % CI": "Confidence interval of the true number: of 100 such intervals about 95 hold "
    "theirs. Noise adds to a calibration error as observed; its estimate and interval are of the "
    "true one. Shares have Wilson's, which stays within 0 and 100 %; groups exact ones that hold "
    "all at once.",
    "p": "How often a calibrated model shows as much. Below 0.05 is called significant.",
    HOLM: "An adjustment of p-values of many tests, so that even one false alarm among all of "
    "them is rare.",
    COCHRAN: "A test whether parts of a column have the same gap, given how sure each is.",
    FISHER: "A test whether a value is more frequent among some rows than among others.",
    "leave-one-out": "Each row's outcome is predicted from the other rows without itself.",
    "LoRe": "Local recalibration: the confidence of a row becomes the weighted accuracy of the "
    "calibration rows near it.",
    "prior strength": "How many rows' worth of weight LoRe gives to what it falls back on; at ∞ "
    "that alone counts.",
}
"""By term."""
