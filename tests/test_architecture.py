"""The architecture: a module imports only from packages above its own, and imports stay fast."""

import ast
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "pairlight"
PACKAGES = ["core", "text", "data", "datasets", "kernels", "layers", "models", "evaluation", "inference", "training"]
PACKAGES += ["explain", "matcher", "search", "batch", "experiments", "cluster", "serve", "integrations", "cli"]
WITHOUT_TORCH = ["core", "text", "data", "datasets", "evaluation", "kernels/native"]
HEAVY = {"torch", "numpy", "gensim", "tokenizers", "pandas", "bm25s", "ir_measures", "scipy", "matplotlib"}


def modules() -> list[Path]:
    return sorted(SOURCE.rglob("*.py"))


def imported(file: Path) -> Iterator[str]:
    """Every module a file imports, anywhere in it; what only the type checker sees counts too."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def imported_at_once(file: Path) -> Iterator[str]:
    """Every module a file imports when it is imported itself: not in functions, not for the type checker."""
    pending: list[ast.AST] = [ast.parse(file.read_text(encoding="utf-8"))]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            pending += node.orelse
        elif not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            pending += ast.iter_child_nodes(node)


def package_of(file: Path) -> str:
    return file.relative_to(SOURCE).parts[0].removesuffix(".py")


def test_a_module_imports_only_from_its_own_package_and_those_above():
    violations = []
    for file in modules():
        package = package_of(file)
        if package in ("__init__", "__main__"):
            continue
        targets = {name.split(".")[1] for name in imported(file) if name.startswith("pairlight.")}
        violations += [
            f"{file.relative_to(SOURCE)} imports {target}"
            for target in targets
            if PACKAGES.index(target) > PACKAGES.index(package)
        ]
    assert not violations


def test_every_package_is_in_the_order():
    assert {package_of(file) for file in modules()} - {"__init__", "__main__"} == set(PACKAGES)


@pytest.mark.parametrize("package", WITHOUT_TORCH)
def test_a_package_that_needs_no_pytorch_does_not_import_it(package):
    files = [file for file in modules() if (SOURCE / package) in file.parents]
    assert files
    assert not [file.name for file in files if any(name.split(".")[0] == "torch" for name in imported(file))]


def test_only_training_and_the_torch_backend_import_pytorch_or_what_needs_it():
    """At import time: other modules may import it inside a function that needs gradients."""
    torch = ("torch", "safetensors.torch", "pairlight.kernels.autograd", "pairlight.layers.backends.torch_backend")
    importing = {
        str(file.relative_to(SOURCE))
        for file in modules()
        if any(name == each or name.startswith(f"{each}.") for name in imported_at_once(file) for each in torch)
    }
    allowed = ("kernels/autograd/", "layers/backends/torch_backend.py", "training/", "experiments/")
    assert not [file for file in importing if not file.startswith(allowed)]


def test_only_the_cluster_package_imports_ray_and_it_stays_small():
    importing = {
        package_of(file) for file in modules() if {"ray", "pyspark"} & {name.split(".")[0] for name in imported(file)}
    }
    assert importing == {"cluster"}
    lines = sum(len(file.read_text(encoding="utf-8").splitlines()) for file in (SOURCE / "cluster").glob("*.py"))
    assert lines < 800


def test_explanations_and_layers_do_not_know_models_by_name():
    base = {"pairlight.models", "pairlight.models.base", "pairlight.models.settings"}
    files = [file for file in modules() if package_of(file) in ("explain", "layers", "inference", "training")]
    known = [
        f"{file.name} imports {name}"
        for file in files
        for name in imported(file)
        if name.startswith("pairlight.models") and name not in base
    ]
    assert not known


def test_every_file_opens_with_a_sentence_on_its_purpose():
    missing = []
    for file in modules():
        text = file.read_text(encoding="utf-8")
        opening = (ast.get_docstring(ast.parse(text)) or "").split("\n\n")[0]
        if text.strip() and "." not in opening.replace("...", ""):
            missing.append(str(file.relative_to(SOURCE)))
    assert not missing


def test_no_two_public_classes_share_a_name():
    names = Counter(
        node.name
        for file in modules()
        for node in ast.parse(file.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    assert not [name for name, count in names.items() if count > 1]


def modules_after(code: str, folder: Path) -> set[str]:
    script = f"{code}\nimport sys; print(' '.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=folder)
    return set(done.stdout.split())


def test_importing_pairlight_loads_nothing_heavy_and_creates_no_files(tmp_path):
    assert not modules_after("import pairlight", tmp_path) & HEAVY
    assert not list(tmp_path.iterdir())


def test_importing_the_command_line_loads_no_pytorch(tmp_path):
    assert not modules_after("import pairlight.cli", tmp_path) & (HEAVY - {"numpy"})


def test_the_matcher_search_and_server_load_no_package_of_training(tmp_path):
    code = (
        "import pairlight.matcher, pairlight.search.index, pairlight.serve.application, pairlight.explain.render.html"
    )
    assert not modules_after(code, tmp_path) & {"torch", "gensim", "bm25s", "ir_measures", "scipy", "matplotlib"}


def test_every_public_name_can_be_imported():
    import pairlight

    for name in pairlight.__all__:
        assert getattr(pairlight, name) is not None
    assert sorted(pairlight.__all__) == dir(pairlight)
