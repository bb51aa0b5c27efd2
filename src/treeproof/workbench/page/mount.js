// The workbench as one element: rows on the left, and what is said about one of them.

import { html, render, useEffect, useRef, useState } from "./vendor/preact.js";
import { TABS, makeWorkbench } from "./state.js";
import { Rows } from "./rows.js";
import { Why, verdictOf } from "./why.js";
import { Changes } from "./changes.js";
import { Reasons } from "./reasons.js";
import { Compare } from "./compare.js";
import { Take } from "./take.js";
import { Icon, Scores } from "./parts.js";
import { count, sameValues } from "./wording.js";

const PANELS = { why: Why, changes: Changes, reasons: Reasons, compare: Compare, take: Take };
const PATIENCE = 700; // milliseconds until a question that runs is worth mentioning

function Jobs({ bench }) {
  const [, tick] = useState(0);
  const jobs = bench.jobs().filter((job) => job.title);
  useEffect(() => {
    if (!jobs.length) return undefined;
    const timer = setTimeout(() => tick((n) => n + 1), PATIENCE);
    return () => clearTimeout(timer);
  });
  const slow = jobs.filter((job) => Date.now() - job.since >= PATIENCE);
  const more = slow.length - 1;
  return html`<div class="jobs">
    ${slow.slice(0, 1).map(
      (job) => html`<div class="job" key=${job.id}>
        <span class="spinner" aria-hidden="true"></span>
        <span>${job.title}${job.progress?.text ? `: ${job.progress.text}` : "\u2026"}</span>
        <button class="button" aria-label=${`Cancel: ${job.title}`} onClick=${() => bench.actions.cancel(job.channel)}>Cancel</button>
      </div>`,
    )}
    ${more > 0 ? html`<span class="quiet">and ${more} more</span>` : null}
  </div>`;
}

function Verdict({ bench, listRows }) {
  const { state } = bench;
  const { start, row, prediction } = state;
  const verdict = verdictOf(bench);
  const checking = bench.checking();
  const stale = prediction && !sameValues(prediction.values, state.values);
  const hidden = !prediction || prediction.refused || (stale && !bench.waiting("predict"));
  const tone = checking ? "checking" : verdict.tone;
  const chip = { proved: "chip good", refuted: "chip bad" }[tone] ?? "chip";
  const edited = row && state.values.some((value, i) => value !== row.values[i]);
  const heading = html`${verdict.before}${verdict.answer === undefined ? null : html`<span class="answer">${verdict.answer}</span>`}${verdict.after ?? ""}`;
  const aloud = checking ? "" : `${verdict.before}${verdict.answer ?? ""}${verdict.after ?? ""}`;
  return html`<header class=${`verdict ${tone}`} aria-busy=${checking ? "true" : "false"}>
    <div class="which">
      <button class="button only-narrow" onClick=${listRows}><${Icon} name="rows" />Rows</button>
      <span><strong>Row ${row.name}</strong>${edited ? ", edited" : ""}</span>
      ${hidden ? null : html`<span class=${stale ? "answers stale" : "answers"}>The model answers <${Scores} prediction=${prediction} start=${start} /></span>`}
    </div>
    <h1>${heading}</h1>
    ${verdict.conditions && !checking ? html`<p class="conditions">${verdict.conditions}</p>` : null}
    <div class="proof">
      ${checking ? html`<span class="chip">checking\u2026</span>` : verdict.chip ? html`<span class=${chip}>${tone === "proved" ? html`<${Icon} name="yes" size="13" />` : tone === "refuted" ? html`<${Icon} name="no" size="13" />` : null}${verdict.chip}</span>` : null}
      ${checking ? null : html`<span class="quiet">${verdict.detail.filter(({ role }) => role !== "note" || prediction?.refused).map(({ text }) => text).join(" ")}</span>`}
    </div>
    <div class="unseen" role="status" aria-live="polite">${aloud}</div>
  </header>`;
}

