/* One task graph as a picture: a column for each wave, the critical chain in bold, what was discovered dotted. */

import { el, svg } from "./dom.js";
import { counted } from "./words.js";
import { duration } from "./times.js";

const WIDE = 190;
const HIGH = 40;
const ACROSS = 56;
const DOWN = 12;
const TOP = 26;

/** What stands over the picture. */
export function pictureTitle(picture) {
  const chain = picture.chain_seconds ? `, the critical chain takes ${duration(picture.chain_seconds)}` : "";
  return `${picture.title || picture.graph_id}: ${counted(picture.nodes_total, "node")} in ${counted(picture.waves, "wave")}${chain}`;
}

/** The picture, its key, and the same in words. */
export function drawPicture(picture) {
  const places = placed(picture);
  const rows = Math.max(1, ...[...places.values()].map((place) => place.row + 1));
  const width = picture.waves * (WIDE + ACROSS) - ACROSS + 2;
  const height = TOP + rows * (HIGH + DOWN);
  const drawing = svg(
    "svg",
    { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${pictureTitle(picture)}. The list below says the same.` },
    ...Array.from({ length: picture.waves }, (_, wave) => svg("text", { x: wave * (WIDE + ACROSS), y: 14, class: "wave" }, `wave ${wave + 1}`)),
    ...picture.edges.filter((edge) => places.has(edge.source) && places.has(edge.target)).map((edge) => line(edge, places)),
    ...picture.nodes.map((node) => box(node, places.get(node.node_id))),
  );
  return [
    ...remarks(picture).map((text) => el("p", { class: "note" }, text)),
    drawing,
    el("p", { class: "note" }, "Bold: the critical chain. Dotted: found while the other was worked on."),
    inWords(picture),
  ];
}

function remarks(picture) {
  return [
    picture.goal || null,
    picture.circular ? "Nodes in or behind a circle stand in the last wave." : null,
    picture.truncated ? `${picture.nodes.length} of ${picture.nodes_total} nodes are drawn.` : null,
  ].filter(Boolean);
}

/** Columns are waves; within one, a node stands near those it needs, so that few lines cross. */
function placed(picture) {
  const needed = new Map(picture.nodes.map((node) => [node.node_id, []]));
  for (const edge of picture.edges) needed.get(edge.target)?.push(edge.source);
  const waves = Map.groupBy(picture.nodes, (node) => node.wave);
  const places = new Map();
  for (const wave of [...waves.keys()].sort((one, other) => one - other)) {
    const height = (node) => mean(needed.get(node.node_id).map((id) => places.get(id)?.row).filter((row) => row !== undefined));
    const nodes = waves.get(wave).map((node) => [height(node), node]);
    nodes.sort(([one], [other]) => one - other);
    nodes.forEach(([, node], row) => places.set(node.node_id, { row, x: (wave - 1) * (WIDE + ACROSS) + 1, y: TOP + row * (HIGH + DOWN) }));
  }
  return places;
}

function mean(numbers) {
  return numbers.length ? numbers.reduce((sum, each) => sum + each, 0) / numbers.length : 0;
}

function line(edge, places) {
  const from = places.get(edge.source);
  const to = places.get(edge.target);
  const [x1, y1, x2, y2] = [from.x + WIDE, from.y + HIGH / 2, to.x, to.y + HIGH / 2];
  const bend = Math.max(ACROSS / 2, Math.abs(x2 - x1) / 2);
  const kind = `edge ${edge.kind}${edge.critical ? " critical" : ""}`;
  return svg("path", { class: kind, d: `M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}` });
}

function box(node, place) {
  const state = node.state.replace("_", " ");
  return svg(
    "g",
    { class: `node${node.critical ? " critical" : ""}`, "data-state": node.state, transform: `translate(${place.x} ${place.y})` },
    svg("title", {}, `${node.node_id}: ${node.title} (${state}${node.agent_id ? `, ${node.agent_id}` : ""})`),
    svg("rect", { width: WIDE, height: HIGH, rx: 3 }),
    svg("text", { x: 8, y: 16 }, cut(node.title, 26)),
    svg("text", { x: 8, y: 31, class: "below" }, cut(`${node.node_id} · ${state}${node.agent_id ? ` · ${node.agent_id}` : ""}`, 32)),
  );
}

function cut(text, length) {
  const marks = [...text];
  return marks.length > length ? `${marks.slice(0, length - 1).join("")}…` : text;
}

/** For who does not see the picture, and for finding a node by its name. */
function inWords(picture) {
  const needs = Map.groupBy(picture.edges.filter((edge) => edge.kind === "needs"), (edge) => edge.target);
  const sentence = (node) => {
    const sources = (needs.get(node.node_id) ?? []).map((edge) => edge.source);
    return `wave ${node.wave}: ${node.node_id}, ${node.title}, ${node.state.replace("_", " ")}${sources.length ? `, needs ${sources.join(", ")}` : ""}`;
  };
  const list = el("ol", {});
  const details = el("details", { ontoggle: () => list.childElementCount || list.append(...picture.nodes.map((node) => el("li", {}, sentence(node)))) }, el("summary", {}, "In words"), list);
  return details;
}
