import importlib.metadata
import re
import shutil
import socket
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
    calls = []

    def serve(settings, token, *, open_browser, notify):
        calls.append((settings, token, open_browser))

    monkeypatch.setattr(server, "serve", serve)
    monkeypatch.setattr(compile_once, "compile_kernels", lambda *args, **kwargs: False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv(access.TOKEN, raising=False)
    return calls


def test_version_and_help(capsys):
    assert cli.main(["--version"]) == 0
    assert capsys.readouterr().out == f"lore-lens {importlib.metadata.version('lore-lens')}\n"
    assert cli.main(["--help"]) == 0
    text = capsys.readouterr().out
    assert all(re.search(rf"^  {command} ", text, re.MULTILINE) for command in cli.COMMANDS)


def test_the_installed_command_is_this_one_and_finds_the_dashboard():
    (entry,) = importlib.metadata.entry_points(group="console_scripts", name="lore")
    assert entry.load() is cli.main
    app = server.find_app()
    assert app.name == "app.py"
    assert (app.parent / ".streamlit" / "config.toml").is_file()


@pytest.mark.slow
def test_demo_writes_what_app_opens(tmp_path, capsys):
    for name in ("demo.csv", "no/such/folder/demo.npz"):
        assert cli.main(["demo", "--out", str(tmp_path / name)]) == 1
        said = capsys.readouterr().err
        assert "'--out' must be a .npz file in a directory that exists" in said
    path = tmp_path / "demo.npz"
    assert cli.main(["demo", "--out", str(path)]) == 0
    dataset = load(path)
    assert f"Wrote {len(dataset):,} rows to {path}." in capsys.readouterr().out
    assert dataset.n_classes == 10
    assert dataset.images is not None


def test_app_opens_the_demo_by_default_or_several_files(served, tmp_path):
    assert cli.main(["app"]) == 0
    files = [tmp_path / "a_cal.npz", tmp_path / "a test.npz", tmp_path / "c.csv"]
    for file in files:
        file.touch()
    paths = [str(file) for file in files]
    cli.main(["app", "--data", *paths[:2], "--data", paths[2], "--no-browser"])
    assert [settings.data for settings, *_ in served] == [[], files]
    assert [opens for *_, opens in served] == [True, False]
    assert served[0][0].port >= server.DEFAULT_PORT


def test_a_taken_port_is_replaced_and_that_is_said_or_refused(served, monkeypatch, capsys):
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        taken = holder.getsockname()[1]
        monkeypatch.setattr(server, "DEFAULT_PORT", taken)
        assert cli.main(["app"]) == 0
        with pytest.raises(InputError, match=f"port {taken} is taken"):
            server.choose_port(taken)
    port = served[0][0].port
    assert port > taken
    assert capsys.readouterr().out == f"Port {taken} is taken; using {port}.\n"


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


def test_links_carry_the_same_token_at_the_next_start_if_it_can_be_kept(served, tmp_path, capsys):
    port = str(server.choose_port())  # the usual one may be taken, which is then printed
    for arguments in ([], [], ["--no-cache"], ["--no-cache"]):
        cli.main(["app", "--port", port, *arguments])
    first, second, third, fourth = (token for _, token, _ in served)
    assert first == second
    assert len({first, third, fourth}) == 3
    assert not capsys.readouterr().out
    shutil.rmtree(tmp_path / "cache")
    (tmp_path / "cache").write_text("no folder")
    assert cli.main(["app"]) == 0
    assert len(served[-1][1]) >= 32
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
