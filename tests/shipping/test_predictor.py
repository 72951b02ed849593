import json
import subprocess
import sys
import textwrap

import numpy as np
import pytest

from lore_core import InputError, LoRe, Predictor, SmoothLoRe, embed
from lore_core.kernel_sums import compute, laplacian_means, warmup

HEAVY = ["sklearn", "scipy", "pandas", "pyarrow", "streamlit", "plotly", "threadpoolctl", "joblib"]
SCRIPT = """
    import json, sys

    sys.modules |= dict.fromkeys({blocked!r})  # no import finds them
    import numpy as np
    from lore_core.shipping import Predictor

    data = np.load({data!r})
    found = [
        Predictor.load(path).predict(data["given"], data["features"])
        for path in {paths!r}
    ]
    np.save({out!r}, np.stack(found))
    print(json.dumps(sorted(name for name, module in sys.modules.items() if module)))
"""


@pytest.fixture(scope="module")
def fitted(calibration):
    two = embed(calibration.features, "pca", 2)
    return [
        LoRe(0.01).fit(calibration, embed(calibration.features, "identity")),
        SmoothLoRe(gammas=[0.2, 0.8]).fit(calibration, two),
    ]


@pytest.mark.parametrize("without", [[], ["numba", "llvmlite"]])
def test_a_process_with_numpy_alone(fitted, new, tmp_path, without):
    paths = [str(tmp_path / f"{k}.lore") for k in range(len(fitted))]
    expected = []
    for method, path in zip(fitted, paths, strict=True):
        method.save(path)
        expected.append(Predictor.load(path).predict(new.probabilities, new.features))
    np.savez(tmp_path / "data.npz", given=new.probabilities, features=new.features)
    out = tmp_path / "found.npy"
    code = textwrap.dedent(SCRIPT).format(
        blocked=HEAVY + without, data=str(tmp_path / "data.npz"), paths=paths, out=str(out)
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    imported = set(json.loads(done.stdout))
    assert not imported & {*HEAVY, "numba"}  # so few rows are not worth it
    np.testing.assert_allclose(np.load(out), np.stack(expected), rtol=0, atol=1e-12)


@pytest.mark.parametrize("d", [1, 2, 3, 10])
@pytest.mark.parametrize("options", [{}, {"exclude_self": True}, {"sources": True}])
def test_sums_without_numba(d, options, monkeypatch):
    random = np.random.default_rng(d)
    points, values = random.normal(size=(300, d)), random.normal(size=(300, 2))
    groups = random.integers(-1, 4, 300)
    arguments = {"target_groups": groups, "exclude_self": "exclude_self" in options}
    sources = None
    if "sources" in options:
        sources = points[::-1] * 1.5
        arguments["source_groups"] = groups
    # The smallest bandwidth underflows everywhere, the others nowhere.
    arguments["bandwidth"] = [1e-6, 0.05, 1.0, 40.0]
    warmup([d])
    fast = laplacian_means(points, sources, values, tolerance=0, **arguments)
    monkeypatch.setattr(compute, "HAS_NUMBA", False)
    plain = laplacian_means(points, sources, values, **arguments)
    for name in ("mean", "mass", "effective_size"):
        np.testing.assert_allclose(
            getattr(plain, name), getattr(fast, name), rtol=1e-11, atol=1e-12, err_msg=name
        )


def test_misuse(fitted, new):
    lore, smooth = (Predictor.load(method.to_bytes()) for method in fitted)
    given, features = new.probabilities, new.features
    cases = [
        (lambda: lore.predict(given), "'features' must be given: LoRe compares each row"),
        (lambda: lore.predict(given, features[:, :4]), "must have the 5 features .* got 4"),
        (lambda: lore.predict(given, features[:9]), "as many rows as 'probabilities'; got 9"),
        (lambda: lore.predict(given[:, :2] * 0 + 0.5, features), r"the 3 classes .* got 2 columns"),
        (lambda: lore.predict(given, features * np.nan), "'features' must be finite; got .* row 0"),
        (lambda: lore.predict(given * 2, features), r"must lie in \[0, 1\]"),
        (lambda: lore.predict(given, coordinates=features[:, :2]), r"must be .n, 5."),
        (lambda: smooth.predict(given, features, coordinates=features), r"must be .n, ."),
        (lambda: lore.predict(given, features, predictions=[3] * len(given)), "indices 0 to 2"),
    ]
    for act, message in cases:
        with pytest.raises(InputError, match=message):
            act()
    assert lore.needs_features
    assert lore.class_names == ("ash", "birch", "cedar")
