"""What all tests share."""

SLOW = ("test_plain_nbgrader.py", "test_audit.py", "test_nbgrader_grading.py")


def pytest_collection_modifyitems(items):
    """The slow tests first, so that at the end no worker waits for another's."""
    items.sort(key=lambda item: SLOW.index(item.path.name) if item.path.name in SLOW else len(SLOW))
