"""The results as a page of Markdown tables, the goals first."""

from collections.abc import Iterable
from typing import Any

Rows = list[dict[str, Any]]


def report(results: dict[str, Any], pictures: list[str]) -> str:
    m = results["machine"]
    versions = ", ".join(f"{name} {version}" for name, version in m["versions"].items())
    parts = [
        "# Benchmark",
        f"{m['cpu']}, {m['cores']} cores, {m['system']}; kernels {m['kernels']}; {versions}; {m['date']}. "
        "Made by `make bench`: one run, one thread, CPU time, sides in turn, medians. Training is pairlight's whole "
        "loop (building batches, both passes, the optimiser), 64 better texts a step, each with one worse one. The "
        "double loop and the packed nn.LSTM have a plain loop with PyTorch's own AdaGrad, in a process of their own.",
    ]
    if results["quick"]:
        parts.append("**This was a quick run: one round, small sizes.**")
    if results["goals"]:
        parts += ["## Goals", _table(["goal", "at least", "reached", ""], map(_goal, results["goals"]))]
    if results.get("models"):
        parts += ["## Every model", "Pairs a second; memory that a step of 128 pairs adds, at its highest."]
        parts += [_models(results["models"])]
        parts += ["Share of training outside the model's own arithmetic, the worst of the workloads:"]
        parts += [_outside(results["models"])]
    for key, title in _VERSUS.items():
        if results.get(key):
            parts += [f"## {title}", _versus(results[key])]
    if loops := results.get("loops"):
        rows = [[n, f"{loops['gflops'][n]:.0f}", f"{s:.0%}"] for n, s in loops["share_of_sgemm"].items()]
        parts += ["## The two loops alone", f"sgemm of 1024 x 1024: {loops['gflops']['sgemm']:.0f} GFLOP/s."]
        parts += [_table(["loop", "GFLOP/s", "of sgemm"], rows)]
        two = (f"{name} {factor:.2f}x" for name, factor in loops["two_threads"].items())
        parts += [f"Two threads against one, by the wall clock: {', '.join(two)}."]
    if kept := results.get("stored"):
        parts += ["## Texts encoded once", *_stored(kept)]
    if growth := results.get("growth"):
        parts += ["## Growth", *(f"![{name}]({name})" for name in pictures), _before_training(growth["by_pairs"])]
    if start := results.get("start"):
        size = results["installed_mb"]
        parts += [
            "## Start and size",
            f"From starting Python to the first score of a saved MV-LSTM: {start['wall']:.1f} s by the wall clock, "
            f"{start['cpu']:.1f} s of CPU time. Installed: pairlight {size['own']:.1f} MB, what it needs "
            f"{size['needed']:,.0f} MB, of which torch {size['torch']:,.0f} MB.",
        ]
    return "\n\n".join(parts) + "\n"


_VERSUS = {
    "double_loop": "Match-SRNN and its naive double loop",
    "packed": "MV-LSTM and a packed nn.LSTM",
    "cross_encoders": "MV-LSTM and cross-encoders with random weights",
}


def goals(results: dict[str, Any]) -> Rows:
    """What pairlight wants to reach, and what this run shows."""
    found: Rows = []

    def held(goal: str, least: float, reached: float, note: str = "") -> None:
        found.append({"goal": goal, "least": least, "reached": reached, "met": reached >= least, "note": note})

    loop = {(r["workload"], r["side"]): r for r in results.get("double_loop", []) if "side" in r}
    for workload, least in (("30x40", 25), ("50x50", 60)):
        if (workload, "pairlight") in loop:
            ours, naive = loop[workload, "pairlight"], loop[workload, "double loop"]
            what = f"Match-SRNN {workload}, training, times the double loop"
            share = ours["train"] * ours["flops"] / ours["sgemm"]
            held(what, least, ours["train"] / naive["train"], f"the whole step at {share:.0%} of sgemm")
            if ours["train_mb"]:
                memory = naive["train_mb"] / ours["train_mb"]
                held(f"Match-SRNN {workload}, memory of the double loop, times ours", 4, memory)
    packed = {(r["workload"], r["interaction"], r["side"]): r for r in results.get("packed", []) if "side" in r}
    for workload, interaction, side in packed:
        if side == "pairlight":
            ours, plain = packed[workload, interaction, side], packed[workload, interaction, "packed nn.LSTM"]
            what = f"MV-LSTM {interaction}, {workload}"
            held(f"{what}, training, times packed nn.LSTM", 4.5, ours["train"] / plain["train"])
            held(f"{what}, scoring, times packed nn.LSTM", 2, ours["score"] / plain["score"])
    for name, share in results.get("loops", {}).get("share_of_sgemm", {}).items():
        held(f"{name}, share of sgemm", 0.4 if name.startswith("spatial") else 0.3, share)
    for name, factor in results.get("loops", {}).get("two_threads", {}).items():
        held(f"{name}, two threads, times one", 1.7, factor)
    encoders = {(r["workload"], r["side"]): r for r in results.get("cross_encoders", []) if "side" in r}
    for workload, side in encoders:
        if side.startswith("mv-lstm"):
            tiny = encoders[workload, "TinyBERT (L2-H128), transformers"]
            ratio = encoders[workload, side]["score"] / tiny["score"]
            held(f"{side}, {workload}, scoring, times TinyBERT", 4, ratio)
    inside = {name: 1 - batches - optimizer for name, (batches, optimizer) in _worst(results.get("models", [])).items()}
    if inside:
        name = min(inside, key=inside.__getitem__)
        held(f"share of training in the model's own arithmetic, the least of all models ({name})", 0.8, inside[name])
    return found


