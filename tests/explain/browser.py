"""Runs a script in a page in a real browser."""

import html
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = shutil.which("chromium")
FLAGS = "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking"
FLAGS += " --disable-component-update --disable-sync --window-size=1200,900"
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on PATH: install Debian's package chromium")


def run_in_page(page: str, script: str, folder: Path, *, dark: bool = False) -> Any:
    """The value that this function body returns when it runs in the page."""
    run = f"""{{
        const answer = document.createElement("pre");
        answer.id = "answer";
        document.body.append(answer);
        const body = () => {{ {script} }};
        let value;
        try {{ value = body(); }} catch (error) {{ value = error.stack; }}
        answer.textContent = JSON.stringify(value);
    }}"""
    file = folder / "page.html"
    file.write_text(f"{page}<script>{run}</script>", encoding="utf-8")
    theme = ["--blink-settings=preferredColorScheme=0"] if dark else []
    profile = f"--user-data-dir={folder / 'profile'}"
    command = [str(CHROMIUM), *FLAGS.split(), *theme, profile, "--dump-dom", file.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    answer = re.search('<pre id="answer">(.*?)</pre>', done.stdout, re.DOTALL)
    assert answer is not None, done.stderr
    return json.loads(html.unescape(answer[1]))
