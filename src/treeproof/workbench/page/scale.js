// One feature on its scale: the data behind, the proved range, the value and, where there is one, the counterexample's.

import { html, useRef, useState } from "./vendor/preact.js";
import { dayOf, showDay, showNumber, showValue } from "./wording.js";

const CHIPS = 8; // so many named values are buttons, more are bars and a list

// The drawn ends: those of the data with some room, and beyond them what else is drawn. The room is never around a handle,
// or the scale would run away from the hand that drags it.
export function endsOf(feature, more) {
  const { min, max } = feature;
  const room = (max > min ? max - min : 1) * 0.04;
  const lowest = feature.low === null ? min - room : Math.max(min - room, feature.low);
  const highest = feature.high === null ? max + room : Math.min(max + room, feature.high);
  const known = more.filter((each) => each !== null && each !== undefined);
  const low = Math.min(lowest, ...known);
  const high = Math.max(highest, ...known);
  return low < high ? [low, high] : [low - 1, high + 1];
}

export function ticksOf(feature, low, high) {
  if (feature.kind === "date") return [low, (low + high) / 2, high].map(Math.round);
  const rough = (high - low) / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  let step = power * [1, 2, 5, 10].find((each) => each * power >= rough);
  if (feature.kind !== "number") step = Math.max(1, Math.round(step));
  const ticks = [];
  for (let i = Math.ceil(low / step); i * step <= high + step / 1e6 && ticks.length < 12; i++) ticks.push(Number((i * step).toPrecision(12)));
  return ticks;
}

export function barsOf(feature, low, high) {
  const { edges, counts } = feature.histogram ?? { edges: null, counts: [] };
  if (!edges) return [];
  const most = Math.max(1, ...counts);
  const at = (value) => (100 * (value - low)) / (high - low);
  return counts.map((n, i) => ({ x: at(edges[i]), width: Math.max(at(edges[i + 1]) - at(edges[i]) - 0.25, 0.3), height: n ? Math.max(n / most, 0.04) : 0 }));
}

// A value as finely as the scale moves, never beyond what the interval allows.
function rounded(feature, value) {
  if (feature.kind !== "number") return Math.round(value);
  const step = feature.step || 1e-6;
  return Number((Math.round(value / step) * step).toPrecision(12));
}

function Handle({ kind, feature, at, value, low, high, min, max, text, label, onmove, disabled, onreset }) {
  const track = useRef(null);
  const [grabbed, grab] = useState(false);
  const limited = (number) => Math.min(max, Math.max(min, number));
  const drag = (event) => {
    if (!grabbed) return;
    const box = track.current.parentElement.getBoundingClientRect();
    const share = (event.clientX - box.left) / box.width;
    onmove(limited(rounded(feature, low + share * (high - low))));
  };
  const keys = (event) => {
    const step = feature.kind === "number" ? feature.step || (high - low) / 100 : 1;
    const page = Math.max(step, rounded(feature, (high - low) / 10));
    const moves = { ArrowLeft: -step, ArrowDown: -step, ArrowRight: step, ArrowUp: step, PageDown: -page, PageUp: page };
    let wished = null;
    if (event.key in moves) wished = rounded(feature, value + moves[event.key]);
    else if (event.key === "Home") wished = min;
    else if (event.key === "End") wished = max;
    else return;
    event.preventDefault();
    onmove(limited(wished));
  };
  return html`<div
    ref=${track}
    class=${kind}
    role="slider"
    tabindex=${disabled ? -1 : 0}
    aria-label=${label}
    aria-valuemin=${low}
    aria-valuemax=${high}
    aria-valuenow=${value}
    aria-valuetext=${text}
    aria-disabled=${disabled ? "true" : "false"}
    title=${text}
    style=${{ left: `${at}%` }}
    onPointerDown=${(event) => {
      if (disabled || event.button !== 0) return;
      event.preventDefault();
      track.current.focus();
      track.current.setPointerCapture(event.pointerId);
      grab(true);
    }}
    onPointerMove=${drag}
    onPointerUp=${() => grab(false)}
    onPointerCancel=${() => grab(false)}
    onKeyDown=${disabled ? null : keys}
    onDblClick=${onreset}
  ></div>`;
}

function readValue(feature, text) {
  const plain = text.trim().replace("\u2212", "-");
  if (feature.kind === "date") return dayOf(plain) ?? (/^\d+$/.test(plain) ? Number(plain) : undefined);
  if (plain === "" || Number.isNaN(Number(plain))) return undefined;
  return Number(plain);
}

