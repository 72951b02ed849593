from collections import Counter
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

import lore_core as lore
from lore_core.report import ReportSettings, Source, report_files
from lore_core.view import View

HOSTILE = [
    "</script><script>alert(1)</script>",
    "\"><img src=x onerror='alert(1)'>",
    "' onmouseover=alert(1) x='",
    "</title></style></textarea><b>",
    "<!-- <![CDATA[ &lt;i&gt; &amp; ]]>",
    "{{ 7 * 7 }}{% raw %}{# $",
]


def files_of(extra: str) -> dict[str, bytes]:
    rng, n = np.random.default_rng(0), 240
    x = rng.normal(size=(n, 3))
    p = rng.dirichlet([3.0, 1.0], n)
    labels = np.where(x[:, 0] > 0.3, 1, p.argmax(axis=1))  # one region to be found
    dataset = lore.Dataset(
        p,
        labels,
        x,
        feature_names=[f"feature {k}{extra}" for k in range(3)],
        groups=pd.DataFrame({f"column{extra}": rng.choice([f"a{extra}", f"b{extra}"], n)}),
        metadata=pd.DataFrame({f"note{extra}": rng.choice([f"c{extra}", f"d{extra}"], n)}),
        images=rng.integers(0, 255, (n, 4, 4), dtype=np.uint8),
        class_names=[f"yes{extra}", f"no{extra}"],
        name=f"data{extra}",
    ).with_split(0.4)
    maps = {"PCA 2-D": lore.embed(dataset.features, "pca", 2, random_state=0)}
    view = View(dataset, target=1, n_bins=2, maps=maps)
    settings = ReportSettings(methods=("No recalibration", "LoRe"), n_draws=5)
    source = Source((f"file{extra}.npz",), (f"--column={extra}",))
    return report_files(view, settings, source=source)


class Elements(HTMLParser):
    def __init__(self, page: bytes) -> None:
        super().__init__()
        self.count: Counter[tuple[str, ...]] = Counter()
        self.text: list[str] = []
        self.feed(page.decode())
        self.close()

    def handle_starttag(self, tag, attributes):
        self.count[tag, *(name for name, _ in attributes)] += 1
        self.text += [value for name, value in attributes if name in ("alt", "title", "aria-label")]

    def handle_data(self, data):
        self.text.append(data)

    def handle_comment(self, data):
        self.count["a comment"] += 1


@pytest.fixture(scope="module")
def plain():
    return files_of("")


# (Two at a time: of longer names the page shows the beginning.)
@pytest.mark.parametrize(
    "extra", ["".join(pair) for pair in zip(HOSTILE[::2], HOSTILE[1::2], strict=True)]
)
def test_no_name_adds_an_element(plain, extra):
    files = files_of(extra)
    page, without = Elements(files["index.html"]), Elements(plain["index.html"])
    assert page.count == without.count
    assert page.count["img", "src", "alt", "title"]  # of regions: named after classes
    text = " ".join(" ".join(page.text).split())
    for name in ("data", "column", "a", "yes", "no"):
        assert f"{name}{extra}" in text
    for path in files:
        if path.endswith(".svg"):
            assert [item.tag for item in ElementTree.fromstring(files[path]).iter()] == [
                item.tag for item in ElementTree.fromstring(plain[path]).iter()
            ]
