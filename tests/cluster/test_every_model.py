"""Every model that is trained, by two processes with DistributedDataParallel as Ray starts them, and by one process."""

from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from pairlight.data.pair_blocks import PairBlocks, write_pair_blocks
from pairlight.inference.scorer import ModelScorer
from pairlight.models import MODELS, model_class
from pairlight.models.settings import model_settings
from pairlight.training.trainer import train
from pairlight.training.workers import DistributedWorkers, Workers
from toy_pairs import marked

pytestmark = [pytest.mark.cluster, pytest.mark.filterwarnings("ignore")]

# With evidence and in the form of the paper; some models have only one form, and two have nothing to train.
CASES = [
    (name, evidence, "adagrad")
    for name in MODELS
    for evidence in (True, False)
    if name not in ("random", "bm25") and (evidence or model_class(name).takes_evidence)
]
CASES.append(("drmm", False, "adam"))  # whose vectors get no gradient at all
EPOCHS, LISTS = 2, 4  # lists of a block, which are one step of one worker
OPTIONS = {"vectors": "none", "epochs": EPOCHS, "freeze": False, "lr": 0.01, "patience": 0}
# With a small epsilon, AdaGrad would follow the signs of gradients that are nothing but rounding.
OPTIONS |= {"epsilon": 0.1, "negatives_per_positive": 1, "batch": 2 * LISTS}
DEV = marked(4, seed=5, negatives_per_positive=1)


@dataclass(frozen=True)
class Result:
    """What came of training."""

    losses: list[float]
    start: dict[str, Tensor]
    last: dict[str, Tensor]


def run(
    name: str, evidence: bool, optimizer: str, source: PairBlocks, seed: int, workers: Workers | None = None
) -> Result:
    known = model_settings(model_class(name))
    settings = {key: value for key, value in (("dropout", 0.0), ("evidence", evidence)) if key in known}
    start: dict[str, Tensor] = {}
    better = count()

    def evaluate(scorer: ModelScorer) -> float:
        for key, value in scorer.model.state_dict().items():
            start.setdefault(key, value.clone())
        return float(next(better))  # the last epoch is the best

    given = {
        "settings": settings,
        "options": {**OPTIONS, "optimizer": optimizer, "seed": seed},
        "init": None,
        "evaluate": evaluate,
    }
    done = train(name, source, DEV, workers=workers, **given)
    return Result([each.loss for each in done.history.epochs], start, done.trained.model.state_dict())


def work(rank: int, folder: Path, source: PairBlocks, seed: int) -> None:
    """What each of two processes runs."""
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo", f"file://{folder}/group", rank=rank, world_size=2)
    for number, case in enumerate(CASES):
        torch.save(run(*case, source, seed, DistributedWorkers()), folder / f"{number}-{rank}")
    torch.distributed.destroy_process_group()


def blocks(folder: Path, *lists: int) -> PairBlocks:
    """The same pairs in blocks of these numbers of lists."""
    whole = write_pair_blocks(marked(sum(lists), seed=0, negatives_per_positive=1), str(folder))
    assert len(whole.blocks) == sum(lists)
    made, rest = [], list(whole.blocks)
    for number, groups in enumerate(lists):
        part, rest = rest[:groups], rest[groups:]
        made.append(replace(part[0], number=number, groups=groups, rows=sum(each.rows for each in part)))
    return replace(whole, blocks=tuple(made))


def last_comes_last(seed: int, number: int) -> bool:
    """Whether training reads the last of this number of blocks last in every epoch."""
    orders = (np.random.default_rng([seed, epoch]).permutation(number) for epoch in range(1, EPOCHS + 1))
    return all(order[-1] == number - 1 for order in orders)


def distance(a: Tensor, b: Tensor) -> float:
    return float(np.abs(a.double().numpy() - b.double().numpy()).max(initial=0.0))


def test_two_workers_train_every_model_as_one_does_in_the_same_steps(tmp_path):
    # Two steps in an epoch: both workers have a block in the first, only one of them in the second.
    seed = next(seed for seed in count() if last_comes_last(seed, 2) and last_comes_last(seed, 3))
    of_two, of_one = blocks(tmp_path / "a", LISTS, LISTS, LISTS), blocks(tmp_path / "b", 2 * LISTS, LISTS)
    torch.multiprocessing.spawn(work, (tmp_path, of_two, seed), nprocs=2)
    for number, case in enumerate(CASES):
        first, second = (torch.load(tmp_path / f"{number}-{rank}", weights_only=False) for rank in (0, 1))
        one = run(*case, of_one, seed)
        assert len(one.losses) == EPOCHS
        np.testing.assert_allclose(first.losses, one.losses, rtol=1e-6, err_msg=str(case))
        moved = 0.0
        for key, expected in one.last.items():
            assert torch.equal(first.last[key], second.last[key]), f"{case}: workers have another {key}"
            far, step = (distance(expected, other) for other in (first.last[key], one.start[key]))
            assert far <= 0.01 * step + 1e-7, f"{case}: {key} is {far:.1e} from that of one worker"
            moved = max(step, moved)
        assert moved > 1e-6, case
