// What would change it: the closest rows with another answer, within what may change.

import { html, useState } from "./vendor/preact.js";
import { Moves, Outcome, Scores, Sentences, Waiting } from "./parts.js";
import { count, showNumber, showValue } from "./wording.js";

const WAYS = [
  ["any", "May change"],
  ["up", "Only up"],
  ["down", "Only down"],
  ["fixed", "Stays"],
];

function Allowed({ bench }) {
  const { state, actions, live } = bench;
  const { fixed, directions } = state.limits;
  const way = (i) => (fixed.includes(i) ? "fixed" : (directions[i] ?? "any"));
  const choose = (i, wished) => {
    const others = { ...directions };
    delete others[i];
    if (wished === "up" || wished === "down") others[i] = wished;
    actions.limit({ fixed: wished === "fixed" ? [...new Set([...fixed, i])].sort((a, b) => a - b) : fixed.filter((each) => each !== i), directions: others });
  };
  return html`<ul class="allowed-list">
    ${state.start.features.map(
      (feature) => html`<li key=${feature.index}>
        <span><span class="name">${feature.name}</span> <span class="quiet">${showValue(feature, state.values[feature.index])}</span></span>
        <span class="segments" role="group" aria-label=${`How ${feature.name} may change`}>
          ${WAYS.filter(([name]) => feature.kind !== "category" || name === "any" || name === "fixed").map(
            ([name, title]) => html`<button key=${name} aria-pressed=${way(feature.index) === name ? "true" : "false"} disabled=${!live} onClick=${() => choose(feature.index, name)}>${title}</button>`,
          )}
        </span>
      </li>`,
    )}
  </ul>`;
}

export function Changes({ bench }) {
  const { state, actions, live } = bench;
  const { start, limits } = state;
  const [shown, show] = useState(false);
  const panel = state.panels.changes;
  const answer = panel?.answer ?? panel?.part;
  const limited = limits.fixed.length + Object.keys(limits.directions).length;
  const label = answer?.label ?? state.prediction?.label;
  return html`<div>
    <div class="choices">
      <label>Wanted answer <select class="field" disabled=${!live} onChange=${(event) => actions.limit({ target: event.target.value === "" ? null : Number(event.target.value) })}>
        <option value="" selected=${limits.target === null}>any other</option>
        ${start.classes.map((name, i) => (i === label ? null : html`<option key=${i} value=${i} selected=${limits.target === i}>${name}</option>`))}
      </select></label>
      <label>Show <select class="field" disabled=${!live} onChange=${(event) => actions.limit({ count: Number(event.target.value) })}>
        ${[1, 3, 6, 10].map((n) => html`<option key=${n} value=${n} selected=${limits.count === n}>${n}</option>`)}
      </select></label>
      <button class="button" aria-expanded=${shown ? "true" : "false"} onClick=${() => show(!shown)}>What may change?${limited ? ` (${count(limited, "limit")})` : ""}</button>
      ${limited ? html`<button class="link" disabled=${!live} onClick=${() => actions.limit({ fixed: [], directions: {} })}>No limits</button>` : null}
    </div>
    ${shown ? html`<${Allowed} bench=${bench} />` : null}
    <${Waiting} bench=${bench} channel="changes" text="Looking for the closest changes" />
    <${Outcome} bench=${bench} channel="changes" panel=${panel} />
    <div class="cards" aria-live="polite">
      ${(answer?.changes ?? []).map(
        (each, i) => html`<article class="card" key=${i}>
          <h2>${start.classes[each.label]}, if</h2>
          <${Moves} changes=${each.changes} features=${start.features} />
          <${Scores} prediction=${each} start=${start} most=${2} />
          <div class="foot apart">
            <span class="quiet">${each.distance === null || each.distance === undefined ? "" : `distance ${showNumber(each.distance, 3)}`}</span>
            <button class="button" disabled=${!live} onClick=${() => actions.become(each.values)}>Apply this change</button>
          </div>
        </article>`,
      )}
    </div>
    ${panel?.answer ? html`<div class="after"><${Sentences} sentences=${panel.answer.sentences} />${panel.answer.changes.length === 0 ? null : html`<p class="note">Everything that is not named stays as it is.</p>`}</div>` : null}
  </div>`;
}
