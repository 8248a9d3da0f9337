"""Make README's picture anew: the beginning of the report that the command beside it writes. refresh_picture.py."""

from __future__ import annotations

import base64
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import browser

ROOT = Path(__file__).parents[1]
WIDTH, HEIGHT = 1200, 1500

with TemporaryDirectory() as folder:
    report = Path(folder, "report.html")
    subprocess.run(
        [sys.executable, "-m", "coterie", "demo", "--report", "report.html", "--quiet"], cwd=folder, check=True
    )
    with browser.running(browser.find()) as chromium, chromium.page(width=WIDTH, height=HEIGHT) as page:
        page.open(report)
        picture = base64.b64decode(page.call("Page.captureScreenshot")["data"])
(ROOT / "docs" / "report.png").write_bytes(picture)
