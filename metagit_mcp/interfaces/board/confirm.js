/* Asks before anything is changed, says what it will reach, and sends it. The server decides whether it may be. */

import { el, said } from "./dom.js";
import { Refused, send } from "./link.js";
import { chip, named } from "./words.js";

const byId = (id) => document.getElementById(id);

/** What each act says it does and reaches, what it asks for, and what is sent. */
const ACTS = {
  approve: {
    title: "Approve",
    reach: "It may then start once, with the next agent that takes it. A change of its title, dependencies, repository or risk asks again.",
    fields: (card) => [typed(card.node_id)],
    body: (card) => ({ ...node(card), digest: card.act.digest }),
  },
  review: {
    title: "Review",
    reach: "Accepted, it is finished, and what depends on it may start. Rejected, it is open again; the note reaches the next agent that takes it.",
    fields: () => verdict(),
    body: (card) => ({ ...node(card), accept: chosen() === "accept", note: byId("note").value.trim() }),
  },
  retry: {
    title: "Retry",
    reach: "It is offered again, with its former attempts told to the next agent that takes it.",
    fields: () => [],
    body: node,
  },
  release: {
    title: "Release",
    reach: "Whoever has it loses it: what they report from then on changes nothing.",
    fields: () => [],
    body: node,
  },
  pause: {
    title: "Pause",
    reach: "Nothing new starts until somebody resumes it. Work under way goes on.",
    fields: () => [note("Reason")],
    body: (card) => ({ scope: card.act.scope, name: card.act.name, reason: byId("note").value.trim() }),
  },
  resume: {
    title: "Resume",
    reach: "Work starts again at the next ask of an agent.",
    fields: () => [],
    body: (card) => ({ scope: card.act.scope, name: card.act.name ?? "" }),
  },
};

let asked = null;

/** Open the dialog for what a card offers; `done` hears what was done. */
export function confirmAct(card, done) {
  const act = ACTS[card.act.act];
  asked = { card, act, done, returnTo: document.activeElement };
  byId("confirm-title").replaceChildren(`${act.title} `, said(card.node_id ?? `${card.act.scope} ${card.act.name ?? ""}`.trim(), "id"));
  byId("confirm-about").replaceChildren(...about(card, act).filter(Boolean));
  byId("confirm-fields").replaceChildren(...act.fields(card));
  byId("confirm-error").textContent = "";
  byId("confirm-yes").textContent = act.title;
  ready();
  byId("confirm").showModal();
  (byId("confirm-fields").querySelector("input") ?? byId("confirm-yes")).focus();
}

/** Say how the dialog behaves; once. */
export function startConfirm() {
  byId("confirm-no").addEventListener("click", () => byId("confirm").close());
  byId("confirm-fields").addEventListener("input", ready);
  byId("confirm-form").addEventListener("submit", (event) => {
    event.preventDefault();
    if (!byId("confirm-yes").disabled) void perform();
  });
}

async function perform() {
  const { card, act, done } = asked;
  byId("confirm-yes").disabled = true;
  byId("confirm-error").textContent = "";
  try {
    await send(`/v1/${card.act.act}`, act.body(card));
    byId("confirm").close();
    done(`${act.title}: ${card.node_id ?? card.act.name ?? "workspace"}, done.`);
  } catch (error) {
    if (error instanceof Refused && error.status === 401) byId("confirm").close();
    byId("confirm-error").textContent = explained(error);
    done(null, error);
  } finally {
    ready();
  }
}

function explained(error) {
  if (error instanceof Refused) return `${error.message} ${error.hint}`.trim();
  return "The server did not answer. Nothing is known of what it did: look at the board before you try again.";
}

function about(card, act) {
  return [
    card.node_id ? el("p", {}, named(card)) : null,
    card.note ? el("p", {}, said(card.note)) : null,
    card.summary ? el("p", {}, said(card.summary)) : null,
    card.risk ? el("p", {}, "Risk: ", el("span", { class: "chip person" }, card.risk)) : null,
    el("p", { class: "reach" }, act.reach),
    card.act.leaves?.length ? el("p", {}, "Not ended by it: ", ...card.act.leaves.flatMap((each) => [chip(each), " "])) : null,
  ];
}

// --- what is asked for -----------------------------------------------------------------------------------------------

function node(card) {
  return { graph_id: card.graph_id, node_id: card.node_id };
}

function typed(id) {
  return el("p", {}, el("label", { for: "typed" }, "Type ", el("code", {}, id), " to approve it"), el("input", { id: "typed", autocomplete: "off", spellcheck: "false", "data-wanted": id }));
}

function verdict() {
  const choice = (value, text) => el("label", {}, el("input", { type: "radio", name: "verdict", value }), ` ${text}`);
  return [
    el("fieldset", {}, el("legend", {}, "The result is"), choice("accept", "accepted"), " ", choice("reject", "rejected")),
    note("Note"),
  ];
}

function note(label) {
  return el("p", {}, el("label", { for: "note" }, label), el("input", { id: "note", autocomplete: "off", maxlength: 500 }));
}

function chosen() {
  return byId("confirm-fields").querySelector("input[name=verdict]:checked")?.value ?? "";
}

function ready() {
  const wanted = byId("typed")?.dataset.wanted;
  const isTyped = wanted === undefined || byId("typed").value.trim() === wanted;
  const isChosen = byId("confirm-fields").querySelector("fieldset") === null || chosen() !== "";
  byId("confirm-yes").disabled = !(isTyped && isChosen);
}
