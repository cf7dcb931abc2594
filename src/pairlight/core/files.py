"""Atomic writes, checksums, and the check of an output folder."""

import hashlib
import json
import os
import secrets
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from pairlight.core.errors import InputError


@contextmanager
def atomic_write(path: Path) -> Iterator[IO[bytes]]:
    """Open a temporary file next to `path` for writing bytes, and rename it to `path` if the block succeeds.

    A pipe or a device is written to directly. A symbolic link is kept: the file it points to is replaced. A file that
    exists keeps its permissions.
    """
    if path.exists() and not path.is_dir() and (not path.is_file() or path.parts[:2] == ("/", "dev")):
        with path.open("wb") as file:
            yield file
        return
    path = Path(os.path.realpath(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    name = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    handle = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)  # the umask applies, as to any new file
    try:
        with os.fdopen(handle, "wb") as file:
            if path.is_file():  # before anything is written, so that nobody can read it who could not before
                os.fchmod(file.fileno(), stat.S_IMODE(path.stat().st_mode))
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, path)
    except BaseException:
        name.unlink(missing_ok=True)
        raise


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


def claim_folder(out: Path, *, overwrite: bool, is_ours: Callable[[Path], bool], what: str) -> None:
    """Raise InputError unless results may be written to the folder `out`; nothing is created or deleted.

    A folder that does not exist or is empty may be used. A folder with contents may be used only if `overwrite` is
    set and `is_ours(out)` says that the contents are an earlier result. `what` names that result in the message, with
    its article: "a dataset".
    """
    if out.exists() and not out.is_dir():
        raise InputError(f"{out} is a file: choose a folder.", option="out")
    if not out.is_dir() or not any(out.iterdir()):
        return
    if not overwrite:
        raise InputError(f"{out} is not empty: choose another folder, or overwrite it.", option="overwrite")
    if not is_ours(out):
        raise InputError(
            f"{out} contains something other than {what}, so it is not overwritten: choose another folder.",
            option="out",
        )
