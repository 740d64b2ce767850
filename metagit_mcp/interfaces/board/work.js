/* Who works on what, and until when; what was lost, and what its agent paused. Each row has its two marks. */

import { el, facts, folding, said } from "./dom.js";
import { mark, named, PROOFS, short, STATES } from "./words.js";
import { actButton, leaves } from "./persons.js";
import { graphLink } from "./queue.js";
import { time } from "./times.js";

/** Everything that somebody is on, or should be: lost work first, since nobody else will speak of it. */
export function workItems(board) {
  const of = (kind, cards) => cards.map((card) => ({ kind, card, viewer: board.viewer }));
  return [...of("lost", board.lost), ...of("running", board.running), ...of("paused", board.paused_work)];
}

export function workKey({ kind, card }) {
  return `${kind} ${card.graph_id}/${card.node_id}`;
}

/** A row of the list. */
export function workRow({ kind, card, viewer }, press) {
  return { running: runningRow, lost: lostRow, paused: pausedRow }[kind](card, viewer, press);
}

function row(kind, line, more, ...beside) {
  return el("li", { class: `row ${kind}` }, folding(line, more), ...beside);
}

function who(card) {
  return said(card.agent_id ?? "somebody", "agent");
}

function runningRow(card) {
  const line = [
    mark(card.state, card.proof),
    who(card),
    named(card),
    card.state === "working" ? null : el("span", { class: "chip" }, STATES[card.state] ?? card.state),
    el("span", { class: "times" }, card.leased_until ? el("span", {}, "ends ", time(card.leased_until, "until")) : null, proof(card)),
  ];
  return row("running", line, () => [
    facts([
      ["Life", `${PROOFS[card.proof] ?? card.proof}.`],
      ["Last sign", card.proof_at && el("span", {}, time(card.proof_at, "ago"), card.proof_by ? `, by its ${card.proof_by}` : "")],
      ["Progress", card.progress_at ? el("span", {}, "checkpoint ", time(card.progress_at, "ago")) : "no checkpoint yet"],
      ["Since", card.since && time(card.since, "ago")],
      ["Used", used(card)],
      ["Slots", card.slots > 1 ? String(card.slots) : null],
      ["Attempts", card.attempts ? String(card.attempts) : null],
      ["Repository", card.repository && said(card.repository)],
      ["Reach", reach(card)],
    ]),
    graphLink(card),
  ]);
}

const HEARD = { agent: "heard", server: "connected", file: "in a file" };

/** The last proof of life, and who gave it: a file's is no agent's. */
function proof(card) {
  return card.proof_at ? el("span", { class: "dim" }, `${HEARD[card.proof_by] ?? "seen"} `, time(card.proof_at, "ago")) : null;
}

function used(card) {
  return card.used?.length ? card.used.map((each) => `${short(each.used)} ${each.name.replace("_", " ")}`).join(", ") : null;
}

function reach(card) {
  if (card.agent_id && card.leased_until) return `${card.agent_id} hears of a change at its next report or renewal.`;
  return "No lease of this workspace: nothing said here reaches whoever runs it.";
}

function lostRow(card, viewer, press) {
  const line = [
    mark("lost", "lost"),
    who(card),
    named(card),
    el("span", { class: "chip lost", title: PROOFS.lost }, "lost"),
    card.lost_at ? el("span", { class: "times" }, time(card.lost_at, "ago")) : null,
  ];
  const more = () => [
    el("p", {}, `${PROOFS.lost}.`),
    facts([
      ["Next", card.may_start ? "offered again, to whoever is next" : "not offered as it stands; the queue says why"],
      ["Checkpoint", checkpoint(card.checkpoint)],
      ["Attempts", String(card.attempts)],
      ["Command", card.act?.command && el("code", {}, card.act.command)],
      ["Reach", "Its agent lost the lease: what it reports now is kept as evidence and changes nothing."],
    ]),
    graphLink(card),
  ];
  return row("lost", line, more, actButton(card, viewer, press), leaves(card.act));
}

function pausedRow(card) {
  const line = [
    mark("paused", "paused"),
    who(card),
    named(card),
    el("span", { class: "chip paused" }, "paused"),
    el("span", { class: "times" }, card.until ? el("span", {}, "kept ", time(card.until, "until")) : null, el("span", { class: "dim" }, time(card.since, "ago"))),
  ];
  return row("paused", line, () => [
    el("p", {}, `${PROOFS.paused}.`),
    facts([["Checkpoint", checkpoint(card.checkpoint)]]),
    graphLink(card),
  ]);
}

function checkpoint(point) {
  if (!point) return null;
  return el("span", {}, said(point.checkpoint_id, "id"), " ", time(point.at, "ago"), point.note ? said(` ${point.note}`) : null);
}
