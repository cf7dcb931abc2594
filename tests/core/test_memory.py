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
    held = []
    for _ in range(30):
        held.append(torch.empty(random.randint(1, 40), 2**14).fill_(1))
        if random.random() < 0.4:
            held.pop(random.randrange(len(held)))
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

random.seed(1)
disable_malloc_trim()
print(json.dumps([faults() for _ in range(40)]))
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only GNU's C library can be told to keep memory")
def test_a_step_uses_the_memory_that_earlier_ones_have_freed():
    said = subprocess.run([sys.executable, "-c", STEPS], capture_output=True, text=True, check=True).stdout
    first, *later = json.loads(said)
    assert sum(later[-20:]) < first
