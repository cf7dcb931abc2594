"""The lists that qa-small is trained on keep dev and test apart from training."""

import pytest

from pairlight.experiments import ready_made


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
