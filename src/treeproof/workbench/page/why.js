// Why: every feature on its scale, held or free, and the sentence on top that says what that proves.

import { html, useMemo, useState } from "./vendor/preact.js";
import { Scale } from "./scale.js";
import { Icon } from "./parts.js";
import { count, list, sameValues, showValue } from "./wording.js";

const MANY = 12; // features; more can be searched
const MOST = 4; // conditions in the sentence on top

// The one sentence on top: {tone, before, answer, after, chip, detail}. Says no more than the answer that it is made of.
export function verdictOf(bench) {
  const { state } = bench;
  const { start, mode, near, prediction } = state;
  const named = (label) => start.classes[label];
  const n = start.features.length;
  if (prediction?.refused) return { tone: "open", before: "This row cannot be explained.", chip: "Outside the declared space", detail: [{ role: "note", text: prediction.refused }] };
  if (!bench.current() && !bench.checking()) {
    const before = mode === "found" ? "No reason is known for these values." : "What you hold has not been checked.";
    return { tone: "open", before, chip: "Open", detail: [] };
  }
  const local = near === null ? "" : near === 0 ? "With nothing else moving, " : "Near this row, ";
  const start_ = (text) => (local ? local + text : text[0].toUpperCase() + text.slice(1));
  if (mode === "found") {
    const { reason } = state;
    if (!reason) return { tone: "open", before: "Finding the reason\u2026", detail: [] };
    const answer = named(reason.label);
    const size = reason.features.length;
    const chip = reason.decided ? "Proved" : "Proved, perhaps not the fewest";
    const detail = reason.sentences;
    if (size === 0 && near === null) return { tone: "proved", before: "The answer is always ", answer, after: ": no value can change it.", chip, detail };
    if (size === 0) return { tone: "proved", before: start_("no value has to be held: the answer stays "), answer, after: ".", chip, detail };
    const force = size === 1 ? `this 1 of ${n} values forces the answer ` : `these ${size} of ${n} values force the answer `;
    const conditions = list(reason.conditions.map((each) => each.text), MOST);
    const others = n - size === 0 ? "" : n - size === 1 ? ", whatever the other value is" : `, whatever the other ${n - size} values are`;
    return { tone: "proved", before: start_(force), answer, after: ".", chip, detail, conditions: `${conditions}${near === null ? others : ""}` };
  }
  const { verdict, held } = state;
  if (!verdict) return { tone: "open", before: "Checking what you hold\u2026", detail: [] };
  const answer = named(verdict.label);
  const detail = verdict.sentences;
  if (verdict.forced === null) return { tone: "open", before: "Not decided in time whether these values force the answer ", answer, after: ".", chip: "Open", detail };
  if (verdict.forced) {
    const what = held.length === 0 ? "nothing has to be held for the answer " : held.length === 1 ? "the 1 value that you hold forces the answer " : `the ${held.length} values that you hold force the answer `;
    return { tone: "proved", before: `Still forced: ${near === null ? "" : "near this row, "}${what}`, answer, after: ".", chip: "Proved", detail };
  }
  const moved = verdict.changes.map((each) => `${start.features[each.feature].name} ${each.after}`);
  const becomes = named(verdict.other);
  const said = moved.length > 3 ? `with ${count(moved.length, "other value")}` : `with ${list(moved)}`;
  return { tone: "refuted", before: `Not any more: ${said} the answer becomes `, answer: becomes, after: ".", chip: "Counterexample", detail };
}

// A condition without the name that stands beside it: "5 < age <= 6" as "> 5 and <= 6".
function withoutName(text, name) {
  if (text.startsWith(`${name} `)) return text.slice(name.length).trim();
  const place = text.indexOf(` ${name} `);
  const below = place < 0 ? null : /^(\S.*) (<=?)$/.exec(text.slice(0, place));
  return below ? `${below[2] === "<" ? ">" : ">="} ${below[1]} and ${text.slice(place + name.length + 2)}` : text;
}

function describe(feature, value, interval, condition) {
  if (condition) return withoutName(condition.text, feature.name);
  if (!interval) return `= ${showValue(feature, value)}`;
  if (interval.values) return `one of ${list(interval.values.map((each) => showValue(feature, each)), 4)}`;
  const { low, high } = interval;
  const end = (each) => showValue(feature, each);
  const text = low !== null && high !== null ? `${end(low)} to ${end(high)}` : low !== null ? `at least ${end(low)}` : high !== null ? `at most ${end(high)}` : "any value";
  return interval.missing ? `${text}, or missing` : text;
}

// What is drawn and said for one feature now.
export function viewOf(bench, feature) {
  const { state } = bench;
  const i = feature.index;
  const { held, intervals } = bench.holding();
  const isHeld = held.includes(i);
  const value = state.values[i];
  const found = state.mode === "found" ? state.reason : null;
  const proved = found?.conditions.find((each) => each.feature === i);
  const near = found?.others?.find((each) => each.feature === i);
  const chosen = intervals[i];
  const same = proved ?? (chosen && state.reason?.conditions.find((each) => each.feature === i && JSON.stringify(chosen) === JSON.stringify(pick(each, chosen))));
  const interval = !isHeld ? null : (proved ?? chosen ?? null);
  const refuted = state.mode === "chosen" && bench.current() && state.verdict.forced === false;
  const moved = refuted ? state.verdict.witness?.[i] : undefined;
  const turned = refuted && state.verdict.changes.find((each) => each.feature === i);
  const text = turned && !isHeld ? `becomes ${turned.after}` : isHeld ? describe(feature, value, chosen, same) : near ? describe(feature, value, null, near) : state.near === 0 ? "stays" : "may be anything";
  return { isHeld, value, interval, free: isHeld ? null : near, moved, text, wrong: refuted };
}

