/* Talks to the program in whose conversation the page stands, as an MCP App does: by messages to the window around it.
   There is no session and no cookie here, and nobody who could decide: the page looks. */

import { Refused } from "./link.js";

const PROTOCOL = "2026-01-26";
const PATIENCE = 10000;
const LOOK_EVERY = 5000;

/** Whether the page stands in another one. A server never lets that happen: then it is an App. */
export const isEmbedded = window.parent !== window;

const waiting = new Map();
const heardOf = new Map();
let last = 0;

/** Fetch an answer by the path that a server would have it under. */
export async function askHost(path) {
  if (path === "/v1/session") {
    await introduced();
    return { signed_in: true };
  }
  const graph = /^\/v1\/graphs\/(.+)$/.exec(path)?.[1];
  const uri = graph === undefined ? "metagit://board" : `metagit://board/graphs/${graph}`;
  const { contents } = await request("resources/read", { uri });
  const answer = JSON.parse(contents[0].text);
  return answer.viewer === undefined ? answer : { ...answer, viewer: { ...answer.viewer, may: [] } };
}

/** Looks again now and then, and when a tool answered: hosts pass on no other news. */
export class HostChanges {
  #timer = null;

  constructor({ heard, found }) {
    this.heard = heard;
    this.found = found;
    heardOf.set("ui/notifications/tool-result", () => heard(null));
  }

  start() {
    this.found();
    this.#timer = setInterval(() => document.hidden || this.heard(null), LOOK_EVERY);
  }

  /** There is no connection that could be opened anew. */
  soon() {}

  stop() {
    clearInterval(this.#timer);
  }
}

async function introduced() {
  window.addEventListener("message", receive);
  heardOf.set("ui/notifications/host-context-changed", wear);
  const params = { protocolVersion: PROTOCOL, appInfo: { name: "metagit-board", version: "1" }, appCapabilities: {} };
  const { hostContext } = await request("ui/initialize", params);
  wear(hostContext ?? {});
  tell({ method: "ui/notifications/initialized", params: {} });
  new ResizeObserver(() => tell({ method: "ui/notifications/size-changed", params: size() })).observe(document.body);
}

function size() {
  return { width: Math.ceil(document.body.scrollWidth), height: Math.ceil(document.body.scrollHeight) };
}

/** Dark or light as the host is. */
function wear({ theme }) {
  if (theme) document.documentElement.dataset.theme = theme;
}

function request(method, params) {
  last += 1;
  const id = last;
  tell({ id, method, params });
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => answered(id, { error: { message: "The host does not answer." } }), PATIENCE);
    waiting.set(id, { resolve, reject, timer });
  });
}

// Which page is around this one, it cannot know; what it says is public to whoever shows it.
function tell(message) {
  window.parent.postMessage({ jsonrpc: "2.0", ...message }, "*");
}

function receive({ source, data }) {
  if (source !== window.parent || data?.jsonrpc !== "2.0") return;
  if (data.method === undefined) answered(data.id, data);
  else if (data.id !== undefined) tell({ id: data.id, result: {} });
  else heardOf.get(data.method)?.(data.params ?? {});
}

function answered(id, { result, error }) {
  const asked = waiting.get(id);
  if (asked === undefined) return;
  waiting.delete(id);
  clearTimeout(asked.timer);
  if (error) asked.reject(new Refused(0, error));
  else asked.resolve(result);
}
