"""The course in a real browser: Chromium, driven by Playwright, on Jupyter servers of the tests' own.

A package, so that its fixtures end with its last test: Playwright's event loop, which runs as long as
they do, would be in the way of other tests that start one in the same process.
"""
