"""The house: a file imports only from rooms above it, and the door opens quickly."""

import ast
import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).parent.parent / "src" / "pairlight"
ROOMS = ["errors", "files", "progress", "memory", "text", "data", "tasks", "kernels", "parts", "models", "training"]
ROOMS += ["evaluation", "explain", "card", "encodings", "matcher", "disagreements", "curves", "compare"]
ROOMS += ["reproduce", "tune", "demo", "cli"]


def room(parts: tuple[str, ...]) -> str:
    return parts[0].removesuffix(".py")


def imports(file: Path) -> set[str]:
    """The rooms a file imports from; what only the type checker sees does not count."""
    found: set[str] = set()
    tree = ast.parse(file.read_text(encoding="utf-8"))
    unseen = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if id(node) in unseen:
            continue
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("pairlight."):
            found.add(node.module.split(".")[1])
        elif isinstance(node, ast.Import):
            found |= {alias.name.split(".")[1] for alias in node.names if alias.name.startswith("pairlight.")}
    return found


def test_a_file_imports_only_from_its_own_room_and_those_above():
    wrong = []
    for file in SOURCE.rglob("*.py"):
        here = room(file.relative_to(SOURCE).parts)
        if here in ("__init__", "__main__"):
            continue
        wrong += [f"{here} -> {other}" for other in imports(file) if ROOMS.index(other) > ROOMS.index(here)]
    assert not wrong


def test_every_file_opens_with_its_idea():
    sources = {file: file.read_text(encoding="utf-8") for file in SOURCE.rglob("*.py")}
    bare = [file.name for file, text in sources.items() if text.strip() and not ast.get_docstring(ast.parse(text))]
    assert not bare


def modules_after(code: str, folder: Path) -> set[str]:
    script = f"{code}\nimport sys; print(' '.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=folder)
    return set(done.stdout.split())


def test_importing_pairlight_brings_in_nothing_heavy_and_makes_no_folder(tmp_path):
    assert not modules_after("import pairlight", tmp_path) & {"torch", "numpy", "gensim", "tokenizers"}
    assert not list(tmp_path.iterdir())


def test_the_command_line_opens_without_pytorch(tmp_path):
    assert not modules_after("import pairlight.cli", tmp_path) & {"torch", "gensim", "pandas", "bm25s", "ir_measures"}
