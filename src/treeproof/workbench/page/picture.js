// The Why panel as an SVG of its own, for papers and slides: the same scales, with the colours in the file.

import { barsOf, endsOf, ticksOf } from "./scale.js";
import { showDay, showNumber, showValue } from "./wording.js";
import { verdictOf, viewOf } from "./why.js";

const LIGHT = { ground: "#ffffff", ink: "#1b1f24", quiet: "#59616b", line: "#d9dde2", band: "#a9cbef", edge: "#1f5fa8", bars: "#cfd5dc", other: "#d9591c" };
const WIDTH = 900;
const FROM = 330; // where the scales begin
const TO = 870;
const ROW = 58;
const FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', Helvetica, Arial, sans-serif";

const escaped = (text) => String(text).replace(/[&<>"']/g, (each) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" })[each]);

function wrapped(text, most) {
  const lines = [""];
  for (const word of String(text).split(/\s+/)) {
    const line = lines[lines.length - 1];
    if (line && line.length + word.length + 1 > most) lines.push(word);
    else lines[lines.length - 1] = line ? `${line} ${word}` : word;
  }
  return lines;
}
const short = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}\u2026` : text);

export function pictureOf(bench) {
  const { state } = bench;
  const { features } = state.start;
  const colour = LIGHT;
  const text = (x, y, words, { size = 13, weight = 400, fill = colour.ink, anchor = "start" } = {}) =>
    `<text x="${x}" y="${y}" font-size="${size}" font-weight="${weight}" fill="${fill}" text-anchor="${anchor}">${escaped(words)}</text>`;
  const rect = (x, y, width, height, fill, more = "") => `<rect x="${x.toFixed(2)}" y="${y.toFixed(2)}" width="${width.toFixed(2)}" height="${height.toFixed(2)}" fill="${fill}" ${more}/>`;
  const verdict = verdictOf(bench);
  const title = `${verdict.before}${verdict.answer ?? ""}${verdict.after ?? ""}`;
  const parts = [];
  let y = 34;
  for (const line of wrapped(title, 74)) {
    parts.push(text(24, y, line, { size: 20, weight: 650 }));
    y += 26;
  }
  for (const { text: sentence } of verdict.detail)
    for (const line of wrapped(sentence, 125)) {
      parts.push(text(24, y, line, { fill: colour.quiet }));
      y += 18;
    }
  y += 8;
  const { held } = bench.holding();
  const shown = [...features.filter((each) => held.includes(each.index)), ...(state.mode === "chosen" && bench.current() ? (state.verdict.changes ?? []) : []).map((each) => features[each.feature]).filter((each) => !held.includes(each.index))];
  for (const feature of shown) {
    const view = viewOf(bench, feature);
    parts.push(rect(24, y, WIDTH - 48, 1, colour.line));
    parts.push(text(24, y + 24, short(feature.name, 42), { weight: 650, size: 14 }));
    parts.push(text(24, y + 43, short(view.isHeld ? view.text : "free to move", 48), { fill: colour.quiet }));
    if (feature.kind === "category" || feature.kind === "binary") {
      const values = feature.kind === "binary" ? [0, 1] : feature.values.map((_, i) => i);
      const counts = feature.histogram?.counts ?? [];
      const most = Math.max(1, ...counts);
      const wide = (TO - FROM) / values.length;
      values.forEach((each, i) => {
        const allowed = view.interval?.values?.includes(each) ?? (view.isHeld && each === view.value);
        const tall = Math.max(1, (26 * (counts[each] ?? 0)) / most);
        parts.push(rect(FROM + i * wide, y + 36 - tall, wide * 0.8, tall, allowed ? colour.edge : colour.bars));
        if (each === view.value) parts.push(`<circle cx="${FROM + (i + 0.4) * wide}" cy="${y + 36}" r="5" fill="${colour.ink}"/>`);
        if (values.length <= 8) parts.push(text(FROM + (i + 0.4) * wide, y + 52, short(showValue(feature, each), Math.floor(wide / 7)), { size: 11, fill: colour.quiet, anchor: "middle" }));
      });
    } else {
      const ranges = view.interval ? (view.interval.ranges?.length ? view.interval.ranges : [[view.interval.low, view.interval.high]]) : [];
      const [low, high] = endsOf(feature, [view.value, view.moved, ...ranges.flat()]);
      const at = (number) => FROM + ((TO - FROM) * (number - low)) / (high - low);
      const show = (number) => (feature.kind === "date" ? showDay(number) : showNumber(number));
      for (const bar of barsOf(feature, low, high)) {
        const tall = 26 * bar.height;
        parts.push(rect(FROM + ((TO - FROM) * bar.x) / 100, y + 36 - tall, ((TO - FROM) * bar.width) / 100, tall, colour.bars));
      }
      for (const [from, to] of ranges) {
        const [left, right] = [at(from ?? low), at(to ?? high)];
        parts.push(rect(left, y + 8, Math.max(right - left, 2), 28, colour.band, 'opacity="0.62"'));
        if (from !== null) parts.push(rect(left - 1.5, y + 8, 3, 28, colour.edge));
        if (to !== null) parts.push(rect(right - 1.5, y + 8, 3, 28, colour.edge));
      }
      parts.push(rect(FROM, y + 36, TO - FROM, 1, colour.quiet));
      for (const tick of ticksOf(feature, low, high)) parts.push(text(at(tick), y + 52, show(tick), { size: 11, fill: colour.quiet, anchor: "middle" }));
      if (view.moved !== undefined && view.moved !== null && view.moved !== view.value) parts.push(`<path d="M${at(view.moved)} ${y + 29}l7 7l-7 7l-7 -7z" fill="${colour.other}"/>`);
      if (view.value !== null) parts.push(rect(at(view.value) - 1, y + 8, 2, 28, colour.ink), `<circle cx="${at(view.value)}" cy="${y + 36}" r="6" fill="${colour.ink}"/>`);
    }
    y += ROW;
  }
  const free = features.length - shown.length;
  parts.push(rect(24, y, WIDTH - 48, 1, colour.line));
  parts.push(text(24, y + 22, `${free ? `${free} other ${free === 1 ? "feature is" : "features are"} free to move. ` : ""}Row ${state.row?.name ?? ""} \u00b7 ${state.start.title} \u00b7 treeproof ${state.start.version}`, { size: 12, fill: colour.quiet }));
  const height = y + 38;
  return { svg: `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" font-family="${FONT}" role="img"><title>${escaped(title)}</title><rect width="${WIDTH}" height="${height}" fill="${colour.ground}"/>${parts.join("")}</svg>`, width: WIDTH, height };
}

export async function pngOf({ svg, width, height }, times = 2) {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = width * times;
  canvas.height = height * times;
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
}