def _goal(row: dict[str, Any]) -> list[str]:
    verdict = ["met" if row["met"] else "**not met**", *filter(None, [row["note"]])]
    return [row["goal"], f"{row['least']:g}", f"{row['reached']:.2f}", "; ".join(verdict)]


def _models(rows: Rows) -> str:
    cells = {(r["workload"], r["model"]): r for r in rows if "model" in r}
    workloads = list(dict.fromkeys(workload for workload, _ in cells))
    names = list(dict.fromkeys(name for _, name in cells))
    head = ["model", *(f"{what} {w}" for w in workloads for what in ("train", "score", "MB"))]
    lines = []
    for name in names:
        line = [name]
        for workload in workloads:
            row = cells[workload, name]
            line += [_count(row["train"]), _count(row["score"]), _count(row["train_mb"])]
        lines.append(line)
    return _table(head, lines) + _skipped(rows)


def _worst(rows: Rows) -> dict[str, tuple[float, float]]:
    worst: dict[str, tuple[float, float]] = {}
    for row in rows:
        if "optimizer" in row:
            worst[row["model"]] = max(worst.get(row["model"], (0, 0)), (row["batches"], row["optimizer"]), key=sum)
    return worst


def _outside(rows: Rows) -> str:
    lines = [[name, f"{batches:.1%}", f"{step:.1%}"] for name, (batches, step) in _worst(rows).items()]
    return _table(["model", "loop and batches", "optimiser"], lines)


def _versus(rows: Rows) -> str:
    shown = [r for r in rows if "side" in r]
    memory = any(r.get("train_mb") for r in shown)
    kinds = any("interaction" in r for r in shown)
    head = ["texts", *(["interaction"] if kinds else []), "side", "train pairs/s", "score pairs/s"]
    lines = [
        [
            r["workload"],
            *([r["interaction"]] if kinds else []),
            r["side"],
            _count(r["train"]),
            _count(r["score"]),
            *([_count(r["train_mb"])] if memory else []),
        ]
        for r in shown
    ]
    return (_table([*head, *(["MB of a step"] if memory else [])], lines) if lines else "") + _skipped(rows)


def _stored(kept: dict[str, Rows]) -> list[str]:
    head = ["model", "stored as", "ms a query", "without encodings", "kB a text", "rank correlation", "same ten best"]
    ranking = [
        [
            r["model"],
            r["dtype"],
            f"{r['ms']:.1f}",
            f"{r['ms_from_texts']:.0f}",
            f"{r['kb']:.1f}",
            f"{r['spearman']:.5f}",
            f"{r['top']:.0%}",
        ]
        for r in kept["ranking"]
    ]
    sides = ["distinct", "lists", "same_candidates"]
    return [
        "One query of 10 words against 1000 texts of 30, in a mapped file; rank correlation is that with fp32:",
        _table(head, ranking),
        "Scoring, pairs a second: all texts distinct, lists of 20 candidates, the same 20 candidates in every list:",
        _table(
            ["model", "distinct", "lists", "same candidates"],
            ([r["model"], *(_count(r[side]) for side in sides)] for r in kept["again"]),
        ),
    ]


def _before_training(rows: Rows) -> str:
    head = [
        "pairs",
        "texts counted/s",
        "texts tokenised/s",
        "pairs in batches/s",
        "bytes a pair: numbers",
        "its texts",
    ]
    lines = [
        [
            f"{r['pairs']:,}",
            _count(r["counted_texts_s"]),
            _count(r["tokenised_texts_s"]),
            _count(r["built_pairs_s"]),
            _count(r["bytes_a_pair"]["numbers"]),
            _count(r["bytes_a_pair"]["texts"]),
        ]
        for r in rows
    ]
    return f"Before training, texts of {rows[0]['words_a_text']} words:\n\n" + _table(head, lines)


def _skipped(rows: Rows) -> str:
    return "".join(f"\n\nLeft out {r.get('workload', '')}: {r['skipped']}" for r in rows if "skipped" in r)


def _count(value: float | None) -> str:
    return "" if value is None else f"{value:,.0f}"


def _table(head: list[str], rows: Iterable[list[str]]) -> str:
    lines = [head, ["---"] + ["---:"] * (len(head) - 1), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
