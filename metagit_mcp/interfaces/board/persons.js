/* What waits for a person, with what they can do about it. Which acts are offered, and to whom, the server says. */

import { el, facts, folding, said } from "./dom.js";
import { graphLink } from "./queue.js";
import { chip, named } from "./words.js";
import { time } from "./times.js";

const LABELS = { approve: "Approve", review: "Review", retry: "Retry", release: "Release", resume: "Resume" };
const RIGHTS = { approve: "judge", review: "judge", retry: "judge", release: "judge", resume: "pause" };

/** The button of an act, if the viewer may press it. */
export function actButton(card, viewer, press) {
  const right = RIGHTS[card.act?.act];
  if (right === undefined || !viewer.may.includes(right)) return null;
  const what = card.node_id ?? `${card.act.scope} ${card.act.name ?? ""}`.trim();
  return el(
    "button",
    { type: "button", class: "act", "data-part": "act", "aria-label": `${LABELS[card.act.act]} ${what}`, onclick: () => press(card) },
    LABELS[card.act.act],
  );
}

/** What the act leaves as it is, visible before anybody presses. */
export function leaves(act) {
  if (!act?.leaves?.length) return null;
  return el("p", { class: "leaves" }, "Then still: ", ...act.leaves.flatMap((each) => [chip(each), " "]));
}

/** One item per card, the oldest first, as the server has them. */
export function personItems(board) {
  return board.needs_person.map((card) => ({ kind: "person", card, viewer: board.viewer }));
}

/** The same card keeps its key while others come and go. */
export function personKey({ card }) {
  return [card.reason, card.graph_id, card.node_id, card.act.scope, card.act.name].filter(Boolean).join(" ");
}

/** A row of the list. */
export function personRow({ card, viewer }, press) {
  const line = [
    el("span", { class: "when" }, card.since ? time(card.since, "waiting") : ""),
    el("span", { class: "chip person" }, said(card.text)),
    named(card),
    card.nodes > 1 ? el("span", { class: "dim" }, ` and ${card.nodes - 1} more`) : null,
  ];
  const todo = card.act.file ?? (card.act.act === "command" ? card.act.command : null);
  const beside = todo ? el("code", { class: "todo" }, todo) : actButton(card, viewer, press);
  return el("li", { class: "row" }, folding(line, () => more(card, todo)), beside, leaves(card.act));
}

/** What unfolds; `todo` stands beside the row already. */
function more(card, todo) {
  return [
    card.note ? el("p", {}, said(card.note)) : null,
    facts([
      ["Result", card.summary && said(card.summary)],
      ["Risk", card.risk],
      ["Repository", card.repository && said(card.repository)],
      ["Agent", card.agent_id && said(card.agent_id)],
      ["Command", card.act.command && card.act.command !== todo && el("code", {}, card.act.command)],
    ]),
    card.graph_id ? graphLink(card) : null,
  ];
}
