// Take away: the proof, a report, Python lines, a picture, a link, and the page as it is.

import { html, useEffect, useState } from "./vendor/preact.js";
import { Cancelled } from "./asking.js";
import { Waiting, save } from "./parts.js";
import { pictureOf, pngOf } from "./picture.js";

export function Take({ bench }) {
  const { state, actions, live } = bench;
  const [wrong, fail] = useState("");
  const [lines, setLines] = useState(null);
  const [said, say] = useState("");
  const { values, near, row } = state;
  const edited = values.some((value, i) => value !== row.values[i]);
  const whose = edited ? { values } : { index: row.index, values };
  const tell = (error) => !(error instanceof Cancelled) && fail(error.message);
  const file = (args) => {
    fail("");
    return actions.take(args).then(({ name, type, text }) => save(name, type, text), tell);
  };
  const copied = (text, what) => navigator.clipboard.writeText(text).then(() => say(`${what} copied.`), () => say(`Copying is not allowed here: select the text and copy it.`));
  const asked = JSON.stringify(bench.asked());
  useEffect(() => {
    if (!live) return;
    actions.take({ what: "python", asked: JSON.parse(asked), ...whose }).then(({ text }) => setLines(text), tell);
  }, [asked]);
  const picture = () => pictureOf(bench);
  const chosen = state.mode === "chosen";
  const known = bench.current(); // before that, a picture would say that nothing has to be held
  return html`<div>
    ${wrong ? html`<div class="wrong-note" role="alert"><span>${wrong}</span></div>` : null}
    <p class="unseen" role="status">${said}</p>
    <div class="cards small">
      <article class="card">
        <h2>The proof</h2>
        <p class="note">A certificate of the reason that was found for these values. A small program that shares no code with this one checks it: treeproof check why.json forest.json</p>
        <div class="foot"><button class="button" disabled=${!live} onClick=${() => file({ what: "certificate", values: bench.reasoned(), within: near, widened: true })}>Certificate</button>
          <button class="button" disabled=${!live} onClick=${() => file({ what: "forest" })}>The forest</button></div>
        <${Waiting} bench=${bench} channel="take certificate" text="Writing the certificate" />
      </article>
      <article class="card">
        <h2>A report</h2>
        <p class="note">One HTML page about this row for people who were not here: the reason, the changes, and what is proved.</p>
        <div class="foot"><button class="button" disabled=${!live} onClick=${() => file({ what: "report", ...whose })}>Report</button></div>
        <${Waiting} bench=${bench} channel="take report" text="Writing the report" />
      </article>
      <article class="card">
        <h2>A picture</h2>
        <p class="note">${chosen ? "What you hold, on its scales, and what that proves." : "The reason on its scales, as on the first tab."}</p>
        <div class="foot"><button class="button" disabled=${!known} onClick=${() => save(`why-row-${row.name}.svg`, "image/svg+xml", picture().svg)}>SVG</button>
          <button class="button" disabled=${!known} onClick=${() => pngOf(picture()).then((blob) => save(`why-row-${row.name}.png`, "image/png", blob), tell)}>PNG</button></div>
      </article>
      ${live && bench.address
        ? html`<article class="card">
            <h2>A link</h2>
            <p class="note">Opens the page as you see it now, as long as this server runs.</p>
            <input class="field" readonly aria-label="Link to what is on the screen" value=${location.href} onFocus=${(event) => event.target.select()} />
            <div class="foot"><button class="button" onClick=${() => copied(location.href, "Link")}>Copy the link</button><span class="quiet" aria-hidden="true">${said.startsWith("Link") ? said : ""}</span></div>
          </article>`
        : null}
      <article class="card">
        <h2>This page</h2>
        <p class="note">What you see, as one HTML file that opens anywhere, without a server.</p>
        <div class="foot"><button class="button" disabled=${!live} onClick=${() => file({ what: "page", state: { ...JSON.parse(JSON.stringify(state)), tab: "why" } })}>Save the page</button></div>
      </article>
    </div>
    <section class="block after">
      <div class="group"><h2>The same in Python</h2>${lines ? html`<button class="button" onClick=${() => copied(lines, "Python lines")}>${said.startsWith("Python") ? "Copied" : "Copy"}</button>` : null}</div>
      <${Waiting} bench=${bench} channel="take python" text="Writing the lines" />
      ${lines ? html`<pre class="code" tabindex="0" aria-label="Python lines">${lines}</pre>` : null}
    </section>
  </div>`;
}
