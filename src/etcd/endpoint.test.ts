import assert from "node:assert/strict";
import { createSecureServer } from "node:http2";
import type { AddressInfo } from "node:net";
import { createClient } from "@connectrpc/connect";
import { test } from "vitest";
import { systemClock } from "#base/clock.ts";
import { newAuthority } from "#kit/etcd/authority.ts";
import { Maintenance } from "./proto/etcdserverpb/rpc_pb.js";
import { connectTo } from "./snapshot-source.ts";
import { TransportPool } from "./transport.ts";

test("a client with an intermediate CA trusts servers with certificates of that CA only", async () => {
  const root = await newAuthority();
  const [authority, other] = [await root.intermediate(), await root.intermediate()];
  const server = createSecureServer(await authority.issue("db-0.db"));
  server.on("session", (session) => session.on("error", () => undefined));
  server.on("stream", (stream) => {
    const head = { ":status": 200, "content-type": "application/grpc+proto", "grpc-status": "12" };
    stream.respond(head, { endStream: true });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const pool = new TransportPool(systemClock);
  const options = { timeoutMs: 5_000 };
  try {
    for (const [{ pem: ca }, says] of [
      [authority, /unimplemented/i],
      [other, /certificate/i],
    ] as const) {
      const tls = { ca, ...(await other.issue("operator")), serverName: "db-0.db" };
      await assert.rejects(pool.servicesOf({ address, tls }).maintenance.status({}, options), says);
      const source = connectTo({ url: `https://${address}`, tls });
      await assert.rejects(createClient(Maintenance, source.transport).status({}, options), says);
      source.close();
    }
  } finally {
    pool.closeAll();
    server.close();
  }
});