// A number is typed here; it counts when it is left, or with Enter.
function NumberField({ feature, value, disabled, onmove }) {
  const [typed, type] = useState(null);
  const wrong = typed !== null && readValue(feature, typed) === undefined;
  const done = () => {
    const found = typed === null ? undefined : readValue(feature, typed);
    type(null);
    if (found !== undefined) onmove(found);
  };
  return html`<input
    class=${wrong ? "field wrong" : "field"}
    inputmode=${feature.kind === "date" ? "text" : "decimal"}
    aria-label=${`Value of ${feature.name}`}
    aria-invalid=${wrong ? "true" : "false"}
    disabled=${disabled}
    value=${typed ?? showValue(feature, value)}
    onInput=${(event) => type(event.target.value)}
    onBlur=${done}
    onKeyDown=${(event) => {
      if (event.key === "Enter") done();
      if (event.key === "Escape") type(null);
    }}
  />`;
}

function Gap({ feature, value, allowed, disabled, onmove, base }) {
  if (!feature.missing) return null;
  const now = value === null;
  const back = base ?? feature.min ?? 0;
  return html`<button
    class=${allowed ? "gap allowed" : "gap"}
    aria-pressed=${now ? "true" : "false"}
    disabled=${disabled}
    title=${allowed ? "A missing value is in the proved range" : "Make the value missing"}
    onClick=${() => onmove(now ? back : null)}
  >missing</button>`;
}

// interval: what is drawn as the range, {low, high, ranges, values, missing}, or null
export function Scale(props) {
  const named = props.feature.kind === "category" || props.feature.kind === "binary";
  return named ? html`<${NamedScale} ...${props} />` : html`<${NumberScale} ...${props} />`;
}

function NamedScale({ feature, value, base, interval, other, live, onmove }) {
  const values = feature.kind === "binary" ? [0, 1] : feature.values.map((_, i) => i);
  const counts = feature.histogram?.counts ?? [];
  const most = Math.max(1, ...counts);
  const much = (each) => (counts[each] ?? 0) / most;
  const allowed = (each) => Boolean(interval) && (interval.values ? interval.values.includes(each) : inRange(interval, each));
  const name = (each) => showValue(feature, each);
  const turned = (each) => other !== undefined && other !== value && each === other;
  const gap = html`<${Gap} feature=${feature} value=${value} base=${base} allowed=${interval?.missing} disabled=${!live} onmove=${onmove} />`;
  if (values.length <= CHIPS)
    return html`<div class="scale">
      <div class="names" role="group" aria-label=${`Values of ${feature.name}`}>
        ${values.map(
          (each) => html`<button
            key=${each}
            class=${`named${allowed(each) ? " allowed" : ""}${turned(each) ? " turned" : ""}`}
            aria-pressed=${each === value ? "true" : "false"}
            disabled=${!live}
            title=${`${name(each)}${counts.length ? `: ${counts[each]} rows` : ""}${allowed(each) ? "; in the range that is held" : ""}`}
            onClick=${() => onmove(each)}
          >${name(each)}<i class="much" style=${{ width: `${100 * much(each)}%` }}></i></button>`,
        )}
      </div>
      ${feature.missing ? html`<div class="said">${gap}</div>` : null}
    </div>`;
  const place = (each) => ({ left: `${(100 * (each + 0.4)) / values.length}%` });
  return html`<div class="scale">
    <div class="track">
      <svg class="bars" viewBox="0 0 100 1" preserveAspectRatio="none" aria-hidden="true">
        ${values.map((each) => {
          const height = Math.max(much(each), 0.05);
          const x = (100 * each) / values.length;
          return html`<rect key=${each} class=${allowed(each) ? "in" : ""} x=${x} y=${1 - height} width=${80 / values.length} height=${height} />`;
        })}
      </svg>
      <div class="axis"></div>
      ${value === null ? null : html`<div class="point" style=${place(value)}></div>`}
      ${other === undefined || other === null || other === value ? null : html`<div class="other" style=${place(other)}></div>`}
      <span class="tick left">${interval?.values ? `${interval.values.length} of ${values.length} values allowed` : `${values.length} values`}</span>
    </div>
    <div class="said">
      <select class="field" aria-label=${`Value of ${feature.name}`} disabled=${!live} onChange=${(event) => onmove(Number(event.target.value))}>
        ${value === null ? html`<option value="" selected>missing</option>` : null}
        ${values.map((each) => html`<option key=${each} value=${each} selected=${each === value}>${name(each)}${allowed(each) ? " \u2713" : ""}</option>`)}
      </select>
      ${gap}
    </div>
  </div>`;
}

