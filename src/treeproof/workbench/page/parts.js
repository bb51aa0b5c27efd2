// Small parts that several panels share.

import { html } from "./vendor/preact.js";
import { showNumber, showValue } from "./wording.js";

const stroke = { fill: "none", stroke: "currentColor", "stroke-width": "2", "stroke-linecap": "round", "stroke-linejoin": "round" };

export function Icon({ name, size = 15 }) {
  const paths = {
    locked: html`<rect x="5" y="11" width="14" height="9" rx="2" ...${stroke} /><path d="M8 11V8a4 4 0 0 1 8 0v3" ...${stroke} />`,
    free: html`<rect x="5" y="11" width="14" height="9" rx="2" ...${stroke} /><path d="M8 11V7a4 4 0 0 1 7.6-1.7" ...${stroke} />`,
    yes: html`<path d="M5 12.5l4.5 4.5L19 7.5" ...${stroke} />`,
    no: html`<path d="M6 6l12 12M18 6L6 18" ...${stroke} />`,
    rows: html`<path d="M4 6h16M4 12h16M4 18h16" ...${stroke} />`,
    undo: html`<path d="M9 7L4 12l5 5M4 12h10a6 6 0 0 1 6 6" ...${stroke} />`,
    mark: html`<rect width="24" height="24" rx="6" fill="currentColor" /><path d="M6.5 12.5l3.7 3.7 7.3-8.2" fill="none" stroke="var(--ground)" stroke-width="2.6" stroke-linecap="round" stroke-linejoin="round" />`,
  };
  return html`<svg width=${size} height=${size} viewBox="0 0 24 24" aria-hidden="true">${paths[name]}</svg>`;
}

export function Waiting({ bench, channel, text }) {
  const question = bench.waiting(channel);
  if (!question) return null;
  const { progress } = question;
  return html`<div class="waiting">
    <span class="spinner" aria-hidden="true"></span>
    <span>${text}${progress?.text ? `: ${progress.text}` : "\u2026"}</span>
    ${progress?.total ? html`<progress max=${progress.total} value=${progress.done} aria-label=${text}></progress>` : null}
    <button class="button" onClick=${() => bench.actions.cancel(channel)}>Cancel</button>
  </div>`;
}

// What became of a panel's question where there is no answer: an error, or that it was stopped.
export function Outcome({ bench, channel, panel }) {
  if (panel?.error) return html`<div class="wrong-note" role="alert"><span>${panel.error}</span></div>`;
  if (panel?.stopped && !panel.answer)
    return html`<p class="note">Stopped. <button class="link" onClick=${() => bench.actions.longer(channel)}>Ask again</button></p>`;
  return null;
}

export function Sentences({ sentences }) {
  return (sentences ?? []).map(({ role, text }) => html`<p class=${role === "note" ? "note" : "statement"} key=${text}>${text}</p>`);
}

export function Moves({ changes, features }) {
  return html`<ul class="moves">
    ${changes.map(
      (change) => html`<li class="move" key=${change.feature}>
        <span>${features[change.feature].name}</span>
        <span><span class="from">${change.before}</span> <span aria-label="becomes">${"\u2192"}</span> <span class="to">${change.after}</span></span>
      </li>`,
    )}
  </ul>`;
}

export function Scores({ prediction, start, most = 3 }) {
  const { scores, label } = prediction;
  if (!scores || scores.length !== start.classes.length || scores.some((score) => score === null)) {
    const only = scores?.length === 1 && scores[0] !== null ? html` <span class="number">${start.score} ${showNumber(scores[0], 3)}</span>` : null;
    return html`<strong>${start.classes[label]}</strong>${only}`;
  }
  const order = scores.map((_, i) => i).sort((a, b) => (b === label) - (a === label) || scores[b] - scores[a]);
  const shown = order.slice(0, most);
  const fraction = scores.every((score) => score >= 0 && score <= 1);
  return html`<span class="scores" role="group" aria-label=${start.score}>
    ${shown.map(
      (i) => html`<span key=${i} class=${i === label ? "one chosen" : "one"}>
        ${start.classes[i]}
        ${fraction ? html`<span class="bar" aria-hidden="true"><i style=${{ width: `${100 * scores[i]}%` }}></i></span>` : null}
        <span class="number">${showNumber(scores[i], 3)}</span>
      </span>`,
    )}
    ${order.length > most ? html`<span>and ${order.length - most} more</span>` : null}
  </span>`;
}

export function ValueText({ feature, value }) {
  return html`<span class="number">${showValue(feature, value)}</span>`;
}

export function save(name, type, content) {
  const link = document.createElement("a");
  const address = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
  link.href = address;
  link.download = name;
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}
