import dataclasses

import numpy as np
import pandas as pd
import pytest

import lore_core as lore
from lore_core import Dataset, InputError, from_estimator, load, save_npz
from lore_core.kernel_sums import laplacian_means


@dataclasses.dataclass
class Tensor:
    """What torch says of its tensors: when ``numpy()`` refuses, and what helps."""

    values: np.ndarray
    dtype: str = "torch.float32"
    grad: bool = False
    device: str = "cpu"

    def detach(self):
        return dataclasses.replace(self, grad=False)

    def cpu(self):
        return dataclasses.replace(self, device="cpu")

    def float(self):
        return Tensor(self.values.astype(np.float32), grad=self.grad, device=self.device)

    def numpy(self):
        if self.grad or self.device != "cpu" or self.dtype == "torch.bfloat16":
            raise TypeError("torch cannot convert it to numpy")
        return self.values

    def __array__(self, dtype=None, copy=None):
        return self.numpy()

    def __len__(self):
        return len(self.values)


class Lent:
    def __init__(self, values):
        self._values = values

    def __dlpack__(self, **options):
        # (numpy 1.26 does not lend what may not be written.)
        return self._values.copy().__dlpack__(**options)

    def __dlpack_device__(self):
        return self._values.__dlpack_device__()


def rows():
    rng = np.random.default_rng(0)
    p = rng.dirichlet([2, 1, 1], size=30)
    # (All of it is exact in bfloat16.)
    return p, rng.integers(0, 3, 30), rng.integers(-8, 8, (30, 2)) / 4.0


@pytest.mark.parametrize(
    "made",
    [
        lambda values: Tensor(values, grad=True),
        lambda values: Tensor(values, device="cuda:0"),
        lambda values: Tensor(values, "torch.bfloat16", grad=True, device="cuda:0"),
        Lent,
    ],
    ids=["grad", "cuda", "bfloat16", "dlpack"],
)
def test_tensors_are_read_as_their_numbers(made):
    p, y, z = rows()
    plain = lore.Dataset(p.astype(np.float32), y, features=z.astype(np.float32))
    given = lore.Dataset(made(p.astype(np.float32)), made(y), features=made(z.astype(np.float32)))
    assert given.digest == plain.digest
    c, a = plain.confidence, plain.outcome
    expected = lore.local_calibration_error(c, a, z)
    found = lore.local_calibration_error(made(c), made(a), made(z))
    np.testing.assert_allclose(found, expected, atol=1e-6)
    means = laplacian_means(made(z), None, made(a), bandwidth=1.0).mean
    np.testing.assert_array_equal(means, laplacian_means(z, None, a, bandwidth=1.0).mean)


def test_sums_of_bfloat16_are_rounded():
    p, y, _ = rows()
    off = p * np.linspace(0.995, 1.005, 30)[:, None]
    given = lore.Dataset(Tensor(off, "torch.bfloat16"), y)
    np.testing.assert_allclose(given.probabilities, p, rtol=1e-6)
    for made in (Tensor(off, "torch.float32"), Tensor(p * 0.98, "torch.bfloat16")):
        with pytest.raises(lore.InputError, match="must sum to 1"):
            lore.Dataset(made, y)


P = np.array([0.1, 0.6, 0.3, 0.9])
LABELS = np.array([0, 1, 0, 1])
HIDDEN = [False, False, True, False]


@pytest.mark.parametrize(
    ("name", "values", "must"),
    [
        ("probabilities", np.ma.array(P, mask=HIDDEN), r"be known in every row; .* row 2 \(1 "),
        ("labels", np.ma.array(LABELS, mask=HIDDEN), r"be known in every row; .* row 2 \(1 "),
        ("features", np.ma.array(np.c_[P, P], mask=np.c_[HIDDEN, HIDDEN]), "be known in every row"),
        ("probabilities", P + 0j, "hold real numbers; got complex"),
        ("features", P * 1j, "hold real numbers; got complex"),
    ],
)
def test_what_a_mask_hides_or_is_complex_is_no_number(name, values, must):
    with pytest.raises(InputError, match=f"'{name}' must {must}"):
        Dataset(**{"probabilities": P, "labels": LABELS} | {name: values})


HALVES = np.full((4, 2), 0.5)
TABLE = pd.DataFrame({"age": [1.0, 2, 3, 4], "income": [5.0, 6, 7, 8]})


def test_names_of_features():
    data = Dataset(HALVES, LABELS, TABLE)
    assert data.feature_names == data.feature_labels == ("age", "income")
    assert data.features.tolist() == TABLE.to_numpy().tolist()
    assert data.rows([0, 2]).feature_names == ("age", "income")
    assert Dataset(HALVES, LABELS).feature_labels == ()
    data = Dataset(HALVES, LABELS, TABLE.to_numpy())
    assert data.feature_names is None
    assert data.feature_labels == ("f_0", "f_1")
    # Numbered names are no names, so that a CSV and an array of the same numbers are the same data.
    numbered = Dataset(HALVES, LABELS, TABLE.to_numpy(), feature_names=["f_0", "f_1"])
    assert numbered.digest == data.digest
    assert Dataset(HALVES, LABELS, TABLE).digest != data.digest
    assert dataclasses.replace(data, features=None).feature_labels == ()
    with pytest.raises(InputError, match="must hold 2 names; got 1"):
        Dataset(HALVES, LABELS, TABLE, feature_names=["age"])
    with pytest.raises(InputError, match="must differ; got 'a' twice"):
        Dataset(HALVES, LABELS, TABLE, feature_names=["a", "a"])
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression().fit(TABLE, LABELS)
    assert from_estimator(model, TABLE, LABELS).feature_names == ("age", "income")
    plain = LogisticRegression().fit(TABLE.to_numpy(), LABELS)
    assert from_estimator(plain, TABLE.to_numpy(), LABELS).feature_names is None


@pytest.mark.parametrize(
    ("names", "read"), [(["age", "income"], ("age", "income")), (["one"], None)]
)
def test_names_beside_an_array_and_back(tmp_path, names, read):
    features = TABLE.to_numpy()
    np.savez(
        tmp_path / "a.npz", probs=HALVES, labels=LABELS, features=features, feature_names=names
    )
    save_npz(load(tmp_path / "a.npz"), tmp_path / "b.npz")
    for name in ("a.npz", "b.npz"):
        data = load(tmp_path / name)
        assert data.feature_names == read
        np.testing.assert_array_equal(data.features, features)


def test_results_are_shown_by_their_shape():
    data = Dataset([[0.8, 0.2]] * 30, [0, 1] * 15, name="<b>")
    curve = lore.bandwidth_curve(data.confidence, data.outcome, np.arange(30.0)[:, None])
    assert repr(curve).startswith("BandwidthCurve(gamma=ndarray (30,), mlce=ndarray (30,)")
    assert "<th>probabilities</th><td>ndarray (30, 2)</td>" in data._repr_html_()
    assert "<b>" not in data._repr_html_()
    assert lore.PlattScaling()._repr_html_().startswith("<table><caption>PlattScaling()")
