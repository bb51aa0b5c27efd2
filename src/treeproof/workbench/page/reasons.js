// All reasons as a matrix, which features matter at all, how often each is needed, and how robust the answer is.

import { html, useState } from "./vendor/preact.js";
import { Moves, Outcome, Sentences, Waiting } from "./parts.js";
import { count, showNumber } from "./wording.js";

const SHOWN = 24; // sets side by side

const GRADES = {
  necessary: ["chip good", "always"],
  relevant: ["chip", "sometimes"],
  irrelevant: ["chip", "never"],
  unknown: ["chip", "not decided"],
};

function Matrix({ bench, answer }) {
  const { start } = bench.state;
  const [all, showAll] = useState(false);
  const most = all ? Infinity : SHOWN;
  const reasons = answer.abductive.slice(0, most);
  const changes = answer.contrastive.slice(0, Math.max(0, most));
  const used = new Set([...answer.abductive, ...answer.contrastive].flat());
  const often = (i) => answer.abductive.filter((each) => each.includes(i)).length;
  const features = start.features.filter((each) => used.has(each.index)).sort((a, b) => often(b.index) - often(a.index) || a.index - b.index);
  const hidden = answer.abductive.length - reasons.length + answer.contrastive.length - changes.length;
  const mark = (sets, kind, feature) => sets.map((set, i) => html`<td class="set" key=${kind + i}>${set.includes(feature.index) ? html`<span class=${kind === "change" ? "dot change" : "dot"} role="img" aria-label="yes"></span>` : html`<span class="none"></span>`}</td>`);
  return html`<div class="wide" tabindex="0" role="region" aria-label="Matrix of all reasons"><table class="matrix">
    <thead>
      <tr><th scope="col" rowspan="2">Feature</th>${reasons.length ? html`<th scope="colgroup" colspan=${reasons.length}>Reasons</th>` : null}
        ${changes.length ? html`<th scope="colgroup" colspan=${changes.length}>Changes</th>` : null}</tr>
      <tr>${reasons.map((set, i) => html`<th class="set" scope="col" key=${`r${i}`}>
          <button class="link" title="Hold these values" disabled=${!bench.live} onClick=${() => (bench.actions.see("why"), bench.actions.holdAll(set))} aria-label=${`Hold reason ${i + 1}`}>${i + 1}</button></th>`)}
        ${changes.map((_, i) => html`<th class="set" scope="col" key=${`c${i}`}>${i + 1}</th>`)}</tr>
    </thead>
    <tbody>${features.map((feature) => html`<tr key=${feature.index}><th scope="row">${feature.name}</th>${mark(reasons, "reason", feature)}${mark(changes, "change", feature)}</tr>`)}</tbody>
  </table>
  ${hidden > 0 ? html`<button class="link" onClick=${() => showAll(true)}>Show the ${hidden} others</button>` : null}</div>`;
}

function Longer({ bench, channel, panel, decided }) {
  if (!panel?.answer || decided || bench.waiting(channel)) return null;
  return html`<button class="button" disabled=${!bench.live} onClick=${() => bench.actions.longer(channel)}>Search longer</button>`;
}

export function Reasons({ bench }) {
  const { state } = bench;
  const { start, panels } = state;
  const found = panels.reasons?.answer ?? panels.reasons?.part;
  const relevance = panels.relevance?.answer;
  const attribution = panels.attribution?.answer;
  const robust = panels.robustness?.answer;
  const grade = Object.fromEntries((relevance?.grades ?? []).map((each) => [each.feature, each.grade]));
  const share = Object.fromEntries((attribution?.shares ?? []).map((each) => [each.feature, each]));
  const rank = { necessary: 0, relevant: 1, unknown: 2, irrelevant: 3 };
  const ordered = [...start.features].sort((a, b) => (share[b.index]?.share ?? 0) - (share[a.index]?.share ?? 0) || (rank[grade[a.index]] ?? 2) - (rank[grade[b.index]] ?? 2) || a.index - b.index);
  return html`<div>
    <section class="block">
      <h2>All reasons${found ? html` <span class="quiet">${count(found.abductive.length, "reason")}, ${count(found.contrastive.length, "change")}${panels.reasons.answer ? (found.complete ? "" : ", and there may be more") : " so far"}</span>` : null}</h2>
      <p class="note">Each blue column is a reason: values that together force the answer, none of which can be left out (click its number to hold them). Each orange column is a change: values that, moved together, can undo it.</p>
      <${Waiting} bench=${bench} channel="reasons" text="Listing all reasons" />
      <${Outcome} bench=${bench} channel="reasons" panel=${panels.reasons} />
      ${found && found.abductive.length + found.contrastive.length ? html`<${Matrix} bench=${bench} answer=${found} />` : null}
      ${panels.reasons?.answer ? html`<${Sentences} sentences=${panels.reasons.answer.sentences} />` : null}
      <${Longer} bench=${bench} channel="reasons" panel=${panels.reasons} decided=${found?.complete} />
    </section>
    <section class="block">
      <h2>Which values matter</h2>
      <${Waiting} bench=${bench} channel="relevance" text="Which values matter at all" />
      <${Waiting} bench=${bench} channel="attribution" text="How often each is needed" />
      <${Outcome} bench=${bench} channel="relevance" panel=${panels.relevance} />
      <${Outcome} bench=${bench} channel="attribution" panel=${panels.attribution} />
      ${relevance || attribution
        ? html`<div class="wide" tabindex="0" role="region" aria-label="Which values matter"><table>
            <thead><tr><th scope="col">Feature</th><th scope="col">Needed</th><th scope="col">In how many of all reasons</th></tr></thead>
            <tbody>${ordered.map((feature) => {
              const [look, word] = GRADES[grade[feature.index]] ?? ["", ""];
              const part = share[feature.index];
              return html`<tr key=${feature.index}><th scope="row">${feature.name}</th><td>${word ? html`<span class=${look}>${word}</span>` : null}</td>
                <td>${part ? html`<span class="share"><span class="bar" aria-hidden="true"><i style=${{ width: `${100 * part.share}%` }}></i></span><span class="number">${Math.round(1000 * part.share) / 10} %</span></span>` : null}</td></tr>`;
            })}</tbody></table></div>`
        : null}
      ${relevance ? html`<${Sentences} sentences=${relevance.sentences} />` : null}
      <${Longer} bench=${bench} channel="relevance" panel=${panels.relevance} decided=${relevance?.decided} />
      ${attribution ? html`<${Sentences} sentences=${attribution.sentences} />` : null}
    </section>
    <section class="block">
      <h2>How robust it is</h2>
      <${Waiting} bench=${bench} channel="robustness" text="How far the values may move together" />
      <${Outcome} bench=${bench} channel="robustness" panel=${panels.robustness} />
      ${robust
        ? html`<${Sentences} sentences=${robust.sentences} />
            ${robust.changes?.length ? html`<div class="cards"><article class="card"><h3>${start.classes[robust.other]}, if</h3><${Moves} changes=${robust.changes} features=${start.features} />
              <div class="foot apart"><span class="quiet">${robust.nearest === null ? "" : `distance ${showNumber(robust.nearest, 3)}`}</span>
              <button class="button" disabled=${!bench.live} onClick=${() => bench.actions.become(robust.witness)}>Apply this change</button></div></article></div>` : null}`
        : null}
    </section>
  </div>`;
}
