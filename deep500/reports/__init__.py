"""What a result looks like to people. A report is a list of blocks; each format has one renderer.

blocks        Banner, Section, Table, Figures …: what a report consists of, as plain data
text          text that comes from files, made harmless and marked by what it is
tables        numbers with unit, interval and n; aligned tables, cut to the width of a screen
terminal      terminal(report): the short form
markdown      markdown(report)
html          html(report): one self-contained page; markup and stylesheet are its pieces
data          to_json(report)
canvas        pictures as small SVG text
surroundings  the environment and the raw data, as blocks

Nothing here knows a kind of result: those are in `results/`.
"""
