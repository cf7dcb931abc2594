"""Files in local folders or under URLs such as s3://bucket/folder, which the package fsspec reads and writes."""

import glob
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO, Any

from pairlight.core.errors import InputError
from pairlight.core.files import atomic_write

_HIDDEN = re.compile(r"(^|/)[_.]")


def is_url(path: str) -> bool:
    return "://" in path


def is_folder(source: str) -> bool:
    """Whether a source is a folder, a glob or a URL, and not a single local file."""
    return is_url(source) or "*" in source or os.path.isdir(source)


def join(folder: str, *names: str) -> str:
    return "/".join([folder.rstrip("/"), *names])


def find_files(source: str, extension: str) -> list[str]:
    """The file, the files with this extension in a folder and its subfolders, or those that match a glob, sorted.

    Names that start with an underscore or a dot are left out, as Spark and Hive do.
    """
    if is_url(source):
        system, path = _system(source)
        is_folder, search, full = system.isdir(path), system.glob, system.unstrip_protocol
    else:
        path, full = source, str
        is_folder, search = os.path.isdir(path), partial(glob.glob, recursive=True)
        if not is_folder and os.path.exists(path):
            return [path]
    pattern = join(glob.escape(path), "**", f"*{extension}") if is_folder else path
    base = os.path.dirname(pattern.partition("*")[0])
    shown = [each for each in search(pattern) if not _HIDDEN.search(each[len(base) :])]
    return sorted(full(each) for each in shown)


def open_file(path: str) -> IO[bytes]:
    """Open a file for reading."""
    if not is_url(path):
        return open(path, "rb")
    system, inner = _system(path)
    opened: IO[bytes] = system.open(inner, "rb")
    return opened


def file_version(path: str) -> str:
    """A text that changes with the file: its size and time, or what the storage of a URL has instead."""
    if not is_url(path):
        found = os.stat(path)
        return f"{found.st_size} {found.st_mtime_ns}"
    system, inner = _system(path)
    return str(system.ukey(inner))


@contextmanager
def write_file(path: str) -> Iterator[IO[bytes]]:
    """Open a file for writing; it appears completely, or not at all if the block fails."""
    if not is_url(path):
        with atomic_write(Path(path)) as file:
            yield file
        return
    # A store of objects shows an object when its upload is complete, and an upload that failed is no object.
    with tempfile.TemporaryDirectory() as folder:
        local = os.path.join(folder, "file")
        with open(local, "wb") as file:
            yield file
        system, inner = _system(path)
        system.makedirs(os.path.dirname(inner), exist_ok=True)
        system.put_file(local, inner)


@contextmanager
def local_copy(path: str) -> Iterator[str]:
    """The path of a local file with the same content: the file itself, or a copy for the duration of the block."""
    if not is_url(path):
        yield path
        return
    system, inner = _system(path)
    with tempfile.TemporaryDirectory() as folder:
        local = os.path.join(folder, "file")
        system.get_file(inner, local)
        yield local


def exists(path: str) -> bool:
    if not is_url(path):
        return os.path.exists(path)
    system, inner = _system(path)
    return bool(system.exists(inner))


def names_in(folder: str) -> list[str]:
    """The names of the files in a folder; none if there is no such folder."""
    if not is_url(folder):
        return sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    system, inner = _system(folder)
    system.invalidate_cache()  # other processes write there
    return sorted(os.path.basename(each) for each in system.ls(inner, detail=False)) if system.exists(inner) else []


def delete_file(path: str) -> None:
    """Delete a file, if there is one."""
    if not is_url(path):
        Path(path).unlink(missing_ok=True)
    elif exists(path):
        system, inner = _system(path)
        system.rm_file(inner)


def delete_folder(folder: str) -> None:
    """Delete a folder, if there is one."""
    if not is_url(folder):
        shutil.rmtree(folder, ignore_errors=True)
        return
    system, inner = _system(folder)
    if system.exists(inner):
        system.rm(inner, recursive=True)


def _system(url: str) -> tuple[Any, str]:
    try:
        from fsspec.core import url_to_fs

        system, path = url_to_fs(url)
    except (ImportError, ValueError) as error:
        raise InputError(f"{url} cannot be opened ({error}): install the package for this kind of storage.") from None
    return _Storage(system, url), str(path)


class _Storage:
    """A file system of fsspec, with one line where a service has errors of its own, such as missing credentials."""

    def __init__(self, system: Any, url: str) -> None:
        self._fsspec, self._url = system, url

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._fsspec, name)

        def call(*arguments: Any, **options: Any) -> Any:
            try:
                return method(*arguments, **options)
            except (OSError, MemoryError):
                raise
            except Exception as error:
                reason, fix = str(error).rstrip("."), "check the address and the credentials"
                raise InputError(f"{self._url} cannot be used ({reason}): {fix}.") from error

        return call
