"""A page has the same content as Markdown and as HTML, and neither breaks on special characters."""

from pathlib import Path

from pairlight.experiments.page import PageEntry, PageHeading, PageImage, PageTable, block_markdown, write_page

PNG = b"\x89PNG\r\n\x1a\n"


def test_all_blocks_are_written_as_markdown_and_html(tmp_path: Path) -> None:
    (tmp_path / "curves.png").write_bytes(PNG)
    row = [PageEntry("bm25", title='{"k": "<1>"}'), PageEntry("0.5", bar=0.25), PageEntry("1 + 2", link="a&b.html")]
    text = write_page(
        tmp_path / "a.b",
        "A < B",
        [
            "Made by `x <y>`.",
            PageHeading("Results"),
            PageTable(["model", "MAP", "more"], [row]),
            PageImage(tmp_path / "curves.png", "Curves"),
        ],
    )
    assert text == (tmp_path / "a.b.md").read_text("utf-8")
    assert text.startswith("# A < B\n\nMade by `x <y>`.\n\n## Results\n\n| model | MAP | more |\n| --- | ---: | ---: |")
    assert "| bm25 | 0.5 | [1 + 2](a%26b.html) |" in text
    assert "![Curves](curves.png)" in text
    html = (tmp_path / "a.b.html").read_text("utf-8")
    assert "<title>A &lt; B</title>" in html
    assert "<p>Made by <code>x &lt;y&gt;</code>.</p>" in html
    assert "<h2>Results</h2>" in html
    assert '<th scope="row" title="{&quot;k&quot;: &quot;&lt;1&gt;&quot;}">bm25</th>' in html
    assert '<td class="bar" style="--share:25.0%">0.5</td>' in html
    assert '<td><a href="a%26b.html">1 + 2</a></td>' in html
    assert 'src="data:image/png;base64,iVBORw0KGgo="' in html


def test_a_pipe_in_an_entry_does_not_end_it() -> None:
    assert "| a\\|b |" in block_markdown(PageTable(["x"], [["a|b"]]))


def test_a_hostile_name_is_neither_html_nor_a_link_and_the_page_runs_no_script(tmp_path: Path) -> None:
    hostile = "<img src=x onerror=alert(1)>[a](javascript:alert(1))"
    row = [PageEntry(hostile, title=f'"{hostile}'), PageEntry("1", link="javascript:alert(1)")]
    text = write_page(tmp_path / "page", hostile, [hostile, PageHeading(hostile), PageTable([hostile, hostile], [row])])
    html = (tmp_path / "page.html").read_text("utf-8")
    assert "<img" not in html
    assert "default-src 'none'; img-src data:; style-src 'unsafe-inline'" in html
    assert 'href="javascript:' not in html
    assert "(javascript:alert(1))" not in text.partition("\n\n## ")[2].replace("]\\(javascript:", "")
