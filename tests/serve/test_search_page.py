"""The search page in a real browser: typing, marks, explanations in place, comparing, the keyboard, a phone."""

import itertools
import json
import re

from explain.browser import needs_chromium
from pairlight import Document, Index
from serve.browser import tab
from serve.server import running

pytestmark = needs_chromium

MARKS = (
    "[...document.querySelectorAll('section li')].map(li => [...li.querySelectorAll('mark')].map(m => m.textContent))"
)
TEXTS = "[...document.querySelectorAll('section li p')].map(p => p.textContent)"
HOLD_MARKS = """
    window.held = [];
    const original = window.fetch;
    window.fetch = (address, options) => address === "search"
        ? new Promise((resolve) => window.held.push(
            { signal: options.signal, release: () => resolve(original(address, options)) }))
        : original(address, options);
"""  # requests of the words that matter wait until they are released


def marks_are(expected):
    return f"JSON.stringify({MARKS}) === JSON.stringify({json.dumps(expected)})"


def marks_of_the_model(server, query, model):
    """The words that matter for the score of each hit, by the endpoint."""
    hits = server.post("/search", {"query": query, "model": model, "relevant_spans": True}).json["hits"]
    return [[hit["text"][span["start"] : span["end"]] for span in hit["relevant_spans"]] for hit in hits]


def test_the_page_searches_explains_and_compares(server, tmp_path):
    with tab(tmp_path) as page:
        page.open(server.url)
        page.wait("document.activeElement?.name === 'q'")
        page.type("tracking page")
        page.wait("document.querySelectorAll('section li').length >= 2")
        page.wait("location.search.startsWith('?q=tracking+page')")
        page.wait(marks_are(marks_of_the_model(server, "tracking page", "late")))
        assert page.value("location.search").startswith("?q=tracking+page")

        page.value("document.querySelector('a.why').focus()")
        page.press("Enter", 13, "\r")
        page.wait("document.querySelector('section li iframe') !== null")
        page.wait("performance.getEntriesByType('resource').some(each => each.name.includes('/explanation?'))")
        page.press("Escape", 27)
        page.wait("document.querySelector('iframe') === null")

        of_the_other = marks_of_the_model(server, "tracking page", "mv")
        page.value("document.querySelectorAll('input[name=model]')[1].click()")
        page.wait("document.querySelectorAll('section').length === 2")
        page.wait(marks_are([*marks_of_the_model(server, "tracking page", "late"), *of_the_other]))
        headings = page.value("[...document.querySelectorAll('h2')].map(each => each.textContent)")
        assert headings == ["late", "mv"]
        origins = page.value("performance.getEntriesByType('resource').map(each => new URL(each.name).origin)")
        assert set(origins) == {server.url}


def test_the_words_that_matter_for_the_score_replace_those_of_the_query_when_they_are_there(tmp_path):
    documents = [
        Document("tracking", "\U0001f4e6 the tracking page shows the place of your delivery"),
        Document("returns", "a parcel is returned free of charge within thirty days"),
        Document("long", "the office is open on weekdays " * 40 + "the tracking page shows where your parcel is"),
    ]
    Index.create(tmp_path / "index", documents).close()
    with running(tmp_path, "qa-small", "--index", tmp_path / "index") as server, tab(tmp_path) as page:
        page.open(server.url)
        page.value(HOLD_MARKS)
        page.wait("document.activeElement?.name === 'q'")
        page.type("where is my parcel")
        page.wait("location.search.endsWith('parcel') && window.held.length > 0 && !window.held.at(-1).signal.aborted")
        ids = page.value("[...document.querySelectorAll('li[data-id]')].map(li => li.dataset.id)")
        marks = dict(zip(ids, page.value(MARKS), strict=True))
        assert marks["returns"] == ["parcel"]
        assert marks["tracking"] == []  # it has no word of the query that is not a stop word
        texts = page.value(TEXTS)

        expected = marks_of_the_model(server, "where is my parcel", "qa-small")
        assert any("delivery" in mark for each in expected for mark in each)
        page.value("window.held.at(-1).release()")
        page.wait(marks_are(expected))
        assert page.value(TEXTS) == texts

        page.type("s")
        page.wait("location.search.endsWith('parcels')")
        page.wait("!window.held.at(-1).signal.aborted")
        before = page.value("window.held.length") - 1
        page.type(" now")
        page.wait(f"window.held[{before}].signal.aborted")  # nobody waits for these any more

        page.open(f"{server.url}/?q=where+is+my+parcel")
        page.wait(marks_are(expected))


def test_the_page_fits_a_phone_and_shows_what_is_wrong(server, tmp_path):
    with tab(tmp_path) as page:
        page.call("Emulation.setDeviceMetricsOverride", width=360, height=700, deviceScaleFactor=1, mobile=True)
        page.open(f"{server.url}/?q=tracking+page")
        assert page.value("document.documentElement.scrollWidth") <= 360
        page.open(f"{server.url}/?q=page&model=nothing")
        assert "use one of late, mv" in page.value("document.getElementById('problem').textContent")


def test_ten_thousand_documents_are_searched_compared_and_a_lost_server_is_reported(models, tmp_path):
    names = itertools.product(["red", "green", "blue", "grey", "pink"], ["small", "large", "round", "flat"], range(500))
    documents = [Document(f"d{n}", f"a {size} {color} box number {k}") for n, (color, size, k) in enumerate(names)]
    Index.create(tmp_path / "index", documents, model=models[0]).close()
    with running(tmp_path, *models, "--index", tmp_path / "index") as server, tab(tmp_path) as page:
        page.open(server.url)
        assert "10,000 documents" in page.value("document.getElementById('about').textContent")
        assert page.value("document.querySelectorAll('#examples a').length") == 4
        page.wait("document.activeElement?.name === 'q'")
        page.type("flat pink boxes number 77")
        page.wait("location.search.includes('number+77&')")
        first = page.value("document.querySelector('section li p').textContent")
        assert first == "a flat pink box number 77"
        plain = server.send("GET", "/?q=flat+pink+boxes+number+77").content.decode()
        marked = re.findall("<mark>(.*?)</mark>", plain.split("<li data-id")[1])
        assert marked == ["flat", "pink", "box", "number", "77"]  # box is a form of boxes, and a is a stop word
        page.value("document.querySelectorAll('a.why')[2].click()")  # why the second is not first
        page.wait("performance.getEntriesByType('resource').some(each => each.name.includes('/explanation?'))")
        page.value("document.querySelectorAll('input[name=model]')[1].click()")
        page.wait("document.querySelectorAll('section').length === 2")
        server.process.kill()
        server.process.wait()
        page.value("document.forms[0].elements.q.focus()")
        page.type(" again")
        page.wait("document.getElementById('problem').textContent.startsWith('The search failed')")
