"""Explains the score of a pair: traces the model once and turns what its layers computed into plain data."""

from collections.abc import Sequence

import numpy as np

from pairlight.core.errors import InputError
from pairlight.evaluation.calibration import Calibration
from pairlight.explain.attribution import (
    IntegratedGradients,
    contributions_of_cells,
    contributions_of_vectors,
    has_gradients,
    leave_one_out,
    with_evidence,
)
from pairlight.explain.data import (
    CellDifference,
    Comparison,
    Contributions,
    Explanation,
    GridView,
    TextView,
    TopCell,
    WordSpan,
)
from pairlight.explain.grids import MAX_CELLS, interaction_grids, is_word_axis, top_cells
from pairlight.explain.mechanisms import explain_layers
from pairlight.explain.mechanisms.evidence import evidence_of_subwords
from pairlight.explain.mechanisms.findings import TracedPair
from pairlight.explain.removal import Words, words_of_subwords
from pairlight.explain.subwords import join_subwords, join_words
from pairlight.explain.trace import Trace, differentiable, interaction_call, trace_pair
from pairlight.inference.scorer import ModelScorer
from pairlight.inference.scoring import device_of, without_gradients
from pairlight.layers.backends import array_namespace
from pairlight.layers.collate import collate
from pairlight.models.base import PairModel
from pairlight.text.checks import short_repr
from pairlight.text.parse import parse_brackets
from pairlight.text.subwords import SubwordTokenizer
from pairlight.text.tokenizer import TokenizedTexts, Tokenizer


def explain_pair(
    scorer: ModelScorer, left: str, right: str, *, words: bool = True, calibration: Calibration | None = None
) -> Explanation:
    """Explain one pair; `words=False` leaves out the contributions of words, which is faster.

    Layers are found by their types and by the types of their inputs and outputs, so this works for any model. With a
    calibration, the explanation includes the probability of a match.
    """
    model = scorer.model.eval()
    first = next((array for _, array in model.named_arrays()), np.zeros(0))
    with array_namespace(first).outside_inference_mode():  # the caller may use it, and it has no gradients
        return _explain(scorer, differentiable(model), left, right, words, calibration)


def explain_words(scorer: ModelScorer, left: str, right: str) -> tuple[TextView, TextView, Contributions]:
    """Both texts, and what their words contribute by leave-one-out: the fast part of an explanation."""
    texts = text_view(scorer, left, "left"), text_view(scorer, right, "right")
    tokenized = scorer.token_ids([left, right, ""])
    words, subword_words = words_of_tokens(scorer, tokenized, texts)
    found = leave_one_out(scorer, tokenized, words, subword_words)
    if words is not None:
        texts = join_words(texts[0], words[0]), join_words(texts[1], words[1])
    return *texts, found


def _explain(
    scorer: ModelScorer, model: PairModel, left: str, right: str, words: bool, calibration: Calibration | None
) -> Explanation:
    texts = text_view(scorer, left, "left"), text_view(scorer, right, "right")
    tokenized = scorer.token_ids([left, right, ""])
    word_numbers, subword_words = words_of_tokens(scorer, tokenized, texts)
    device = device_of(model)
    trace = trace_pair(model, *(collate(tokenized, np.array([t]), device) for t in range(2)))
    notes = _truncation_notes(scorer, texts)
    interaction = interaction_call(trace)
    grids: tuple[GridView, ...] = ()
    cells: tuple[TopCell, ...] = ()
    grid_gradients = None
    if interaction is not None:
        grids = interaction_grids(trace, interaction, texts[0].words, texts[1].words)
        cells, grid_gradients = top_cells(trace, interaction, attribute=words)
    else:
        notes.append("No grid: the model has no layer that compares the positions of the two texts.")
    rows, columns = (grids[0].rows, grids[0].columns) if grids else ((), ())
    pair = TracedPair(trace, *texts, rows, columns, scorer.tokenizer)
    with without_gradients(model):
        findings = explain_layers(pair)
    contributions: list[Contributions] = []
    if words:
        contributions.append(leave_one_out(scorer, tokenized, word_numbers, subword_words))
        gradients = None
        if pair.word_gradients is not None and pair.word_gradients.is_complete:
            gradients = contributions_of_vectors(trace, pair.word_gradients)
        elif grid_gradients is not None and grid_gradients.is_complete and is_word_axis(rows) and is_word_axis(columns):
            gradients = contributions_of_cells(grid_gradients)
        else:
            notes.append(_no_gradients_note(trace, pair.word_gradients))
        if gradients is not None:
            contributions.append(_add_evidence(gradients, trace, subword_words))
    explanation = Explanation(
        scorer.name,
        trace.score,
        *texts,
        tuple(contributions),
        (*grids, *findings.grids),
        cells,
        tuple(findings.weights),
        tuple(findings.paths),
        tuple(findings.tables),
        tuple(notes),
        float(calibration.probability([trace.score])[0]) if calibration and calibration.has_probability else None,
    )
    return explanation if word_numbers is None else join_subwords(explanation, *word_numbers)


