// A second implementation of the source-event hash, from the contract alone: normal form 1, RFC 8785, BLAKE3-256.

import { blake3 } from "@noble/hashes/blake3.js";
import { bytesToHex } from "@noble/hashes/utils.js";

import { canonical } from "./canonical.mjs";

const lower = (text) => text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
const byCodePoint = (left, right) => Buffer.compare(Buffer.from(left), Buffer.from(right));

function plain(value) {
  if (typeof value === "string") return value.normalize("NFC").replace(/\r\n?/g, "\n");
  if (Array.isArray(value)) return value.map(plain);
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, plain(one)]));
}

export function normalForm(event) {
  const payload = plain(event.payload);
  payload.content = payload.content.replace(/^[\t\n ]+|[\t\n ]+$/g, "");
  payload.kind = lower(payload.kind);
  if (payload.tags) payload.tags = [...new Set(payload.tags.map(lower))].sort(byCodePoint);
  return { payload, source_span: plain(event.source_span) };
}

export function hashOf(event) {
  const text = canonical({ ...normalForm(event), version: 1 });
  return `blake3:${bytesToHex(blake3(new TextEncoder().encode(text)))}`;
}
