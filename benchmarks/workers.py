"""What training with several workers changes: python -m benchmarks.workers TRAIN DEV FOLDER.

Trains the default model and mv-lstm with 1, 2 and 4 workers of a local Ray, and prints the dev metrics as JSON.
"""

import json
import os
import statistics
import sys
from pathlib import Path

import numpy as np
import torch

from pairlight import Matcher
from pairlight.cluster.train import ClusterTraining, train_on_cluster
from pairlight.data.pair_blocks import write_pair_blocks
from pairlight.data.readers import read_pairs
from pairlight.models import DEFAULT_MODEL
from pairlight.training.trainer import train

MODELS, WORKERS, SEEDS = (DEFAULT_MODEL, "mv-lstm"), (1, 2, 4), (1, 2, 3)
EPOCHS = 3


def main() -> None:
    pairs, dev = (read_pairs(path)[0] for path in sys.argv[1:3])
    folder = Path(sys.argv[3]).resolve()
    source = write_pair_blocks(pairs, str(folder / "pairs"))
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")
    os.environ.setdefault("RAY_worker_niceness", "0")  # as a cluster that pairlight starts
    import ray

    ray.init("local", num_cpus=max(WORKERS), include_dashboard=False, object_store_memory=200_000_000)
    torch.set_num_threads(1)  # as a worker

    def trained(model: str, workers: int, seed: int) -> Matcher:
        out = folder / f"{model}-{workers}-{seed}"
        if not out.exists():
            options = {"seed": seed, "epochs": EPOCHS}
            training = ClusterTraining(model, {}, options, "auto", source, dev, str(folder / "run"))
            train_on_cluster(training, "auto", workers, False, out)
        return Matcher.load(out)

    results = {}
    for model in MODELS:
        found = {(workers, seed): trained(model, workers, seed) for workers in WORKERS for seed in SEEDS}
        one, two = found[1, 1], found[2, 1]
        here = train(model, source, dev, options={"seed": 1, "epochs": EPOCHS}).trained.model.state_dict()
        there = one.scorer.model.state_dict()
        best = {n: [found[n, seed].history.best for seed in SEEDS] for n in WORKERS}
        scores = one.predict(dev)
        results[model] = {
            "metric": one.config.metric,
            "dev": {n: [statistics.mean(values), statistics.stdev(values)] for n, values in best.items()},
            "one_worker_equals_a_process": all(torch.equal(here[name], there[name]) for name in here),
            "largest_difference": float(np.abs(scores - two.predict(dev)).max()),
            "standard_deviation_of_scores": float(scores.std()),
        }
    print(json.dumps(results, indent=2))


if __name__ == "__main__":
    main()
