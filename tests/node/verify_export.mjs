// A second verifier, written from the formats alone (RFC 6962, C2SP checkpoint), with WebCrypto.
// Takes a JSON file with a list of {export, checkpoint, key, previous?, records?, witnesses?} and prints {wrong, unproven} for each:
// the problem, or null; and the unproven members, those of the export, of every record, and of single records by leaf.

import { readFileSync } from "node:fs";
import { webcrypto } from "node:crypto";

import { canonical } from "./canonical.mjs";

const { subtle } = webcrypto;
const bytes = (text) => new TextEncoder().encode(text);
const hex = (raw) => Buffer.from(raw).toString("hex");
const sha256 = async (...parts) => new Uint8Array(await subtle.digest("SHA-256", Buffer.concat(parts)));
const leafHash = (text) => sha256(Uint8Array.of(0), bytes(text));
const nodeHash = (left, right) => sha256(Uint8Array.of(1), left, right);

function need(holds, why) {
  if (!holds) throw new Error(why);
}

function unbase64(text, size) {
  need(typeof text === "string", "no base64");
  const raw = Buffer.from(text, "base64");
  need(raw.length === size && raw.toString("base64") === text, "no canonical base64");
  return raw;
}

async function readKey(text, algorithm = 1) {
  const [, name, id, encoded] = /^([^\p{White_Space}+]+)\+([0-9a-f]{8})\+(\S+)$/u.exec(text.trim()) ?? [];
  need(name, "no verifier key");
  const raw = unbase64(encoded, 33);
  const keyId = (await sha256(bytes(`${name}\n`), raw)).subarray(0, 4);
  need(raw[0] === algorithm && hex(keyId) === id, "no Ed25519 key");
  return { name, id, key: await subtle.importKey("raw", raw.subarray(1), "Ed25519", false, ["verify"]) };
}

async function readNote(note, { name, id, key }) {
  need(typeof note === "string" && !/[\0-\t\v-\x1f]/.test(note), "no plain text");
  const cut = note.lastIndexOf("\n\n");
  need(cut > 0 && note.endsWith("\n"), "no signed note");
  const text = note.slice(0, cut + 1);
  let signed = false;
  for (const line of note.slice(cut + 2, -1).split("\n")) {
    const [, signer, encoded] = /^— ([^\p{White_Space}+]+) ([A-Za-z0-9+/]+=*)$/u.exec(line) ?? [];
    need(signer, "no signature");
    const raw = Buffer.from(encoded, "base64");
    need(raw.length > 4 && raw.toString("base64") === encoded, "no signature");
    if (signer !== name || hex(raw.subarray(0, 4)) !== id || raw.length !== 68) continue;
    need(await subtle.verify("Ed25519", key, raw.subarray(4), bytes(text)), "wrong signature");
    signed = true;
  }
  need(signed, "not signed by this key");
  const [origin, size, root, ...extensions] = text.split("\n");
  need(origin === name && extensions.pop() === "" && !extensions.includes(""), "another log");
  need(/^(0|[1-9][0-9]{0,15})$/.test(size), "no size");
  return { size: Number(size), root: hex(unbase64(root, 32)) };
}

// c2sp.org/tlog-cosignature: eight bytes of time, and a signature of a header, that time and the checkpoint.
async function checkWitness(note, { name, id, key }) {
  const cut = note.lastIndexOf("\n\n");
  let cosigned = false;
  for (const line of note.slice(cut + 2, -1).split("\n")) {
    const [, signer, encoded] = line.split(" ");
    const raw = Buffer.from(encoded, "base64");
    if (signer !== name || hex(raw.subarray(0, 4)) !== id || raw.length !== 76) continue;
    const signed = `cosignature/v1\ntime ${raw.readBigUInt64BE(4)}\n${note.slice(0, cut + 1)}`;
    need(await subtle.verify("Ed25519", key, raw.subarray(12), bytes(signed)), "wrong cosignature");
    cosigned = true;
  }
  need(cosigned, "not cosigned by this witness");
}

