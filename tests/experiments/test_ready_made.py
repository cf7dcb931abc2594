"""The lists that qa-small is trained on keep dev and test apart from training; it is the mean of several runs."""

import pytest
import torch

from pairlight.experiments import ready_made
from pairlight.inference.model_folder import load_model
from pairlight.training.trainer import train
from toy_pairs import overlap


@pytest.fixture
def splits(tmp_path, monkeypatch):
    folder = tmp_path / "squad-sentences"
    folder.mkdir()
    lines = [f"wiki\t{n}\tquestion {n}?\tanswer {n // 2} of all" for n in range(400)]
    (folder / "pairs.tsv").write_text("\n".join(["source\tid\tquestion\tanswer", *lines]) + "\n", encoding="utf-8")
    monkeypatch.setenv("PAIRLIGHT_DATA", str(tmp_path))
    monkeypatch.setattr(ready_made, "BLOCK", 10)
    return ready_made.answer_sentences()


def test_no_sentence_of_dev_or_test_is_in_a_training_pair(splits):
    sentences = {name: {part.texts[i] for i in part.right} for name, part in splits.items()}
    assert all(splits[name].lists for name in ("train", "dev", "test"))
    assert not sentences["train"] & (sentences["dev"] | sentences["test"])


def test_every_list_has_one_positive_and_negatives_without_copies_of_it(splits):
    train = splits["train"]
    for group in range(train.lists):
        rows = [row for row in range(len(train)) if train.group[row] == group]
        texts = [train.texts[train.right[row]] for row in rows]
        assert sum(train.labels[row] > 0 for row in rows) == 1
        assert 2 <= len(texts) == len(set(texts)) <= 1 + ready_made.ADJACENT + ready_made.RANDOM


def test_qa_small_is_the_mean_of_runs_from_the_same_start_drawn_back_towards_it(tmp_path, monkeypatch):
    weights, starts = [], []

    def recorded(*args, init, **kwargs):
        run = train(*args, init=init, **kwargs)
        project = run.trained.model.embed.project.detach()
        project += len(weights) ** 2  # as if every run learned something else from these few lists
        weights.append(project.clone())
        starts.append(init)
        return run

    parts = {name: overlap(12, seed=seed) for seed, name in enumerate(("train", "dev", "test"))}
    monkeypatch.setattr(ready_made, "answer_sentences", lambda: parts)
    monkeypatch.setattr(ready_made, "train", recorded)
    ready_made.build_ready_made("qa-small", tmp_path)
    first, *runs = weights
    assert len(runs) == ready_made.RUNS
    assert starts[0] is None
    assert all(start is starts[1] for start in starts[2:])
    assert first.equal(torch.eye(len(first)))
    found = load_model(tmp_path).model.embed.project
    start = torch.eye(len(found))
    torch.testing.assert_close(found.detach(), start + ready_made.KEPT * (sum(runs) / len(runs) - start))
