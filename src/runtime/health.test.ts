import { once } from "node:events";
import { get } from "node:http";
import { connect, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { silentLog } from "#base/log.ts";
import { type Check, serveHealth } from "./health.ts";

const well: Check = { name: "leading", fault: () => undefined };
const failing: Check = { name: "caches", fault: () => "pods are not read yet" };

async function serving(ready: readonly Check[] = [well]) {
  return await serveHealth({ port: 0, alive: () => [well], ready: () => ready, log: silentLog });
}

async function answer(port: number, path: string): Promise<readonly [number | undefined, string]> {
  const request = get({ host: "127.0.0.1", port, path, agent: false });
  const [response] = await once(request, "response");
  return [response.statusCode, await text(response)];
}

test("health: each check has a line, and a failed check results in status 500", async () => {
  const { port, close } = await serving([well, failing]);
  expect(await answer(port, "/healthz")).toEqual([200, "[+]leading ok\n"]);
  expect(await answer(port, "/readyz")).toEqual([500, "[+]leading ok\n[-]caches: pods are not read yet\n"]);
  expect((await answer(port, "/metrics"))[0]).toBe(404);
  await close();
});

test("health: a client with many idle connections does not block other clients", async () => {
  const { port, close } = await serving();
  const sockets: Socket[] = [];
  for (let n = 0; n < 40; n++) sockets.push(await connected(port, "127.0.0.2"));
  // Connections beyond the limit of the address are closed; others are answered.
  expect(await answer(port, "/healthz")).toEqual([200, "[+]leading ok\n"]);
  await expect.poll(() => sockets.filter(({ destroyed }) => destroyed).length).toBe(8);
  for (const socket of sockets) socket.destroy();
  await close();
});

async function connected(port: number, localAddress: string): Promise<Socket> {
  const socket = connect({ port, host: "127.0.0.1", localAddress });
  socket.on("error", () => undefined);
  socket.resume();
  await once(socket, "connect");
  return socket;
}
