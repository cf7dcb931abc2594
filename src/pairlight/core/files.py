"""Atomic writes, checksums and file locks."""

import hashlib
import json
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

_TEMPORARY = ".pairlight_tmp"  # the end of the names of temporary files; no hyphen, as names of vector files have


@contextmanager
def atomic_write(path: Path) -> Iterator[IO[bytes]]:
    """Open a temporary file next to `path` for writing bytes, and rename it to `path` if the block succeeds.

    A pipe or a device is written to directly. A symbolic link is kept: the file it points to is replaced. A file that
    exists keeps its permissions. Temporary files of processes that were killed are removed.
    """
    if path.exists() and not path.is_dir() and (not path.is_file() or path.parts[:2] == ("/", "dev")):
        with path.open("wb") as file:
            yield file
        return
    path = Path(os.path.realpath(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    remove_leftovers(path.parent)
    handle, name = _temporary_file(path)
    try:
        with os.fdopen(handle, "wb") as file:
            if path.is_file():  # before anything is written, so that nobody can read it who could not before
                os.fchmod(file.fileno(), stat.S_IMODE(path.stat().st_mode))
            yield file
            file.flush()
            os.fsync(file.fileno())
            os.replace(name, path)  # while the file is locked, so that nobody takes it for a leftover
    except BaseException:
        name.unlink(missing_ok=True)
        raise


def remove_leftovers(folder: Path) -> None:
    """Remove temporary files that no process holds a lock on: those of processes that were killed."""
    with suppress(OSError):  # a folder that cannot be listed
        for path in [path for path in folder.iterdir() if is_leftover(path.name)]:
            with suppress(OSError):  # another process was faster, or the folder is read-only
                handle = os.open(path, os.O_RDONLY)
                try:
                    if lock(handle):
                        path.unlink()
                finally:
                    os.close(handle)


def is_leftover(name: str) -> bool:
    """Whether a name is that of a temporary file of `atomic_write`."""
    return name.startswith(".") and name.endswith(_TEMPORARY)


def lock(handle: int) -> bool | None:
    """Lock an open file until it is closed or this process ends, whichever way.

    Returns False if another process holds the lock, and None where the system has no locks.
    """
    if fcntl is None:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return None
    return True


def _temporary_file(path: Path) -> tuple[int, Path]:
    while True:
        # A name has at most 255 bytes, and a character at most four.
        name = path.with_name(f".{path.name[:40]}.{secrets.token_hex(4)}{_TEMPORARY}")
        handle = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)  # the umask applies, as to any new file
        if lock(handle) is not False and os.fstat(handle).st_nlink:
            return handle, name
        os.close(handle)  # another process took it for a leftover before it was locked


def sync_folder(folder: Path) -> None:
    """Make the names of the files in a folder durable: new, renamed and deleted ones."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_text(path: Path, text: str) -> None:
    """Write `text` as UTF-8, atomically; what is not Unicode, such as a byte of a file's name, becomes `?`."""
    with atomic_write(path) as file:
        file.write(text.encode("utf-8", "replace"))


def write_json(path: Path, value: Any) -> None:
    """Write `value` as indented JSON, atomically."""
    write_text(path, json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def list_files(folder: Path) -> list[Path]:
    """List the files in a folder and its subfolders, sorted by path, without hidden files and folders."""
    files = [file for file in sorted(folder.rglob("*")) if file.is_file()]
    return [file for file in files if not any(part.startswith(".") for part in file.relative_to(folder).parts)]


def sha256_of(path: Path) -> str | None:
    """Return the SHA-256 of a file, or of the names and contents of a folder's files.

    Returns None for anything else, such as a pipe, which could be read only once.
    """
    if not path.is_file() and not path.is_dir():
        return None
    digest = hashlib.sha256()
    for file in list_files(path) if path.is_dir() else [path]:
        if path.is_dir():
            digest.update(f"{file.relative_to(path).as_posix()}\0".encode())
        with file.open("rb") as content:
            while block := content.read(1 << 20):
                digest.update(block)
    return digest.hexdigest()
