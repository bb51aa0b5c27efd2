// What is on the screen, and what a person can do to it. No drawing here, and no proof: what is forced is asked.
//
// `state` is plain JSON, so that a page can be saved and shown again. Two modes say what the Why panel is about:
//   "found": the reason that Python found for `values`, with ranges as wide as they can be (`reason`)
//   "chosen": whether the features that the person holds, in `intervals`, force the label of `values` (`verdict`)

import { Cancelled, makeAsker } from "./asking.js";
import { readAddress, writeAddress } from "./address.js";
import { sameValues } from "./wording.js";

const FRESH = {
  start: null, // the answer to start
  row: null, // the row of the table that was opened
  values: null, // what it is now, after edits
  tab: "why",
  near: null, // how far the other features may move; null: everywhere
  prediction: null,
  mode: "found",
  reason: null,
  held: [],
  intervals: {},
  verdict: null,
  sizes: null,
  limits: { fixed: [], directions: {}, target: null, count: 3 }, // of the changes that are sought
  against: { kind: "row", row: null, values: null }, // what is compared with
  panels: {}, // channel -> {key, answer, part, error, stopped}
  wrong: null, // a sentence: what went wrong last
};

export const TABS = [
  ["why", "Why"],
  ["changes", "What would change it"],
  ["reasons", "All reasons"],
  ["compare", "Compare"],
  ["take", "Take away"],
];

// The interval of a condition as `hold` takes it; undefined where only the row's own value says it.
export function intervalOf(condition) {
  if (condition.values) return { values: condition.values };
  if (condition.ranges.length || (condition.low === null && condition.high === null)) return undefined;
  const interval = { low: condition.low, high: condition.high };
  return condition.missing ? { ...interval, missing: true } : interval;
}

export function satisfies(condition, value) {
  if (value === null) return condition.missing === true;
  if (condition.values) return condition.values.includes(value);
  const ranges = condition.ranges.length ? condition.ranges : [[condition.low, condition.high]];
  return ranges.some(([low, high]) => (low === null || value >= low) && (high === null || value <= high));
}

let mounted = 0; // several on one page need ids of their own

