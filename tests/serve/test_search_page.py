"""The search page in a real browser: typing, explanations in place, comparing, the keyboard, and no foreign address."""

import itertools

from explain.browser import needs_chromium
from pairlight import Document, Index
from serve.browser import tab
from serve.server import running

pytestmark = needs_chromium


def test_the_page_searches_explains_and_compares(server, tmp_path):
    with tab(tmp_path) as page:
        page.open(server.url)
        page.wait("document.activeElement?.name === 'q'")
        page.type("tracking page")
        page.wait("document.querySelectorAll('section li').length >= 2")
        page.wait("document.querySelector('mark')?.textContent === 'tracking'")
        assert page.value("location.search").startswith("?q=tracking+page")

        page.value("document.querySelector('a.why').focus()")
        page.press("Enter", 13, "\r")
        page.wait("document.querySelector('section li iframe') !== null")
        page.wait("performance.getEntriesByType('resource').some(each => each.name.includes('/explanation?'))")
        page.press("Escape", 27)
        page.wait("document.querySelector('iframe') === null")

        page.value("document.querySelectorAll('input[name=model]')[1].click()")
        page.wait("document.querySelectorAll('section').length === 2")
        headings = page.value("[...document.querySelectorAll('h2')].map(each => each.textContent)")
        assert headings == ["late", "mv"]
        origins = page.value("performance.getEntriesByType('resource').map(each => new URL(each.name).origin)")
        assert set(origins) == {server.url}


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
        marked = page.value(
            "[...document.querySelector('section li').querySelectorAll('mark')].map(m => m.textContent)"
        )
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
