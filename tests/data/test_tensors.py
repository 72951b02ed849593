import numpy as np
import pytest

import lore_core as lore
from lore_core.kernel_sums import laplacian_means


class Tensor:
    """What torch says of its tensors: when ``numpy()`` refuses, and what helps."""

    def __init__(self, values, dtype="torch.float32", *, grad=False, device="cpu"):
        self._values, self.dtype = np.asarray(values), dtype
        self._grad, self._device = grad, device

    def detach(self):
        return Tensor(self._values, self.dtype, device=self._device)

    def cpu(self):
        return Tensor(self._values, self.dtype, grad=self._grad)

    def float(self):
        values = self._values.astype(np.float32)
        return Tensor(values, grad=self._grad, device=self._device)

    def numpy(self):
        if self._grad:
            raise RuntimeError("Can't call numpy() on Tensor that requires grad.")
        if self._device != "cpu":
            raise TypeError("can't convert cuda:0 device type tensor to numpy.")
        if self.dtype == "torch.bfloat16":
            raise TypeError("Got unsupported ScalarType BFloat16")
        return self._values

    def __array__(self, dtype=None, copy=None):
        return self.numpy()

    def __len__(self):
        return len(self._values)


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


@pytest.mark.parametrize("kind", ["float32", "bfloat16"])
def test_arrays_of_jax(kind):
    jnp = pytest.importorskip("jax.numpy")
    p, y, z = rows()
    given = lore.Dataset(jnp.asarray(p), jnp.asarray(y), features=jnp.asarray(z, dtype=kind))
    plain = lore.Dataset(p.astype(np.float32), y, features=z)
    np.testing.assert_array_equal(given.probabilities, plain.probabilities)
    np.testing.assert_array_equal(given.features, plain.features)


@pytest.mark.parametrize("kind", ["float32", "bfloat16"])
def test_tensors_of_torch(kind):
    torch = pytest.importorskip("torch")
    p, y, z = rows()
    features = torch.tensor(z, dtype=getattr(torch, kind), requires_grad=True)
    given = lore.Dataset(torch.tensor(p, requires_grad=True), torch.tensor(y), features=features)
    plain = lore.Dataset(p, y, features=z)
    np.testing.assert_array_equal(given.probabilities, plain.probabilities)
    np.testing.assert_array_equal(given.features, plain.features)
