// Prints the hash of each accepted vector: node vectors.mjs FILE

import { readFile } from "node:fs/promises";
import { hashOf } from "./hash.mjs";

const { accepted } = JSON.parse(await readFile(process.argv[2], "utf8"));
console.log(JSON.stringify(accepted.map(({ event }) => hashOf(event))));
