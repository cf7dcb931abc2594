"""The ready-made models load by name, rank without training, and are small."""

import pytest

from pairlight import InputError, Matcher
from pairlight.inference.ready_made import FOLDER, ready_made, resolve_model
from toy_pairs import overlap

ANSWERS = [
    "returns are free within thirty days",
    "the tracking page shows where your delivery is",
    "you can pay with any credit card or by bank transfer",
    "open the sign-in page and choose forgotten password",
]


def test_both_models_are_there():
    assert ready_made() == ["qa-small", "sim-small"]


@pytest.mark.parametrize(
    ("question", "answer"),
    [("where is my parcel", 1), ("which cards do you accept", 2), ("how do I reset my password", 3)],
)
def test_qa_small_ranks_answers_it_has_never_seen(question, answer):
    assert Matcher.load("qa-small").rank(question, ANSWERS)[0]["corpus_id"] == answer


def test_sim_small_scores_a_paraphrase_above_an_unrelated_sentence():
    scores = Matcher.load("sim-small").predict(
        [("A man is playing a guitar.", "Someone plays the guitar."), ("A man is playing a guitar.", "It is raining.")]
    )
    assert scores[0] > scores[1] + 0.2


@pytest.mark.parametrize("name", ["qa-small", "sim-small"])
def test_a_ready_made_model_is_below_a_megabyte_and_states_its_license(name):
    folder = FOLDER / name
    assert sum(file.stat().st_size for file in folder.iterdir()) < 1_000_000
    assert "CC BY-SA 4.0" in (folder / "README.md").read_text(encoding="utf-8")


def test_a_folder_of_the_same_name_comes_first(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "qa-small").mkdir()
    assert resolve_model("qa-small").resolve() == tmp_path / "qa-small"
    with pytest.raises(InputError, match=r"qa-small is not a model \(it has no config\.json\)"):
        Matcher.load("qa-small")


def test_training_continues_from_a_ready_made_model():
    pairs = overlap(10, seed=0)
    matcher = Matcher("late-interaction").fit(pairs, pairs, init="qa-small", epochs=0, progress=False)
    start = Matcher.load("qa-small")
    assert matcher.scorer.model.embed.project.equal(start.scorer.model.embed.project)
