"""A folder of finished runs, so that an experiment that was stopped continues where it was."""

from pathlib import Path
from typing import Generic

from pairlight.core.errors import InputError
from pairlight.core.files import write_json
from pairlight.core.records import decode
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
        path = self._path(spec)
        fix = "delete the file to run it again"
        values = read_values(path, fix)
        try:
            notes = decode(tuple[str, ...], values.get("notes"), "notes")
            return Completed(spec, self.kind.from_dict(values.get("result")), notes)
        except ValueError as error:
            raise InputError(f"{path} is damaged ({error}): {fix}.") from None

    def save(self, run: Completed[R]) -> None:
        values = {"format": FORMAT, "notes": list(run.notes), "result": run.result.as_dict()}
        write_json(self._path(run.spec), values)

    def _path(self, spec: RunSpec) -> Path:
        return self.folder / f"{spec.name}.json"
