/* Shows what the server answers, and asks again when something changed. Starts here; decides nothing. */

import { keepingFocus, put, Rows } from "./dom.js";
import { askHost, HostChanges, isEmbedded } from "./host.js";
import { askServer, Changes, Refused, signIn, signOut } from "./link.js";
import { clock, learnClock, tick } from "./times.js";
import { counted, legend } from "./words.js";
import { personItems, personKey, personRow } from "./persons.js";
import { workItems, workKey, workRow } from "./work.js";
import { heldItems, heldRow, queueItems, queueKey, queueRow } from "./queue.js";
import { groupItems, groupKey, groupRow, groupsNote } from "./groups.js";
import { idle, limitItems, limitKey, limitRow } from "./limits.js";
import { decisionItems, decisionKey, decisionRow } from "./decisions.js";
import { drawPicture, pictureTitle } from "./picture.js";
import { filterOf, groupOf, problemOf, stateWords } from "./filter.js";
import { confirmAct, startConfirm } from "./confirm.js";
import { showHelp, startKeys } from "./keys.js";

const byId = (id) => document.getElementById(id);
const BOARD = "/v1/board?limit=100&recent=100";
const TICK = 2000;
/** Without a change, the board is asked for again all the same: life is no change. */
const STALE = 30000;
/** Between two questions: as long as three answers took, and never less than this. */
const PAUSE = 150;

const ask = isEmbedded ? askHost : askServer;

let board = null;
let wanted = false;
let asking = false;
let askedAt = 0;
let pictured = null;
/** The answer about the one Group that the filter names, where lists are too long to show all of it. */
let alone = null;
/** The server's last word, if that was an error; it is asked again at each tick. */
let trouble = null;
/** The instant of the next attempt to hear of changes; null as long as they are heard of. */
let nextAt = null;

const press = (card) => confirmAct(card, acted);
const lists = {
  limits: new Rows(byId("limit-rows"), limitKey, (item) => limitRow(item, press)),
  persons: new Rows(byId("persons"), personKey, (item) => personRow(item, press)),
  work: new Rows(byId("work"), workKey, (item) => workRow(item, press)),
  queue: new Rows(byId("queue"), queueKey, queueRow),
  held: new Rows(byId("held"), queueKey, heldRow),
  groups: new Rows(byId("groups"), groupKey, groupRow),
  decisions: new Rows(byId("decisions"), decisionKey, decisionRow),
};
const changes = new (isEmbedded ? HostChanges : Changes)({
  // The first thing that a stream tells is the state as it is: most often the one that is shown already.
  heard: (version) => version === board?.state_version || void refresh(),
  found: () => {
    nextAt = null;
    if (board === null || !byId("banner").hidden) void refresh();
  },
  // A stream that ends says nothing of why. What the next question is answered does: by nothing, by an error, or by a 401.
  lost: (seconds) => {
    nextAt = performance.now() + 1000 * seconds;
    void refresh();
  },
});

// --- asking ----------------------------------------------------------------------------------------------------------

/** Ask for the board; one question at a time, and however many changes come meanwhile, one more after it. */
async function refresh() {
  wanted = true;
  if (asking) return;
  asking = true;
  while (wanted) {
    wanted = false;
    askedAt = performance.now();
    await fetched();
    await paused(Math.max(PAUSE, 3 * (performance.now() - askedAt)));
  }
  asking = false;
}

function paused(length) {
  return new Promise((resolve) => setTimeout(resolve, Math.min(length, 2000)));
}

async function fetched() {
  try {
    const answer = await ask(BOARD);
    alone = await askAlone(answer);
    found();
    take(answer);
    await drawGraph();
  } catch (error) {
    refused(error);
  }
}

/** What the filter is about, if it is one Group and the board does not show all there is: its own first hundred of each list. */
async function askAlone(answer) {
  const graph = isEmbedded || !answer.truncated ? null : groupOf(byId("filter").value, answer.groups.map((card) => card.graph_id));
  if (graph === null) return null;
  try {
    return { graph, ...(await ask(`${BOARD}&graph_id=${encodeURIComponent(graph)}`)) };
  } catch (error) {
    if (error instanceof Refused && error.status !== 401) return null;
    throw error;
  }
}

function refused(error) {
  if (error instanceof Refused && error.status === 401) signedOut();
  else if (error instanceof Refused) troubled(error);
  else if (nextAt !== null) lost();
}

// --- showing ---------------------------------------------------------------------------------------------------------

function take(answer) {
  const before = board;
  board = answer;
  learnClock(answer.at);
  signedIn();
  show();
  announce(before, answer);
}