function Tabs({ bench }) {
  const { state, actions } = bench;
  const list = useRef(null);
  useEffect(() => {
    // By hand: scrollIntoView would also move a notebook around the page.
    const [box, tab] = [list.current, list.current.querySelector("[aria-selected=true]")].map((each) => each.getBoundingClientRect());
    list.current.scrollLeft += Math.max(0, tab.right - box.right) - Math.max(0, box.left - tab.left);
  }, [state.tab]);
  const keys = (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const now = TABS.findIndex(([name]) => name === state.tab);
    const next = TABS[(now + step + TABS.length) % TABS.length][0];
    actions.see(next);
    document.getElementById(bench.id(`tab-${next}`)).focus();
  };
  return html`<div class="tabs" role="tablist" aria-label="Questions" ref=${list} onKeyDown=${keys}>
    ${TABS.map(
      ([name, title]) => html`<button key=${name} id=${bench.id(`tab-${name}`)} class="tab" role="tab" aria-selected=${state.tab === name ? "true" : "false"} aria-controls=${bench.id("panel")}
        tabindex=${state.tab === name ? 0 : -1} onClick=${() => actions.see(name)}>${title}</button>`,
    )}
  </div>`;
}

function Workbench({ bench }) {
  const { state, actions, live } = bench;
  const [listing, list] = useState(false);
  const { start } = state;
  if (start === null)
    return html`<div class="empty">${state.wrong
      ? html`<div class="wrong-note" role="alert"><span>${state.wrong}</span></div><button class="button first" onClick=${actions.begin}>Try again</button>`
      : html`<span class="waiting"><span class="spinner"></span>Reading the model\u2026</span>`}</div>`;
  const Panel = PANELS[state.tab];
  const about = [start.title, ...start.models.slice(0, 1), live ? count(start.n_rows, "row") : "saved page"].filter(Boolean).join(" \u00b7 ");
  return html`
    <div class="head">
      <span class="brand"><${Icon} name="mark" size="20" />treeproof</span>
      <span class="about" title=${about}>${about}</span>
      ${bench.lost() ? html`<span class="chip bad" role="alert">The connection is lost; trying again\u2026</span>` : null}
      <${Jobs} bench=${bench} />
    </div>
    <div class=${`body${listing ? " listing" : ""}${live ? "" : " saved"}`}>
      ${live ? html`<${Rows} bench=${bench} onopen=${(index, how) => (list(false), actions.open(index, how))} onclose=${() => list(false)} />` : null}
      <section class="panel" aria-label="The row">
        ${state.row === null
          ? html`<div class="empty">${state.wrong ? html`<div class="wrong-note" role="alert"><span>${state.wrong}</span></div>` : start.n_rows ? "Choose a row." : "There are no rows."}
              <button class="button only-narrow" onClick=${() => list(true)}><${Icon} name="rows" />Rows</button></div>`
          : html`<${Verdict} bench=${bench} listRows=${() => list(true)} />
              <${Tabs} bench=${bench} />
              <div class="content" id=${bench.id("panel")} role="tabpanel" aria-labelledby=${bench.id(`tab-${state.tab}`)} tabindex="0">
                ${state.wrong ? html`<div class="wrong-note" role="alert"><span>${state.wrong}</span><button class="link" onClick=${actions.dismiss}>Close</button></div>` : null}
                ${state.prediction?.refused && sameValues(state.prediction.values, state.values) && state.tab !== "why" ? html`<p class="note">${state.prediction.refused}</p>` : html`<${Panel} bench=${bench} />`}
              </div>`}
      </section>
    </div>`;
}

export function mount(element, transport, options = {}) {
  element.classList.add("workbench");
  element.replaceChildren();
  let bench = null;
  const draw = () => render(html`<${Workbench} bench=${bench} />`, element);
  bench = makeWorkbench(transport, options, draw);
  draw();
  bench.actions.begin();
  return () => {
    bench.actions.end();
    render(null, element);
  };
}
