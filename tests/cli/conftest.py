import json

import pytest
from click.testing import CliRunner

import lore_core as lore
from lore_core.cli import main


@pytest.fixture(scope="session")
def dataset():
    return lore.demo.synthetic(1600, n_features=4).dataset


@pytest.fixture(scope="session")
def file(dataset, tmp_path_factory):
    path = tmp_path_factory.mktemp("cli") / "planted.npz"
    lore.save_npz(dataset, path)
    return str(path)


@pytest.fixture(scope="session")
def points(dataset):
    return lore.embed(dataset.features, "pca", 2).coordinates[dataset.in_split("evaluation")]


@pytest.fixture(scope="session")
def known(dataset):
    """Confidences and outcomes of the evaluation rows."""
    return dataset.evaluation.confidence, dataset.evaluation.outcome


@pytest.fixture
def run(capsys):
    """Run `lore` and return its standard output; it must succeed and say nothing else."""

    def run(*arguments, error=""):
        code = main([str(item) for item in arguments])
        out, err = capsys.readouterr()
        assert (code, err) == (0, error)
        return out

    return run


@pytest.fixture
def run_json(run):
    return lambda *arguments: json.loads(run(*arguments, "--json"))


@pytest.fixture
def refuses(capsys):
    """Run `lore`, which must refuse with a sentence that has these words."""

    def refuses(words, *arguments):
        assert main([str(item) for item in arguments]) == 1
        assert words in capsys.readouterr().err

    return refuses


@pytest.fixture
def runner():
    return CliRunner()
