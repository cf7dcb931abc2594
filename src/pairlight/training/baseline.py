"""The dev metric of BM25, which every training is compared with."""

from pairlight.core.progress import ProgressReporter
from pairlight.data.pairs import Pairs
from pairlight.evaluation.dev_metric import dev_metric
from pairlight.inference.scorer import ModelScorer
from pairlight.models import model_class
from pairlight.training.config import TrainingConfig
from pairlight.training.initialize import initialize_model

BM25 = "bm25"


def bm25_dev_metric(pairs: Pairs, dev: Pairs, metric: str) -> float:
    """The metric on `dev` of BM25 with its default settings and the statistics of `pairs`."""
    config = TrainingConfig.of(model_class(BM25).training_defaults, {"metric": metric, "vectors": "none"})
    tokenizer, model = initialize_model(BM25, {}, pairs, config, ProgressReporter())
    # Not with the scorer's own method, which warns about truncated texts: the user has not asked for this model.
    model.fit_statistics(tokenizer.tokenize(pairs.texts, config.max_length), pairs)
    scorer = ModelScorer(BM25, model, tokenizer, config.max_length)
    texts = tokenizer.tokenize(dev.texts, config.max_length)
    return dev_metric(dev, scorer.score_tokenized(texts, dev.left, dev.right), metric)
