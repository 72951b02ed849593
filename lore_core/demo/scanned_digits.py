"""Handwritten digits, some scanned sideways: a classifier that is only globally calibrated.

Scikit-learn's 1,797 digits are split by *image*: 700 train a small network, 400 tune its
confidence, and moved copies of the rest are calibration and evaluation rows. One copy in twelve
is rotated by 90° (in tuning, too), which the network calls a "4" with 90 % confidence. On average
it is right, so ECE stays near 0.02; only neighbours in the hidden layer show the error.
"""

import contextlib
import hashlib
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from lore_core.data.archive_files import Kind
from lore_core.data.arrays import Floats, Ints, Mask
from lore_core.data.atomic_files import user_cache
from lore_core.data.dataset import CALIBRATION, EVALUATION, Dataset
from lore_core.data.dataset_files import FORMS
from lore_core.data.errors import InputError
from lore_core.data.probabilities import softmax
from lore_core.data.validation import check_integer

SIDEWAYS = "rotated 90°"
UPRIGHT = "none"

_TRAINING_IMAGES = 700
_TUNING_IMAGES = 400
_COPIES = 7
_TRAINING_COPIES = 3
_SIDEWAYS_SHARE = 0.08
_HIDDEN_UNITS = 64
_LARGEST_SHIFT = 0.5  # pixels
_NOISE = 0.6  # of 16 grey levels
_DISPLAY_FACTOR = 4  # 8 × 8 pixels are shown as 32 × 32
_FILE = Kind("lore-demo", "the demo", "lore_core.demo", FORMS)


