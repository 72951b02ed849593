import importlib.metadata
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from lore_core import cli
from lore_core.dashboard import access, server
from lore_core.dashboard.server import ServerSettings
from lore_core.data.validation import InputError
from lore_core.kernel_sums import compile_once
from lore_core.reading import load


@pytest.fixture
def served(monkeypatch, tmp_path):
    """What `lore app` would serve, instead of serving it."""
    calls = []
    monkeypatch.setattr(
        server,
        "serve",
        lambda settings, token, *, open_browser, notify: calls.append(
            (settings, token, open_browser)
        ),
    )
    monkeypatch.setattr(compile_once, "compile_kernels", lambda *args, **kwargs: False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv(access.TOKEN, raising=False)
    return calls


@pytest.fixture
def taken_port():
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        yield holder.getsockname()[1]


def test_version(capsys):
    assert cli.main(["--version"]) == 0
    assert capsys.readouterr().out == f"lore-lens {importlib.metadata.version('lore-lens')}\n"


def test_help_names_every_command(capsys):
    assert cli.main(["--help"]) == 0
    text = capsys.readouterr().out
    assert all(re.search(rf"^  {command} ", text, re.MULTILINE) for command in cli.COMMANDS)


def test_the_installed_command_is_this_one():
    (entry,) = importlib.metadata.entry_points(group="console_scripts", name="lore")
    assert entry.load() is cli.main


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--data", "missing.npz"], "must name a file or directory that exists; got 'missing.npz'"),
        (["--data", "notes.docx"], r"of a readable kind \(.npz, .csv,.*\); got 'notes.docx'"),
        (["--port", "0"], r"'port' must be a whole number in \[1, 65535\]; got 0"),
        (["--port", "70000"], r"'port' must be a whole number in \[1, 65535\]; got 70000"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_1(
    arguments, message, served, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes.docx").write_text("no data")
    assert cli.main(["app", *arguments]) == 1
    out, error = capsys.readouterr()
    assert not out
    assert error.startswith("lore: ")
    assert error.count("\n") == 1
    assert re.search(message, error)
    assert not served


@pytest.mark.parametrize("name", ["demo.csv", "no/such/folder/demo.npz"])
def test_demo_needs_a_place_to_write_to(name, tmp_path, capsys):
    assert cli.main(["demo", "--out", str(tmp_path / name)]) == 1
    assert "'--out' must be a .npz file in a directory that exists" in capsys.readouterr().err


@pytest.mark.slow
def test_demo_writes_what_app_opens(tmp_path, capsys):
    path = tmp_path / "demo.npz"
    assert cli.main(["demo", "--out", str(path)]) == 0
    dataset = load(path)
    assert f"Wrote {len(dataset):,} rows to {path}." in capsys.readouterr().out
    assert dataset.n_classes == 10
    assert dataset.images is not None


def test_no_traceback_in_a_terminal():
    result = subprocess.run(
        [sys.executable, "-m", "lore_core.cli", "app", "--data", "missing.npz"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 1
    assert "Traceback" not in result.stderr


def test_app_opens_the_demo_by_default(served):
    assert cli.main(["app"]) == 0
    ((settings, _, open_browser),) = served
    assert settings.data == []
    assert settings.port >= server.DEFAULT_PORT
    assert open_browser


def test_app_takes_several_files_and_no_browser(served, tmp_path):
    files = [tmp_path / "a_cal.npz", tmp_path / "a test.npz", tmp_path / "c.csv"]
    for file in files:
        file.touch()
    paths = [str(file) for file in files]
    cli.main(["app", "--data", *paths[:2], "--data", paths[2], "--no-browser"])
    ((settings, _, open_browser),) = served
    assert settings.data == files
    assert not open_browser


def test_a_taken_default_port_is_replaced_and_said(served, taken_port, monkeypatch, capsys):
    monkeypatch.setattr(server, "DEFAULT_PORT", taken_port)
    assert cli.main(["app"]) == 0
    port = served[0][0].port
    assert port > taken_port
    assert capsys.readouterr().out == f"Port {taken_port} is taken; using {port}.\n"


def test_a_taken_port_that_was_asked_for_is_refused(taken_port):
    with pytest.raises(InputError, match=f"port {taken_port} is taken"):
        server.choose_port(taken_port)


def test_streamlit_gets_files_after_the_dashes_and_serves_this_machine_only(tmp_path):
    data = [tmp_path / "a b.npz", tmp_path / "c.npz"]
    app = tmp_path / "app.py"
    script, arguments = ServerSettings(8600, data).command(app)
    assert script == str(tmp_path / "pages" / "shared" / "serve.py")
    ours, theirs = arguments[: arguments.index("--")], arguments[arguments.index("--") + 1 :]
    assert theirs == [
        *("--data-root", str(Path.cwd())),
        *("--data", str(data[0]), "--data", str(data[1])),
    ]
    assert ours[:2] == ["run", str(app)]
    assert {"--server.address=127.0.0.1", "--server.port=8600"} <= set(ours)
    assert "--browser.gatherUsageStats=false" in ours
    shown = ["https://lens.example.com:8443"]
    behind = ServerSettings(8600, origins=shown, path_prefix="a/b/").command(app)[1]
    assert {f"--server.corsAllowedOrigins={shown[0]}"} <= set(behind)
    assert "--server.allowedHosts=lens.example.com" in behind
    assert behind[-2:] == ["--path-prefix", "/a/b"]
    elsewhere = ServerSettings(8600, data_root=tmp_path).command(app)[1]
    assert elsewhere[-2:] == ["--data-root", str(tmp_path)]


def test_links_carry_the_same_token_at_the_next_start_unless_nothing_is_kept(served, capsys):
    for arguments in ([], [], ["--no-cache"], ["--no-cache"]):
        cli.main(["app", *arguments])
    first, second, third, fourth = (token for _, token, _ in served)
    assert first == second
    assert len({first, third, fourth}) == 3
    assert not capsys.readouterr().out


def test_where_no_token_can_be_kept_a_new_one_is_made_and_that_is_said(served, tmp_path, capsys):
    (tmp_path / "cache").write_text("no folder")
    assert cli.main(["app"]) == 0
    assert len(served[0][1]) >= 32
    assert "Links will not outlive this start: '" in capsys.readouterr().out


def test_behind_a_proxy_the_token_is_one_the_proxy_can_know(served, tmp_path, monkeypatch, capsys):
    behind = ["app", "--host-name", "lens.example.com"]
    assert cli.main(behind) == 0
    ((settings, token, _),) = served
    assert settings.origins == ["https://lens.example.com"]
    assert settings.cache is None
    path = tmp_path / "cache" / "lore-lens" / "kept" / access.TOKEN_FILE
    assert path.read_text() == token
    assert f"The proxy must send the token in {path}" in capsys.readouterr().out
    assert cli.main([*behind, "--no-cache"]) == 1
    assert "the proxy must know the token: set LORE_TOKEN" in capsys.readouterr().err
    monkeypatch.setenv(access.TOKEN, "a-token-of-the-proxy")
    assert cli.main([*behind, "--no-cache"]) == 0
    assert served[-1][1] == "a-token-of-the-proxy"


def test_the_dashboard_is_found():
    app = server.find_app()
    assert app.name == "app.py"
    assert (app.parent / ".streamlit" / "config.toml").is_file()


def test_kernels_are_compiled_once(monkeypatch, tmp_path):
    from lore_core import kernel_sums

    compiled, said = [], []
    monkeypatch.setattr(kernel_sums, "warmup", lambda: compiled.append(True))
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    assert compile_once.compile_kernels(said.append) is True
    assert said[0] == "Compiling the kernels once (about 30 s) …"
    assert compile_once.compile_kernels(said.append) is False
    assert len(compiled) == 1
    assert compile_once.compile_kernels(said.append, force=True) is True
    assert len(compiled) == 2
