// What is on the screen as the address after "#", so that a link, the back button and loading anew give it again:
// row=17&tab=changes&near=0.25&set=3:0.5&hold=2,3&range=3:0.1:0.8&any=1:0.2

const number = (text) => (text === "" ? null : Number(text));

export function readAddress(hash) {
  const found = new URLSearchParams(hash.replace(/^#/, ""));
  const pairs = (name) => (found.get(name) ?? "").split(",").filter(Boolean).map((each) => each.split(":"));
  const intervals = {};
  for (const [feature, low, high] of pairs("range")) intervals[feature] = { low: number(low), high: number(high) };
  for (const [feature, values] of pairs("any")) intervals[feature] = { values: values.split(".").map(Number) };
  return {
    row: /^\d+$/.test(found.get("row") ?? "") ? Number(found.get("row")) : null,
    tab: found.get("tab") ?? "why",
    near: found.has("near") ? Number(found.get("near")) : null,
    set: Object.fromEntries(pairs("set").map(([feature, value]) => [feature, number(value)])),
    held: found.has("hold") ? found.get("hold").split(",").filter(Boolean).map(Number) : null,
    intervals,
  };
}

export function writeAddress({ row, tab, near, set, held, intervals }) {
  const parts = [];
  if (row !== null) parts.push(`row=${row}`);
  if (tab !== "why") parts.push(`tab=${tab}`);
  if (near !== null) parts.push(`near=${near}`);
  const write = (name, pairs) => pairs.length && parts.push(`${name}=${pairs.join(",")}`);
  write("set", Object.entries(set).map(([feature, value]) => `${feature}:${value ?? ""}`));
  if (held !== null) {
    parts.push(`hold=${held.join(",")}`);
    const entries = Object.entries(intervals);
    const ranges = entries.filter(([, each]) => !each.values);
    write("range", ranges.map(([feature, { low, high }]) => `${feature}:${low ?? ""}:${high ?? ""}`));
    write("any", entries.filter(([, each]) => each.values).map(([feature, { values }]) => `${feature}:${values.join(".")}`));
  }
  return "#" + parts.join("&");
}
