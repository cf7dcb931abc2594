"""The case studies of the papers: single pairs, shown next to what the paper reports about them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import torch

from pairlight.core.errors import InputError
from pairlight.core.markdown import inline_code
from pairlight.core.progress import ProgressReporter
from pairlight.data.pairs import Pairs
from pairlight.data.splits import Splits
from pairlight.experiments.executor import Completed, Executor
from pairlight.experiments.page import PageBlock, PageHeading, PageImage, PageTable, block_markdown, write_page
from pairlight.experiments.papers import CASE_TITLES, PAPER_TABLES, PaperRow
from pairlight.experiments.published import form_notes
from pairlight.experiments.records import Record, Value, write_record
from pairlight.experiments.runner import RunLog, check_failures, run_all
from pairlight.experiments.runs import train_run
from pairlight.experiments.sources import make_source, read_source
from pairlight.experiments.spec import RunResult, RunSpec, in_paper_form, with_seed
from pairlight.experiments.store import ResultStore
from pairlight.explain.data import Explanation
from pairlight.explain.render.image import draw_explanation
from pairlight.inference.scorer import Scores
from pairlight.layers.collate import collate
from pairlight.matcher import Matcher
from pairlight.models.mv_lstm import MVLSTM

Models = Mapping[str, Matcher]  # trained, by the label of the row
Blocks = list[PageBlock]

SMALL_EPOCHS = 5
COUNTED = 1000  # test pairs of the statistic of best positions

STICK = "How to get rid of memory stick error of my sony cyber shot?"
FORMAT_STICK = "You might want to try to format the memory stick but what is the error message you are receiving."
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
KEYWORDS = ("memory", "stick", "error")
CROCODILES = "where do crocodiles live"  # how the question starts in WikiQA, ignoring case

# What the papers print.
_TABLE_1: dict[int, list[tuple[str, str, float | None]]] = {
    1: [("memory", "memory", None)],
    5: [
        ("memory", "memory", 0.84),
        ("error", "error", 0.81),
        ("stick", "stick", 0.76),
        ("stick", "memory", 0.65),
        ("memory", "stick", 0.63),
    ],
}
_CROCODILES = {  # by the first words of an answer: rank and score with MV-LSTM, (Q), (A) and (Q+A)
    "crocodiles (subfamily": ((3, 0.3646), (1, 0.9003), (2, 0.2871), (3, 0.3640)),
    "crocodiles have more webbing": ((1, 0.8989), (2, 0.8826), (1, 3.5154), (1, 2.0885)),
    "also when the crocodile": ((2, 0.6290), (4, -1.1083), (4, -0.2245), (6, -0.2575)),
    "they are carnivorous": ((6, -2.0848), (3, -0.6799), (3, 0.2831), (2, 0.5409)),
}


@dataclass(frozen=True)
class CaseStudy:
    """Models that are trained, and what is shown of them."""

    dataset: str  # a name of `pairlight.experiments.sources.SOURCES`
    rows: tuple[PaperRow, ...]
    show: Callable[[Models, Splits, Path], Blocks]  # the path is that of figures, without their ending


@dataclass(frozen=True)
class CaseReport(Record):
    """The runs of a case study, and its page."""

    name: str
    title: str
    scale: str
    command: str
    runs: tuple[RunResult, ...]
    body: str  # of the page, as Markdown


def run_case(
    name: str, out: Path, *, scale: str, seeds: int, command: str, executor: Executor, reporter: ProgressReporter
) -> tuple[CaseReport, str]:
    """Train the models of a case study, or load those that are trained, and write its page."""
    case, title = CASES[name], CASE_TITLES[name]
    make_source(case.dataset, scale, out, lambda done: reporter.update(f"Making {case.dataset}", done))
    splits = read_source(case.dataset, scale, out)
    folder = out / "models" / f"{name}-{scale}"
    store, log = ResultStore(out / "runs" / f"{name}-{scale}", RunResult), RunLog(reporter)
    specs = {
        (row.label, seed): _spec(row, scale, seed) for seed in range(1, seeds + 1) for row in case.rows
    }  # every row once before any is trained again

    def completed(run: Completed[RunResult], done: float) -> None:
        log.completed(f"{run.spec.model}, seed {run.spec.seed}: {run.result.seconds:.0f} s", run.notes)
        reporter.update(name, done)

    work = partial(_train_and_save, folder)
    found = run_all(list(specs.values()), work, splits, store, executor, on_completed=completed, on_failed=log.failed)
    check_failures(log.failures)
    blocks: Blocks = [
        f"{title}. Data: {case.dataset}. Scale: {scale}.",
        f"Last run: {inline_code(command)}.",
        *form_notes(name),
    ]
    for seed in range(1, seeds + 1):
        models = {row.label: Matcher.load(folder / specs[row.label, seed].name) for row in case.rows}
        blocks += [PageHeading(f"Seed {seed}"), *case.show(models, splits, out / f"{name}-{scale}-{seed}")]
    body = "\n\n".join(map(block_markdown, blocks))
    report = CaseReport(name, title, scale, command, tuple(found.values()), body)
    write_record(out / f"{name}-{scale}.json", report)
    return report, write_page(out / f"{name}-{scale}", f"{name}: {title}", blocks)


def _spec(row: PaperRow, scale: str, seed: int) -> RunSpec:
    settings = with_seed(row.model, in_paper_form(row.model, row.settings), seed)
    small: dict[str, Value] = {"epochs": SMALL_EPOCHS} if scale == "small" else {}
    return RunSpec(row.model, seed, settings, {**row.options, **small})


def _train_and_save(folder: Path, spec: RunSpec, splits: Splits) -> RunResult:
    matcher, result = train_run(spec, splits)
    matcher.save(folder / spec.name)
    return result


def _mv_lstm_cases(models: Models, splits: Splits, figures: Path) -> Blocks:
    return [*_pooled_cells(models, figures), *_free(models), *_best_positions(models["MV-LSTM (k=1)"], splits["test"])]


def _pooled_cells(models: Models, figures: Path) -> Blocks:
    """Table 1: which cells are pooled, and whether the positive scores above the negative."""
    blocks: Blocks = []
    for k, paper in _TABLE_1.items():
        matcher = models[f"MV-LSTM (k={k})"]
        it = matcher.explain(STICK, FORMAT_STICK)
        rows = []
        for number, cell in enumerate(sorted(it.cells, key=lambda cell: cell.rank)[:k]):
            left, right = it.left.words[cell.i].text, it.right.words[cell.j].text
            theirs = paper[number]
            value = "" if theirs[2] is None else f" {theirs[2]:.2f}"
            words = f"{left} ({cell.i + 1})", f"{right} ({cell.j + 1})"
            rows.append([f"{cell.rank}", *words, f"{cell.value:.2f}", f"{theirs[0]}, {theirs[1]}{value}"])
        positive, negative = matcher.predict([(STICK, FORMAT_STICK), (STICK, STACK)])
        blocks += [
            f"Table 1, k = {k}: the pooled cells of the positive pair, with positions from 1 (in the paper 6 and 9 for "
            "k = 1). The positive scores "
            f"{positive:.2f}, the negative {negative:.2f}.",
            PageTable(["cell", "word of the question", "word of the answer", "value", "paper"], rows),
        ]
        picture = figures.with_name(f"{figures.name}-k-{k}.png")
        draw_explanation(it, picture)
        blocks.append(PageImage(picture, f"The interactions of MV-LSTM and the {k} that are pooled"))
    return blocks


def _free(models: Models) -> Blocks:
    """Table 4: the interaction of free with free in both answers, and the scores of two models."""
    rows = []
    for label in ("MV-LSTM (k=5)", "MultiGranCNN"):
        matcher = models[label]
        values = [_interactions_of(matcher.explain(FREE, answer), "free") for answer in (LANGUAGES, GAMES)]
        scores = matcher.predict([(FREE, LANGUAGES), (FREE, GAMES)])
        cells = [", ".join(f"{value:.2f}" for value in some) for some in values]
        rows.append([label, f"{scores[0]:.2f}", f"{scores[1]:.2f}", "yes" if scores[0] > scores[1] else "no", *cells])
    head = ["model", "score of the positive", "of the negative", "positive above", "free–free, positive", "negative"]
    return [
        "Table 4: in the paper MV-LSTM ranks the positive above the negative and MultiGranCNN does not, and the "
        "interaction of *free* with *free* is large in the positive and small in the negative.",
        PageTable(head, rows),
    ]


def _interactions_of(it: Explanation, word: str) -> list[float]:
    """The values of the cells in which a word meets itself, in the grid that the pooled cells are from."""
    if it.main_grid is None or it.grids[it.main_grid].kind != "interaction":
        return []
    grid = it.grids[it.main_grid]
    rows = [number for number, label in enumerate(grid.rows) if label.text == word]
    columns = [number for number, label in enumerate(grid.columns) if label.text == word]
    return [grid.values[i][j] for i in rows for j in columns]


@dataclass(frozen=True)
class BestPositions:
    """How often the best position of a positive pair is the first or the last of a text."""

    pairs: int
    both_first: int
    both_last: int
    left_edge: int  # the first or last of the left text
    right_edge: int
    neither: int  # an inner position of both texts
    expected_neither: float  # if every position were equally likely


@torch.no_grad()
def best_positions(matcher: Matcher, test: Pairs, limit: int = COUNTED) -> BestPositions:
    """Where the largest interaction is, over the positive pairs of a test set whose texts have at least three words."""
    model, scorer = matcher.scorer.model, matcher.scorer
    if not isinstance(model, MVLSTM):
        raise InputError(f"{matcher} has no positions of MV-LSTM.")
    counted = dict.fromkeys(("pairs", "both_first", "both_last", "left_edge", "right_edge", "neither"), 0)
    expected = 0.0
    for row in np.flatnonzero(test.labels > 0)[:limit]:
        texts = scorer.tokenizer.tokenize([test.texts[test.left[row]], test.texts[test.right[row]]], scorer.max_length)
        left, right = (collate(texts, np.array([number]), torch.device("cpu")) for number in (0, 1))
        grid = model.interact(model.encode_left(left), model.encode_right(right)).x[0].amax(0)  # [L, R]
        L, R = grid.shape
        if min(L, R) < 3:
            continue
        i, j = divmod(int(grid.flatten().argmax()), R)
        at_left, at_right = i in (0, L - 1), j in (0, R - 1)
        counted["pairs"] += 1
        counted["both_first"] += i == 0 and j == 0
        counted["both_last"] += i == L - 1 and j == R - 1
        counted["left_edge"] += at_left
        counted["right_edge"] += at_right
        counted["neither"] += not at_left and not at_right
        expected += (L - 2) * (R - 2) / (L * R)
    return BestPositions(**counted, expected_neither=expected / max(counted["pairs"], 1))


def _best_positions(matcher: Matcher, test: Pairs) -> Blocks:
    found = best_positions(matcher, test)
    shares = {
        "first in both texts": found.both_first,
        "last in both texts": found.both_last,
        "first or last in the left text": found.left_edge,
        "first or last in the right text": found.right_edge,
        "neither first nor last in both texts": found.neither,
    }
    rows = [[name, f"{count / max(found.pairs, 1):.1%}"] for name, count in shares.items()]
    return [
        f"The best position, k = 1, over {found.pairs:,} positive test pairs. In the paper it is usually not the first "
        f"or last one. If all positions were equally likely, {found.expected_neither:.1%} would be neither.",
        PageTable(["best position", "share of pairs"], rows),
    ]


def _match_srnn_path(models: Models, splits: Splits, figures: Path) -> Blocks:
    """Figure 5: which matches the path crosses."""
    matcher = models["Match-SRNN"]
    it = matcher.explain(STICK, FORMAT_STICK, words=False)
    path = set(it.paths[0].cells)
    rows = []
    for word in KEYWORDS:
        i, j = ([each.text for each in text.words].index(word) for text in (it.left, it.right))
        rows.append([f"{word}–{word}", "yes" if (i, j) in path else "no", "yes"])
    picture = figures.with_name(f"{figures.name}.png")
    draw_explanation(it, picture)
    positive, negative = matcher.predict([(STICK, FORMAT_STICK), (STICK, STACK)])
    return [
        "Figure 5: the path along the largest of z_l, z_t and z_d, with one value of each gate for all dimensions "
        f"(tied_gates=true). The positive scores {positive:.2f}, the negative {negative:.2f}.",
        PageTable(["match", "on our path", "on the paper's path"], rows),
        PageImage(picture, "The state with the largest weight in the score, and the path"),
    ]


def _crocodiles(models: Models, splits: Splits, figures: Path) -> Blocks:
    """Table 4 of the aMV-LSTM paper: score and rank of answers to a question, and the gates of its words."""
    question, answers, labels = _question(splits, CROCODILES)
    scores = {label: matcher.predict([(question, answer) for answer in answers]) for label, matcher in models.items()}
    ranks = {label: _ranks(values) for label, values in scores.items()}
    shown = sorted(range(len(answers)), key=lambda number: (-labels[number], ranks["MV-LSTM"][number]))[:4]
    printed = [number for number, answer in enumerate(answers) if _in_paper(answer)]
    rows = []
    for number in dict.fromkeys([*printed, *shown]):
        paper = _in_paper(answers[number])
        row = [f"{answers[number][:60]}…", f"{labels[number]:g}"]
        for place, label in enumerate(models):
            row.append(f"({ranks[label][number]}) {scores[label][number]:.3f}")
            row.append(f"({paper[place][0]}) {paper[place][1]:.3f}" if paper else "")
        rows.append(row)
    head = ["answer", "label"] + [column for label in models for column in (label, "paper")]
    gates = []
    for label, matcher in models.items():
        for weights in matcher.explain(question, answers[shown[0]], words=False).weights:
            for side, values in (("question", weights.left), ("answer", weights.right)):
                if values is not None and side == "question":
                    gates.append([f"{label}, {side}", ", ".join(f"{value:.2f}" for value in values)])
    return [
        f"Table 4: “{question}” has {len(answers)} answers. (Rank) and score by each model, and those of the paper.",
        PageTable(head, rows),
        "The attention of the words of the question, in their order.",
        PageTable(["model", "weights"], gates),
    ]


def _question(splits: Splits, start: str) -> tuple[str, list[str], list[float]]:
    """The text, the answers and the labels of the question that starts like this."""
    for split in ("test", "dev", "train"):
        pairs = splits[split]
        rows = [row for row in range(len(pairs)) if pairs.texts[pairs.left[row]].casefold().startswith(start)]
        if rows:
            answers = [pairs.texts[pairs.right[row]] for row in rows]
            return pairs.texts[pairs.left[rows[0]]], answers, [float(pairs.labels[row]) for row in rows]
    raise InputError(f"No question of the dataset starts with {start!r}: use --scale full, which has all questions.")


def _ranks(scores: Scores) -> list[int]:
    order = np.argsort(-scores, kind="stable")
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.arange(1, len(order) + 1)
    return [int(rank) for rank in ranks]


def _in_paper(answer: str) -> tuple[tuple[int, float], ...] | None:
    return next((found for start, found in _CROCODILES.items() if answer.casefold().startswith(start)), None)


def _row(table: str, label: str, **settings: Value) -> PaperRow:
    (row,) = [row for row in PAPER_TABLES[table].rows if row.label == label]
    return PaperRow(label, row.model, {**row.settings, **settings}, row.options)


CASES: dict[str, CaseStudy] = {
    "mv-lstm-cases": CaseStudy(
        "squad-sentences",
        (
            _row("mv-lstm-k", "MV-LSTM (k=1)"),
            _row("mv-lstm-k", "MV-LSTM (k=5)"),
            _row("mv-lstm-qa", "MultiGranCNN"),
        ),
        _mv_lstm_cases,
    ),
    "match-srnn-path": CaseStudy(
        "squad-sentences",
        (_row("match-srnn", "Match-SRNN", tied_gates=True),),
        _match_srnn_path,
    ),
    "amv-lstm-crocodiles": CaseStudy(
        "wikiqa",
        tuple(
            _row("amv-lstm-wikiqa", label) for label in ("MV-LSTM", "aMV-LSTM (Q)", "aMV-LSTM (A)", "aMV-LSTM (Q+A)")
        ),
        _crocodiles,
    ),
}
