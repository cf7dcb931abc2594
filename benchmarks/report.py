"""Writes the results as a page of Markdown tables, goals first."""

from collections.abc import Callable, Iterable
from typing import Any

from pairlight.core.markdown import markdown_table

Rows = list[dict[str, Any]]

_TIMES = ("p50_ms", "p99_ms", "even_p99_ms", "overload_answered", "overload_refused_p99_ms")

_COMPARISONS = {
    "double_loop": "Match-SRNN and a naive double loop",
    "packed": "MV-LSTM and a packed nn.LSTM",
    "cross_encoders": "MV-LSTM and cross-encoders with random weights",
    "subwords": "late-interaction on subwords, WordLlama and cross-encoders with random weights",
}


def report(results: dict[str, Any], figures: list[str]) -> str:
    """The page."""
    m = results["machine"]
    versions = ", ".join(f"{name} {version}" for name, version in m["versions"].items())
    blocks = [
        "# Benchmark",
        f"{m['cpu']}, {m['cores']} cores, {m['system']}; kernels: {m['kernels']}; {versions}; {m['date']}. Made by "
        "`make bench`: one run, one thread, CPU time, alternating sides, medians. Training is the whole loop of "
        "pairlight: building batches, forward and backward pass, and the optimizer, with 64 positives per step and one "
        "negative each. The double loop and the packed nn.LSTM use a plain loop with PyTorch's AdaGrad in a process of "
        "their own.",
    ]
    if results["quick"]:
        blocks.append("**This was a quick run with one round and small sizes.**")
    if results["goals"]:
        blocks += ["## Goals", _table(["goal", "at least", "reached", ""], map(_goal, results["goals"]))]
    if results.get("models"):
        blocks += ["## Every model", "Pairs per second, and the peak memory of a training step with 128 pairs."]
        blocks += [_models(results["models"]), *_skipped(results["models"])]
        blocks += ["The share of training time outside the model, for the workload where it is largest:"]
        blocks += [_overhead(results["models"])]
    for key, title in _COMPARISONS.items():
        if results.get(key):
            blocks += [f"## {title}", *_comparison(results[key]), *_skipped(results[key])]
    if kernels := results.get("kernels"):
        rows = [[n, f"{kernels['gflops'][n]:.0f}", f"{s:.0%}"] for n, s in kernels["share_of_sgemm"].items()]
        blocks += ["## Recurrent kernels", f"sgemm of 1024 x 1024: {kernels['gflops']['sgemm']:.0f} GFLOP/s."]
        blocks += [_table(["kernel", "GFLOP/s", "share of sgemm"], rows)]
        two = (f"{name} {factor:.2f}" for name, factor in kernels["two_threads"].items())
        blocks += [f"Speedup with two threads, in wall time: {', '.join(two)}."]
    if stored := results.get("stored"):
        blocks += ["## Stored texts in one pass", *_stored(stored)]
    if encodings := results.get("encodings"):
        blocks += ["## Stored encodings", *_encodings(encodings)]
    if growth := results.get("growth"):
        blocks += ["## Growth", *(f"![{name}]({name})" for name in figures), _before_training(growth["by_pairs"])]
    if served := results.get("serving"):
        blocks += ["## Serving", *_serving(served), *_skipped(served)]
    if searched := results.get("search"):
        blocks += [f"## Search among {searched['texts']:,} texts", *_search(searched)]
    if start := results.get("start"):
        size = results["installed_mb"]
        blocks += [
            "## Start and size",
            f"From starting Python to the first score of a saved MV-LSTM: {start['wall']:.1f} s of wall time, "
            f"{start['cpu']:.1f} s of CPU time. Installed: pairlight {size['own']:.1f} MB, its requirements "
            f"{size['required']:,.0f} MB, of which torch {size['torch']:,.0f} MB.",
        ]
    if light := results.get("light"):
        blocks += ["## Without PyTorch", *_light(light)]
    return "\n\n".join(blocks) + "\n"


