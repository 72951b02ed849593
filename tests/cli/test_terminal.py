import json
import os
import re
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from lore_core.cli import COMMANDS, lore as command, main, output, source, subgroups
from lore_core.view import where

LORE = [sys.executable, "-m", "lore_core.cli"]


def lore_process(*arguments, **options):
    return subprocess.run(
        [*LORE, *arguments], capture_output=True, text=True, check=False, **options
    )


class TestExitCodes:
    def test_in_a_process(self, tmp_path, capsys):
        result = lore_process("metrics", str(tmp_path / "missing.npz"))
        assert result.returncode == 1
        assert not result.stdout
        assert re.fullmatch(r"lore: .*missing\.npz.*\n", result.stderr)
        if (full_device := Path("/dev/full")).exists():
            with full_device.open("w") as full:
                command = [*LORE, "metrics", "--help"]
                result = subprocess.run(command, stdout=full, stderr=-1, text=True, check=False)
            assert result.returncode == 1
            assert result.stderr.startswith("lore: nothing more can be written: No space left")
            assert len(result.stderr.splitlines()) == 1
        # A name longer than 255 bytes, or a path longer than 4,096.
        for typed in (["metrics", "a" * 5000], ["app", "b" * 400], ["landscape", "demo/" * 999]):
            assert main(typed) == 1
            out, error = capsys.readouterr()
            assert not out
            assert re.fullmatch(r"lore: '.{80}…' cannot be used: File name too long\.\n", error)
        for typed in (
            ["metrics", "~no-such-user/x"],
            ["metrics", "demo", "-o", "~no-such-user/x.csv"],
        ):
            assert main(typed) == 1
            error = capsys.readouterr().err
            assert re.fullmatch(
                r"lore: '~no-such-user/x(\.csv)?' cannot be used: no home .*\.\n", error
            )

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ("metrics --map lda", "'--map' must be one of pca, tsne, umap, identity, or one"),
            ("metrics --map pca-x", "'--map' must be one of"),
            ("metrics --target Shirt", "'--target' must be one of top-label, negative, posit"),
            ("metrics --column label", "'--column' must be ROLE=NAME"),
            ("metrics --column lable=y", "'--column' has no role 'lable'"),
            ("metrics -o table.txt", r"'--out' must be a \.csv, \.parquet or \.json file"),
            ("metrics -o no/folder/table.csv", "'--out' must be .* in a directory that exists"),
            ("metrics --draws 5", "'--draws' must be 0 or at least 39"),
            ("metrics --cells 1000", r"'--cells' are for \.parquet files"),
            ("landscape --map none", "'--map' must name a feature map"),
            ("landscape --bin median", "'--bin' must be all, worst, best or a confidence"),
            ("landscape --bin 1.5", "'--bin' must be all, worst, best or a confidence"),
            ("landscape --bin 0.05", r"'--bin' must name a confidence bin with rows.* has none"),
            ("curve --map none", "'--map' must name a feature map"),
            ("variables --variable age", "'--variable' must be one of "),
            ("fairness --group race", r"'--group' must be one of region; got 'race'"),
            ("decisions --unsure-cost 3 --wrong-cost 2", "'--unsure-cost' must not exceed"),
            ("check", "a limit must be given"),
            ("watch --sums s", "'--sums' is not needed"),
            ("compare --against x.npz", r"x\.npz"),
            ("compare --against demo", "only one has "),
            ("check --no-worse-by 3", "'--against' and '--no-worse-by' must be given together"),
            ("app --no-cache missing.npz", "that exists, of a readable kind .*; got 'missing.npz'"),
            ("app --no-cache a.docx", r"of a readable kind \(\.npz, .csv,.*\); got 'a\.docx'"),
            ("app --no-cache --port 0", r"'port' must be a whole number in \[1, 65535\]; got 0"),
            ("app --no-cache --port 70000", r"in \[1, 65535\]; got 70000"),
        ],
    )
    def test_what_the_user_can_fix_is_1_and_one_sentence(self, file, capsys, arguments, message):
        name, *options = arguments.split()
        assert main([name, file, *options]) == 1
        out, error = capsys.readouterr()
        assert not out
        assert error.startswith("lore: ")
        assert error.count("\n") == 1
        assert re.search(message, error)

    @pytest.mark.parametrize(
        "arguments",
        [
            ["nothing"],
            ["metrics"],
            ["metrics", "demo", "--gamma", "0"],
            ["metrics", "demo", "--binning", "equal"],
            ["subgroups", "demo", "--against", "nothing"],
            ["metrics", "demo", "--nonsense"],
        ],
    )
    def test_a_command_line_that_cannot_be_read_is_2(self, capsys, arguments):
        assert main(arguments) == 2
        out, error = capsys.readouterr()
        assert not out
        assert error.startswith("Usage: lore ")

    def test_ctrl_c_is_130(self, monkeypatch, capsys):
        def interrupted(*_, **__):
            raise KeyboardInterrupt

        monkeypatch.setattr(source, "open_source", interrupted)
        assert main(["metrics", "demo"]) == 130
        assert "Traceback" not in capsys.readouterr().err

    @pytest.mark.parametrize("fault", [ZeroDivisionError, EOFError])
    def test_a_fault_of_ours_is_not_hidden(self, monkeypatch, file, fault):
        def described(*_):
            raise fault

        monkeypatch.setattr(subgroups, "described", described)
        with pytest.raises(fault):
            main(["subgroups", file])

    def test_a_warning_is_one_line(self, monkeypatch, file, run):
        original = subgroups.described

        def described(*arguments):
            warnings.warn("Files were damaged.", RuntimeWarning, stacklevel=2)
            return original(*arguments)

        monkeypatch.setattr(subgroups, "described", described)
        with warnings.catch_warnings():
            warnings.simplefilter("default")
            run("subgroups", file, error="lore: Files were damaged.\n")