/** Draw all that changed, as far as the filter lets it through. */
function show() {
  if (board === null) return;
  const filter = byId("filter").value;
  const fits = filterOf(filter);
  // Asked for when the filter was another one, it is of no use.
  const near = alone !== null && alone.graph === groupOf(filter, board.groups.map((card) => card.graph_id)) ? alone : board;
  put(byId("filter-problem"), problemOf(filter));
  put(byId("workspace"), board.workspace.path);
  byId("workspace").title = `chosen by: ${board.workspace.chosen_by}`;
  document.title = board.totals.needs_person ? `(${board.totals.needs_person}) metagit` : "metagit";
  put(byId("figures"), figures());
  put(byId("who"), [board.viewer.name, board.viewer.role].filter(Boolean).join(", "));
  lists.limits.show(limitItems(board));
  const of = (answer, ...names) => names.reduce((sum, name) => sum + answer.totals[name], 0);
  const nodes = (name, items, ...names) => list(name, items, fits, of(near, ...names), of(board, ...names));
  nodes("persons", personItems(near), "needs_person");
  nodes("work", workItems(near), "running", "lost", "paused_work");
  nodes("queue", queueItems(near), "queue");
  nodes("held", heldItems(near), "not_runnable");
  list("groups", groupItems(board), fits, board.totals.groups);
  list("decisions", decisionItems(near), fits, near.decisions.length, board.decisions.length);
  put(byId("groups-note"), groupsNote(board));
  keepingFocus(() => byId("idle").replaceChildren(...idle(board)));
  byId("warnings").hidden = board.warnings.length === 0;
  byId("warnings").replaceChildren(...board.warnings.map((text) => Object.assign(document.createElement("li"), { textContent: text })));
}

/** Show a list and how much of `all` it is; it is empty only if there is nothing in the `whole` workspace. */
function list(name, items, fits, all, whole = all) {
  const shown = items.filter(fits);
  lists[name].show(shown);
  const count = byId(`${name}-count`);
  if (count) put(count, counts(shown.length, items.length, all));
  const empty = byId(`${name}-empty`);
  if (empty) empty.hidden = whole > 0;
}

/** How many rows are seen; a filter looks only at those that the answer has, which may not be all. */
function counts(shown, had, all) {
  const [seen, looked, whole] = [shown, had, all].map((amount) => amount.toLocaleString("en"));
  if (shown < had && had < all) return `${seen} of the ${looked} shown; ${whole} in all`;
  return shown < all ? `${seen} of ${whole}` : String(all);
}

function figures() {
  const of = `${counted(board.counts.nodes, "node")} in ${counted(board.counts.graphs, "graph")}`;
  return `${of}: ${board.ready_count} ready, ${board.runnable_count} runnable now, ${board.counts.running} running, ${board.counts.finished} finished`;
}

/** Tell those who do not see the page what is new, in one sentence. */
function announce(before, after) {
  if (before === null) return;
  const said = [];
  const known = new Set(before.running.map((card) => `${card.graph_id}/${card.node_id}`));
  for (const card of after.running.slice(0, 20)) {
    if (!known.has(`${card.graph_id}/${card.node_id}`)) said.push(`${card.agent_id ?? "somebody"} works on ${card.node_id}.`);
  }
  if (before.totals.lost < after.totals.lost) said.push(`${counted(after.totals.lost, "node")} lost.`);
  if (before.totals.needs_person !== after.totals.needs_person) {
    said.push(after.totals.needs_person ? `${after.totals.needs_person} wait for a person.` : "Nobody is waiting for you.");
  }
  if (said.length) put(byId("news"), said.slice(0, 3).join(" "));
}

function acted(text, error) {
  if (error instanceof Refused && error.status === 401) signedOut();
  if (text !== null) put(byId("news"), text);
  void refresh();
}

// --- the picture of one graph ----------------------------------------------------------------------------------------

async function drawGraph() {
  const graph = new URLSearchParams(location.hash.slice(1)).get("graph");
  if (graph === null || board === null) return closePicture();
  const state = `${graph} ${board.state_version}`;
  if (pictured === state) return undefined;
  const isNew = byId("picture").hidden;
  const place = byId("picture-place");
  try {
    const picture = await ask(`/v1/graphs/${encodeURIComponent(graph)}`);
    put(byId("picture-title"), pictureTitle(picture));
    place.replaceChildren(...drawPicture(picture));
    pictured = state;
  } catch (error) {
    if (!(error instanceof Refused) || error.status === 401) throw error;
    put(byId("picture-title"), graph);
    place.replaceChildren(error.message);
  }
  byId("picture").hidden = false;
  if (isNew) byId("picture-title").focus();
  return undefined;
}

