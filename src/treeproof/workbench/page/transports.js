// How questions reach Python and events come back. A transport has send, listen and close, no more: over HTTP an ask is a
// POST and events are server-sent; in a notebook both are messages of the widget.

export function httpTransport(base = "./") {
  const client = "tab-" + Array.from(crypto.getRandomValues(new Uint8Array(9)), (byte) => byte.toString(36)).join("");
  let listener = () => {};
  let opened;
  const ready = new Promise((resolve) => (opened = resolve)); // a client that nobody listens to is refused
  const events = new EventSource(`${base}api/events?client=${client}`);
  events.onopen = () => {
    opened();
    listener({ event: "connection", state: "open" });
  };
  events.onerror = () => listener({ event: "connection", state: "lost" });
  events.onmessage = (message) => listener(JSON.parse(message.data));

  // One after the other, or an older question could overtake a newer one and supersede it; of those that still wait to be
  // sent, only the newest of a channel is.
  let queue = [];
  let sending = false;
  const send = async (request) => {
    queue = queue.filter((each) => request.channel === undefined || each.channel !== request.channel);
    queue.push(request);
    if (sending) return;
    sending = true;
    await ready;
    while (queue.length) await post(queue.shift());
    sending = false;
  };
  const post = async (request) => {
    const fail = (message) => listener({ id: request.id, event: "error", message });
    try {
      const response = await fetch(`${base}api/ask`, {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ client, ...request }),
      });
      if (response.ok) return;
      const told = await response.json().catch(() => ({}));
      fail(told.message ?? `The server refused the question (status ${response.status}).`);
    } catch {
      fail("The server does not answer. If it was stopped, start it again and open the page that it names.");
    }
  };
  return { send, listen: (heard) => (listener = heard), close: () => events.close() };
}

export function widgetTransport(model) {
  const client = "widget-" + Math.random().toString(36).slice(2);
  let listener = () => {};
  const heard = (event) => {
    if (event.client === undefined || event.client === client) listener(event); // each view of a widget hears all of them
  };
  model.on("msg:custom", heard);
  return {
    send: (request) => model.send({ client, ...request }),
    listen: (hear) => (listener = hear),
    close: () => model.off("msg:custom", heard),
  };
}
