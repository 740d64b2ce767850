/* The whole queue in the order of dispatch, and after it all that may not start, never without the reasons. */

import { el, facts, folding, said } from "./dom.js";
import { chip, named, reasonList } from "./words.js";
import { time } from "./times.js";

/** What waits for its turn alone. */
export function queueItems(board) {
  return board.queue.map((card) => ({ kind: "queued", card }));
}

/** What waits for something else. */
export function heldItems(board) {
  return board.not_runnable.map((card) => ({ kind: "held", card }));
}

export function queueKey({ card }) {
  return `${card.graph_id}/${card.node_id}`;
}

/** A row of the first list. */
export function queueRow({ card }) {
  const line = [
    el("span", { class: "place" }, String(card.place)),
    named(card),
    el("span", { class: "chips" }, ...state(card), ...(card.deadline ? [el("span", { class: "chip" }, "deadline ", time(card.deadline, "until"))] : [])),
    el("span", { class: "score", title: card.score_reasons.join(", ") }, card.score.toFixed(3)),
  ];
  return el("li", { class: card.now ? "row now" : "row" }, folding(line, () => [
    card.reasons?.length ? reasonList(card.reasons) : null,
    facts([
      ["Why here", said(card.score_reasons.join(", "))],
      ["Class", card.class],
      ["Passed over", card.passed_over ? `in ${card.passed_over} starts of its Group` : null],
      ["Repository", card.repository && said(card.repository)],
      ["For", card.agent_id && said(card.agent_id)],
      ["Lost before", card.lost ? "look at what was done before going on" : null],
    ]),
    graphLink(card),
  ]));
}

function state(card) {
  if (card.now) return [el("span", { class: "chip go" }, "starts next")];
  if (card.reasons?.length) return card.reasons.map(chip);
  return [el("span", { class: "chip" }, "after those before it")];
}

/** A row of the second. */
export function heldRow({ card }) {
  const line = [
    el("span", { class: "status" }, card.status),
    named(card),
    el("span", { class: "chips" }, ...card.reasons.map(chip)),
  ];
  return el("li", { class: "row held" }, folding(line, () => [
    reasonList(card.reasons),
    facts([
      ["Status", el("span", {}, card.status, ...(card.since ? [" since ", time(card.since, "ago")] : []))],
      ["Agent", card.agent_id && said(card.agent_id)],
      ["Repository", card.repository && said(card.repository)],
    ]),
    graphLink(card),
  ]));
}

/** Leads to the picture of the graph that the row is about. */
export function graphLink(card) {
  const hash = new URLSearchParams({ graph: card.graph_id });
  return el("a", { href: `#${hash}`, "data-part": "graph", "data-graph": card.graph_id }, "Draw its graph");
}