function NumberScale({ feature, value, base, interval, free, other, wrong, live, onmove, onstretch }) {
  const ranges = interval ? (interval.ranges?.length ? interval.ranges : [[interval.low, interval.high]]) : [];
  const [low, high] = endsOf(feature, [value, other, base, ...ranges.flat()]);
  const at = (number) => Math.min(100, Math.max(0, (100 * (number - low)) / (high - low)));
  const show = (number) => (feature.kind === "date" ? showDay(number) : showNumber(number));
  const look = wrong ? "wrong" : "";
  const band = ([from, to], kind, key) => {
    const [left, right] = [at(from ?? low), at(to ?? high)];
    return html`<div key=${key} class=${`band ${kind}`} style=${{ left: `${left}%`, width: `${Math.max(right - left, 0.6)}%` }}></div>`;
  };
  const end = (side, number) => {
    const lower = side === "low";
    const place = number ?? (lower ? low : high);
    const edge = lower ? low : high;
    const text = number === null ? `no ${lower ? "lower" : "upper"} end` : `${lower ? "from" : "up to"} ${show(number)}`;
    const move = (wished) => onstretch({ ...bare(interval), [side]: (lower ? wished <= edge : wished >= edge) ? null : wished });
    return html`<${Handle} key=${side} kind=${`end ${look}${number === null ? " open" : ""}`} feature=${feature} at=${at(place)} value=${place}
      low=${low} high=${high} min=${lower ? low : (value ?? low)} max=${lower ? (value ?? high) : high} disabled=${!live}
      label=${`${feature.name}, ${lower ? "lower" : "upper"} end of the range`} text=${text} onmove=${move} />`;
  };
  const side = (tick, i, all) => {
    if (at(tick) < 4 || (feature.kind === "date" && i === 0)) return "tick left";
    return at(tick) > 96 || (feature.kind === "date" && i === all.length - 1) ? "tick right" : "tick";
  };
  return html`<div class="scale">
    <div class="track">
      ${free ? (free.ranges.length ? free.ranges : [[free.low, free.high]]).map((each, i) => band(each, "free", `free${i}`)) : null}
      ${ranges.map((each, i) => band(each, look, i))}
      <svg class="bars" viewBox="0 0 100 1" preserveAspectRatio="none" aria-hidden="true">
        ${barsOf(feature, low, high).map((bar, i) => html`<rect key=${i} x=${bar.x} y=${1 - bar.height} width=${bar.width} height=${bar.height} />`)}
      </svg>
      <div class="axis"></div>
      ${ticksOf(feature, low, high).map((tick, i, all) => html`<span key=${tick} aria-hidden="true" class=${side(tick, i, all)} style=${{ left: `${at(tick)}%` }}>${show(tick)}</span>`)}
      ${ranges.length === 1 ? [end("low", ranges[0][0]), end("high", ranges[0][1])] : null}
      ${other === undefined || other === null || other === value ? null : html`<div class="other" style=${{ left: `${at(other)}%` }} title=${`in the counterexample: ${show(other)}`}></div>`}
      ${value === null
        ? null
        : html`<${Handle} kind="value" feature=${feature} at=${at(value)} value=${value} low=${low} high=${high} min=${feature.low ?? low} max=${feature.high ?? high} disabled=${!live}
            label=${`${feature.name}, value`} text=${show(value)} onmove=${onmove} onreset=${() => live && onmove(base)} />`}
    </div>
    <div class="said">
      <${NumberField} feature=${feature} value=${value} disabled=${!live} onmove=${onmove} />
      <${Gap} feature=${feature} value=${value} base=${base} allowed=${interval?.missing} disabled=${!live} onmove=${onmove} />
    </div>
  </div>`;
}

function bare({ low, high, missing }) {
  return missing ? { low, high, missing } : { low, high };
}

export function inRange(interval, value) {
  const ranges = interval.ranges?.length ? interval.ranges : [[interval.low, interval.high]];
  return ranges.some(([low, high]) => (low === null || value >= low) && (high === null || value <= high));
}
