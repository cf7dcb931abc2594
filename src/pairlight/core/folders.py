"""Output folders: which may be written to, one process at a time, and what a killed run has left in them."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pairlight.core.errors import InputError
from pairlight.core.files import is_leftover, lock, remove_leftovers

LOCK = ".pairlight-lock"  # in a folder that is being written to, or whose writer was killed
_NEW, _OVERWRITES = "new", "overwrites"  # whether the folder had a complete result before


def claim_folder(out: Path, *, overwrite: bool, is_ours: Callable[[Path], bool], what: str) -> None:
    """Raise InputError unless results may be written to the folder `out`; nothing is created or deleted.

    A folder that does not exist or is empty may be used. A folder with contents may be used only if `overwrite` is
    set and `is_ours(out)` says that the contents are an earlier result. `what` names that result in the message, with
    its article: "a dataset".
    """
    if out.exists() and not out.is_dir():
        raise InputError(f"{out} is a file: choose a folder.", option="out")
    if not has_contents(out):
        return
    if not overwrite:
        raise InputError(f"{out} is not empty: choose another folder, or overwrite it.", option="overwrite")
    if not is_ours(out):
        raise InputError(
            f"{out} contains something other than {what}, so it is not overwritten: choose another folder.",
            option="out",
        )


def has_contents(out: Path) -> bool:
    """Whether there is a file in a folder or below it, besides what a killed process has left."""
    files = (path for path in out.rglob("*") if path.is_symlink() or not path.is_dir())
    return any(path.name != LOCK and not is_leftover(path.name) for path in files)


@contextmanager
def output_folder(out: Path, *, overwrite: bool, is_complete: Callable[[Path], bool], what: str) -> Iterator[bool]:
    """Write to a folder as the only process that does, for the duration of the block; see `claim_folder`.

    A folder in which an earlier run was stopped before its result was complete may be used too; yields whether this is
    one, so that the run can be continued.
    """
    _check(out, overwrite, is_complete, what)
    created = _created_folders(out)
    handle = _locked(out)
    try:
        interrupted = _check(out, overwrite, is_complete, what)  # the process before us may have finished meanwhile
        complete = is_complete(out) and interrupted != _NEW
        os.truncate(handle, 0)
        os.pwrite(handle, f"{os.getpid()} {_OVERWRITES if complete else _NEW}".encode(), 0)
        _remove_leftovers(out)
        yield interrupted is not None
    except BaseException:
        if not has_contents(out) or is_complete(out):
            (out / LOCK).unlink(missing_ok=True)
        _remove_empty(created)
        raise
    else:
        (out / LOCK).unlink(missing_ok=True)
    finally:
        os.close(handle)


@contextmanager
def locked_folder(folder: Path) -> Iterator[None]:
    """Keep other processes from writing to a folder in which work is continued, for the duration of the block.

    A folder that is created for this, and stays empty, is removed.
    """
    created = _created_folders(folder)
    handle = _locked(folder)
    try:
        os.truncate(handle, 0)
        os.pwrite(handle, f"{os.getpid()} {_OVERWRITES}".encode(), 0)
        _remove_leftovers(folder)
        yield
    finally:
        (folder / LOCK).unlink(missing_ok=True)
        os.close(handle)
        _remove_empty(created)


def _check(out: Path, overwrite: bool, is_complete: Callable[[Path], bool], what: str) -> str | None:
    """Raise InputError unless the folder may be used; the state that a killed run has left, None without one."""
    interrupted = _marker(out)
    if interrupted == _NEW or (interrupted and not is_complete(out)):
        return interrupted
    claim_folder(out, overwrite=overwrite, is_ours=is_complete, what=what)
    return None


def _marker(out: Path) -> str | None:
    try:
        words = (out / LOCK).read_text(encoding="utf-8", errors="replace").split()
    except OSError:
        return None
    return words[1] if len(words) == 2 and words[1] in (_NEW, _OVERWRITES) else None


def _locked(out: Path) -> int:
    out.mkdir(parents=True, exist_ok=True)
    path = out / LOCK
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            if lock(handle) is False:
                words = os.pread(handle, 100, 0).decode("utf-8", "replace").split()
                process = f" (process {words[0]})" if words else ""
                raise InputError(
                    f"Another run is writing to {out}{process}: wait until it has finished, or choose another folder.",
                    option="out",
                )
            if path.exists() and os.path.samestat(os.fstat(handle), path.stat()):
                return handle
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)  # the process that held it has removed it


def _created_folders(out: Path) -> list[Path]:
    """The folders that do not exist yet, the innermost first."""
    return [folder for folder in (out, *out.parents) if not folder.exists()]


def _remove_empty(folders: list[Path]) -> None:
    for folder in folders:
        with suppress(OSError):  # it has contents
            folder.rmdir()


def _remove_leftovers(out: Path) -> None:
    for folder in (out, *(path for path in out.rglob("*") if path.is_dir() and not path.is_symlink())):
        remove_leftovers(folder)
