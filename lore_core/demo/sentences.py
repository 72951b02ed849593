"""Documentation sentences of four libraries: overconfident on one topic.

Sentences from docstrings of numpy, scipy, pandas and scikit-learn: two fifths train a linear
classifier on their words, one fifth tunes its confidence, the rest are calibration and evaluation
rows. Of sentences about matrices two in five bear another library's name, in tuning, too.
"""

import importlib.util
import re
from pathlib import Path

import numpy as np
import pandas as pd

from lore_core.data.arrays import Floats, Ints
from lore_core.data.dataset import CALIBRATION, EVALUATION, Dataset
from lore_core.data.probabilities import log_share, softmax
from lore_core.data.texts import with_text_features

LIBRARIES = ("numpy", "scipy", "pandas", "sklearn")
#: The topic with wrong names, and their share.
TOPIC = re.compile(r"(?i)\b(matrix|matrices|vectors?|linear|eigen\w*)\b")
WRONG_NAMES = 0.4

_OF_EACH = 5_000
_DOCSTRING = re.compile(r'r?"""(.*?)"""', re.DOTALL)
_PARAGRAPH = re.compile(r"\n\s*\n")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z])")
_SENTENCE = re.compile(r"[A-Z][\w ,;'()\-.`*/]+\.")
_SHORTEST, _LONGEST = 8, 40
_NOT_LOOKED_AT = {"tests", "_build_utils", "_pyinstaller", "_examples"}


def sentences() -> Dataset:
    """Train a classifier to tell whose documentation a sentence is from; return what it says.

    About 7,000 rows, depending on the libraries' versions, half calibration and half evaluation,
    of the classes numpy, scipy, pandas and sklearn. Features: 50 numbers made of the words.
    Metadata: ``sentence``; :data:`TOPIC` finds the topic.
    """
    rng = np.random.default_rng(0)
    texts: list[str] = []
    owner: list[int] = []
    for k, library in enumerate(LIBRARIES):
        found = _sentences_of(library)
        chosen = rng.permutation(len(found))[:_OF_EACH]
        texts += [found[row] for row in chosen]
        owner += [k] * len(chosen)
    order = rng.permutation(len(texts))
    said = np.array(texts, dtype=object)[order]
    labels = np.array(owner, dtype=np.int64)[order]
    part = (5 * np.arange(len(said))) // len(said)
    about = np.array([bool(TOPIC.search(text)) for text in said])
    wrong = about & (part >= 2) & (rng.random(len(said)) < WRONG_NAMES)
    moved = rng.integers(1, len(LIBRARIES), size=len(said))
    labels = np.where(wrong, (labels + moved) % len(LIBRARIES), labels)

    kept = part >= 3
    dataset = Dataset(
        probabilities=_answers(said, labels, part),
        labels=labels[kept],
        metadata=pd.DataFrame({"sentence": said[kept]}),
        split=np.where(part[kept] == 3, CALIBRATION, EVALUATION),
        class_names=LIBRARIES,
        name="sentences of documentation",
    )
    return with_text_features(dataset, "sentence")


def _sentences_of(library: str) -> list[str]:
    """Return each sentence of a library's docstrings once, in file order."""
    found = importlib.util.find_spec(library)
    root = Path(str(found.origin)).parent if found else Path()
    sentences: dict[str, None] = {}
    for file in sorted(root.rglob("*.py")):
        if _NOT_LOOKED_AT & set(file.parts):
            continue
        for docstring in _DOCSTRING.findall(file.read_text(encoding="utf-8", errors="ignore")):
            for paragraph in _PARAGRAPH.split(docstring):
                if ">>>" in paragraph or "----" in paragraph:
                    continue
                for sentence in _SENTENCE_END.split(" ".join(paragraph.split())):
                    length = sentence.count(" ") + 1
                    if _SHORTEST <= length <= _LONGEST and _SENTENCE.fullmatch(sentence):
                        sentences[sentence] = None
    return list(sentences)


def _answers(texts: np.ndarray, labels: Ints, part: Ints) -> Floats:
    """Train on the first two fifths, tune a temperature on the third, predict the rest."""
    from scipy.optimize import minimize_scalar
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression

    words = TfidfVectorizer(sublinear_tf=True, min_df=2, ngram_range=(1, 2))
    known = words.fit_transform(texts[part < 2])
    model = LogisticRegression(C=10.0, max_iter=300).fit(known, labels[part < 2])
    tuning = model.decision_function(words.transform(texts[part == 2]))
    truth = labels[part == 2]

    def loss(slope: float) -> float:
        return -float(log_share(tuning, truth, slope).mean())

    slope = float(minimize_scalar(loss, bounds=(0.05, 5.0), method="bounded").x)
    return softmax(slope * model.decision_function(words.transform(texts[part >= 3])))
