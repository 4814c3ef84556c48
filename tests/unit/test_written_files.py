"""Files are written completely or not at all, and replace what stood there as a user expects."""

import os
import signal
import stat
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from bochner import cli
from bochner._terminal.files import write_whole, written_whole
from bochner.cli import EXIT_TERMINATED


def test_threads_that_write_one_file_never_leave_half_of_one(tmp_path):
    path, errors, half = tmp_path / "text", [], []
    texts = [letter * 20_000 for letter in "abcd"]
    write_whole(path, texts[0])

    def write(text):
        try:
            for _ in range(50):
                write_whole(path, text)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=write, args=(text,)) for text in texts]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        half += [found for found in [path.read_text()] if found not in texts]
    assert (errors, half) == ([], [])
    assert [file.name for file in tmp_path.iterdir()] == ["text"]


def test_links_are_followed(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "file.csv").write_text("old")
    (tmp_path / "link").symlink_to("folder/file.csv")
    (tmp_path / "dangling").symlink_to("folder/new.csv")
    write_whole(tmp_path / "link", "new")
    write_whole(tmp_path / "dangling", "made")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "dangling").is_symlink()
    assert (tmp_path / "folder" / "file.csv").read_text() == "new"
    assert (tmp_path / "folder" / "new.csv").read_text() == "made"


def test_pipes_and_devices_are_written_to(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    found = []
    reader = threading.Thread(target=lambda: found.append((tmp_path / "pipe").read_text()))
    reader.start()
    write_whole(tmp_path / "pipe", "through")
    reader.join()
    assert found == ["through"]
    assert stat.S_ISFIFO(os.stat(tmp_path / "pipe").st_mode)
    with written_whole(os.devnull) as path:
        assert str(path) == os.devnull
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o664])
def test_a_file_keeps_its_mode(tmp_path, mode):
    (tmp_path / "old").write_text("old")
    (tmp_path / "old").chmod(mode)
    write_whole(tmp_path / "old", "new")
    assert stat.S_IMODE((tmp_path / "old").stat().st_mode) == mode


def test_a_new_file_has_the_mode_of_the_umask(tmp_path):
    before = os.umask(0o027)
    try:
        write_whole(tmp_path / "new", "text")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o640


def test_errors_name_the_file_that_was_asked_for(tmp_path):
    with pytest.raises(FileNotFoundError) as caught:
        write_whole(tmp_path / "no folder" / "file", "text")
    assert caught.value.filename == str(tmp_path / "no folder" / "file")
    (tmp_path / "folder").mkdir()
    with pytest.raises(IsADirectoryError) as caught:
        write_whole(tmp_path / "folder", "text")
    assert caught.value.filename == str(tmp_path / "folder")
    assert [file.name for file in tmp_path.iterdir()] == ["folder"]


WRITING = """
import sys, time
from pathlib import Path
from bochner import cli
from bochner._terminal.files import written_whole

def written_slowly(options):
    with written_whole(options.out) as beside:
        beside.write_text("half")
        print("writing", flush=True)
        time.sleep(60)

cli._predict = written_slowly
sys.exit(cli.main(["predict", "model.skops", "table.csv", "--out", sys.argv[1]]))
"""


@pytest.mark.long
def test_a_terminated_command_removes_its_temporary_file(tmp_path):
    command = [sys.executable, "-c", WRITING, str(tmp_path / "out.csv")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "writing\n"
        assert len(list(tmp_path.iterdir())) == 1
        process.terminate()
        assert process.wait(30) == EXIT_TERMINATED
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.name != "posix", reason="needs SIGTERM")
def test_the_signal_that_ends_a_command_removes_its_temporary_file(tmp_path, monkeypatch):
    """As above, in this process, which ignores the signal before and after."""
    if threading.current_thread() is not threading.main_thread():
        pytest.skip("only the main thread handles signals")

    def ended_while_writing(options):
        with written_whole(options.out) as beside:
            beside.write_text("half")
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(5)

    monkeypatch.setattr(cli, "_predict", ended_while_writing)
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        with pytest.raises(SystemExit) as end:
            cli.main(["predict", "model.skops", "table.csv", "--out", str(tmp_path / "out.csv")])
        assert signal.getsignal(signal.SIGTERM) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGTERM, before)
    assert end.value.code == EXIT_TERMINATED
    assert list(tmp_path.iterdir()) == []


@pytest.mark.long
def test_two_hundred_models_saved_by_four_threads(tmp_path):
    """As for texts, with models: every load sees a whole one."""
    pytest.importorskip("skops.io")
    from bochner import SpectralFeatures, load, save

    X = np.linspace(0, 1, 20)[:, None]
    models = [SpectralFeatures(n_components=3 + k, random_state=k).fit(X) for k in range(4)]
    path, errors = tmp_path / "model.skops", []
    save(models[0], path)

    def save_often(model):
        try:
            for _ in range(50):
                save(model, path)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=save_often, args=(model,)) for model in models]
    for thread in threads:
        thread.start()
    n_loads = 0
    while any(thread.is_alive() for thread in threads):
        assert load(path).n_components in range(3, 7)
        n_loads += 1
        time.sleep(0)
    assert errors == []
    assert n_loads > 0
    assert [file.name for file in tmp_path.iterdir()] == ["model.skops"]