class TestHelp:
    @pytest.mark.parametrize("name", COMMANDS)
    def test_has_an_example_and_a_line_for_each_option(self, runner, name):
        result = runner.invoke(command, [name, "--help"])
        assert result.exit_code == 0
        assert f"Examples:\n    lore {name}" in result.output
        known = command.get_command(None, name)
        for option in known.params:
            if getattr(option, "help", None) is not None:
                assert option.opts[0] in result.output
            else:
                assert option.param_type_name == "argument", option.name

    def test_starts_without_the_library(self):
        script = (
            "import sys; from lore_core.cli import COMMANDS, main\n"
            "assert main(['--help']) == 0\n"
            "assert all(main([name, '--help']) == 0 for name in COMMANDS)\n"
            "heavy = {'numpy', 'pandas', 'numba', 'scipy', 'sklearn', 'plotly', 'streamlit'}\n"
            "print('LOADED', sorted(heavy & set(sys.modules)))"
        )
        result = subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, check=True
        )
        assert result.stdout.endswith("LOADED []\n")


class TestCompletion:
    def test_of_a_command(self, runner):
        env = {
            "_LORE_COMPLETE": "bash_complete",
            "COMP_WORDS": "lore metrics --binn",
            "COMP_CWORD": "2",
        }
        result = runner.invoke(command, prog_name="lore", env=env)
        assert result.output == "plain,--binning\n"


class TestProgress:
    @pytest.mark.skipif(os.name != "posix", reason="a POSIX terminal")
    def test_only_on_a_terminal(self, file):
        import pty

        ours, theirs = pty.openpty()
        arguments = [*LORE, "metrics", file, "--draws", "40", "--top", "0"]
        result = subprocess.run(
            arguments, stdout=subprocess.PIPE, stderr=theirs, text=True, check=True
        )
        os.close(theirs)
        shown = os.read(ours, 65536).decode()
        os.close(ours)
        assert re.search(r"\r *\d+%  simulation 40 of 40", shown)
        assert shown.endswith("\r")  # what was shown is wiped
        assert result.stdout.startswith("Overconfident by ")

    def test_says_how_long_the_rest_takes(self, monkeypatch, capsys):
        seconds = iter([0.0, 4.0, 10.0])
        monkeypatch.setattr(output.time, "monotonic", lambda: next(seconds))
        monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
        report = output.Progress()
        for share in (0.2, 0.21, 0.6):
            report(share, "fitting")
        shown = capsys.readouterr().err.split("\r")
        assert [line.rstrip() for line in shown[1:]] == [
            " 20%  fitting",
            " 21%  fitting (about 5 min left)",
            " 60%  fitting (about 10 s left)",
        ]


class TestFiles:
    @pytest.mark.parametrize("suffix", [".csv", ".parquet", ".json"])
    def test_numbers_survive(self, tmp_path, suffix):
        path = tmp_path / f"table{suffix}"
        table = pd.DataFrame({"name": ["γ", "b"], "value": [0.1 + 0.2, np.nan]})
        output.write_numbers(path, table, table.to_dict("records"))
        if suffix == ".json":
            content = json.loads(path.read_text())
            assert content == [{"name": "γ", "value": 0.1 + 0.2}, {"name": "b", "value": None}]
        else:
            read = pd.read_csv if suffix == ".csv" else pd.read_parquet
            pd.testing.assert_frame_equal(read(path), table, check_exact=True)

    def test_json_has_no_nan(self):
        content = {"a": np.array([1.0, np.nan]), "b": (np.int64(3), np.bool_(True)), 4: np.inf}
        assert json.loads(output.as_json(content)) == {"a": [1, None], "b": [3, True], "4": None}


def test_jobs_limit_the_threads_until_the_command_ends(file, monkeypatch, capsys):
    from lore_core.kernel_sums.schedule import thread_count

    before, seen = thread_count(None), []
    search = where.subgroups_of

    def watched(*arguments, **options):
        seen.append(thread_count(None))
        return search(*arguments, **options)

    monkeypatch.setattr(where, "subgroups_of", watched)
    assert main(["subgroups", file, "--jobs", "1"]) == 0
    assert seen == [1]
    assert thread_count(None) == before


def test_a_check_fails_with_its_own_code(file, capsys):
    assert main(["check", file, "--max-ece", "90", "--max-subgroup", "1"]) == 3
    said = capsys.readouterr().out
    assert re.search(r"worst subgroup, points +1.0 .* exceeded  .+\n", said)
    assert "1 of 2 limits exceeded" in said
    assert main(["check", file, "--max-ece", "90"]) == 0
