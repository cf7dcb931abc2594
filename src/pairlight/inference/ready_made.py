"""The ready-made models that ship with the package, by name."""

from pathlib import Path

FOLDER = Path(__file__).parent.parent / "ready_made"


def ready_made() -> list[str]:
    """The names of the ready-made models."""
    return sorted(path.name for path in FOLDER.iterdir() if (path / "config.json").is_file()) if FOLDER.is_dir() else []


def resolve_model(folder: str | Path) -> Path:
    """The folder of a model: a path, or the name of a ready-made model where no such path exists."""
    path = Path(folder)
    if not path.exists() and str(folder) in ready_made():
        return FOLDER / str(folder)
    return path
