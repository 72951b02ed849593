"""Logs of questions and answers whose confidence is right but on one topic, and what is found."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from lore_core.data.arrays import Mask
from lore_core.data.dataset import EVALUATION, Dataset
from lore_core.regions.subgroups.find import find_subgroups

#: Topic to words; the first is the planted one.
TOPICS = {
    name: words.split()
    for name, words in {
        "travel": "visa passport border customs airport flight luggage embassy ticket hotel "
        "boarding immigration",
        "cooking": "oven flour butter sugar recipe dough bake simmer sauce onion garlic roast",
        "law": "contract court lawyer plaintiff statute liability tenant lease clause appeal judge "
        "verdict",
        "medicine": "dose symptom vaccine blood pressure tablet doctor infection fever diagnosis "
        "therapy nurse",
        "finance": "interest loan mortgage bond dividend inflation tax budget savings credit "
        "broker pension",
        "sports": "goal match referee league striker coach penalty stadium tournament medal sprint "
        "relay",
        "history": "empire king treaty war revolution dynasty colony battle emperor parliament "
        "medieval throne",
        "space": "orbit planet rocket telescope galaxy comet satellite lunar asteroid gravity "
        "nebula launch",
        "music": "chord melody guitar piano rhythm symphony violin tempo opera drummer scale "
        "harmony",
        "garden": "soil seed prune compost tomato rose weed fertilizer lawn hedge bulb mulch",
        "computers": "python server database compiler loop network keyboard cache thread pointer "
        "script laptop",
        "weather": "storm rain humidity forecast cloud wind snow drought thunder hurricane "
        "temperature frost",
    }.items()
}
_QUESTIONS = [
    "what is the best way to {} with {} when {} matters",
    "how does {} affect {} in practice",
    "explain why {} and {} often go together",
    "can you compare {} to {} and {} for a beginner",
    "who decides about {} if {} fails",
    "is it true that {} changes {} over time",
    "give three facts about {} near {}",
    "when should one check {} before {} or {}",
]
#: Share of the planted topic, and of questions that borrow a word from another one.
_SHARE, _BORROWED = 0.08, 0.15


@dataclass(frozen=True, eq=False)
class AnswerLog:
    """A log as a table, and which of its rows are of the planted topic."""

    table: pd.DataFrame  #: ``question``, ``answer``, ``confidence`` and ``correct``
    planted: Mask


def answer_log(n: int = 5_000, *, gap: float = 0.25, random_state: int = 0) -> AnswerLog:
    """Write a log of ``n`` answers; those on the planted topic are ``gap`` too sure."""
    rng = np.random.default_rng(random_state)
    names = list(TOPICS)
    shares = np.full(len(names), (1 - _SHARE) / (len(names) - 1))
    shares[0] = _SHARE
    topic = rng.choice(len(names), n, p=shares)
    questions = []
    for k in topic:
        words = rng.choice(TOPICS[names[k]], 3, replace=False).tolist()
        if rng.random() < _BORROWED:
            words[2] = rng.choice(TOPICS[names[rng.integers(len(names))]])
        questions.append(_QUESTIONS[rng.integers(len(_QUESTIONS))].format(*words))
    confidence = rng.uniform(0.55, 0.97, n).round(4)
    right = rng.random(n) < confidence - gap * (topic == 0)
    table = pd.DataFrame(
        {
            "question": questions,
            "answer": [f"answer {k}" for k in range(n)],
            "confidence": confidence,
            "correct": right.astype(int),
        }
    )
    return AnswerLog(table, topic == 0)


def as_dataset(log: AnswerLog) -> Dataset:
    """Return a log as it is read, without features."""
    confidence = log.table["confidence"].to_numpy()
    return Dataset(
        np.column_stack([1 - confidence, confidence]),
        log.table["correct"].to_numpy(),
        metadata=log.table[["question", "answer"]],
        predictions=np.ones(len(log.table), dtype=int),
        class_names=("wrong", "right"),
        name="answers",
    )


def found_in(seed: int, gap: float = 0.25, n: int = 5_000) -> dict[str, float]:
    """Look for places in half of a log, as pages show it; one is of the topic if most rows are."""
    log = answer_log(n, gap=gap, random_state=seed)
    whole = as_dataset(log).with_split(0.5)
    planted = log.planted[whole.in_split(EVALUATION)]
    inside = np.zeros(len(planted), dtype=bool)
    others = 0
    for place in find_subgroups(whole.evaluation).subgroups:
        if planted[place.rows].mean() > 0.5:
            inside[place.rows] = True
        else:
            others += 1
    return {
        "others": others,
        "found": bool(inside.any()),
        "recall": float(inside[planted].mean()),
        "precision": float(planted[inside].mean()) if inside.any() else np.nan,
    }