const pick = (condition, like) => Object.fromEntries(Object.keys(like).map((key) => [key, condition[key]]));

function Feature({ bench, feature }) {
  const { state, actions, live } = bench;
  const view = viewOf(bench, feature);
  const base = state.row?.values[feature.index];
  const edited = base !== undefined && base !== view.value;
  // While one value is dragged, the other features are not drawn again.
  return useMemo(
    () => html`<li class=${view.isHeld ? "feature held" : "feature"}>
        <button class=${view.isHeld ? "hold on" : "hold"} disabled=${!live} onClick=${() => actions.toggle(feature.index)}
          aria-label=${`${view.isHeld ? "Held" : "Free"}: ${feature.name}`} title=${view.isHeld ? "Held. Click to let this value move." : "Free to move. Click to hold this value."}>
          <${Icon} name=${view.isHeld ? "locked" : "free"} />${view.isHeld ? "Held" : "Free"}
        </button>
        <div class="what">
          <div class="name" title=${feature.name}>${feature.name}</div>
          <div class="condition" title=${view.text}>${view.text}${edited ? html` <span class="edited">was ${showValue(feature, base)}</span>` : null}</div>
        </div>
        <${Scale} feature=${feature} value=${view.value} base=${base ?? view.value} interval=${view.interval} free=${view.free} other=${view.moved} wrong=${view.wrong} live=${live}
          onmove=${(value) => actions.move(feature.index, value)} onstretch=${(interval) => actions.stretch(feature.index, interval)} />
      </li>`,
    [JSON.stringify([view, base, live])],
  );
}

function Reach({ bench }) {
  const { state, actions, live } = bench;
  const { notches, measure } = state.start;
  if (!notches || notches.length < 2) return null;
  const place = notches.indexOf(state.near);
  const sizes = state.sizes?.sizes ?? [];
  const known = sameValues(state.sizes?.values ?? [], state.values) ? sizes.find((each) => each.within === state.near) : undefined;
  const found = state.mode === "found" && bench.current() ? state.reason.features.length : undefined;
  const size = found ?? known?.size;
  const words = (near) => (near === null ? "everywhere" : near === 0 ? "not at all" : `by up to ${near} of their usual spread`);
  return html`<div class="reach">
    <label for=${bench.id("reach")}>How far may the other values move?</label>
    <div class="from">
      <span>here</span>
      <input id=${bench.id("reach")} type="range" min="0" max=${notches.length - 1} step="1" value=${place} disabled=${!live} aria-valuetext=${words(state.near)}
        title=${measure ? `The usual spread of a feature is ${measure}.` : ""} onInput=${(event) => actions.reach(notches[Number(event.target.value)])} />
      <span>everywhere</span>
    </div>
    <div class="many">
      <div><strong class="number">${size ?? "\u2026"}</strong> ${size === 1 ? "condition" : "conditions"} ${size === undefined || size === null ? "" : "needed"}</div>
      <div class="quiet">${words(state.near)}</div>
    </div>
  </div>`;
}

export function Why({ bench }) {
  const { state, actions, live } = bench;
  const [wished, search] = useState("");
  const { features } = state.start;
  const { held } = bench.holding();
  const matching = features.filter((each) => each.name.toLowerCase().includes(wished.toLowerCase()));
  const mine = matching.filter((each) => held.includes(each.index));
  const rest = matching.filter((each) => !held.includes(each.index));
  const edited = state.row && state.values.some((value, i) => value !== state.row.values[i]);
  const other = state.mode === "chosen" && bench.current() && state.verdict.forced === false;
  return html`<div>
    <${Reach} bench=${bench} />
    <div class="group">
      <h2>${held.length === 1 ? "Held: 1 value" : `Held: ${held.length} values`}</h2>
      <div class="choices">
        ${features.length > MANY ? html`<input class="field search-features" type="search" placeholder="Find a feature" aria-label="Find a feature" value=${wished} onInput=${(event) => search(event.target.value)} />` : null}
        ${edited ? html`<button class="button" disabled=${!live} onClick=${actions.restore}><${Icon} name="undo" />Back to the row's values</button>` : null}
        ${state.mode === "chosen" || !(bench.current() || bench.checking()) ? html`<button class="button first" disabled=${!live} onClick=${actions.findReason}>Find the reason</button>` : null}
      </div>
    </div>
    ${mine.length ? html`<ul class="features" aria-label="Held">${mine.map((each) => html`<${Feature} key=${each.index} bench=${bench} feature=${each} />`)}</ul>` : html`<p class="note">${held.length ? "None of the held features has such a name." : "Nothing is held. Hold a value to see what it forces."}</p>`}
    ${rest.length
      ? html`<div class="group second"><h2>Free to move: ${count(features.length - held.length, "value")}</h2>
            <div class="legend">
              <span><i class="of-value"></i>this row</span><span><i class="of-band"></i>range that is held</span><span><i class="of-bars"></i>the data</span>
              ${other ? html`<span><i class="of-other"></i>counterexample</span>` : null}
            </div></div>
          <ul class="features" aria-label="Free to move">${rest.map((each) => html`<${Feature} key=${each.index} bench=${bench} feature=${each} />`)}</ul>`
      : null}
    ${verdictOf(bench).detail.filter(({ role }) => role === "note").map(({ text }) => html`<p class="note after" key=${text}>${text}</p>`)}
    ${state.start.constraints.length ? html`<p class="note">Only inputs that satisfy these constraints count: ${list(state.start.constraints, 5)}.</p>` : null}
  </div>`;
}
