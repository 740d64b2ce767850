/* The filter: `s:` state, `a:` agent, `g:` Group, any other words anywhere. All of them must fit. */

import { el } from "./dom.js";

const FIELDS = { s: states, a: agents, g: groups };

/** The words that `s:` finds: what the server says of rows, by what they are about. */
const WORDS = {
  "the list": "person running lost paused queued held group decision",
  "work": "working asked_to_pause seen live late file overdue",
  "nodes": "pending ready blocked running completed cancelled",
  "Groups": "active completed cancelled invalid",
  "reasons":
    "agent_slots awaiting_approval awaiting_review blocked budget_exhausted capability_missing conflicts_with deferred exclusive " +
    "finished graph_inactive graph_invalid group_quota leased merge_pressure never_fits no_slot not_offered not_ready observed owned " +
    "paused reserved resource_busy resource_closed retry_at",
  "offers": "approve review retry release resume file command",
  "decisions": "running not_taken skipped completed submitted failed released paused blocked expired session revoked finished",
};
const KNOWN = Object.values(WORDS).join(" ");

/** A test of items, made from what stands in the filter. */
export function filterOf(text) {
  const tests = terms(text).map(termOf);
  return (item) => tests.every((fits) => fits(item));
}

/** What is wrong with the filter; "" if nothing is. A part of a word is as good as all of it. */
export function problemOf(text) {
  const unknown = terms(text).filter((word) => word.startsWith("s:") && !KNOWN.split(" ").some((known) => known.includes(word.slice(2))));
  return unknown.length ? `${unknown.join(" ")}: no such state; ? names all` : "";
}

/** The id of the Group that alone is asked for, of those there are; null if it is none, or more than one. */
export function groupOf(text, ids) {
  const wanted = terms(text).filter((word) => word.startsWith("g:"));
  if (wanted.length !== 1) return null;
  const same = ids.filter((id) => `g:${id.toLowerCase()}` === wanted[0]);
  return same.length === 1 ? same[0] : null;
}

/** The words that `s:` knows, for the help. */
export function stateWords() {
  return Object.entries(WORDS).map(([about, words]) => el("div", {}, el("dt", {}, about), el("dd", {}, words.replaceAll(" ", ", "))));
}

function terms(text) {
  return text.toLowerCase().split(/\s+/).filter(Boolean);
}

function termOf(word) {
  const field = FIELDS[word[1] === ":" ? word[0] : ""];
  if (field === undefined) return (item) => everything(item).includes(word);
  const wanted = word.slice(2);
  return (item) => field(item).some((value) => value.toLowerCase().includes(wanted));
}

/** All that the server says of how it stands, and in which list it is. */
function states({ kind, card }) {
  const reasons = [...(card.reasons ?? []), ...(card.waits_for ?? [])].map((each) => each.reason ?? "");
  return [kind, card.state, card.proof, card.status, card.reason, card.became, card.act?.act, ...reasons].filter(Boolean);
}

function agents({ card }) {
  return [card.agent_id].filter(Boolean);
}

function groups({ card }) {
  return [card.graph_id].filter(Boolean);
}

function everything(item) {
  const { card } = item;
  const words = [card.graph_id, card.node_id, card.title, card.agent_id, card.repository, card.note, card.text];
  return [...words, ...states(item)].filter(Boolean).join(" ").toLowerCase();
}