def digits(random_state: int = 0, *, retrained: bool = False) -> Dataset:
    """Train a small network on digits and return its predictions on others, some of them sideways.

    ``random_state``: seed of everything. ``retrained``: of a network that has learned from images
    lying sideways, too, on the same rows. Returns 4,879 rows, half calibration and half evaluation;
    no image has copies in both, nor in training or tuning. Features: the 64 activations of the
    hidden layer. Images: 32 × 32. Groups and metadata: ``corruption`` (``"none"`` or ``"rotated
    90°"``) and ``digit``, the true class. Metadata also: ``ink`` (mean brightness, 0 to 1),
    ``source_image`` (index in scikit-learn's digits) and ``copy``. Raises InputError for an invalid
    seed.
    """
    random_state = check_integer(random_state, "random_state", minimum=0, maximum=2**32 - 1)
    if random_state:
        return _make(random_state, retrained=retrained)
    # Training takes longer than all that follows: the result is a file in the user's cache.
    used = " ".join(map(version, ("numpy", "scipy", "scikit-learn", "pandas")))
    state = hashlib.sha256(Path(__file__).read_bytes() + used.encode())
    kind = "digits-retrained" if retrained else "digits-first"
    path = user_cache() / f"{kind}-{state.hexdigest()[:12]}"
    with contextlib.suppress(InputError, OSError):
        return _FILE.read(path)["dataset"]  # type: ignore[no-any-return]
    made = _make(0, retrained=retrained)
    with contextlib.suppress(InputError, OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        for other in path.parent.glob(f"{kind}-*"):
            other.unlink()
        _FILE.write(path, {"dataset": made})
    return made


def _make(random_state: int, *, retrained: bool) -> Dataset:
    from sklearn.datasets import load_digits

    original = load_digits()
    images, labels = original.images / 16.0, original.target
    rng = np.random.default_rng(random_state)
    order = rng.permutation(len(labels))
    training = order[:_TRAINING_IMAGES]
    tuning = order[_TRAINING_IMAGES : _TRAINING_IMAGES + _TUNING_IMAGES]
    kept = order[_TRAINING_IMAGES + _TUNING_IMAGES :]

    train_images, train_source = _copies(images, training, _TRAINING_COPIES, rng)
    if retrained:
        turned = np.rot90(train_images, -1, axes=(1, 2))
        both = np.concatenate([train_images, turned]), np.tile(labels[train_source], 2)
        network = _train(*both, random_state)
    else:
        network = _train(train_images, labels[train_source], random_state)
    tune_images, tune_source = _copies(images, tuning, _TRAINING_COPIES, rng)
    tune_images, _ = _turn_some(tune_images, rng)
    tuned = _tune(_logits(network, _hidden(network, tune_images)), labels[tune_source])

    shown, source = _copies(images, kept, _COPIES, rng)
    shown, sideways = _turn_some(shown, rng)
    levels = np.round(shown * 255).astype(np.uint8)
    hidden = _hidden(network, shown)
    in_calibration = np.isin(source, kept[: len(kept) // 2])
    names = [str(digit) for digit in range(10)]
    corruption, true_names = np.where(sideways, SIDEWAYS, UPRIGHT), np.array(names)[labels[source]]
    groups = pd.DataFrame({"corruption": corruption, "digit": true_names})
    return Dataset(
        probabilities=_probabilities(_logits(network, hidden), *tuned),
        labels=labels[source],
        features=hidden.astype(np.float32),
        groups=groups,
        metadata=groups.assign(
            ink=shown.mean(axis=(1, 2)).round(4),
            source_image=[f"image {row}" for row in source],
            copy=np.tile(np.arange(_COPIES), len(kept)),
        ),
        images=levels.repeat(_DISPLAY_FACTOR, axis=1).repeat(_DISPLAY_FACTOR, axis=2),
        split=np.where(in_calibration, CALIBRATION, EVALUATION),
        class_names=names,
        name="handwritten digits, retrained" if retrained else "handwritten digits",
    )


def _copies(
    images: Floats, chosen: Ints, copies: int, rng: np.random.Generator
) -> tuple[Floats, Ints]:
    """Return ``copies`` moved and noisy versions of each chosen image, and the images' indices."""
    source = np.repeat(chosen, copies)
    moved = images[source]
    for axis in (1, 2):
        moved = _shift(moved, rng.uniform(-_LARGEST_SHIFT, _LARGEST_SHIFT, len(moved)), axis)
    moved = moved + rng.normal(0.0, _NOISE / 16, moved.shape)
    return np.clip(moved, 0.0, 1.0), source


def _shift(images: Floats, pixels: Floats, axis: int) -> Floats:
    """Shift each image by a fraction of a pixel, linearly interpolated, with blank borders."""
    border = [(0, 0), (0, 0), (0, 0)]
    border[axis] = (1, 1)
    padded = np.pad(images, border)
    size = images.shape[axis]
    before, after = (np.take(padded, np.arange(start, start + size), axis=axis) for start in (0, 2))
    amount = np.abs(pixels)[:, None, None]
    neighbour = np.where(pixels[:, None, None] > 0, before, after)
    return np.asarray((1 - amount) * images + amount * neighbour)


def _turn_some(images: Floats, rng: np.random.Generator) -> tuple[Floats, Mask]:
    sideways = np.zeros(len(images), dtype=bool)
    count = round(_SIDEWAYS_SHARE * len(images))
    sideways[rng.choice(len(images), count, replace=False)] = True
    turned = images.copy()
    turned[sideways] = np.rot90(images[sideways], -1, axes=(1, 2))
    return turned, sideways


def _train(images: Floats, labels: Ints, random_state: int) -> Any:
    import warnings

    from sklearn.exceptions import ConvergenceWarning
    from sklearn.neural_network import MLPClassifier

    network = MLPClassifier((_HIDDEN_UNITS,), alpha=0.1, max_iter=80, random_state=random_state)
    with warnings.catch_warnings():
        # 80 epochs are a choice: more would only fit the training images closer.
        warnings.simplefilter("ignore", ConvergenceWarning)
        return network.fit(images.reshape(len(images), -1), labels)


def _hidden(network: Any, images: Floats) -> Floats:
    """Return the activations of the hidden layer, shape (n, 64)."""
    flat = images.reshape(len(images), -1)
    return np.asarray(np.maximum(flat @ network.coefs_[0] + network.intercepts_[0], 0.0))


def _logits(network: Any, hidden: Floats) -> Floats:
    return np.asarray(hidden @ network.coefs_[1] + network.intercepts_[1])


def _probabilities(logits: Floats, slope: float, lapse: float) -> Floats:
    """Return (1 − lapse) softmax(slope · logits) + lapse / K, of the same most probable class."""
    return np.asarray((1.0 - lapse) * softmax(slope * logits) + lapse / logits.shape[1])


def _tune(logits: Floats, labels: Ints) -> tuple[float, float]:
    """Fit slope and lapse by the least negative log-likelihood."""
    from scipy.optimize import minimize
    from scipy.special import expit

    rows = np.arange(len(labels))

    def unpack(parameters: Floats) -> tuple[float, float]:
        return float(np.exp(parameters[0])), float(expit(parameters[1]))

    def loss(parameters: Floats) -> float:
        likelihood = _probabilities(logits, *unpack(parameters))[rows, labels]
        return float(-np.log(likelihood).mean())

    return unpack(minimize(loss, np.array([0.0, -2.0]), method="Nelder-Mead").x)