def goals(results: dict[str, Any]) -> Rows:
    """What pairlight should reach, and what this run reached."""
    found: Rows = []

    def check(goal: str, least: float, reached: float, note: str = "") -> None:
        found.append({"goal": goal, "least": least, "reached": reached, "met": reached >= least, "note": note})

    loop = {(r["workload"], r["side"]): r for r in results.get("double_loop", []) if "side" in r}
    for workload, least in (("30x40", 25), ("50x50", 60)):
        if (workload, "pairlight") in loop:
            ours, naive = loop[workload, "pairlight"], loop[workload, "double loop"]
            what = f"Match-SRNN {workload}, training, times the double loop"
            share = ours["train"] * ours["flops"] / ours["sgemm"]
            check(what, least, ours["train"] / naive["train"], f"the whole step at {share:.0%} of sgemm")
            if ours["train_mb"]:
                memory = naive["train_mb"] / ours["train_mb"]
                check(f"Match-SRNN {workload}, memory of the double loop, times ours", 4, memory)
    subwords = {row["side"]: row["score"] for row in results.get("subwords", []) if "side" in row}
    if subwords:
        ours = subwords["late-interaction, tokenized texts"]
        tiny = subwords["TinyBERT (L2-H128), onnxruntime int8, tokenized texts"]
        check("late-interaction, pairs per second", 50_000, ours, "tokenized texts, 30x40 subwords")
        check("late-interaction, scoring, times TinyBERT in onnxruntime int8", 30, ours / tiny)
    packed = {(r["workload"], r["interaction"], r["side"]): r for r in results.get("packed", []) if "side" in r}
    for workload, interaction, side in packed:
        if side == "pairlight":
            ours, plain = packed[workload, interaction, side], packed[workload, interaction, "packed nn.LSTM"]
            what = f"MV-LSTM {interaction}, {workload}"
            check(f"{what}, training, times packed nn.LSTM", 4.5, ours["train"] / plain["train"])
            check(f"{what}, scoring, times packed nn.LSTM", 2, ours["score"] / plain["score"])
    for name, share in results.get("kernels", {}).get("share_of_sgemm", {}).items():
        check(f"{name}, share of sgemm", 0.4 if name.startswith("spatial") else 0.3, share)
    for name, factor in results.get("kernels", {}).get("two_threads", {}).items():
        check(f"{name}, two threads, times one", 1.7, factor)
    encoders = {(r["workload"], r["side"]): r for r in results.get("cross_encoders", []) if "side" in r}
    for workload, side in encoders:
        if side.startswith("mv-lstm"):
            tiny = encoders[workload, "TinyBERT (L2-H128), transformers"]
            ratio = encoders[workload, side]["score"] / tiny["score"]
            check(f"{side}, {workload}, scoring, times TinyBERT", 4, ratio)
    served = {row["side"]: row for row in results.get("serving", []) if "side" in row}
    for name, least in (("mv-lstm", 70), ("qa-small", 200)):
        if name in served:
            _check_serving(served, name, least, check)
    for row in results.get("stored", []):
        if "goal_ms" in row:
            what, ms = f"{row['texts']:,} stored texts, {row['side']}", row["ms"]
            check(f"{what}: {row['goal_ms']:g} ms divided by it", 1, row["goal_ms"] / ms, f"{ms:.1f} ms")
            check(f"{what}, times MaxSim in PyTorch", 5, row["times_maxsim"])
    if (searched := results.get("search")) and searched["texts"] == 1_000_000:
        _check_search(searched, check)
    inside = {
        name: 1 - batches - optimizer for name, (batches, optimizer) in _largest(results.get("models", [])).items()
    }
    if inside:
        name = min(inside, key=inside.__getitem__)
        check(f"share of training time inside the model, lowest of all models ({name})", 0.8, inside[name])
    if light := results.get("light"):
        for row in light["speed"]:
            least = 1.3 if row["model"] in ("mv-lstm", "amv-lstm", "match-srnn", "match-pyramid") else 1
            check(f"{row['model']}, scoring without PyTorch, times PyTorch", least, row["torch"] / row["light"])
        start, size = light["start"]["light"]["wall"], light["installed_mb"]
        check("start to first score without PyTorch: 0.3 s divided by it", 1, 0.3 / start, f"{start:.2f} s")
        note = f"{light['memory_mb']:.0f} MB after {light['requests']:,} requests"
        check("memory without PyTorch: 120 MB divided by it", 1, 120 / light["memory_mb"], note)
        whole = size["own"] + size["required"]
        check("installed without PyTorch: 150 MB divided by it", 1, 150 / whole, f"{whole:.0f} MB")
    return found


