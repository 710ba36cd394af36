from tests.pages.cited import Page

WHICH_ONE = Page("docs/which_one.md", sections=("",))