async function rootOf(hashes) {
  if (hashes.length === 0) return sha256();
  if (hashes.length === 1) return hashes[0];
  let split = 1;
  while (split * 2 < hashes.length) split *= 2;
  return nodeHash(await rootOf(hashes.slice(0, split)), await rootOf(hashes.slice(split)));
}

// Follow the path from a leaf to the root, from the top down: the last hash joins the two halves of the whole tree.
async function rootBy(path, leaf, index, size) {
  need([leaf, ...path].every((one) => one.length === 32), "a hash of another length");
  if (size === 1) return path.length === 0 ? leaf : null;
  if (path.length === 0) return null;
  let split = 1;
  while (split * 2 < size) split *= 2;
  const [below, beside] = [path.slice(0, -1), path.at(-1)];
  if (index < split) {
    const left = await rootBy(below, leaf, index, split);
    return left && nodeHash(left, beside);
  }
  const right = await rootBy(below, leaf, index - split, size - split);
  return right && nodeHash(beside, right);
}

const place = ["leaf", "leaf_hash", "proof", "record", "salt", "sequence"];
const texts = {
  review: ["reason_text", "resulting", "shown"], disposition: ["payload", "receipt", "source_span"], note: ["text"],
};
const committed = {
  review: ["person", "producer_identity", "scope_id", "self_edit", "submission_scope", "target", "version"],
  note: ["person", "persons", "producer_identity", "scope_id", "submission_scope"],
  disposition: [],
};
const beside =
  ["approvals_required", "memory_id", "resulting_hash", "resulting_version", "shown_hash", "source_event_hash"];
const claims = ["derived_from", "supersedes"];
const members = {
  disposition: [...place, ...texts.disposition],
  review: [
    ...place, ...texts.review, ...committed.review, ...beside, "curator", "decided_at", "decision", "policy_digest",
    "proposal_id", "quarantine_id", "reason_code", "review_record_id", "undoes",
  ],
  note: [
    ...place, ...texts.note, ...committed.note, "answers", "author", "kind", "note_id", "policy_digest", "proposal_id",
    "written_at",
  ],
};
const decisions =
  "approve edit supersede reject merge flag undo retract expire keep open dismiss release destroy clear".split(" ");
const said = ["note", "question", "answer", "assignment"];
const actions = { disposition: ["submit", "seal"], review: decisions, note: said };
const erased = [null, "", "(erased)", '{"content":"(erased)","kind":"erased"}'];

function sameNote(record, leaf) {
  const told = { kind: leaf.action, author: leaf.actor, written_at: leaf.time, policy_digest: leaf.policy_digest };
  for (const name of ["note_id", "proposal_id", "answers"]) told[name] = leaf.subject[name] ?? null;
  for (const [name, value] of Object.entries(told)) need((record[name] ?? null) === value, `${name} differs`);
}

function sameMembers(record, leaf) {
  const told = {
    decision: leaf.action,
    curator: leaf.actor,
    decided_at: leaf.time,
    reason_code: leaf.reason_code,
    policy_digest: leaf.policy_digest,
  };
  for (const name of ["review_record_id", "proposal_id", "quarantine_id", "undoes"]) told[name] = leaf.subject[name] ?? null;
  for (const [name, value] of Object.entries(told)) need((record[name] ?? null) === value, `${name} differs`);
}

// Return the members that cannot be proven because the text and its salt were erased.
async function checkRecord(record, checkpoint) {
  const { leaf, sequence, salt, proof } = record;
  const text = canonical(leaf);
  const value = await leafHash(text);
  need(record.leaf_hash === hex(value), "another leaf hash");
  need(Number.isInteger(sequence) && sequence < checkpoint.size && Array.isArray(proof), "no place in the log");
  const root = await rootBy(proof.map((one) => unbase64(one, 32)), value, sequence, checkpoint.size);
  need(root && hex(root) === checkpoint.root, "not in the log");
  if (record.record === "review") sameMembers(record, leaf);
  if (record.record === "note") sameNote(record, leaf);
  need(actions[record.record].includes(leaf.action), "a leaf of something else");
  if (salt === null) {
    need(texts[record.record].every((name) => erased.includes(record[name])), "a text without its salt");
    return record.record === "disposition" ? texts.disposition : committed[record.record];
  }
  // Only an approval of the editor alone says so in its commitment.
  const names = [...texts[record.record], ...committed[record.record]].filter(
    (name) => name !== "self_edit" || record[name] !== false,
  );
  const told = Object.fromEntries(names.map((name) => [name === "version" ? "proposal_version" : name, record[name]]));
  need(leaf.payload_commitment === `sha256:${hex(await sha256(unbase64(salt, 32), bytes(canonical(told))))}`, "another text");
  return [];
}