def _check_serving(served: dict[str, Any], name: str, least: float, check: Callable[..., None]) -> None:
    row, peer = served[name], next((each for side, each in served.items() if "CrossEncoder" in side), None)
    check(f"serving {name}, requests/s", least, row["requests"], f"{row['requests_per_cpu_second']:.0f} per CPU second")
    if peer is not None:
        check(f"serving {name}, times FastAPI and CrossEncoder", 5, row["requests"] / peer["requests"])
    check(f"serving {name}, overload: share of the best throughput", 0.8, row["overload_answered"] / row["requests"])
    check(f"serving {name}, overload: 1.2, times the growth of memory", 1, 1.2 / row["overload_memory"])
    refused = row["overload_refused_p99_ms"]
    if refused is not None:
        check(f"serving {name}, overload: 50 ms, times the p99 of 429", 1, 50 / refused, f"{refused:.1f} ms")
    if name == "mv-lstm":
        for arrivals, p99 in (("at random times", row["p99_ms"]), ("evenly spaced", row["even_p99_ms"])):
            check(f"serving {name}, load of 80 %, {arrivals}: 25 ms, times the p99", 1, 25 / p99, f"{p99:.1f} ms")


def _check_search(found: dict[str, Any], check: Callable[..., None]) -> None:
    p50 = found["search"]["hybrid"]["total"][0]
    what = f"search among a million texts, hybrid, reranked by {found['model']}: 40 ms divided by the p50"
    check(what, 1, 40 / p50, f"{p50:.1f} ms")
    parts = (
        ("lexical", 120, "bm25", 150, "documents", ""),
        ("vectors", 300, "hybrid", 300, "vectors", ", the lexical part included"),
    )
    for name, limit, stage, most, part, note in parts:
        seconds, size = found["indexing"][stage]["wall"], found["indexing"][stage]["megabytes"][part]
        what = f"index of a million texts, {name}"
        check(f"{what}: {limit} s divided by its time", 1, limit / seconds, f"{seconds:.0f} s{note}")
        check(f"{what}: {most} MB divided by its size", 1, most / size, f"{size:.0f} MB")


def _light(found: dict[str, Any]) -> list[str]:
    rows = [
        [
            r["model"],
            f"{r['light']:.2f}",
            f"{r['torch']:.2f}",
            f"{r['torch'] / r['light']:.2f}",
            f"{r['difference']:.0e}",
        ]
        for r in found["speed"]
    ]
    light, torch = found["start"]["light"], found["start"]["torch"]
    return [
        "Milliseconds of CPU time for one query of 30 words and 100 tokenized texts of 40 words, in the form of the "
        "papers, and the largest difference of a score:",
        _table(["model", "light", "PyTorch", "PyTorch / light", "difference"], rows),
        f"`pairlight rank` with a ready-made model, from starting the process: {light['wall']:.2f} s of wall time and "
        f"{light['cpu']:.2f} s of CPU time, with PyTorch {torch['wall']:.2f} s and {torch['cpu']:.2f} s. Memory of a "
        f"process with two models after {found['requests']:,} mixed requests: {found['memory_mb']:.0f} MB. Installed: "
        f"{found['installed_mb']['own'] + found['installed_mb']['required']:.0f} MB.",
    ]


def _goal(row: dict[str, Any]) -> list[str]:
    verdict = ["met" if row["met"] else "**not met**", *filter(None, [row["note"]])]
    return [row["goal"], f"{row['least']:g}", f"{row['reached']:.2f}", "; ".join(verdict)]


def _models(rows: Rows) -> str:
    found = {(r["workload"], r["model"]): r for r in rows if "model" in r}
    workloads = list(dict.fromkeys(workload for workload, _ in found))
    names = list(dict.fromkeys(name for _, name in found))
    head = ["model", *(f"{what} {w}" for w in workloads for what in ("train", "score", "MB"))]
    lines = []
    for name in names:
        line = [name]
        for workload in workloads:
            row = found[workload, name]
            line += [_count(row["train"]), _count(row["score"]), _count(row["train_mb"])]
        lines.append(line)
    return _table(head, lines)


def _largest(rows: Rows) -> dict[str, tuple[float, float]]:
    """The shares of batches and optimizer of every model, for the workload where their sum is largest."""
    largest: dict[str, tuple[float, float]] = {}
    for row in rows:
        if "optimizer" in row:
            largest[row["model"]] = max(largest.get(row["model"], (0, 0)), (row["batches"], row["optimizer"]), key=sum)
    return largest


def _overhead(rows: Rows) -> str:
    lines = [[name, f"{batches:.1%}", f"{step:.1%}"] for name, (batches, step) in _largest(rows).items()]
    return _table(["model", "loop and batches", "optimizer"], lines)


