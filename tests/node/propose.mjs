// Proposes one event twice through the official MCP client and prints the answers and the hash computed here:
//   node propose.mjs http URL            with ANTECHAMBER_TOKEN
//   node propose.mjs stdio COMMAND ARG…  with the server's environment

import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { hashOf } from "./hash.mjs";

const [way, target, ...rest] = process.argv.slice(2);
const lesson = {
  content: "  Ask the on-call before\r\nthe Å-cluster restarts. ",
  kind: "Procedure",
  submission_scope: "project",
  scope_id: "apollo",
  source_uri: "repo://apollo/RUNBOOK.md",
  source_start: 10,
  source_end: 14,
  tags: ["Ops", "deploy", "ops"],
  attributes: [{ name: "severity", value: 2 }, { name: "seen_in", value: ["staging"] }],
};
const { content, kind, tags } = lesson;
const attributes = { severity: 2, seen_in: ["staging"] };
const hash = hashOf({
  payload: { content, kind, tags, attributes },
  source_span: { uri: lesson.source_uri, start: lesson.source_start, end: lesson.source_end },
});

const transport =
  way === "http"
    ? new StreamableHTTPClientTransport(new URL(target), {
        requestInit: { headers: { authorization: `Bearer ${process.env.ANTECHAMBER_TOKEN}` } },
      })
    : new StdioClientTransport({ command: target, args: rest, env: process.env, stderr: "inherit" });
const client = new Client({ name: "second-client", version: "1" });
await client.connect(transport);
const { tools } = await client.listTools();
const call = (name, args) => client.callTool({ name, arguments: args });
const first = await call("propose_memory", lesson);
const again = await call("propose_memory", lesson);
const unknown = await call("propose_memory", { ...lesson, idempotency_key: "mine" });
const status = await call("submission_status", { submission_id: first.structuredContent.submission_id });
console.log(JSON.stringify({ hash, tools: tools.map(({ name }) => name), first, again, unknown, status }));
await client.close();
