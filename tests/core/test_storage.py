"""Files in folders and under URLs, here those of fsspec's memory."""

import pytest

from pairlight.core.errors import InputError
from pairlight.core.storage import delete_folder, exists, find_files, join, names_in, open_file, write_file


@pytest.fixture(params=["local", "memory"])
def folder(request, tmp_path):
    if request.param == "local":
        yield str(tmp_path / "a")
        return
    pytest.importorskip("fsspec")
    yield "memory://bucket/a"
    delete_folder("memory://bucket")


def write(path: str, content: bytes) -> None:
    with write_file(path) as file:
        file.write(content)


def test_a_written_file_is_read_and_listed(folder):
    write(join(folder, "b", "x"), b"one")
    assert exists(join(folder, "b", "x"))
    assert not exists(join(folder, "b", "y"))
    assert names_in(join(folder, "b")) == ["x"]
    assert names_in(join(folder, "c")) == []
    with open_file(join(folder, "b", "x")) as file:
        assert file.read() == b"one"
    delete_folder(join(folder, "b"))
    assert not exists(join(folder, "b", "x"))


def test_a_file_whose_writing_fails_does_not_appear(folder):
    def fails() -> None:
        with write_file(join(folder, "x")) as file:
            file.write(b"part")
            raise KeyError

    with pytest.raises(KeyError):
        fails()
    assert names_in(folder) == []


def test_files_are_found_in_a_folder_by_a_glob_and_by_name_without_hidden_ones(folder):
    for name in ("b.parquet", "a.parquet", "c.txt", "d/e.parquet", "_bad/f.parquet", "d/_g.parquet", ".h.parquet"):
        write(join(folder, *name.split("/")), b"")
    found = [path.split("/a/", 1)[-1].rsplit("/a/", 1)[-1] for path in find_files(folder, ".parquet")]
    assert found == ["a.parquet", "b.parquet", "d/e.parquet"]
    assert len(find_files(join(folder, "*.parquet"), ".parquet")) == 2
    assert len(find_files(join(folder, "a.parquet"), ".parquet")) == 1
    assert find_files(join(folder, "no*.parquet"), ".parquet") == []


def test_an_unknown_kind_of_storage_is_a_clear_error():
    with pytest.raises(InputError, match="nowhere://x cannot be opened"):
        exists("nowhere://x")


def test_an_error_of_a_service_is_a_clear_error(monkeypatch):
    memory = pytest.importorskip("fsspec.implementations.memory")

    class NoCredentialsError(Exception): ...

    def refuses(*_, **__):
        raise NoCredentialsError("Unable to locate credentials.")

    monkeypatch.setattr(memory.MemoryFileSystem, "isdir", refuses)
    with pytest.raises(InputError, match=r"memory://b/x cannot be used \(Unable to locate credentials\): check the"):
        find_files("memory://b/x", ".parquet")