function closePicture() {
  pictured = null;
  byId("picture").hidden = true;
}

// --- here or gone ----------------------------------------------------------------------------------------------------

function link(state, text) {
  byId("link").dataset.state = state;
  put(byId("link-text"), text);
}

function warn(text) {
  put(byId("banner"), text);
  byId("banner").hidden = text === "";
}

function found() {
  const isBack = !byId("banner").hidden;
  trouble = null;
  link("live", "live");
  warn("");
  if (isBack) changes.soon();
}

function lost() {
  trouble = null;
  const seconds = Math.max(1, Math.ceil((nextAt - performance.now()) / 1000));
  link("lost", "connection lost");
  const shown = board === null ? "" : `: this is the state of ${clock(board.at).textContent}`;
  warn(`Connection lost${shown}. Next attempt in ${seconds} s.`);
}

/** The server is there, and says what keeps it from answering. */
function troubled(error) {
  trouble = error;
  link("lost", "error");
  warn(`${error.message} ${error.hint}`.trim() + (board === null ? "" : ` This is the state of ${clock(board.at).textContent}.`));
}

function signedOut() {
  changes.stop();
  board = alone = trouble = nextAt = null;
  document.title = "metagit";
  link("off", "not signed in");
  warn("");
  closePicture();
  for (const rows of Object.values(lists)) rows.show([]);
  for (const id of ["workspace", "figures", "who"]) put(byId(id), "");
  byId("panels").hidden = true;
  byId("tools").hidden = true;
  if (byId("sign-in").hidden) {
    byId("sign-in").hidden = false;
    byId("token").focus();
  }
}

function signedIn() {
  byId("sign-in").hidden = true;
  byId("panels").hidden = false;
  byId("tools").hidden = false;
}

async function enter(event) {
  event.preventDefault();
  const field = byId("token");
  put(byId("sign-in-error"), "");
  try {
    await signIn(field.value.trim());
    field.value = "";
    changes.start();
  } catch (error) {
    put(byId("sign-in-error"), error instanceof Refused ? `${error.message} ${error.hint}`.trim() : "The server does not answer.");
  }
}

async function leave() {
  try {
    await signOut();
    signedOut();
  } catch {
    warn("The server does not answer: you are still signed in.");
  }
}

// --- start -----------------------------------------------------------------------------------------------------------

function start() {
  byId("sign-out").hidden = isEmbedded;
  if (isEmbedded) document.addEventListener("click", stay);
  byId("legend").replaceChildren(...legend());
  byId("sign-in-form").addEventListener("submit", enter);
  byId("sign-out").addEventListener("click", leave);
  byId("help-button").addEventListener("click", showHelp);
  byId("states").replaceChildren(...stateWords());
  byId("filter").addEventListener("input", filtered);
  window.addEventListener("hashchange", () => void drawGraph().catch(refused));
  document.addEventListener("visibilitychange", () => document.hidden || board === null || void refresh());
  startConfirm();
  startKeys();
  setInterval(() => {
    const isReached = tick();
    if (trouble !== null || board !== null && (isReached || performance.now() - askedAt > STALE)) void refresh();
  }, TICK);
  void first();
}

/** The rows that are there are filtered at once; those of one Group alone may have to be asked for. */
function filtered() {
  requestAnimationFrame(show);
  if (board === null || !board.truncated) return;
  const graph = groupOf(byId("filter").value, board.groups.map((card) => card.graph_id));
  if (graph !== null && graph !== alone?.graph) void refresh();
}

/** In a frame, a link to a part of this page would lead to the page around it. */
function stay(event) {
  const link = event.target.closest('a[href^="#"]');
  if (link === null) return;
  event.preventDefault();
  location.hash = link.getAttribute("href");
}

/** A token that the page was opened with is changed for a cookie, and goes from the address before anything else. */
async function takeToken() {
  const asked = new URLSearchParams(location.hash.slice(1));
  const token = asked.get("token");
  if (token === null) return;
  asked.delete("token");
  history.replaceState(null, "", asked.size ? `#${asked}` : location.pathname);
  await signIn(token);
}

/** Whoever has a cookie sees the board at once; everybody else is asked for a token. */
async function first() {
  try {
    await takeToken();
    const { signed_in: isKnown } = await ask("/v1/session");
    if (!isKnown) return signedOut();
    take(await ask(BOARD));
    found();
    await drawGraph();
    changes.start();
  } catch (error) {
    refused(error);
    if (!(error instanceof Refused && error.status === 401)) changes.start();
  }
  return undefined;
}

start();
