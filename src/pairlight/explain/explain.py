"""Why a pair has its score: the model is run once under watch, and what it did is put into plain data."""

from collections.abc import Sequence

import numpy as np
import torch

from pairlight.core.errors import InputError
from pairlight.explain.data import Comparison, Contributions, Difference, Explanation, Side, Word
from pairlight.explain.grids import STRONGEST, by_word, channels_of, strongest
from pairlight.explain.mechanisms import Reading, account_of
from pairlight.explain.trace import Integrated, apart, interaction, run
from pairlight.explain.attribution import by_cells, by_vectors, left_out
from pairlight.models.base import PairModel
from pairlight.inference.scoring import tokens
from pairlight.text.ngrams import SPELLINGS
from pairlight.text.parse import unbracketed
from pairlight.text.tokenizer import Tokenizer


@torch.inference_mode(False)  # which a caller may be in, and where no slope can be taken
def explain_pair(
    name: str, model: PairModel, tokenizer: Tokenizer, left: str, right: str, *, limit: int, words: bool = True
) -> Explanation:
    """Explain one pair; without `words`, by the model's own mechanism alone, which is quicker.

    Nothing here asks which model it is: stages are found by what they take and give, mechanisms by the parts they use.
    """
    sides = (
        side_of(tokenizer, left, limit, "left", parses=model.parses),
        side_of(tokenizer, right, limit, "right", parses=model.parses),
    )
    encoded = tokenizer.encode([left, right, ""], limit, parses=model.parses)
    model = apart(model)
    device = next((p.device for p in [*model.parameters(), *model.buffers()]), torch.device("cpu"))
    seen = run(model, tokens(encoded, np.array([0]), device), tokens(encoded, np.array([1]), device))
    most = [min(limit, model.settings[name]) for name in model.reads] if model.reads else [limit, limit]
    notes = [
        f"The {which} text has {len(side.words) + side.cut - read} words more than the {read} that the model reads."
        for which, side, read in zip(("left", "right"), sides, most, strict=True)
        if len(side.words) + side.cut > read
    ]
    met = interaction(seen)
    grids = () if met is None else channels_of(seen, met, sides[0].words, sides[1].words)
    cells, of_grid = ((), None) if met is None else strongest(seen, met, weigh=words)
    if met is None:
        notes.append("No grid: no stage of this model lets the positions of the two texts meet one by one.")
    reading = Reading(seen, *sides, grids[0].rows if grids else (), grids[0].columns if grids else (), tokenizer)
    with torch.no_grad():
        account = account_of(reading)
    contributions: list[Contributions] = []
    if words:
        contributions.append(left_out(model, encoded))
        square = bool(grids) and by_word(grids[0].rows) and by_word(grids[0].columns)
        of_words = reading.grown
        if of_words is not None and of_words.adds_up:
            contributions.append(by_vectors(seen, of_words))
        elif square and of_grid is not None and of_grid.adds_up:
            contributions.append(by_cells(of_grid))
        else:
            notes.append(_why_not(of_words))
    return Explanation(
        name,
        seen.score,
        *sides,
        tuple(contributions),
        (*grids, *account.grids),
        cells,
        tuple(account.weights),
        tuple(account.paths),
        tuple(account.tables),
        tuple(notes),
    )


def compared(explanations: Sequence[Explanation]) -> Comparison:
    """Explanations of one left text with several right ones, best first, and the words and cells that make it so."""
    order = sorted(range(len(explanations)), key=lambda place: -explanations[place].score)
    ranked = [explanations[place] for place in order]
    adds = [each.contributions[0].left for each in ranked if each.contributions]
    less = tuple(tuple(a - b for a, b in zip(adds[0], other, strict=True)) for other in adds[1:])
    return Comparison(tuple(ranked), tuple(order), less, tuple(_apart(ranked[0], other) for other in ranked[1:]))


def _apart(best: Explanation, other: Explanation) -> tuple[Difference, ...]:
    """What the same two words add to either by meeting, as far as their cells are told; what is not told adds zero."""
    adds: dict[tuple[str, int, str], float] = {}
    columns: dict[tuple[str, int, str], tuple[list[int], list[int]]] = {}
    for place, (it, sign) in enumerate(((best, 1), (other, -1))):
        for cell in it.cells:
            grid = it.grids[cell.grid]
            key = grid.name, cell.i, grid.columns[cell.j].label
            if cell.adds is not None:
                adds[key] = adds.get(key, 0.0) + sign * cell.adds
                columns.setdefault(key, ([], []))[place].append(cell.j)
    rows = {grid.name: grid.rows for grid in best.grids}
    found = []
    for (name, i, right), value in adds.items():
        its, others = columns[name, i, right]
        found.append(Difference(name, rows[name][i].label, right, i, tuple(its), tuple(others), value))
    return tuple(sorted(found, key=lambda each: -abs(each.adds))[:STRONGEST])


def side_of(tokenizer: Tokenizer, text: str, limit: int, which: str, *, parses: bool = False) -> Side:
    """A text with its words and their places; `which` names it where it has none. Brackets of a parse are no words."""
    found = tokenizer.tokens(text)
    if parses and unbracketed([each.text for each in found]) is not None:
        found = [each for each in found if each.text not in "()"]
    if not found:
        raise InputError(f"The {which} text {text!r} has no word: give one to explain.")
    words = tuple(Word(each.text, each.start, each.end, _known(tokenizer, each.text)) for each in found[:limit])
    return Side(text, words, len(found) - len(words))


def _known(tokenizer: Tokenizer, word: str) -> bool:
    pieces = [word] if tokenizer.input_kind == "words" else SPELLINGS[tokenizer.input_kind](word)
    return any(piece in tokenizer.places for piece in pieces)


def _why_not(found: Integrated | None) -> str:
    if found is None:
        return "No integrated gradients: this model's score does not follow vectors of words, there is no slope."
    return (
        f"No integrated gradients: they leave {found.residual:.3g} of {found.span:.3g} unexplained, "
        "because the score jumps on the way from the baseline."
    )
