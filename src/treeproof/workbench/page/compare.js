// Two rows side by side, or two models on one row.

import { html, useState } from "./vendor/preact.js";
import { Outcome, Scores, Sentences, Waiting } from "./parts.js";
import { list, showValue } from "./wording.js";

function Side({ side, start, title }) {
  return html`<article class="card">
    <h2>${title}: ${start.classes[side.label]}</h2>
    <${Scores} prediction=${side} start=${start} />
    ${side.conditions.length ? html`<ul class="moves">${side.conditions.map((each) => html`<li key=${each.feature}>${each.text}</li>`)}</ul>` : null}
    ${side.sentences.map(({ text }) => html`<p class="note" key=${text}>${text}</p>`)}
  </article>`;
}

export function Compare({ bench }) {
  const { state, actions, live } = bench;
  const { start, against, panels } = state;
  const [typed, type] = useState(null);
  const two = start.models.length > 1;
  const answer = panels.compare?.answer;
  const models = against.kind === "model";
  const submit = (event) => {
    event.preventDefault();
    if (typed !== null && /^\d+$/.test(typed.trim())) actions.compareWith({ kind: "row", row: Number(typed) });
  };
  const shown = answer ? (models ? answer.sides.flatMap((side) => side.features) : [...answer.differ, ...answer.sides.flatMap((side) => side.features)]) : [];
  const features = start.features.filter((each) => shown.includes(each.index));
  const enough = answer?.enough ?? null;
  const names = (indices) => list(indices.map((i) => start.features[i].name), 5);
  const title = (i) => (models ? start.models[i] : i === 0 ? `Row ${state.row.name}` : `Row ${against.row}`);
  return html`<div>
    <div class="choices">
      ${two
        ? html`<span class="segments" role="group" aria-label="Compare with">
            <button aria-pressed=${models ? "false" : "true"} disabled=${!live} onClick=${() => actions.compareWith({ kind: "row", row: against.row })}>Another row</button>
            <button aria-pressed=${models ? "true" : "false"} disabled=${!live} onClick=${() => actions.compareWith({ kind: "model" })}>The other model</button>
          </span>`
        : null}
      ${models
        ? null
        : html`<form class="choices" onSubmit=${submit}><label>Compare row ${state.row.name} with row <input class="field" size="8" inputmode="numeric" disabled=${!live} value=${typed ?? against.row ?? ""} onInput=${(event) => type(event.target.value)} /></label>
            <button class="button first" disabled=${!live}>Compare</button></form>`}
    </div>
    <${Waiting} bench=${bench} channel="compare" text=${models ? "Comparing the models" : "Comparing the rows"} />
    <${Outcome} bench=${bench} channel="compare" panel=${panels.compare} />
    ${!answer && !panels.compare && !models ? html`<p class="note">Type the number of another row: you see where the two differ, and which of the differences are enough to give this row the other one's answer.</p>` : null}
    ${answer
      ? html`${enough?.length ? html`<p class="lead">Taking over ${names(enough)} is enough to get ${start.classes[answer.sides[1].label]}.</p>` : null}
          ${models && answer.carries === true ? html`<p class="lead">The first model's reason also forces the second one's answer.</p>` : null}
          ${models && answer.carries === false ? html`<p class="lead">The first model's reason does not force the second one's answer.</p>` : null}
          <${Sentences} sentences=${answer.sentences} />
          <div class="sides">${answer.sides.map((side, i) => html`<${Side} key=${i} side=${side} start=${start} title=${title(i)} />`)}</div>
          ${features.length
            ? html`<div class="wide" tabindex="0" role="region" aria-label="Values side by side"><table>
                <thead><tr><th scope="col">Feature</th>${models ? html`<th scope="col">Value</th>` : [0, 1].map((i) => html`<th scope="col" key=${i}>${title(i)}</th>`)}<th scope="col">In the reason of</th></tr></thead>
                <tbody>${features.map(
                  (feature) => html`<tr key=${feature.index} class=${enough?.includes(feature.index) ? "differs" : ""}><th scope="row">${feature.name}</th>
                    ${(models ? [0] : [0, 1]).map((i) => html`<td key=${i}>${showValue(feature, answer.sides[i].values[feature.index])}</td>`)}
                    <td>${list([0, 1].filter((i) => answer.sides[i].features.includes(feature.index)).map((i) => (models ? ["first", "second"][i] : title(i))))}</td></tr>`,
                )}</tbody></table></div>`
            : null}`
      : null}
  </div>`;
}
