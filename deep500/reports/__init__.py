"""What a result looks like to people: terminal, Markdown, one HTML page. Reports render, they never compute.

data       ReportData, the one input
tables     numbers with unit, interval and n; the aligned table of terminal and Markdown
answers    the sentence that comes first
contents   every table of a report as plain cells, shared by all renderers
cautions   what a reader must know before trusting a number
markdown   markdown(data), terminal(data)
html       html(data): one self-contained page
pictures   the four pictures as SVG
markup     the pieces of a page, shared with
outcomes   outcome_text(path), outcome_html(path): a recipe's run
"""

from .data import ReportData

__all__ = ["ReportData"]