export function makeWorkbench(transport, options, redraw) {
  const prefix = `workbench-${++mounted}`;
  const live = options.live !== false && transport !== null;
  const state = { ...structuredClone(FRESH), ...options.state };
  let due = false;
  let saving = null;
  let settle = null;

  const changed = () => {
    if (due) return;
    due = true;
    queueMicrotask(() => {
      due = false;
      redraw();
    });
    if (live && transport.save && saving === null) {
      saving = setTimeout(() => {
        saving = null;
        transport.save(JSON.parse(JSON.stringify(state)));
      }, 500);
    }
  };
  const set = (patch) => {
    Object.assign(state, patch);
    changed();
  };
  const asker = live ? makeAsker(transport, changed) : null;
  const ask = (...question) => (live ? asker.ask(...question) : new Promise(() => {}));
  const tell = (error) => {
    if (!(error instanceof Cancelled)) set({ wrong: error.message });
  };

  // The address: rows and tabs make an entry of the history, everything else rewrites the present one.
  const place = () => {
    const edited = {};
    state.row?.values.forEach((value, i) => {
      if (value !== state.values[i]) edited[i] = state.values[i];
    });
    const held = state.mode === "chosen" ? state.held : null;
    return { row: state.row?.index ?? null, tab: state.tab, near: state.near, set: edited, held, intervals: state.intervals };
  };
  const note = (entry = false) => {
    if (!options.address) return;
    const address = writeAddress(place());
    if (address !== location.hash) history[entry ? "pushState" : "replaceState"](null, "", address);
  };

  const predict = () => {
    const { values } = state;
    ask("predict", "predict", { values }).then((prediction) => set({ prediction: { ...prediction, values } }), tell);
  };

  const findReason = () => {
    asker?.cancel("hold");
    const args = { values: state.values, within: state.near, widened: true };
    set({ mode: "found", verdict: null, held: [], intervals: {} });
    ask("why", "why", args, { title: "Finding the reason" }).then((reason) => set({ reason: { ...reason, values: args.values } }), tell);
  };

  const chosen = () => ({ values: state.values, held: state.held, intervals: state.intervals, within: state.near });

  const judge = () => {
    asker?.cancel("why");
    const args = chosen();
    const about = JSON.stringify(args);
    set({ mode: "chosen" });
    ask("hold", "hold", args, { title: "Checking what you hold" }).then((verdict) => set({ verdict: { ...verdict, about } }), tell);
  };

  const findSizes = () => {
    const args = { values: state.values };
    const show = (part) => set({ sizes: { ...part, values: args.values } });
    ask("sizes", "sizes", args, { title: "Counting conditions", onpart: show }).then(show, tell);
  };

  // Whether the reason on the screen is about the present values: of these, or proved for all that satisfy it.
  const covered = () => {
    const { reason, values } = state;
    if (reason === null || reason.within !== state.near) return false;
    if (sameValues(reason.values, values)) return true;
    // A value that did not move counts as inside: the model may read it rounded, onto the end of the range.
    const inside = (each) => values[each.feature] === reason.values[each.feature] || satisfies(each, values[each.feature]);
    return reason.within === null && reason.conditions.every(inside);
  };

  const forget = () => {
    for (const channel of Object.keys(state.panels)) asker?.cancel(channel);
    state.panels = {};
  };

  // After the values changed: label, score and proof follow at once, the rest when the hand rests.
  const follow = () => {
    forget();
    set({ wrong: null });
    predict();
    if (state.mode === "chosen") judge();
    else if (!covered()) findReason();
    else asker?.cancel("why");
    clearTimeout(settle);
    settle = setTimeout(() => {
      note();
      findSizes();
      lookAt();
    }, 250);
  };

  // A panel asks when it is looked at, once for the same question.
  const want = (channel, what, args, title) => {
    const key = JSON.stringify([what, args]);
    if (state.panels[channel]?.key === key) return;
    const panel = { key, what, args, answer: null, part: null, error: null, stopped: false };
    state.panels = { ...state.panels, [channel]: panel };
    const put = (more) => {
      if (state.panels[channel] !== panel) return;
      Object.assign(panel, more);
      changed();
    };
    ask(channel, what, args, { title, onpart: (part) => put({ part }) }).then(
      (answer) => put({ answer }),
      (error) => put(error instanceof Cancelled ? { stopped: true } : { error: error.message }),
    );
    changed();
  };

  const lookAt = (seconds) => {
    const { values, near, limits, against } = state;
    if (!live || values === null || state.prediction?.refused) return;
    const more = seconds ? { seconds } : {};
    if (state.tab === "changes") want("changes", "changes", { values, ...limits, ...more }, "Looking for changes");
    if (state.tab === "reasons") {
      want("reasons", "reasons", { values, limit: 200, within: near, ...more }, "Listing all reasons");
      want("relevance", "relevance", { values, ...more }, "Which values matter at all");
      want("attribution", "attribution", { values, ...more }, "How often each is needed");
      want("robustness", "robustness", { values, norm: "linf", ...more }, "How robust it is");
    }
    if (state.tab === "compare") {
      if (against.kind === "model") want("compare", "compare", { values, within: near, ...more }, "Comparing the models");
      else if (against.values) want("compare", "compare", { values, others: against.values, within: near, ...more }, "Comparing the rows");
    }
  };

  const isRefused = (row) => row.refused !== null && row.refused !== undefined;

  const open = async (index, { entry = true, tab = state.tab, near = state.near, set: edits = {}, held = null, intervals = {} } = {}) => {
    let row;
    try {
      row = (await ask("row", "rows", { indices: [index] }, { title: "Opening the row" })).rows[0];
    } catch (error) {
      tell(error);
      return;
    }
    forget();
    const values = row.values.map((value, i) => (i in edits ? edits[i] : value));
    const same = sameValues(values, row.values);
    const prediction = isRefused(row) && same ? { label: row.label, scores: null, refused: row.refused, values } : null;
    set({ row, values, tab, near, prediction, reason: null, verdict: null, sizes: null, held: [], intervals: {}, mode: "found", wrong: null });
    if (prediction === null) {
      predict();
      if (held === null) findReason();
      else {
        set({ held, intervals });
        judge();
      }
      findSizes();
    }
    lookAt();
    note(entry);
  };

  const goTo = (address) => {
    const wished = readAddress(address);
    const tab = TABS.some(([name]) => name === wished.tab) ? wished.tab : "why";
    const near = state.start.notches.includes(wished.near) ? wished.near : null;
    if (wished.row !== null) open(wished.row, { ...wished, tab, near, entry: false });
    else if (state.start.n_rows) open(0, { tab, near, entry: false });
  };

  const bounded = (i, value) => {
    const feature = state.start.features[i];
    if (value === null || feature.kind === "category") return value;
    let number = feature.kind === "number" ? value : Math.round(value);
    if (feature.low !== null) number = Math.max(number, feature.low);
    if (feature.high !== null) number = Math.min(number, feature.high);
    return number;
  };

  // What is held now, whoever chose it.
  const holding = () => {
    if (state.mode === "chosen") return { held: state.held, intervals: state.intervals };
    const intervals = {};
    for (const condition of state.reason?.conditions ?? []) {
      const interval = intervalOf(condition);
      if (interval) intervals[condition.feature] = interval;
    }
    return { held: state.reason?.features ?? [], intervals };
  };

  const actions = {
    begin: async () => {
      if (!live) return;
      try {
        const start = await ask("start", "start");
        if (state.start !== null && state.start.fingerprint !== start.fingerprint) Object.assign(state, structuredClone(FRESH)); // saved with another model
        set({ wrong: null, start });
      } catch (error) {
        tell(error);
        return;
      }
      document.title = options.address ? `${state.start.title} \u2013 treeproof workbench` : document.title;
      if (options.address) {
        addEventListener("popstate", actions.back);
        goTo(location.hash);
      } else if (state.row !== null) {
        predict();
        if (state.mode === "chosen") judge();
        else findReason();
        findSizes();
        lookAt();
      } else goTo("");
    },
    back: () => goTo(location.hash),
    end: () => {
      removeEventListener("popstate", actions.back);
      clearTimeout(settle);
      transport?.close();
    },
    rows: (args) => ask("rows", "rows", args),
    open,
    see: (tab) => {
      set({ tab });
      lookAt();
      note(true);
    },
    toggle: (feature) => {
      const now = holding();
      const free = now.held.includes(feature);
      const held = free ? now.held.filter((each) => each !== feature) : [...now.held, feature].sort((a, b) => a - b);
      const intervals = { ...now.intervals };
      delete intervals[feature];
      const found = state.reason && covered() ? state.reason : null;
      const condition = found?.conditions.find((each) => each.feature === feature);
      const interval = !free && condition ? intervalOf(condition) : undefined;
      if (interval) intervals[feature] = interval;
      const proved = found && Object.fromEntries(found.conditions.map((each) => [each.feature, intervalOf(each)]));
      const again = found && sameValues(held, found.features) && held.every((each) => JSON.stringify(intervals[each]) === JSON.stringify(proved[each]));
      if (again) {
        asker?.cancel("hold");
        set({ mode: "found", verdict: null, held: [], intervals: {} });
      } else {
        set({ held, intervals });
        judge();
      }
      note();
    },
    holdAll: (held) => {
      set({ held, intervals: {} });
      judge();
      note();
    },
    stretch: (feature, interval) => {
      const now = holding();
      set({ held: now.held, intervals: { ...now.intervals, [feature]: interval } });
      judge();
      clearTimeout(settle);
      settle = setTimeout(note, 250);
    },
    move: (feature, value) => {
      const wished = bounded(feature, value);
      if (Object.is(state.values[feature], wished)) return;
      state.values = state.values.map((each, i) => (i === feature ? wished : each));
      const interval = state.intervals[feature];
      const inside = interval && (interval.values ? interval.values.includes(wished)
        : wished !== null && (interval.low === null || wished >= interval.low) && (interval.high === null || wished <= interval.high));
      if (interval && !inside) {
        state.intervals = { ...state.intervals };
        delete state.intervals[feature];
      }
      follow();
    },
    become: (values) => {
      set({ values, tab: "why", mode: "found", reason: null, verdict: null, held: [], intervals: {} });
      follow();
      note(true);
    },
    restore: () => {
      set({ values: state.row.values, mode: "found", verdict: null, held: [], intervals: {} });
      follow();
    },
    findReason: () => {
      if (covered()) {
        asker?.cancel("hold");
        set({ mode: "found", verdict: null, held: [], intervals: {} });
      } else findReason();
      note();
    },
    reach: (near) => {
      if (near === state.near) return;
      set({ near });
      if (state.mode === "chosen") judge();
      else findReason();
      clearTimeout(settle);
      settle = setTimeout(() => {
        note();
        lookAt();
      }, 250);
    },
    limit: (limits) => {
      set({ limits: { ...state.limits, ...limits } });
      lookAt();
    },
    compareWith: async (against) => {
      set({ against: { ...state.against, ...against, values: null } });
      if (against.kind === "row" && against.row !== null && against.row !== undefined) {
        try {
          const row = (await ask("other row", "rows", { indices: [against.row] })).rows[0];
          set({ against: { kind: "row", row: row.index, values: row.values } });
        } catch (error) {
          if (!(error instanceof Cancelled)) set({ panels: { ...state.panels, compare: { key: "", error: error.message } } });
          return;
        }
      }
      lookAt();
    },
    longer: (channel) => {
      const { what, args } = state.panels[channel];
      want(channel, what, { ...args, seconds: 6 * (args.seconds ?? 10) }, "Searching longer");
    },
    cancel: (channel) => asker?.cancel(channel),
    take: (args) => ask(`take ${args.what}`, "take", args, { title: "Preparing the file" }),
    dismiss: () => set({ wrong: null }),
  };

  // The questions behind what is on the screen, for the Python lines that repeat them.
  const asked = () => {
    const { values, near } = state;
    const first = state.mode === "chosen"
      ? { ask: "hold", args: chosen() }
      : { ask: "why", args: { values, within: near, widened: true } };
    return [first, ...Object.values(state.panels).filter((each) => each.answer).map(({ what, args }) => ({ ask: what, args }))];
  };

  // Whether the verdict on the screen waits for an answer.
  const checking = () => live && Boolean(asker.on(state.mode === "chosen" ? "hold" : "why"));
  // Whether the answer on the screen is about what is on the screen.
  const current = () => (state.mode === "chosen" ? state.verdict?.about === JSON.stringify(chosen()) : covered());

  return { state, actions, live, holding, address: Boolean(options.address), id: (name) => `${prefix}-${name}`, asked, checking, current, covered,
    waiting: (channel) => (live ? asker.on(channel) : undefined),
    jobs: () => (live ? asker.waiting() : []),
    lost: () => live && asker.lost() };
}
