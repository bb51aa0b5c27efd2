// The rows as a table of which only what is in view is drawn, and only that is asked for.

import { html, useEffect, useMemo, useRef, useState } from "./vendor/preact.js";
import { Cancelled } from "./asking.js";
import { count, showScore, showValue } from "./wording.js";

const HEIGHT = 32; // of a line, as in the style sheet
const PAGE = 100; // rows in one request
const AROUND = 8; // lines that are drawn above and below the view
const REST = 180; // milliseconds without a keystroke before a search is asked

export function Rows({ bench, onopen, onclose }) {
  const { state, actions } = bench;
  const { start } = state;
  const table = useRef(null);
  const pages = useRef({ key: null, total: null, rows: [], asked: null });
  const [wish, setWish] = useState({ search: "", where: "", sort: "index", descending: false });
  const [typed, type] = useState({ search: "", where: "" });
  const [wrong, setWrong] = useState("");
  const [view, setView] = useState({ top: 0, height: 600 });
  const [cursor, setCursor] = useState(null); // the position in the list that the arrow keys are at
  const [drawn, again] = useState(0); // counts the pages that came
  const key = JSON.stringify(wish);

  if (pages.current.key !== key) pages.current = { key, total: pages.current.total, rows: [], asked: null };
  const { total, rows } = pages.current;

  useEffect(() => {
    const timer = setTimeout(() => setWish((now) => (now.search === typed.search && now.where === typed.where ? now : { ...now, ...typed })), REST);
    return () => clearTimeout(timer);
  }, [typed]);

  const first = Math.max(0, Math.floor(view.top / HEIGHT) - AROUND);
  const last = Math.min((total ?? 0) - 1, Math.ceil((view.top + view.height) / HEIGHT) + AROUND);
  const positions = [];
  for (let i = first; i <= last; i++) positions.push(i);

  useEffect(() => {
    const found = pages.current;
    const missing = found.total === null || found.asked === null ? 0 : positions.find((i) => !found.rows[i]);
    if (missing === undefined) return;
    const offset = Math.floor(missing / PAGE) * PAGE;
    if (found.asked === offset) return;
    found.asked = offset;
    const args = { offset, limit: PAGE, sort: wish.sort, descending: wish.descending };
    if (wish.search) args.search = wish.search;
    if (wish.where) args.where = wish.where;
    actions.rows(args).then(
      (answer) => {
        if (pages.current !== found) return;
        found.total = answer.total;
        answer.rows.forEach((row, i) => (found.rows[answer.offset + i] = row));
        found.asked = -1; // something was asked, nothing is under way
        setWrong("");
        again((n) => n + 1);
      },
      (error) => {
        if (error instanceof Cancelled || pages.current !== found) return;
        found.total = 0;
        found.asked = -1;
        setWrong(error.message);
      },
    );
  });

  useEffect(() => {
    const size = new ResizeObserver(() => table.current && setView({ top: table.current.scrollTop, height: table.current.clientHeight }));
    size.observe(table.current);
    return () => size.disconnect();
  }, []);

  useEffect(() => {
    table.current.scrollTop = 0;
    setCursor(null);
  }, [key]);

  const reveal = (i) => {
    const box = table.current;
    const top = i * HEIGHT;
    if (top < box.scrollTop) box.scrollTop = top;
    else if (top + 2 * HEIGHT > box.scrollTop + box.clientHeight) box.scrollTop = top + 2 * HEIGHT - box.clientHeight;
  };
  const keys = (event) => {
    if (event.target !== table.current || !total) return;
    const page = Math.max(1, Math.floor(view.height / HEIGHT) - 2);
    const now = cursor ?? rows.findIndex((row) => row && row.index === state.row?.index);
    const moves = { ArrowDown: now + 1, ArrowUp: now - 1, PageDown: now + page, PageUp: now - page, Home: 0, End: total - 1 };
    if (event.key in moves) {
      event.preventDefault();
      const next = Math.min(total - 1, Math.max(0, moves[event.key]));
      setCursor(next);
      reveal(next);
      if (rows[next]) onopen(rows[next].index, { entry: false }); // who walks through rows wants to go back in one step
    } else if (event.key === "Enter" && rows[now]) onopen(rows[now].index);
  };
  const sorted = (column) => (wish.sort === column ? (wish.descending ? "descending" : "ascending") : "none");
  const sort = (column) => setWish({ ...wish, sort: column, descending: wish.sort === column && !wish.descending });
  const arrows = { ascending: " \u2191", descending: " \u2193", none: "" };
  const head = (column, look, title) => html`<div key=${column} class=${`cell ${look}`} role="columnheader" aria-sort=${sorted(column)}>
    <button class="sort" title=${`Sort by ${title}`} onClick=${() => sort(column)}>${title}${arrows[sorted(column)]}</button>
  </div>`;
  const right = (feature) => (feature.kind === "category" ? "" : "right");
  const example = start.features[0]?.name ?? "age";

  // What is asked about the open row does not draw the table again.
  const lines = useMemo(
    () =>
      positions.map((i) => {
        const row = rows[i];
        if (!row) return html`<div key=${`wait${i}`} class="line item" role="row" aria-rowindex=${i + 2} style=${{ top: `${(i + 1) * HEIGHT}px` }}><div class="cell row" role="gridcell">\u2026</div></div>`;
        const chosen = row.index === state.row?.index;
        return html`<div key=${row.index} id=${bench.id(`line-${i}`)} class="line item" role="row" aria-rowindex=${i + 2} aria-selected=${chosen ? "true" : "false"} style=${{ top: `${(i + 1) * HEIGHT}px` }}
          onClick=${() => {
            setCursor(i);
            onopen(row.index);
          }}>
          <div class="cell row" role="gridcell">${row.name}</div>
          <div class="cell label" role="gridcell" title=${row.refused ?? start.classes[row.label] ?? ""}>${row.label === null ? (row.refused ? "refused" : "") : start.classes[row.label]}</div>
          <div class="cell score" role="gridcell">${showScore(row.score)}</div>
          ${start.features.map((each) => html`<div key=${each.index} class=${`cell ${right(each)}`} role="gridcell">${showValue(each, row.values[each.index])}</div>`)}
        </div>`;
      }),
    [first, last, drawn, key, state.row?.index],
  );

  return html`<section class="rows" aria-label="Rows">
    <div class="tools">
      <div class="only-narrow"><button class="button" onClick=${onclose}>Back to the row</button></div>
      <input class="field" type="search" placeholder="Search rows" aria-label="Search rows" value=${typed.search} onInput=${(event) => type({ ...typed, search: event.target.value })} />
      <input class=${wrong ? "field wrong" : "field"} type="search" placeholder=${`Filter, for example ${example} > 1`} aria-label="Filter rows by a condition" aria-invalid=${wrong ? "true" : "false"}
        value=${typed.where} onInput=${(event) => type({ ...typed, where: event.target.value })} spellcheck=${false} autocomplete="off" />
      ${wrong ? html`<p class="sentence-wrong" role="alert">${wrong}</p>` : null}
      <div class="found"><span role="status">${total === null ? "\u2026" : total === start.n_rows ? count(total, "row") : `${count(total, "row")} of ${start.n_rows.toLocaleString("en")}`}</span></div>
    </div>
    <div class="table" ref=${table} tabindex="0" role="grid" aria-label="Rows" aria-rowcount=${(total ?? 0) + 1} aria-colcount=${3 + start.features.length} onKeyDown=${keys}
      aria-activedescendant=${cursor !== null && rows[cursor] ? bench.id(`line-${cursor}`) : null}
      onScroll=${(event) => setView({ top: event.target.scrollTop, height: event.target.clientHeight })}>
      <div class="grid" role="rowgroup" style=${{ height: `${((total ?? 0) + 1) * HEIGHT}px` }}>
        <div class="line top" role="row" aria-rowindex="1">
          ${head("index", "row", "Row")}
          ${head("label", "label", "Answer")}
          ${head("score", "score", start.score === "probability" ? "Prob." : "Score")}
          ${start.features.map((each) => head(each.index, right(each), each.name))}
        </div>
        ${lines}
      </div>
      ${total === 0 && !wrong ? html`<p class="empty">No row matches.</p>` : null}
    </div>
  </section>`;
}
