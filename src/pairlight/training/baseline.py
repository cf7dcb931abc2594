"""The dev metric of BM25, which every training is compared with."""

from pairlight.core.progress import ProgressReporter
from pairlight.data.pairs import Pairs
from pairlight.evaluation.dev_metric import dev_metric
from pairlight.inference.scorer import ModelScorer, Scores
from pairlight.models import model_class
from pairlight.training.config import TrainingConfig
from pairlight.training.initialize import initialize_model

BM25 = "bm25"


def bm25_dev_metric(pairs: Pairs, dev: Pairs, metric: str) -> float:
    """The metric on `dev` of BM25 with its default settings and the statistics of `pairs`."""
    return dev_metric(dev, bm25_scores(pairs, dev), metric)


def bm25_scores(pairs: Pairs, scored: Pairs) -> Scores:
    """The scores of BM25 with its default settings and the statistics of `pairs`."""
    config = TrainingConfig.of(model_class(BM25).training_defaults, {"vectors": "none"})
    tokenizer, model = initialize_model(BM25, {}, pairs, config, ProgressReporter())
    # Not with the scorer's own method, which warns about truncated texts: the user has not asked for this model.
    model.fit_statistics(tokenizer.tokenize(pairs.texts, config.max_length), pairs)
    scorer = ModelScorer(BM25, model, tokenizer, config.max_length)
    texts = tokenizer.tokenize(scored.texts, config.max_length)
    return scorer.score_tokenized(texts, scored.left, scored.right)
