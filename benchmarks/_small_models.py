"""Write predictions of small models, trained here, as pairs of files for ``_ranks.py``.

``python benchmarks/_small_models.py DIR [--second]``. Tasks of 2 to 100 classes, made of what lies
on a Linux machine with this project's requirements: Python's own source, translated messages
(``*.mo``), scikit-learn's photographs and small tables; the second panel of letters in the
installed fonts, pieces of installed files and names of characters. Nothing is downloaded.
"""

import argparse
import gettext
import string
import sysconfig
import unicodedata
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont
from sklearn.datasets import load_breast_cancer, load_diabetes, load_sample_image, load_wine
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier

Table = tuple[NDArray[np.float64], NDArray[np.int64]]

_LETTERS = "abcdefghijklmnopqrstuvwxyz "
#: Rows to train on, to calibrate on, and to test on, at most.
_PARTS = (4000, 2000, 4000)


def _vectors(texts: list[str]) -> NDArray[np.float64]:
    """Return 60 numbers of each text, from the trigrams of its characters."""
    counts = HashingVectorizer(analyzer="char", ngram_range=(3, 3), n_features=4096)
    return np.asarray(TruncatedSVD(60, random_state=0).fit_transform(counts.transform(texts)))


def _sources() -> list[Path]:
    return sorted(Path(sysconfig.get_paths()["stdlib"]).glob("*.py"))


def code(n_classes: int) -> Table:
    """Which module of Python's library twelve lines come from."""
    texts: list[str] = []
    labels: list[int] = []
    largest = sorted(_sources(), key=lambda path: -path.stat().st_size)[:n_classes]
    for label, path in enumerate(largest):
        lines = path.read_text(encoding="utf-8").splitlines()
        pieces = ["\n".join(lines[start : start + 12]) for start in range(0, len(lines), 8)]
        texts += pieces
        labels += [label] * len(pieces)
    return _vectors(texts), np.array(labels)


def languages(n_classes: int) -> Table:
    """Which language a short message is in."""
    by_language: dict[str, set[str]] = {}
    for path in sorted(Path("/usr/share").glob("**/LC_MESSAGES/*.mo")):
        try:
            with path.open("rb") as opened:
                catalogue = gettext.GNUTranslations(opened)._catalog  # type: ignore[attr-defined]
        except (OSError, UnicodeDecodeError, IndexError):  # no catalogue in good order
            continue
        found = {text for text in catalogue.values() if 8 <= len(text) <= 24}
        by_language.setdefault(path.parts[-3], set()).update(found)
    most = sorted(by_language, key=lambda name: -len(by_language[name]))[:n_classes]
    rng = np.random.default_rng(0)
    texts: list[str] = []
    labels: list[int] = []
    for label, name in enumerate(most):
        known = sorted(by_language[name])
        some = rng.permutation(len(known))[:400]
        texts += [known[place] for place in some]
        labels += [label] * len(some)
    return _vectors(texts), np.array(labels)


def letters() -> Table:
    """Which letter or space follows six others in Python's own source."""
    text = "".join(path.read_text(encoding="utf-8") for path in _sources()[:60]).lower()
    text = " ".join("".join(c if c in _LETTERS else " " for c in text).split())
    index = np.array([_LETTERS.index(c) for c in text])
    places = np.random.default_rng(0).choice(len(index) - 7, sum(_PARTS), replace=False)
    before = index[places[:, None] + np.arange(6)]
    return np.eye(27)[before].reshape(len(before), -1), index[places + 6]


