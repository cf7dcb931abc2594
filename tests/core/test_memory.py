"""Memory that a step has freed is used again by the next step."""

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


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="mallopt is a function of the GNU C library")
def test_a_step_reuses_the_memory_that_earlier_steps_have_freed():
    output = subprocess.run([sys.executable, "-c", STEPS], capture_output=True, text=True, check=True).stdout
    first, *later = json.loads(output)
    assert sum(later[-20:]) < first
