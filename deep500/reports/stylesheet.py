"""The looks of the HTML page: light and dark, from a phone to paper, without anything from outside."""

STYLESHEET = """
:root { color-scheme: light dark; --page: #ffffff; --card: #f6f7f9; --ink: #4b5563; --text: #1b1f27; --muted: #5b6472;
  --line: #dfe3e8; --faster: #00664a; --slower: #a34700; --same: #00568a; --inconclusive: #5b6472; --refused: #8a3d6b;
  --measured: #00568a; --colour-1: #0072b2; --colour-2: #d55e00; --colour-3: #009e73; --colour-4: #cc79a7;
  --colour-5: #e69f00; --colour-6: #56b4e9; }
@media (prefers-color-scheme: dark) {
  :root { --page: #14171c; --card: #1d2128; --ink: #a7b0bd; --text: #e7eaf0; --muted: #a0a9b6; --line: #323843;
    --faster: #4fcfa5; --slower: #ff9a5c; --same: #6cbcf0; --inconclusive: #b4bcc8; --refused: #e3a0c8;
    --measured: #6cbcf0; --colour-1: #3d9fdd; --colour-2: #f58540; --colour-3: #2fc79c; --colour-4: #e39cc6;
    --colour-5: #f2b63c; --colour-6: #8fd3fa; } }
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body { margin: 0; background: var(--page); color: var(--text); font: 16px/1.55 system-ui, -apple-system, "Segoe UI",
  Roboto, "Helvetica Neue", sans-serif; overflow-wrap: break-word; }
main { max-width: 64rem; margin: 0 auto; padding: 2.5rem 1.5rem 4rem; }
h1 { font-size: clamp(1.5rem, 1.1rem + 1.6vw, 2.1rem); line-height: 1.2; letter-spacing: -0.015em; margin: 0 0 1.5rem; }
h2 { font-size: 1.2rem; letter-spacing: -0.005em; margin: 3rem 0 0.75rem; }
h3 { font-size: 1rem; margin: 0 0 0.5rem; }
p { margin: 0.75rem 0; max-width: 46rem; }
.kicker { color: var(--muted); font-size: 0.8rem; letter-spacing: 0.08em; text-transform: uppercase;
  margin: 0 0 0.5rem; }
a { color: var(--same); }
.muted, figcaption, caption { color: var(--muted); }
code { font-family: ui-monospace, "SF Mono", "Cascadia Code", Menlo, Consolas, monospace; font-size: 0.9em;
  background: var(--card); border-radius: 0.25em; padding: 0.1em 0.3em; overflow-wrap: anywhere; }
pre { font: 0.82rem/1.5 ui-monospace, "SF Mono", "Cascadia Code", Menlo, Consolas, monospace; overflow-x: auto; }
.banner { --tone: var(--measured); border: 1px solid var(--line); border-left: 0.4rem solid var(--tone);
  background: var(--card); border-radius: 0.5rem; padding: 1.25rem 1.5rem; }
.banner code { background: none; padding: 0; }
.banner .headline { font-size: clamp(1.15rem, 1rem + 0.8vw, 1.5rem); font-weight: 650; line-height: 1.35;
  margin: 0.5rem 0 0; }
.banner p { margin: 0.6rem 0 0; max-width: none; }
.banner dl:empty { display: none; }
.banner dl { display: flex; flex-wrap: wrap; gap: 0.75rem 2rem; margin: 0.9rem 0 1rem; }
.banner dt { color: var(--muted); font-size: 0.85rem; } .banner dd { margin: 0; }
.verdict { --tone: var(--measured); display: inline-block; color: var(--tone); border: 1px solid currentColor;
  border-radius: 1em; padding: 0 0.7em; font-size: 0.82rem; font-weight: 650; line-height: 1.6; white-space: nowrap; }
.faster { --tone: var(--faster); } .slower { --tone: var(--slower); } .same { --tone: var(--same); }
.inconclusive, .unfinished { --tone: var(--inconclusive); } .refused { --tone: var(--refused); }
.acceptable, .met, .ok, .better { --tone: var(--faster); }
.not-acceptable, .missed, .wrong, .worse { --tone: var(--slower); }
.alarm { border: 1px solid var(--slower); border-left-width: 0.4rem; border-radius: 0.5rem; padding: 0.75rem 1.25rem;
  margin: 1rem 0 0; }
.alarm strong { color: var(--slower); }
ul { padding-left: 1.2rem; max-width: 52rem; } li { margin: 0.35rem 0; }
.wide { overflow-x: auto; margin: 0.75rem 0 1.25rem; }
table { border-collapse: collapse; width: 100%; font-size: 0.92rem; }
th { text-align: left; font-weight: 600; color: var(--muted); font-size: 0.82rem; vertical-align: bottom; }
th, td { padding: 0.5rem 1.1rem 0.5rem 0; border-bottom: 1px solid var(--line); vertical-align: baseline;
  min-width: 4.5rem; }
tbody th { color: var(--text); font-size: inherit; font-weight: 400; vertical-align: baseline; min-width: 11rem; }
.r { text-align: right; }
.number { font-variant-numeric: tabular-nums; }
.number b { font-weight: 650; } .number span { color: var(--muted); } .number b, .number span { white-space: nowrap; }
figure { margin: 1.5rem 0 2.5rem; }
figcaption { font-size: 0.88rem; max-width: 46rem; }
.picture { overflow-x: auto; }
.picture svg { display: block; width: 100%; min-width: 33rem; max-width: 54rem; height: auto; }
.phone { display: none; }
details { border: 1px solid var(--line); border-radius: 0.5rem; margin: 0.75rem 0; padding: 0 1rem; }
summary { cursor: pointer; padding: 0.6rem 0; font-weight: 600; }
details h3 { margin-top: 1rem; }
footer { margin-top: 3rem; border-top: 1px solid var(--line); }
@media screen and (max-width: 40rem) {
  main { padding: 1.5rem 1rem 3rem; } .banner { padding: 1rem; }
  thead { position: absolute; clip-path: inset(50%); } table, tbody, tr, th, td { display: block; }
  tr { border-bottom: 1px solid var(--line); padding: 0.6rem 0; } th, td { border: 0; padding: 0.1rem 0; }
  tbody th { font-weight: 600; } .r { text-align: left; }
  td { display: flex; gap: 0.75rem; } td::before { content: attr(data-label); color: var(--muted); flex: 0 0 7rem;
    font-size: 0.8rem; line-height: 1.9; }
  .pairs tr { display: flex; gap: 0.75rem; } .pairs tbody th { min-width: 0; flex: 0 0 9rem; font-weight: 400; }
  .pairs td::before { content: none; }
  .picture svg { min-width: 0; } .picture:focus svg { min-width: 46rem; }
  .wide-screen { display: none; } .phone { display: block; } .both figcaption::before { content: none !important; }
  figcaption::before { content: "Tap the picture to enlarge it, then scroll. "; font-style: italic; }
}
@media print {
  body { font-size: 10pt; }
  main { max-width: none; padding: 0; } .wide, .picture { overflow: visible; }
  .picture svg { min-width: 0; } figure, tr, .banner { break-inside: avoid; } h2, h3 { break-after: avoid; }
  details { border: 0; padding: 0; } details::details-content { content-visibility: visible; block-size: auto; }
}
"""
