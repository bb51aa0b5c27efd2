// Numbers, dates and lists as people write them. What is proved is worded in Python; nothing here words a proof.

const MILLISECONDS = 86400000;
const FIRST_DAY = 719163; // 1970-01-01, as Python's date.toordinal counts

export function showDay(ordinal) {
  const day = new Date((Math.round(ordinal) - FIRST_DAY) * MILLISECONDS);
  return Number.isNaN(day.getTime()) ? String(ordinal) : day.toISOString().slice(0, 10);
}

export function dayOf(text) {
  const found = /^\s*(\d{4})-(\d{2})-(\d{2})\s*$/.exec(text);
  return found ? Date.UTC(+found[1], +found[2] - 1, +found[3]) / MILLISECONDS + FIRST_DAY : null;
}

export function showNumber(number, digits = 6) {
  if (number === null || number === undefined) return "none";
  if (Number.isInteger(number) && Math.abs(number) < 1e15) return String(number).replace("-", "\u2212");
  return String(Number(number.toPrecision(digits))).replace("-", "\u2212");
}

export function showValue(feature, value) {
  if (value === null || value === undefined) return "missing";
  if (feature.kind === "category") return feature.values[value];
  if (feature.kind === "date") return showDay(value);
  return showNumber(value);
}

export function showScore(score) {
  return score === null || score === undefined ? "" : showNumber(score, 3);
}

export function count(number, one, many = one + "s") {
  return `${number.toLocaleString("en")} ${number === 1 ? one : many}`;
}

// At most `most` names, and how many more there are.
export function list(names, most = 3) {
  if (names.length <= 1) return names.join("");
  if (names.length > most) return `${names.slice(0, most).join(", ")} and ${names.length - most} more`;
  return `${names.slice(0, -1).join(", ")} and ${names[names.length - 1]}`;
}

export function sameValues(one, other) {
  return one.length === other.length && one.every((value, i) => value === other[i]);
}
