// Run in the page: questions on one channel, answers that come late, twice, and after the connection was lost.
async () => {
  const { makeAsker, Cancelled } = await import("./asking.js");
  const sent = [];
  const said = [];
  let hear;
  const transport = { send: (request) => sent.push(request), listen: (heard) => (hear = heard) };
  const asker = makeAsker(transport, () => {});
  const note = (name) => [
    (answer) => said.push([name, answer]),
    (error) => said.push([name, error instanceof Cancelled ? "dropped" : error.message]),
  ];
  asker.ask("why", "why", { values: [1] }).then(...note("first"));
  asker.ask("why", "why", { values: [2] }, { onpart: (part) => said.push(["part", part]) }).then(...note("second"));
  asker.ask("other", "hold", {}).then(...note("third"));
  hear({ id: sent[0].id, event: "progress", part: "old" });
  hear({ id: sent[0].id, event: "answer", answer: "old" });
  hear({ id: sent[1].id, event: "progress", part: "some" });
  asker.cancel("other");
  hear({ event: "connection", state: "lost" });
  hear({ event: "connection", state: "open" });
  hear({ id: sent[1].id, event: "answer", answer: "of the connection that was lost" });
  const again = sent[sent.length - 1];
  hear({ id: again.id, event: "answer", answer: again.args.values });
  hear({ id: again.id, event: "answer", answer: "twice" });
  await new Promise((resolve) => setTimeout(resolve));
  const cancelled = sent.filter((each) => each.ask === "cancel").map((each) => each.args.id);
  return { said, ids: sent.map((each) => each.id ?? null), cancelled };
}
