/* The words and marks that rows have in common. It repeats no rule: a state comes from the server, and gets a look. */

import { el, said, svg } from "./dom.js";
import { time } from "./times.js";

/** A node's name, as every row writes it: where it belongs, which one it is, what it is about. */
export function named(card) {
  return el(
    "span",
    { class: "named" },
    el("bdi", { class: "id" }, card.node_id ? `${card.graph_id}/${card.node_id}` : card.graph_id ?? ""),
    card.title ? " " : null,
    card.title ? said(card.title, "title") : null,
  );
}

/** A reason as a chip; one that only a person ends stands out, one that time ends says when. */
export function chip(reason) {
  return el(
    "span",
    { class: reason.person ? "chip person" : "chip", title: reason.note ?? null },
    said(reason.text),
    ...(reason.until ? [" ", time(reason.until, "until")] : []),
  );
}

/** Each reason with a person's own words beside it. */
export function reasonList(reasons) {
  return el(
    "ul",
    { class: "reasons" },
    ...reasons.map((each) => el("li", {}, chip(each), each.note ? said(` ${each.note}`, "dim") : null)),
  );
}

/** A number with its noun. */
export function counted(amount, noun) {
  return `${amount.toLocaleString("en")} ${noun}${amount === 1 ? "" : "s"}`;
}

/** A share of 0 to 1. */
export function percent(share) {
  return `${(100 * share).toFixed(share < 0.0995 ? 1 : 0)}%`;
}

/** A figure in thousands or millions where it is large. */
export function short(amount) {
  if (amount >= 1e6) return `${(amount / 1e6).toFixed(1)}M`;
  return amount >= 1e4 ? `${Math.round(amount / 1e3)}k` : String(amount);
}

// --- marks -----------------------------------------------------------------------------------------------------------

const SHAPES = {
  live: () => svg("circle", { cx: 7, cy: 7, r: 5, class: "full" }),
  late: () => [
    svg("circle", { cx: 7, cy: 7, r: 5, class: "open" }),
    svg("path", { d: "M7 2a5 5 0 0 0 0 10z", class: "full" }),
  ],
  file: () => svg("rect", { x: 2.5, y: 2.5, width: 9, height: 9, class: "open" }),
  overdue: () => svg("path", { d: "M7 1.8 12.6 12H1.4z", class: "open" }),
  lost: () => svg("path", { d: "M3 3l8 8M11 3l-8 8", class: "line" }),
  paused: () => svg("path", { d: "M5 3v8M9 3v8", class: "line" }),
};

/** The states that work can be in, and what the two marks of each mean. */
export const STATES = {
  working: "working",
  asked_to_pause: "asked to pause at a safe point",
  seen: "runs elsewhere, as a file says",
  lost: "lost",
  paused: "paused by its agent",
};
export const PROOFS = {
  live: "its lease was granted or renewed within the first half of its term",
  late: "not renewed since the first half of its term; the lease ends by itself if nobody comes",
  file: "only a file says that it runs",
  overdue: "a file says so for longer than the policy allows: somebody must look",
  lost: "its lease ended without a word of its agent, and nobody is on it. Look at what was done before somebody goes on",
  paused: "its agent stopped on purpose and may go on",
};

/** Two marks in one place: colour says what the work is, shape what proves that somebody is on it. */
export function mark(state, proof) {
  const label = `${STATES[state] ?? state}; ${PROOFS[proof] ?? proof}`;
  const shape = SHAPES[proof] ?? SHAPES.file;
  return svg(
    "svg",
    { class: "mark", "data-state": state, "data-proof": proof, viewBox: "0 0 14 14", role: "img", "aria-label": label },
    svg("title", {}, label),
    shape(),
  );
}

/** What the marks mean, for the help. */
export function legend() {
  const pairs = [["working", "live"], ["working", "late"], ["asked_to_pause", "live"], ["seen", "file"], ["seen", "overdue"]];
  return [...pairs, ["lost", "lost"], ["paused", "paused"]].map(([state, proof]) =>
    el("li", {}, mark(state, proof), ` ${STATES[state]}: ${PROOFS[proof]}`),
  );
}
