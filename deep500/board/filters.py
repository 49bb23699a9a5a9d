"""The filters of a board: a form that a script adds to the page, with its state in the URL. Tables work without it."""

STYLE = """
[hidden] { display: none !important; }
.filters { display: flex; flex-wrap: wrap; gap: 0.75rem 1.25rem; margin: 1.5rem 0 0; padding: 0; border: 0; }
.filters label { display: flex; flex-direction: column; font-size: 0.82rem; color: var(--muted); max-width: 100%; }
.filters select, .filters input { font: inherit; font-size: 0.95rem; color: var(--text); background: var(--card);
  border: 1px solid var(--line); border-radius: 0.3rem; padding: 0.3rem 0.4rem; max-width: 18rem; min-width: 0; }
.shown { color: var(--muted); font-size: 0.88rem; min-height: 1.5em; }
main { max-width: 80rem; }
table { font-size: 0.88rem; }
tbody th { overflow-wrap: anywhere; max-width: 22rem; }
tbody th code { display: block; width: fit-content; margin-top: 0.2rem; color: var(--muted); }
"""
# The state is in the fragment: a page from disk may not change its query.
SCRIPT = """
"use strict";
(() => {
  const rows = [...document.querySelectorAll("tr[data-entry]")];
  const leagues = [...document.querySelectorAll("[data-league]")];
  const names = { division: "division", machine: "machine", verdict: "verdict" };
  const controls = {};
  const form = document.getElementById("filters");
  const shown = document.getElementById("shown");
  const label = (text, control) => {
    const box = document.createElement("label");
    box.append(text, control);
    form.append(box);
  };
  for (const [key, text] of Object.entries(names)) {
    const values = [...new Set(rows.map(row => row.dataset[key]))].sort();
    if (values.length < 2) continue;
    const select = document.createElement("select");
    for (const value of ["", ...values]) select.append(new Option(value || "all", value));
    controls[key] = select;
    label(text, select);
  }
  const search = document.createElement("input");
  search.type = "search";
  controls.find = search;
  label("name or system contains", search);
  const fits = row => Object.entries(controls).every(([key, control]) => {
    const wanted = control.value;
    if (!wanted) return true;
    if (key !== "find") return row.dataset[key] === wanted;
    return row.textContent.toLowerCase().includes(wanted.toLowerCase());
  });
  const show = () => {
    let count = 0;
    for (const row of rows) {
      row.hidden = !fits(row);
      count += !row.hidden;
    }
    for (const league of leagues) {
      league.hidden = ![...league.querySelectorAll("tr[data-entry]")].some(row => !row.hidden);
    }
    shown.textContent = `${count} of ${rows.length} entries are shown`;
  };
  const write = () => {
    const state = new URLSearchParams();
    for (const [key, control] of Object.entries(controls)) if (control.value) state.set(key, control.value);
    history.replaceState(null, "", state.size ? "#" + state : location.pathname + location.search);
    show();
  };
  const read = () => {
    const state = new URLSearchParams(location.hash.slice(1));
    for (const [key, control] of Object.entries(controls)) control.value = state.get(key) || "";
    show();
  };
  form.addEventListener("input", write);
  form.addEventListener("submit", event => event.preventDefault());
  addEventListener("hashchange", read);
  form.hidden = false;
  read();
})();
"""
FORM = """<form id="filters" class="filters" aria-label="Filters" hidden></form>
<p id="shown" class="shown" role="status"></p>
"""
