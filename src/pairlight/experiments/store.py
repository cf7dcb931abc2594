"""A folder of finished runs, so that an experiment that was stopped continues where it was."""

from pathlib import Path
from typing import Generic

from pairlight.core.records import decode_file, write_record
from pairlight.experiments.executor import Completed
from pairlight.experiments.records import FORMAT, R, read_values
from pairlight.experiments.spec import RunSpec


class ResultStore(Generic[R]):
    """One JSON file for each finished run, named after its specification."""

    def __init__(self, folder: Path, kind: type[R]) -> None:
        self.folder, self.kind = folder, kind

    def __contains__(self, spec: RunSpec) -> bool:
        return self._path(spec).exists()

    def load(self, spec: RunSpec) -> Completed[R]:
        """A finished run; a RecordError if its file is damaged."""
        path, fix = self._path(spec), "the run is repeated"
        values = read_values(path, fix)
        notes = decode_file(path, tuple[str, ...], values.get("notes"), fix)
        return Completed(spec, decode_file(path, self.kind, values.get("result"), fix), notes)

    def save(self, run: Completed[R]) -> None:
        write_record(self._path(run.spec), {"notes": list(run.notes), "result": run.result.as_dict()}, FORMAT)

    def _path(self, spec: RunSpec) -> Path:
        return self.folder / f"{spec.name}.json"
