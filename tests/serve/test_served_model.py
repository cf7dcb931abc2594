"""A served model scores pairs and reports what it truncated."""

from pairlight import Matcher
from pairlight.serve.rerank import truncation_warnings
from pairlight.serve.served_model import ServedModel
from toy_pairs import overlap


def test_a_model_that_reads_less_of_a_side_than_the_tokenizer_reports_its_own_limits(tmp_path):
    matcher = Matcher("duet", left_length=6, right_length=8, pool=2, evidence=False)
    matcher.fit(overlap(6, seed=0), epochs=1, max_length=40, progress=False).save(tmp_path / "duet")
    served = ServedModel.load(tmp_path / "duet")
    short, long = "bama delo firi godu kusi nemo pita", "bama delo firi godu kusi nemo pita bama delo"
    assert truncation_warnings(served.score([short] * 2, [short, long]), served) == [
        "The query has more than 6 words and was truncated.",
        "1 of 2 documents have more than 8 words and were truncated.",
    ]
