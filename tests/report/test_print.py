"""Figures and the report for print: report.pdf, and ``lore figures``."""

import io
import re

import pytest
from pypdf import PdfReader

import lore_core as lore
from lore_core.cli import main


@pytest.fixture(scope="module")
def reader(files):
    return PdfReader(io.BytesIO(files["report.pdf"]))


def squeezed(text):
    return re.sub(r"\W", "", text)


def test_the_report_on_paper_says_what_the_page_says(reader, files, text_of):
    paper = squeezed("".join(page.extract_text() for page in reader.pages))
    page = re.sub(r"(?s)<(head|script|svg|nav|math)\b.*?</\1>", " ", text_of(files))
    sentences = re.findall(r"<(?:h[1-3]|p|li|td|figcaption)\b[^>]*>([^<&]{12,})", page)
    assert len(sentences) > 60
    assert [text for text in sentences if squeezed(text) not in paper] == []


def test_its_fonts_are_embedded_and_its_figures_are_there(reader, files):
    for page in reader.pages:
        fonts = page["/Resources"]["/Font"].values()
        assert all("/FontFile2" in font["/FontDescriptor"] for font in fonts)
    paper = "".join(page.extract_text() for page in reader.pages)
    assert "confidence − accuracy, points" in paper  # of the map's scale
    assert files["index.html"].count(b"<figcaption>") > 5
    assert paper.count("The figure above.") == 1  # the map is drawn once
    assert re.search(r"accuracy, %\s+ECE, points", reader.pages[0].extract_text())


def test_every_figure_goes_to_a_directory(make_dataset, tmp_path, capsys):
    path, out = tmp_path / "rows.npz", tmp_path / "out"
    lore.save_npz(make_dataset(), path)
    look = ["--gamma", "0.4", "--bins", "5", "--draws", "20", "--method", "LoRe"]
    look += ["--format", "pdf", "--format", "csv", "--width", "120"]
    assert main(["figures", str(path), *look, "-o", str(out)]) == 0
    written = {item.name for item in out.iterdir()}
    assert {"landscape.pdf", "bandwidth.csv", "overview.pdf", "bandwidths.pdf"} <= written
    of_pages = {"variable", "bandwidth_recommended", "landscape_height"}
    assert {f"{name}.{kind}" for name in of_pages for kind in ("pdf", "csv")} <= written
    width = PdfReader(out / "landscape.pdf").pages[0]["/MediaBox"][2]
    assert width == pytest.approx(120 / 25.4 * 72, abs=0.01)
    text = (out / "captions.md").read_text()
    for part in ("γ = 0.4 on PCA 2-D", "5 equal-width bins", "seed 0", "200 evaluation rows"):
        assert part in text
    command = re.search(r"```sh\nlore (.*)\n```", text)[1]
    assert "--gamma 0.4" in command
    tex = (out / "captions.tex").read_text()
    assert r"\includegraphics[width=120mm]{landscape.pdf}" in tex
    assert "Wrote" in capsys.readouterr().out
