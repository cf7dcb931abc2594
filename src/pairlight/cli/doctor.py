"""`pairlight doctor`: show which kernels, threads, versions and extras this installation has."""

import os
import platform
import re
from dataclasses import asdict
from typing import Any

from pairlight.cli.options import Json, Threads
from pairlight.cli.output import print_json
from pairlight.cli.process import configure_process

_RUNTIMES = {"numpy": "light, without PyTorch", "torch": "PyTorch"}
_DISTRIBUTION = "pairlight"
_EXTRA = re.compile(r"""extra\s*==\s*["']([\w-]+)["']""")


def doctor(threads: Threads = None, as_json: Json = False) -> None:
    """Show the kernels, threads, versions and extras in use."""
    configure_process(threads)
    report = _report()
    if as_json:
        print_json(report)
        return
    kernels = report["kernels"]
    used = f"native, {kernels['width']}" if kernels["native"] else "reference, without native code"
    print(f"kernels     {used} ({kernels['reason']})")
    if kernels["native"]:
        print(f"{'':12}compiled and supported by this CPU: {', '.join(kernels['available'])}")
    print(f"runtime     {report['runtime']}")
    print(f"threads     {report['threads']} of {report['cores']} cores")
    print(f"python      {report['python']} on {report['system']}")
    for name, version in report["versions"].items():
        print(f"{name:12}{version}")
    for name, missing in report["extras"].items():
        state = f"missing {', '.join(missing)}: pip install 'pairlight[{name}]'" if missing else "installed"
        print(f"extra       {name:8} {state}")


def _report() -> dict[str, Any]:
    from pairlight.kernels.native.library import available, status
    from pairlight.layers.backends import inference_backend, threads

    required = _required()
    return {
        "kernels": asdict(status()) | {"available": available()},
        "runtime": _RUNTIMES[inference_backend()],
        "threads": threads(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "versions": {
            name: _version(name) or "missing" for name in (_DISTRIBUTION, *required[None], *_installed("torch"))
        },
        "extras": {
            extra: [name for name in names if _version(name) is None]
            for extra, names in required.items()
            if extra not in (None, "dev")
        },
    }


def _installed(name: str) -> list[str]:
    return [name] if _version(name) else []


def _required() -> dict[str | None, list[str]]:
    """The packages that pairlight requires, under None, and those of each extra."""
    from importlib.metadata import requires

    required: dict[str | None, list[str]] = {None: []}
    for line in requires(_DISTRIBUTION) or []:
        name, extra = re.split(r"[^\w.-]", line)[0], _EXTRA.search(line)
        if name != _DISTRIBUTION:
            required.setdefault(extra and extra[1], []).append(name)
    return required


def _version(name: str) -> str | None:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(name)
    except PackageNotFoundError:
        return None