async function verify(files) {
  const key = await readKey(files.key);
  const checkpoint = await readNote(readFileSync(files.checkpoint, "utf8"), key);
  for (const witness of files.witnesses ?? []) {
    await checkWitness(readFileSync(files.checkpoint, "utf8"), await readKey(witness, 4));
  }
  const previous = files.previous && (await readNote(readFileSync(files.previous, "utf8"), key));
  const raw = readFileSync(files.export);
  const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(raw);
  need(text.endsWith("\n"), "cut off");
  const records = text.slice(0, -1).split("\n").map((line) => {
    const record = JSON.parse(line);
    need(canonical(record) === line, "not in its canonical form");
    return record;
  });
  const closing = records.pop();
  need(closing.record === "closing", "no closing record");
  const log = records.length === 0 ? !("filters" in closing) : records[0].record === "leaf";
  need(log === !files.records, log ? "a whole log" : "no whole log");
  const names = ["checkpoint", "complete", "count", ...(log ? [] : ["exported_at", "filters"]), "last_sequence", "record"];
  need(Object.keys(closing).join() === names.join(), "another closing record");
  need(closing.count === records.length && closing.last_sequence === (records.at(-1)?.sequence ?? null), "other numbers");
  const own = await readNote(closing.checkpoint, key);
  need(own.size === checkpoint.size && own.root === checkpoint.root, "another checkpoint");
  if (!log) {
    need(!previous, "nothing to compare");
    need(closing.complete === false, "a claim of completeness");
    need(typeof closing.filters === "object" && closing.filters !== null && !Array.isArray(closing.filters), "no filters");
    need(records.length > 0, "no records, so that nothing is verified");
    // An archive of retention has records of several kinds, and the claims of events beside them.
    const claimed = records.some((one) => one.record === "disposition" && "supersedes" in one);
    const reviewed = records.some((one) => one.record === "review");
    const unproven = { export: ["exported_at", "filters"], every: [...(reviewed ? beside : []), ...(claimed ? claims : [])], leaves: {} };
    let last = -1;
    for (const record of records) {
      need(record.sequence > last, "out of order");
      need(typeof record.record === "string" && members[record.record], "another kind");
      const beside = record.record === "disposition" && "supersedes" in record ? claims : [];
      need(Object.keys(record).join() === [...members[record.record], ...beside].toSorted().join(), "other members");
      last = record.sequence;
      const lost = await checkRecord(record, checkpoint);
      if (lost.length > 0) unproven.leaves[record.sequence] = lost;
    }
    return unproven;
  }
  const hashes = [];
  for (const record of records) {
    need(Object.keys(record).join() === "leaf,leaf_hash,record,sequence" && record.record === "leaf", "no leaf");
    need(record.sequence === hashes.length, "out of place");
    hashes.push(await leafHash(canonical(record.leaf)));
    need(hex(hashes.at(-1)) === record.leaf_hash, "another leaf hash");
  }
  need(closing.complete === true && hashes.length === checkpoint.size, "incomplete");
  need(hex(await rootOf(hashes)) === checkpoint.root, "another root");
  const unproven = { export: [], every: [], leaves: {} };
  if (!previous) return unproven;
  need(previous.size > 0, "an earlier checkpoint of nothing");
  need(previous.size <= hashes.length, "shorter than before");
  need(hex(await rootOf(hashes.slice(0, previous.size))) === previous.root, "rewritten");
  return unproven;
}

const found = [];
for (const files of JSON.parse(readFileSync(process.argv[2], "utf8"))) {
  try {
    found.push({ wrong: null, unproven: await verify(files) });
  } catch (error) {
    found.push({ wrong: String(error.message), unproven: null });
  }
}
console.log(JSON.stringify(found));
