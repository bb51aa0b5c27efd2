// Questions in channels: a new one on a channel supersedes the older one, whose answer is dropped wherever it is.

export class Cancelled extends Error {}

export function makeAsker(transport, changed) {
  let last = 0;
  let lost = false;
  const open = new Map(); // id -> question that waits for its answer; at most one for each channel

  const post = (question) => {
    question.id = ++last;
    open.set(question.id, question);
    transport.send({ id: question.id, channel: question.channel, ask: question.what, args: question.args });
  };

  transport.listen((event) => {
    if (event.event === "connection") {
      // Who lost the connection lost its questions too: they are asked anew.
      const again = lost && event.state === "open" ? [...open.values()] : [];
      lost = event.state === "lost";
      for (const question of again) {
        open.delete(question.id);
        post(question);
      }
      changed();
      return;
    }
    const question = open.get(event.id);
    if (question === undefined) return; // superseded or cancelled
    if (event.event === "progress") {
      question.progress = event;
      if (event.part) question.onpart?.(event.part);
      changed();
      return;
    }
    open.delete(event.id);
    if (event.event === "answer") question.resolve(event.answer);
    else question.reject(event.event === "cancelled" ? new Cancelled() : new Error(event.message));
    changed();
  });

  const on = (channel) => [...open.values()].find((question) => question.channel === channel);

  // Forgets the question on a channel; Python drops it when the next one on the channel comes, or on cancel.
  const drop = (channel) => {
    const question = on(channel);
    if (question === undefined) return null;
    open.delete(question.id);
    question.reject(new Cancelled());
    return question.id;
  };

  return {
    // The answer, or a rejection with a sentence, or with Cancelled, also when a newer question took the channel.
    ask: (channel, what, args = {}, { title = "", onpart = null } = {}) =>
      new Promise((resolve, reject) => {
        drop(channel);
        post({ channel, what, args, title, onpart, resolve, reject, since: Date.now(), progress: null });
        changed();
      }),
    cancel: (channel) => {
      const id = drop(channel);
      if (id !== null) transport.send({ ask: "cancel", args: { id } });
      changed();
    },
    on,
    waiting: () => [...open.values()],
    lost: () => lost,
  };
}
