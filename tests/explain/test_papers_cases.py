"""The papers' own examples, explained by models trained here: which of the papers' findings hold, and which do not."""

import os
from pathlib import Path

import pytest

from pairlight import Matcher
from pairlight.data.pairs import Pairs
from pairlight.data.readers import read_pairs
from pairlight.datasets.catalog import load_dataset
from pairlight.datasets.qa import qa
from pairlight.explain.data import Explanation

DATA = Path(os.environ.get("PAIRLIGHT_DATA", Path(__file__).parents[3] / "shared" / "data"))
SQUAD, WIKIQA = DATA / "squad-sentences" / "pairs.tsv", DATA / "wikiqa"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not (SQUAD.is_file() and WIKIQA.is_dir()), reason=f"needs squad-sentences and wikiqa in {DATA}"),
    pytest.mark.filterwarnings("ignore:.*words and were truncated"),
]

STICK = "How to get rid of memory stick error of my sony cyber shot?"
FORMAT = "You might want to try to format the memory stick but what is the error message you are receiving."
STACK = "Never heard of stack underflow error, overflow yes, overflow is due to running out of virtual memory."
FREE = "How could learn Russian by Internet for free? Any good websites?"
LANGUAGES = (
    "Not sure free will get you unforgettable languages, however that will give you some basic vocabulary and great "
    "system for remembering it."
)
GAMES = (
    "In the Yahoo! home page you will get whole list of sites offering this game for free or visit www.iwin.com for "
    "free download."
)
CROCODILES = [
    "Crocodiles (subfamily Crocodylinae) or true crocodiles are large aquatic tetrapods that live throughout the "
    "tropics in Africa , Asia , the Americas and Australia .",
    "Crocodiles have more webbing on the toes of the hind feet and can better tolerate saltwater due to specialized "
    "salt glands for filtering out salt, which are present but non-functioning in alligators.",
    "Also when the crocodile's mouth is closed, the large fourth tooth in the lower jaw fits into a constriction in "
    "the upper jaw.",
    "They are carnivorous animals, feeding mostly on vertebrates such as fish , reptiles , birds and mammals , and "
    "sometimes on invertebrates such as molluscs and crustaceans , depending on species and age.",
]
MATCHES = [("memory", "memory"), ("stick", "stick"), ("error", "error")]


@pytest.fixture(scope="module")
def answers() -> dict[str, Pairs]:
    """Questions and answers by the papers' protocol, from a small part of the data that replaces Yahoo! Answers."""
    return qa(read_pairs(SQUAD, left="question", right="answer", need_label=False)[0], limit=1500)


@pytest.fixture(scope="module")
def mv_lstm(answers) -> Matcher:
    options = {"vectors": "glove-50d", "freeze": True, "epochs": 3, "seed": 1}
    return Matcher("mv-lstm", interaction="cosine", evidence=False).fit(
        answers["train"], answers["dev"], progress=False, **options
    )


def words(it: Explanation, cells: list[tuple[int, int]]) -> list[tuple[str, str]]:
    return [(it.left.words[i].text, it.right.words[j].text) for i, j in cells]


def test_mv_lstm_ranks_the_cells_of_memory_stick_and_error_highest(mv_lstm):
    it = mv_lstm.explain(STICK, FORMAT)
    pooled = words(it, [(cell.i, cell.j) for cell in it.cells])
    assert len(pooled) == 5
    assert set(pooled[:3]) == set(MATCHES)


def test_mv_lstm_prefers_the_answer_about_a_memory_stick(mv_lstm):
    positive, negative = mv_lstm.predict([(STICK, FORMAT), (STICK, STACK)])
    assert positive > negative


def test_memory_stick_and_error_have_the_largest_leave_one_out_contributions(mv_lstm):
    it = mv_lstm.explain(STICK, FORMAT)
    values = it.contributions_by("leave-one-out").right
    top = sorted(range(len(values)), key=lambda j: -values[j])[:3]
    assert {it.right.words[j].text for j in top} == {"memory", "stick", "error"}


def test_free_matches_free_in_both_answers_although_the_meaning_differs(mv_lstm):
    """Unlike in the paper, the model does not distinguish the two meanings; docs/explaining.md reports this."""
    for answer in (LANGUAGES, GAMES):
        it = mv_lstm.explain(FREE, answer)
        assert words(it, [(it.cells[0].i, it.cells[0].j)]) == [("free", "free")]


@pytest.fixture(scope="module")
def amv_lstm() -> Matcher:
    splits = load_dataset("wikiqa", WIKIQA)
    options = {"vectors": "glove-50d", "freeze": True, "epsilon": 1e-10, "epochs": 4, "seed": 1}
    return Matcher("amv-lstm", rescale=True, evidence=False).fit(
        splits["train"], splits["dev"], progress=False, **options
    )


def test_amv_lstm_ranks_where_crocodiles_live_first_of_the_papers_answers(amv_lstm):
    ranked = amv_lstm.rank("Where do crocodiles live?", CROCODILES)
    assert ranked[0]["corpus_id"] == 0


def test_the_top_cell_of_amv_lstm_is_crocodiles_with_crocodiles(amv_lstm):
    it = amv_lstm.explain("Where do crocodiles live?", CROCODILES[0])
    first = next(cell for cell in it.cells if it.grids[cell.grid].name == "cosine of forward states")
    assert words(it, [(first.i, first.j)]) == [("crocodiles", "crocodiles")]
    assert sum(it.weights[0].left) == pytest.approx(1)