def _comparison(rows: Rows) -> list[str]:
    shown = [r for r in rows if "side" in r]
    memory = any(r.get("train_mb") for r in shown)
    interactions = any("interaction" in r for r in shown)
    head = ["texts", *(["interaction"] if interactions else []), "side", "train pairs/s", "score pairs/s"]
    lines = [
        [
            r["workload"],
            *([r["interaction"]] if interactions else []),
            r["side"],
            _count(r["train"]),
            _count(r["score"]),
            *([_count(r["train_mb"])] if memory else []),
        ]
        for r in shown
    ]
    return [_table([*head, *(["MB per step"] if memory else [])], lines)] if lines else []


def _stored(found: Rows) -> list[str]:
    head = ["texts", "what", "ms per query", "times MaxSim in PyTorch", "goal, ms"]
    rows = [
        [f"{r['texts']:,}", r["side"], f"{r['ms']:.2f}", f"{r['times_maxsim']:.1f}", f"{r.get('goal_ms', '')}"]
        for r in found
    ]
    return [_table(head, rows)]


def _encodings(found: dict[str, Rows]) -> list[str]:
    head = ["model", "stored as", "ms per query", "without encodings", "kB per text", "rank correlation", "same top 10"]
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
        for r in found["ranking"]
    ]
    sides = ["distinct", "lists", "same_candidates"]
    return [
        "One query of 10 words against 1000 texts of 30 words in a memory-mapped file. Rank correlation and top 10 are "
        "compared with fp32.",
        _table(head, ranking),
        "Pairs scored per second if all texts are distinct, in lists of 20 candidates, and with the same 20 candidates "
        "in every list:",
        _table(
            ["model", "distinct", "lists", "same candidates"],
            ([r["model"], *(_count(r[side]) for side in sides)] for r in found["repeated"]),
        ),
    ]


def _serving(rows: Rows) -> list[str]:
    head = [
        "server",
        "requests/s",
        "per CPU second",
        "p50 ms",
        "p99 ms",
        "evenly spaced, p99 ms",
        "overload: answered/s",
        "429, p99 ms",
        "memory",
    ]
    lines = [
        [
            r["side"],
            f"{r['requests']:.0f}",
            f"{r['requests_per_cpu_second']:.0f}",
            *("" if r.get(key) is None else f"{r[key]:.1f}" for key in _TIMES),
            f"{r['overload_memory']:.2f}" if "overload_memory" in r else "",
        ]
        for r in rows
        if "side" in r
    ]
    return [
        "One query with 100 texts of 30 words, each server on one core, the client on the others. Times at 80 % of the "
        "best rate; overload is ten times that rate, with memory as a multiple of before. The cross-encoder has random "
        "weights.",
        _table(head, lines),
    ]


def _search(found: dict[str, Any]) -> list[str]:
    indexing = [
        [name, f"{r['cpu']:.0f}", ", ".join(f"{part} {size:.0f}" for part, size in r["megabytes"].items())]
        for name, r in found["indexing"].items()
    ]
    stages = ("first_stage", "rerank", "total")
    times = [
        [name, *(f"{taken[stage][0]:.1f} / {taken[stage][1]:.1f}" for stage in stages)]
        for name, taken in found["search"].items()
    ]
    return [
        _table(["index", "CPU s", "MB"], indexing),
        _table(["search", *(f"{stage.replace('_', ' ')}, p50 / p99 ms" for stage in stages)], times),
    ]


def _before_training(rows: Rows) -> str:
    head = ["pairs", "vocabulary, texts/s", "tokenization, texts/s", "batches, pairs/s"]
    head += ["bytes per pair in arrays", "bytes per pair in texts"]
    lines = [
        [
            f"{r['pairs']:,}",
            _count(r["vocabulary_texts_per_s"]),
            _count(r["tokenized_texts_per_s"]),
            _count(r["batched_pairs_per_s"]),
            _count(r["bytes_per_pair"]["arrays"]),
            _count(r["bytes_per_pair"]["texts"]),
        ]
        for r in rows
    ]
    return f"The steps before training, for texts of {rows[0]['words_per_text']} words:\n\n" + _table(head, lines)


def _skipped(rows: Rows) -> list[str]:
    return [
        " ".join(["Skipped", *filter(None, [r.get("workload")])]) + f": {r['skipped']}" for r in rows if "skipped" in r
    ]


def _count(value: float | None) -> str:
    return "" if value is None else f"{value:,.0f}"


def _table(head: list[str], rows: Iterable[list[str]]) -> str:
    return markdown_table(head, rows, "l" + "r" * (len(head) - 1))
