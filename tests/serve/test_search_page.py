"""The search page in a real browser: typing, explanations in place, comparing, the keyboard, and no foreign address."""

from explain.browser import needs_chromium
from serve.browser import tab

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
