"""`pairlight doctor`: what this installation runs on, and why."""

import importlib.metadata
import os
import platform
import re
from typing import Any

from pairlight.cli import common

_DISTRIBUTION = "pairlight"
_EXTRA = re.compile(r"""extra\s*==\s*["']([\w-]+)["']""")


def doctor(threads: common.Threads = None, as_json: common.Json = False) -> None:
    """Say which kernels run and why, with how many threads, and which versions and extras are here."""
    common.use_threads(threads)
    found = _found()
    if as_json:
        common.print_json(found)
        return
    kernels = found["kernels"]
    served = f"native, {kernels['width']}" if kernels["native"] else "PyTorch, without native code"
    print(f"kernels     {served} ({kernels['reason']})")
    if kernels["native"]:
        print(f"{'':12}compiled and fit for this CPU: {', '.join(kernels['available'])}")
    print(f"threads     {found['threads']} of {found['cores']} cores")
    print(f"python      {found['python']} on {found['system']}")
    for name, version in found["versions"].items():
        print(f"{name:12}{version}")
    for name, missing in found["extras"].items():
        state = f"lacks {', '.join(missing)}: pip install 'pairlight[{name}]'" if missing else "here"
        print(f"extra       {name:8} {state}")


def _found() -> dict[str, Any]:
    import torch

    from pairlight.kernels import status
    from pairlight.kernels.native.library import available

    kernels = status()
    return {
        "kernels": {
            "native": kernels.native,
            "width": kernels.width,
            "reason": kernels.reason,
            "available": available(),
        },
        "threads": torch.get_num_threads(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "versions": {name: _version(name) or "missing" for name in (_DISTRIBUTION, *_required()[None])},
        "extras": {
            extra: [name for name in names if _version(name) is None]
            for extra, names in _required().items()
            if extra not in (None, "dev")
        },
    }


def _required() -> dict[str | None, list[str]]:
    """The packages that pairlight cannot do without, under None, and those of each extra."""
    required: dict[str | None, list[str]] = {None: []}
    for line in importlib.metadata.requires(_DISTRIBUTION) or []:
        name, extra = re.split(r"[^\w.-]", line)[0], _EXTRA.search(line)
        if name != _DISTRIBUTION:
            required.setdefault(extra and extra[1], []).append(name)
    return required


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None
