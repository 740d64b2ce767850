/* Groups: what each is guaranteed and what it received, as numbers and as a strip over time. */

import { el, facts, folding, said, svg } from "./dom.js";
import { graphLink } from "./queue.js";
import { counted, percent } from "./words.js";
import { duration } from "./times.js";

const WIDE = 96;
const HIGH = 22;

/** Each Group with its line of the share history. */
export function groupItems(board) {
  const lines = new Map((board.shares?.lines ?? []).map((line) => [line.graph_id, line.received]));
  const charges = board.shares?.charges.at(-1) ?? 0;
  return board.groups.map((card) => ({ kind: "group", card, charges, line: lines.get(card.graph_id) ?? null }));
}

export function groupKey({ card }) {
  return card.graph_id;
}

/** What the strips show. */
export function groupsNote(board) {
  const charges = board.shares?.charges.at(-1);
  if (board.ordering === "score") return "Ordering is by score alone: no share is guaranteed.";
  if (!charges) return "Nothing was charged yet.";
  return `Received of the newest ${counted(charges, "charge")} (line) against guaranteed (middle).`;
}

/** A row of the list. */
export function groupRow({ card, charges, line }) {
  const shares = card.received === undefined ? null : sharesOf(card);
  const row = [
    strip(card, charges, line),
    el("span", { class: "named" }, el("bdi", { class: "id" }, card.graph_id), " ", said(card.title, "title")),
    el("span", { class: "shares" }, shares),
    el("span", { class: "below" }, el("span", { class: "dim" }, `${running(card)} running, ${card.ready} ready`), state(card)),
  ];
  return el("li", { class: "row group" }, folding(row, () => more(card)));
}

function sharesOf(card) {
  const due = card.guaranteed === undefined ? "" : `, due ${percent(card.guaranteed)}`;
  return `got ${percent(card.received)}${due}`;
}

function running(card) {
  return card.quota === undefined ? String(card.running_slots) : `${card.running_slots}/${card.quota}`;
}

function state(card) {
  if (card.state !== "active") return el("span", { class: "chip" }, card.state);
  if (card.waits_for?.length) {
    return el("span", { class: "chips" }, ...card.waits_for.map((each) => el("span", { class: "chip" }, `${each.reason} ${each.nodes}`)));
  }
  return card.oldest ? el("span", { class: "dim" }, `oldest waiting ${duration(card.oldest.seconds)}`) : null;
}

function more(card) {
  const oldest = card.oldest;
  return [
    facts([
      ["Class and weight", `${card.class} × ${card.weight}`],
      ["Nodes", `${card.nodes}, of which ${card.finished} finished, ${card.running} running, ${card.ready} ready, ${card.runnable} runnable now`],
      ["Quota", card.quota === undefined ? "none" : `${card.running_slots} of ${counted(card.quota, "slot")}`],
      ["Oldest waiting", oldest && `${oldest.node_id}: ${duration(oldest.seconds)}, passed over in ${counted(oldest.passed_over, "start")}`],
      ["Next start", card.starts_before === undefined ? null : `after ${counted(card.starts_before, "other start")}`],
    ]),
    graphLink(card),
  ];
}

/** Received against guaranteed, from old to new: the middle is exactly what is guaranteed, the top twice that. */
function strip(card, charges, line) {
  const label = card.received === undefined ? "no share is told" : `${sharesOf(card)} in ${counted(charges, "charge")}`;
  const full = card.guaranteed ? 2 * card.guaranteed : Math.max(...(line ?? []), card.received ?? 0, 0.01);
  const points = (line ?? []).map((share, place) => {
    const x = line.length === 1 ? WIDE : (place * WIDE) / (line.length - 1);
    return `${x.toFixed(1)},${(HIGH - 1 - Math.min(1, share / full) * (HIGH - 2)).toFixed(1)}`;
  });
  return svg(
    "svg",
    { class: "strip", viewBox: `0 0 ${WIDE} ${HIGH}`, preserveAspectRatio: "none", role: "img", "aria-label": label },
    svg("title", {}, label),
    card.guaranteed ? svg("path", { class: "guaranteed", d: `M0 ${HIGH / 2}H${WIDE}` }) : null,
    points.length ? svg("polyline", { class: "received", points: points.join(" ") }) : null,
  );
}
