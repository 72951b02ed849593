"""Recalibrate, or retrain? stands on Decisions with the library's numbers, for groups too."""

from __future__ import annotations

import dataclasses

import numpy as np
import pandas as pd

from lore_core.comparison import conclude_retraining, estimate_gains


def test_the_sentence_is_the_librarys_of_the_rows_that_are_chosen(open_page, made):
    dataset = made(n=1200, n_classes=2, seed=6)
    site = np.array(["a", "b"])[np.arange(1200) % 2]
    dataset = dataclasses.replace(dataset, groups=pd.DataFrame({"site": site}))
    page = open_page("decisions", dataset)
    known = estimate_gains(dataset.calibration, dataset.evaluation)
    said = conclude_retraining(known.losses(), known.rewards(10.0)).sentence
    assert said.split(";")[0] in page.text
    page.set("decide_by", "site")
    page.set("decide_group", "b")
    inside = (dataset.evaluation.groups["site"] == "b").to_numpy()
    said = conclude_retraining(known.losses(inside), known.rewards(10.0, inside)).sentence
    assert said.split(";")[0] in page.text