def compare_explanations(explanations: Sequence[Explanation]) -> Comparison:
    """Sort the explanations of several right texts by score, and find the words and cells that differ."""
    order = sorted(range(len(explanations)), key=lambda number: -explanations[number].score)
    ranked = [explanations[number] for number in order]
    left = [each.contributions[0].left for each in ranked if each.contributions]
    words = tuple(tuple(a - b for a, b in zip(left[0], other, strict=True)) for other in left[1:])
    cells = tuple(_cell_differences(ranked[0], other) for other in ranked[1:])
    return Comparison(tuple(ranked), tuple(order), words, cells)


def text_view(scorer: ModelScorer, text: str, side: str) -> TextView:
    """A text with its words and their positions; brackets of a parse tree are not words."""
    tokens = scorer.tokenizer.tokens(text)
    if scorer.tokenizer.inputs.parse_brackets and parse_brackets([token.text for token in tokens]) is not None:
        tokens = [token for token in tokens if token.text not in "()"]
    if not tokens:
        raise InputError(f"The {side} text {short_repr(text)} has no words: give a text with at least one word.")
    knows = scorer.tokenizer.knows
    words = tuple(WordSpan(t.text, t.start, t.end, knows(t.text)) for t in tokens[: scorer.max_length])
    return TextView(text, words, len(tokens) - len(words))


def words_of_tokens(
    scorer: ModelScorer, tokenized: TokenizedTexts, texts: Sequence[TextView]
) -> tuple[Sequence[Words] | None, Sequence[Words] | None]:
    """The words of every text's tokens, None where a token is a word; and those of its subwords, where it has them."""
    tokenizer, subwords = scorer.tokenizer, tokenized.subwords
    words = None
    if isinstance(tokenizer, SubwordTokenizer):
        words = [tokenizer.word_numbers(text.text) for text in texts]
    if subwords is None:
        return words, None
    counts = subwords.lengths.tolist()
    spans = [[(word.start, word.end) for word in text.words] for text in texts]
    plain = [tokenizer.without_brackets(t.text) if isinstance(tokenizer, Tokenizer) else t.text for t in texts]
    return words, [words_of_subwords(text, span, n) for text, span, n in zip(plain, spans, counts, strict=False)]


def _add_evidence(found: Contributions, trace: Trace, words: Sequence[Words] | None) -> Contributions:
    """The contributions with what the subwords of each word add to the evidence."""
    with without_gradients(trace.model):
        parts = evidence_of_subwords(trace)
    if parts is None or words is None:
        return found
    sums = []
    for part, of, own in zip(parts, words, (found.left, found.right), strict=True):
        total = [0.0] * len(own)
        for value, word in zip(part.tolist(), of, strict=True):
            if 0 <= word < len(total):
                total[word] += value
        sums.append(total)
    return with_evidence(found, *sums)


def _truncation_notes(scorer: ModelScorer, texts: tuple[TextView, TextView]) -> list[str]:
    notes = []
    for side, text, limit in zip(("left", "right"), texts, (scorer.left_length, scorer.right_length), strict=True):
        length = len(text.words) + text.truncated
        if length > limit:
            notes.append(f"The model reads the first {limit} of the {length} words of the {side} text.")
    return notes


def _no_gradients_note(trace: Trace, found: IntegratedGradients | None) -> str:
    if not has_gradients(trace):
        return "No integrated gradients: they need PyTorch, pip install 'pairlight[train]'."
    if found is None:
        return "No integrated gradients: the score of this model is not differentiable with respect to word vectors."
    return (
        f"No integrated gradients: {found.residual:.3g} of {found.difference:.3g} would be unexplained, because the "
        "score is not continuous between the baseline and the pair."
    )


def _cell_differences(best: Explanation, other: Explanation) -> tuple[CellDifference, ...]:
    """Differences of the contributions of top cells with the same words; a cell that is not a top cell counts as 0."""
    contributions: dict[tuple[str, int, str], float] = {}
    columns: dict[tuple[str, int, str], tuple[list[int], list[int]]] = {}
    for number, (explanation, sign) in enumerate(((best, 1), (other, -1))):
        for cell in explanation.cells:
            grid = explanation.grids[cell.grid]
            key = grid.name, cell.i, grid.columns[cell.j].text
            if cell.contribution is not None:
                contributions[key] = contributions.get(key, 0.0) + sign * cell.contribution
                columns.setdefault(key, ([], []))[number].append(cell.j)
    rows = {grid.name: grid.rows for grid in best.grids}
    found = []
    for (name, i, right), value in contributions.items():
        best_columns, other_columns = map(tuple, columns[name, i, right])
        found.append(CellDifference(name, rows[name][i].text, right, i, best_columns, other_columns, value))
    return tuple(sorted(found, key=lambda each: -abs(each.contribution))[:MAX_CELLS])
