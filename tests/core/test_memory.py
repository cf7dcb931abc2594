"""Memory that a step has freed is used again by the next step, and that of a server is given back."""

import json
import platform
import subprocess
import sys

import pytest

STEPS = """
import json, random, resource, torch
from pairlight.core.memory import disable_malloc_trim

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    tensors = []
    for _ in range(30):
        tensors.append(torch.empty(random.randint(1, 40), 2**14).fill_(1))
        if random.random() < 0.4:
            tensors.pop(random.randrange(len(tensors)))
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

random.seed(1)
disable_malloc_trim()
print(json.dumps([faults() for _ in range(40)]))
"""

HOLES = """
from pathlib import Path
from pairlight.core.memory import return_freed_memory

def megabytes():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS"))

blocks = [bytearray(100_000) for _ in range(2000)]
del blocks[::2]
before = megabytes()
return_freed_memory()
print(before - megabytes())
"""

POOLS = """
import ctypes, sys, threading
from pairlight.core.memory import share_memory_pools

if sys.argv[1] == "shared":
    share_memory_pools(2)
all_there = threading.Barrier(16)

def allocate():
    all_there.wait()
    block = bytearray(50_000)
    all_there.wait()

threads = [threading.Thread(target=allocate) for _ in range(16)]
for each in threads:
    each.start()
for each in threads:
    each.join()
c = ctypes.CDLL(None)
c.fdopen.restype = ctypes.c_void_p
stream = ctypes.c_void_p(c.fdopen(1, b"w"))
c.malloc_info(0, stream)
c.fflush(stream)
"""

needs_glibc = pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="mallopt is a function of the GNU C library")


@needs_glibc
def test_a_step_reuses_the_memory_that_earlier_steps_have_freed():
    pytest.importorskip("torch")
    output = subprocess.run([sys.executable, "-c", STEPS], capture_output=True, text=True, check=True).stdout
    first, *later = json.loads(output)
    assert sum(later[-20:]) < first


@needs_glibc
def test_memory_that_was_freed_between_blocks_in_use_is_given_back():
    output = subprocess.run([sys.executable, "-c", HOLES], capture_output=True, text=True, check=True).stdout
    assert float(output) > 50  # MB, of the 100 that were freed


@needs_glibc
def test_all_threads_of_a_server_share_a_few_pools_of_memory():
    def pools(kind: str) -> int:
        done = subprocess.run([sys.executable, "-c", POOLS, kind], capture_output=True, text=True, check=True)
        return done.stdout.count("<heap nr=")

    assert pools("shared") == 2
    assert pools("separate") > 2
