"""The report pages in a real browser, where one is installed."""

import os
import shutil

import pytest

selenium = pytest.importorskip("selenium")
pytest.importorskip("matplotlib")
CHROMIUM = (
    shutil.which("chromium") or shutil.which("google-chrome") or shutil.which("chromium-browser")
)
DRIVER = shutil.which("chromedriver")
pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not (CHROMIUM and DRIVER), reason="needs chromium and chromedriver"),
]

from page_samples import EVIL, write_all
from selenium import webdriver
from selenium.webdriver.common.by import By


@pytest.fixture(scope="module")
def browser():
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for argument in (
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--hide-scrollbars",
    ):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    # BOCHNER_SCREENSHOTS names a folder where the pages and their pictures are kept for people to
    # look at.
    kept = os.environ.get("BOCHNER_SCREENSHOTS")
    folder = tmp_path_factory.mktemp("pages")
    if kept:
        from pathlib import Path

        folder = Path(kept)
        folder.mkdir(parents=True, exist_ok=True)
    return write_all(folder)


def shown(browser, page, width, scheme, picture=None):
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    metrics = {"width": width, "height": 1400, "deviceScaleFactor": 1, "mobile": width < 600}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    browser.get(page.as_uri())
    if picture:
        browser.save_screenshot(str(page.with_name(f"{page.stem}-{picture}.png")))


def test_no_page_logs_an_error_or_runs_foreign_code(browser, pages):
    for page in pages:
        shown(browser, page, 1100, "light", "light")
        assert browser.get_log("browser") == [], page
        assert browser.execute_script("return window.hacked") is None, page
        assert (
            EVIL in browser.find_element(By.TAG_NAME, "body").text
            or "onerror" in browser.page_source
        )


def test_pages_fit_a_phone(browser, pages):
    for page in pages:
        shown(browser, page, 375, "light", "phone")
        overflow = browser.execute_script(
            "return document.documentElement.scrollWidth - window.innerWidth"
        )
        assert overflow <= 0, page


def test_the_index_shows_verdict_and_claim_on_a_phone_without_scrolling_sideways(browser, pages):
    shown(browser, pages[1], 375, "dark")
    cells = browser.find_elements(By.CSS_SELECTOR, "tbody td")
    assert "does not hold" in [cell.text for cell in cells]
    for cell in cells:
        assert cell.rect["x"] + cell.rect["width"] <= 375, cell.text
    colors = {
        kind: browser.find_element(By.CSS_SELECTOR, f".badge.{kind}").value_of_css_property("color")
        for kind in ("holds", "fails", "open")
    }
    assert len(set(colors.values())) == 3


def test_pages_follow_the_color_scheme(browser, pages):
    lightness = {}
    for scheme in ("light", "dark"):
        shown(browser, pages[0], 1100, scheme, scheme)
        color = browser.find_element(By.TAG_NAME, "body").value_of_css_property("background-color")
        lightness[scheme] = sum(int(part) for part in color.strip("rgba()").split(",")[:3])
    assert lightness["light"] > 600
    assert lightness["dark"] < 200


def test_tables_sort_by_number_and_back(browser, pages):
    shown(browser, pages[0], 1100, "light")
    results = browser.find_element(By.CSS_SELECTOR, "table.sortable[aria-label^='Mean']")
    heads = results.find_elements(By.CSS_SELECTOR, "thead th")
    column = [head.text for head in heads].index("error")

    def values():
        return [
            float(row.find_elements(By.CSS_SELECTOR, "th, td")[column].text.split()[0])
            for row in results.find_elements(By.CSS_SELECTOR, "tbody tr")
        ]

    assert values() == [10.5, 9.5, 100.5]
    heads[column].find_element(By.TAG_NAME, "button").click()
    assert values() == [9.5, 10.5, 100.5]
    assert heads[column].get_attribute("aria-sort") == "ascending"
    heads[column].find_element(By.TAG_NAME, "button").click()
    assert values() == [100.5, 10.5, 9.5]


def test_figures_are_visible_and_described(browser, pages):
    for page in (pages[0], *pages[2:]):
        shown(browser, page, 1100, "light")
        drawings = browser.find_elements(By.CSS_SELECTOR, "figure svg[role=img]")
        assert drawings, page
        for drawing in drawings:
            assert drawing.size["width"] > 100
            assert drawing.size["height"] > 20
            title = browser.execute_script(
                "return arguments[0].querySelector('title').textContent", drawing
            )
            assert len(title) > 20
