"""Memory that a step has freed is used again by the next step, and that of a server's threads is given back."""

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

THREADS = """
import threading
from pathlib import Path
from pairlight.core.memory import return_freed_memory

def reserved():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) // 1024 for line in lines if line.startswith("VmSize"))

return_freed_memory()
before, together = reserved(), threading.Barrier(8)

def allocate():
    kept = bytearray(100_000)
    together.wait()
    return kept

threads = [threading.Thread(target=allocate) for _ in range(8)]
for each in threads:
    each.start()
for each in threads:
    each.join()
print(reserved() - before)
"""

needs_glibc = pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="mallopt is a function of the GNU C library")


@needs_glibc
def test_a_step_reuses_the_memory_that_earlier_steps_have_freed():
    output = subprocess.run([sys.executable, "-c", STEPS], capture_output=True, text=True, check=True).stdout
    first, *later = json.loads(output)
    assert sum(later[-20:]) < first


@needs_glibc
def test_threads_of_a_server_share_one_pool_of_memory():
    output = subprocess.run([sys.executable, "-c", THREADS], capture_output=True, text=True, check=True).stdout
    assert int(output) < 128  # MB; a pool of its own for every thread reserves 64 or more
