/* Talks to the server. The token passes through here once; all that follows rides on the cookie it was changed for. */

const PATIENCE = 10000;
const FIRST_WAIT = 1000;
const LONGEST_WAIT = 30000;

/** The server answered, and said no: `status`, and the error record if it sent one. */
export class Refused extends Error {
  constructor(status, record) {
    super(record?.message ?? `The server answered ${status}.`);
    this.status = status;
    this.hint = record?.hint ?? "";
    this.code = record?.code ?? "";
  }
}

/** Fetch an answer; Refused if the server says no, TypeError or a timeout if it says nothing. */
export function askServer(path) {
  return call("GET", path);
}

/** Ask for a change; the header tells the server that this page, and no form of another site, sends it. */
export function send(path, body) {
  return call("POST", path, body);
}

export function signIn(token) {
  return call("POST", "/v1/session", { token });
}

export function signOut() {
  return call("DELETE", "/v1/session");
}

async function call(method, path, body) {
  const headers = { Accept: "application/json" };
  if (method !== "GET") headers["X-Metagit-Board"] = "1";
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const response = await fetch(path, {
    method,
    headers,
    body: body === undefined ? undefined : JSON.stringify(body),
    cache: "no-store",
    signal: AbortSignal.timeout(PATIENCE),
  });
  const answer = await parsed(response);
  if (!response.ok) throw new Refused(response.status, answer?.error ?? answer);
  return answer;
}

async function parsed(response) {
  try {
    return await response.json();
  } catch {
    return null;
  }
}

/** Hears of changes at the server, and comes back by itself, slower each time, when the server went away. */
export class Changes {
  #source = null;
  #timer = null;
  #wait = FIRST_WAIT;

  /** `heard` the version of the state at each change, `found` each connection, `lost` the seconds until the next. */
  constructor({ heard, found, lost }) {
    this.heard = heard;
    this.found = found;
    this.lost = lost;
  }

  start() {
    this.stop();
    const source = new EventSource("/v1/changes");
    this.#source = source;
    source.addEventListener("open", () => this.#opened());
    source.addEventListener("change", (event) => this.heard(JSON.parse(event.data).state_version));
    source.addEventListener("error", () => this.#failed());
  }

  stop() {
    clearTimeout(this.#timer);
    this.#timer = null;
    this.#source?.close();
    this.#source = null;
  }

  /** The server answers again: the next attempt is now. */
  soon() {
    this.#wait = FIRST_WAIT;
    if (this.#timer !== null) this.start();
  }

  #opened() {
    this.#wait = FIRST_WAIT;
    this.found();
  }

  #failed() {
    this.stop();
    // Many pages that lost one server must not all come back in the same moment.
    const wait = this.#wait * (0.75 + Math.random() / 2);
    this.#wait = Math.min(2 * this.#wait, LONGEST_WAIT);
    this.#timer = setTimeout(() => this.start(), wait);
    this.lost(wait / 1000);
  }
}