def tiles(photograph: str, across: int) -> Table:
    """Which tile of a photograph an 8 × 8 patch is cut from."""
    picture = load_sample_image(photograph).mean(axis=2) / 255.0
    rng = np.random.default_rng(0)
    height, width = picture.shape
    x, y = (rng.integers(0, size - 8, sum(_PARTS)) for size in (width, height))
    patches = np.lib.stride_tricks.sliding_window_view(picture, (8, 8))[y, x].reshape(len(x), -1)
    label = (y * across // (height - 8)) * across + x * across // (width - 8)
    return patches, label


def terciles() -> Table:
    """Which third of the progressions a patient's diabetes is in."""
    found = load_diabetes()
    return found.data, np.searchsorted(np.quantile(found.target, [1 / 3, 2 / 3]), found.target)


def _table(load: Callable[..., Any]) -> Table:
    inputs, labels = load(return_X_y=True)
    return inputs, labels


def _network(size: int, iterations: int) -> MLPClassifier:
    return MLPClassifier(size, max_iter=iterations, n_iter_no_change=iterations, random_state=0)


def sets() -> Iterator[tuple[str, Table, Any]]:
    """Yield name, task and classifier."""
    code_10, code_60, code_100 = code(10), code(60), code(100)
    spoken = languages(30)
    forest = RandomForestClassifier(100, min_samples_leaf=2, random_state=0)
    yield "code-10-network", code_10, _network(64, 80)
    yield "code-10-forest", code_10, forest
    yield "code-60-logistic", code_60, LogisticRegression(C=100.0, max_iter=200)
    yield "code-100-network", code_100, _network(64, 60)
    yield "language-30-network", spoken, _network(64, 60)
    yield "language-30-bayes", spoken, GaussianNB()
    following = letters()
    yield "letter-27-network", following, _network(64, 30)
    yield "letter-27-forest", following, forest
    yield "china-16-network", tiles("china.jpg", 4), _network(64, 60)
    yield "flower-9-boosting", tiles("flower.jpg", 3), HistGradientBoostingClassifier(max_iter=60)
    yield "flower-25-forest", tiles("flower.jpg", 5), forest
    yield "china-4-bayes", tiles("china.jpg", 2), GaussianNB()
    yield "wine-3-network", _table(load_wine), _network(32, 200)
    yield "diabetes-3-forest", terciles(), forest
    yield "cancer-2-network", _table(load_breast_cancer), _network(32, 200)


def glyphs() -> Table:
    """Which of 62 letters and digits is drawn, in some font, small, shifted and with noise."""
    rng = np.random.default_rng(0)
    signs = string.ascii_letters + string.digits
    fonts = [
        ImageFont.truetype(str(path), 11)
        for path in sorted(Path("/usr/share/fonts").glob("**/Liberation*.ttf"))
    ]
    labels = rng.integers(0, len(signs), sum(_PARTS))
    pictures = np.empty((len(labels), 14, 14))
    for picture, label in zip(pictures, labels, strict=True):
        image = Image.new("L", (14, 14))
        place = tuple(rng.integers(0, 5, 2))
        ImageDraw.Draw(image).text(place, signs[label], 255, fonts[rng.integers(len(fonts))])
        picture[:] = np.asarray(image) / 255.0
    return (pictures + rng.normal(scale=0.2, size=pictures.shape)).reshape(len(labels), -1), labels


def kinds_of_files() -> Table:
    """Which kind of file 120 bytes are from."""
    rng = np.random.default_rng(0)
    texts: list[str] = []
    labels: list[int] = []
    for label, suffix in enumerate(("py", "h", "js", "json", "html", "xml", "pm", "txt", "svg")):
        files = sorted(filter(Path.is_file, Path("/usr/share").glob(f"**/*.{suffix}")))
        for place in rng.choice(len(files), 1200):
            content = files[place].read_bytes()
            start = int(rng.integers(0, max(len(content) - 120, 1)))
            texts.append(content[start : start + 120].decode("latin-1"))
            labels.append(label)
    return _vectors(texts), np.array(labels)


def characters() -> Table:
    """Which general category a character is of, by its name; 22 are seen in training."""
    known = [chr(code) for code in range(0x20000) if unicodedata.name(chr(code), "")]
    some = np.random.default_rng(0).permutation(len(known))[: 2 * sum(_PARTS)]
    category = np.array([unicodedata.category(known[place]) for place in some])
    frequent, count = np.unique(category, return_counts=True)
    frequent = np.sort(frequent[np.argsort(-count)[:25]])
    kept = np.isin(category, frequent)
    # The first word, the script, would tell too much.
    names = [unicodedata.name(known[place]).partition(" ")[2] for place in some[kept]]
    return _vectors(names), np.searchsorted(frequent, category[kept])


def second_sets() -> Iterator[tuple[str, Table, Any]]:
    """Yield what was looked at once more, after the first sets had been."""
    forest = RandomForestClassifier(100, min_samples_leaf=2, random_state=0)
    deep = RandomForestClassifier(50, random_state=0)
    drawn, files, named = glyphs(), kinds_of_files(), characters()
    yield "glyph-62-network", drawn, _network(64, 60)
    yield "glyph-62-forest", drawn, forest
    yield "glyph-62-logistic", drawn, LogisticRegression(C=1.0, max_iter=100)
    yield "file-9-network", files, _network(64, 80)
    yield "file-9-forest", files, deep
    yield "file-9-bayes", files, GaussianNB()
    yield "file-9-boosting", files, HistGradientBoostingClassifier(max_iter=40)
    yield "character-22-network", named, _network(64, 60)
    yield "character-22-forest", named, deep
    yield "character-22-logistic", named, LogisticRegression(C=10.0, max_iter=100)


def _hidden(network: MLPClassifier, inputs: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.maximum(inputs @ network.coefs_[0] + network.intercepts_[0], 0.0)


def write(directory: Path, name: str, task: Table, classifier: Any) -> None:
    """Train on one part of the rows, and write what is predicted for the others."""
    inputs, labels = task
    order = np.random.default_rng(1).permutation(len(inputs))
    scale = min(1.0, len(order) / sum(_PARTS))
    cuts = np.cumsum([int(size * scale) for size in _PARTS])
    train, *others = np.split(order[: cuts[-1]], cuts[:-1])
    centre, spread = inputs[train].mean(axis=0), inputs[train].std(axis=0)
    inputs = (inputs - centre) / np.where(spread > 0, spread, 1.0)
    classifier.fit(inputs[train], labels[train])
    reduction = PCA(min(40, inputs.shape[1]), random_state=0).fit(inputs[train])
    for split, part in zip(("cal", "test"), others, strict=True):
        # A class that was never seen in training has no probability.
        rows = part[np.isin(labels[part], classifier.classes_)]
        network = isinstance(classifier, MLPClassifier)
        np.savez(
            directory / f"{name}_{split}.npz",
            probs=classifier.predict_proba(inputs[rows]),
            labels=np.searchsorted(classifier.classes_, labels[rows]),
            features=_hidden(classifier, inputs[rows])
            if network
            else reduction.transform(inputs[rows]),
        )


def main() -> None:
    """Read the directory, and write every set into it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--second", action="store_true", help="the second panel")
    given = parser.parse_args()
    directory: Path = given.directory
    directory.mkdir(parents=True, exist_ok=True)
    for name, task, classifier in second_sets() if given.second else sets():
        write(directory, name, task, classifier)


if __name__ == "__main__":
    main()
