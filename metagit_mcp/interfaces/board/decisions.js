/* What was decided, newest first, and what became of it. */

import { el, facts, folding, said } from "./dom.js";
import { graphLink } from "./queue.js";
import { named } from "./words.js";
import { clock, duration, exact, time } from "./times.js";

const BECAME = { not_taken: "nobody took it", session: "new session", finished: "finished elsewhere" };
const ENDED = new Set(["completed", "submitted", "finished"]);

/** One item per decision. */
export function decisionItems(board) {
  return board.decisions.map((card) => ({ kind: "decision", card }));
}

export function decisionKey({ card }) {
  return card.decision_id;
}

/** A row of the timeline. What ended has a clock time and how long it took: neither grows any more. */
export function decisionRow({ card }) {
  const became = card.became ?? "";
  const line = [
    el("span", { class: "when" }, card.became_at ? clock(card.at) : time(card.at, "ago")),
    named(card),
    el("span", { class: "dim" }, said(card.agent_id ?? "", "agent")),
    became ? el("span", { class: "chip", "data-became": became }, BECAME[became] ?? became.replace("_", " "), lasted(card)) : null,
  ];
  return el("li", { class: "row decision" }, folding(line, () => [
    facts([
      ["Score", `${card.score.toFixed(3)}${card.reasons.length ? `: ${card.reasons.join(", ")}` : ""}`],
      ["Decided", exact(card.at)],
      ["Ended", card.became_at && exact(card.became_at)],
      ["Repository", card.repository && said(card.repository)],
      ["Reach", ENDED.has(became) ? "This node is finished: nobody reads what is said to it." : null],
    ]),
    graphLink(card),
  ]));
}

function lasted(card) {
  if (!card.became_at) return "";
  return el("span", { title: exact(card.became_at) }, ` ${frozen(card.at, card.became_at)}`);
}

function frozen(from, to) {
  const seconds = (new Date(to).getTime() - new Date(from).getTime()) / 1000;
  return seconds < 0 ? "" : `after ${duration(seconds)}`;
}
