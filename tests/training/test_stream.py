"""Training on blocks that are read one at a time, and by several workers."""

import numpy as np
import pytest
import torch

from pairlight import Matcher
from pairlight.core.errors import InputError
from pairlight.core.storage import delete_folder
from pairlight.data.pair_blocks import PairBlocks, is_large, write_pair_blocks
from pairlight.data.pairs import Pairs
from pairlight.models import MODELS
from pairlight.training import loop
from pairlight.training.trainer import train
from pairlight.training.workers import DistributedWorkers
from toy_pairs import marked, overlap

SETTINGS = {"hidden": 4, "k": 3, "dim": 6, "evidence": False}
OPTIONS = {"vectors": "none", "epochs": 2, "lr": 0.1, "patience": 0}
DEV = marked(10, seed=5)


@pytest.fixture
def blocks(tmp_path) -> PairBlocks:
    return write_pair_blocks(marked(40, seed=0), str(tmp_path / "pairs"))


def run(source, **given):
    arguments = {"settings": SETTINGS, "options": OPTIONS, "init": None, "baseline": False} | given
    return train("mv-lstm", source, DEV, **arguments)


def weights(done) -> dict[str, torch.Tensor]:
    return done.trained.model.state_dict()


def same(a, b) -> bool:
    a, b = weights(a), weights(b)
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


def test_written_blocks_have_all_pairs_and_whole_lists(tmp_path):
    pairs = overlap(37, seed=0)
    found = write_pair_blocks(pairs, str(tmp_path))
    assert len(found) == len(pairs)
    assert len(found.blocks) >= 12
    read = [part for block in found.blocks for part in found.read(block)]
    assert sum(part.lists for part in read) == pairs.lists
    assert sorted(label for part in read for label in part.labels) == sorted(pairs.labels)


def test_a_streamed_model_learns_and_every_epoch_has_all_blocks(blocks):
    done = run(blocks, options={**OPTIONS, "epochs": 12})
    assert done.history.best > done.history.start + 0.2
    assert same(run(blocks), run(blocks))


def test_a_sample_makes_the_vocabulary_and_the_last_block_is_held_out(blocks):
    done = train("mv-lstm", blocks, None, settings=SETTINGS, options=OPTIONS, init=None, baseline=False)
    last = next(blocks.read(blocks.blocks[-1]))
    assert sorted(done.dev.texts) == sorted(last.texts)
    assert done.trained.data["train"].pairs == len(blocks) - len(last)


def numbers_in(pairs: Pairs) -> list[int]:
    return [int(text[:8]) for text in pairs.texts if "query" not in text]


def test_long_texts_make_a_smaller_sample_of_all_parts_of_the_data(tmp_path):
    left, right = [f"query {n // 2}" for n in range(3200)], [f"{n:08} {'x' * 991}" for n in range(3200)]
    source = write_pair_blocks(Pairs.of(left, right, [1.0, 0.0] * 1600), str(tmp_path))
    assert numbers_in(source.sample()) == list(range(3200))
    sample = source.sample(size=1_700_000)
    assert 850_000 < sum(map(len, sample.texts)) <= 1_700_000
    assert {n // 200 for n in numbers_in(sample)} == set(range(16))  # from all blocks
    few = numbers_in(source.sample(size=300_000))
    assert len(few) < 400
    assert max(few) > 1600  # not only from the first blocks


def test_training_resumes_between_blocks_to_the_same_weights(blocks, tmp_path, monkeypatch):
    whole = run(blocks)
    monkeypatch.setattr(loop, "CHECKPOINT_SECONDS", 0.0)
    saved = []

    def killed(path, *state):
        real(path, *state)
        saved.append(state[-1].blocks)
        if len(saved) == 5:
            raise SystemExit

    real = loop.save_checkpoint
    monkeypatch.setattr(loop, "save_checkpoint", killed)
    with pytest.raises(SystemExit):
        run(blocks, folder=tmp_path)
    assert saved[-1] == 5
    resumed = run(blocks, folder=tmp_path, resume=True)
    assert same(resumed, whole)
    assert [each.loss for each in resumed.history.epochs] == [each.loss for each in whole.history.epochs]


def test_checkpoints_are_written_to_urls(blocks):
    pytest.importorskip("fsspec")
    folder = "memory://bucket/run"
    try:
        run(blocks, folder=folder, options={**OPTIONS, "epochs": 1})
        assert same(run(blocks, folder=folder, resume=True), run(blocks))
    finally:
        delete_folder("memory://bucket")


def test_blocks_without_labels_are_positives_whose_negatives_are_mined_in_each(tmp_path):
    pairs = overlap(40, seed=0)
    positive = pairs.take(np.flatnonzero(pairs.labels > 0))
    found = write_pair_blocks(positive, str(tmp_path))
    done = train("dssm", found, DEV, options={"negatives": "random", "epochs": 1}, init=None, baseline=False)
    assert len(done.history.epochs) == 1


def test_graded_labels_are_divided_by_the_highest_of_the_sample(tmp_path):
    rng = np.random.default_rng(0)
    texts = [f"w{i}" for i in range(80)]
    pairs = Pairs.of(texts, texts[::-1], rng.integers(0, 6, 80).astype(float).tolist())
    done = run(write_pair_blocks(pairs, str(tmp_path)), options={**OPTIONS, "epochs": 1})
    assert done.trained.training["loss"] == "bce"


def test_a_bad_row_is_named(blocks):
    bad = PairBlocks(blocks.blocks, {"left": "left", "right": "label", "label": "label"})
    with pytest.raises(InputError, match=r"pairs\.parquet, rows from 1 on: .*the right text 1\.0 is not a string"):
        bad.sample()


def test_only_parquet_of_many_rows_is_large(blocks, tmp_path):
    assert not is_large(blocks.blocks[0].path)
    assert is_large(str(tmp_path))
    assert not is_large("pairs.tsv")
    assert is_large("s3://bucket/pairs")


@pytest.fixture
def group(tmp_path):
    torch.distributed.init_process_group("gloo", f"file://{tmp_path}/group", rank=0, world_size=1)
    yield DistributedWorkers()
    torch.distributed.destroy_process_group()


def test_one_distributed_worker_trains_as_a_process_does(blocks, group):
    for options in (OPTIONS, {**OPTIONS, "optimizer": "adagrad", "freeze": False, "loss": "hinge"}):
        assert same(run(blocks, options=options, workers=group), run(blocks, options=options))


@pytest.mark.parametrize("name", MODELS)
def test_every_model_trains_with_ddp(name, group, tmp_path):
    matcher = Matcher(name)
    options = {"vectors": "none", "epochs": 1, "optimizer": "adagrad", "freeze": False, "lr": 0.01}
    source = write_pair_blocks(overlap(6, seed=0), str(tmp_path / "pairs"))
    done = train(name, source, DEV, settings=matcher.settings, options=options, init=None, workers=group)
    assert all(torch.isfinite(value).all() for value in weights(done).values() if value.is_floating_point())
