/* What there is to share, at the top: slots, resources, budgets, merge queues, and what is paused. */

import { el, said, svg } from "./dom.js";
import { counted, short } from "./words.js";
import { time } from "./times.js";

const PAUSE = { act: { act: "pause", scope: "workspace", name: "" } };
const PERIODS = { life_of_node: "over the life of the node" };

/** One item per gauge; the key names what it measures. */
export function limitItems(board) {
  // A pause that waits for a person stands among those already.
  const asked = new Set(board.needs_person.filter(({ act }) => act.act === "resume").map(({ act }) => `${act.scope} ${act.name ?? ""}`));
  const pauses = board.pauses.filter((card) => !asked.has(`${card.scope} ${card.name}`));
  return [
    { key: "slots", kind: "slots", card: { ...board.slots, isPaused: board.pauses.some(({ scope }) => scope === "workspace") }, viewer: board.viewer },
    ...pauses.map((card) => ({ key: `pause ${card.scope} ${card.name}`, kind: "pause", card, viewer: board.viewer })),
    ...board.resources.map((card) => ({ key: `resource ${card.name}`, kind: "resource", card })),
    ...board.keys.map((card) => ({ key: `key ${card.name}`, kind: "key", card })),
    ...board.merge_pressure.map((card) => ({ key: `merges ${card.repository}`, kind: "merges", card })),
    ...board.budgets.map((card) => ({ key: `budget ${card.graph_id}/${card.node_id}`, kind: "budget", card })),
  ];
}

export function limitKey({ key }) {
  return key;
}

const DRAW = { slots, pause, resource, key: exclusive, merges, budget };

/** A gauge. */
export function limitRow({ kind, card, viewer }, press) {
  return el("li", { class: `gauge ${kind}` }, ...DRAW[kind](card, viewer, press).filter((part) => part !== null));
}

function bar(used, limit, label) {
  if (used === undefined || limit === undefined) return null;
  const share = limit > 0 ? Math.min(1, used / limit) : 1;
  return svg(
    "svg",
    { class: share >= 1 ? "bar full" : "bar", viewBox: "0 0 40 4", preserveAspectRatio: "none", role: "img", "aria-label": label },
    svg("rect", { class: "rest", width: 40, height: 4 }),
    svg("rect", { class: "used", width: (40 * share).toFixed(1), height: 4 }),
  );
}

function button(text, label, onclick) {
  return el("button", { type: "button", class: "act", "data-part": "act", "aria-label": label, onclick }, text);
}

/** Used of what there is; of one Group alone the use is not told. */
function part(used, limit) {
  if (used === undefined) return limit === undefined ? "no limit" : `at most ${limit}`;
  return limit === undefined ? `${used} in use, no limit` : `${used} of ${limit}`;
}

function slots(card, viewer, press) {
  const text = part(card.in_use, card.limit);
  const held = card.held;
  return [
    el("b", {}, "Slots"),
    el("span", {}, text),
    bar(card.in_use, card.limit, `${text} slots in use`),
    held ? el("span", { class: "chip", title: held.title }, `${held.slots} kept for ${held.graph_id}/${held.node_id}`) : null,
    viewer.may.includes("pause") && !card.isPaused ? button("Pause", "Pause the workspace", () => press(PAUSE)) : null,
  ];
}

function pause(card, viewer, press) {
  const name = `${card.scope} ${card.name}`.trim();
  const act = { act: { act: "resume", scope: card.scope, name: card.name }, title: `paused by ${card.by}`, note: card.note };
  return [
    el("b", {}, "Paused"),
    el("span", {}, said(name), " by ", said(card.by), card.until ? el("span", {}, ", ends ", time(card.until, "until")) : ""),
    card.note ? said(card.note, "dim") : null,
    viewer.may.includes("pause") ? button("Resume", `Resume ${name}`, () => press(act)) : null,
  ];
}

function resource(card) {
  const text = part(card.in_use, card.capacity);
  return [
    el("b", {}, said(card.name)),
    el("span", {}, text),
    bar(card.in_use, card.capacity, `${text} of ${card.name} in use`),
    card.closed ? closed(card) : null,
  ];
}

function closed(card) {
  const by = card.closed_by ? `It turned ${card.closed_by} away, and is closed for all until then.` : null;
  const until = card.closed_until ? ["opens ", time(card.closed_until, "until")] : ["until a success is reported"];
  return el("span", { class: "chip person", title: by }, "closed, ", ...until);
}

function exclusive(card) {
  return [el("b", {}, said(card.name)), el("span", {}, "with ", said(`${card.graph_id}/${card.node_id}`, "id"))];
}

function merges(card) {
  const text = `${card.depth} of ${card.threshold}`;
  return [
    el("b", {}, "Merges ", said(card.repository)),
    el("span", {}, text),
    bar(card.depth, card.threshold, `${text} merges wait`),
    card.pressured ? el("span", { class: "chip" }, "holds work back") : null,
  ];
}

function budget(card) {
  return [
    el("b", {}, said(`${card.graph_id}/${card.node_id}`)),
    ...card.figures.map((each) => figure(each)),
    el("span", { class: "dim" }, PERIODS[card.period] ?? card.period),
    card.exhausted ? el("span", { class: "chip person" }, "used up") : null,
  ];
}

function figure(each) {
  const used = each.limit - each.left;
  const name = each.name.replace("_", " ");
  const text = `${short(used)} of ${short(each.limit)} ${name}`;
  return el("span", { class: "figure" }, text, " ", bar(used, each.limit, `${text} used`));
}

/** Agents without a lease: they are there, and have nothing to do. */
export function idle(board) {
  const free = board.agents.filter((agent) => agent.held === 0);
  if (free.length === 0) return [];
  return [
    `${counted(free.length, "agent")} without work: `,
    ...free.flatMap((agent, place) => [
      place ? ", " : "",
      said(agent.agent_id, "agent"),
      agent.paused ? " (paused)" : "",
      ...(agent.proof_at ? [" ", time(agent.proof_at, "ago")] : []),
    ]),
  ];
}
