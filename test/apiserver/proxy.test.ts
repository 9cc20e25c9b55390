import { readFileSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { parse, stringify } from "yaml";
import { type ApiServer, startApiServer } from "#kit/servers/apiserver.ts";
import { NAMESPACES } from "#kit/tables/kinds.ts";
import { KubeClient } from "#kube/client.ts";
import { kubeconfigFile } from "#kube/config.ts";
import { httpTransport } from "#kube/transport.ts";

/** A name that only the proxy can resolve. */
const NAME = "kube-apiserver.test:6443";
const options = { signal: new AbortController().signal };

let server: ApiServer;
let proxy: Server;
let asked: string[];
const sockets = new Set<Socket>();
beforeAll(async () => {
  server = await startApiServer();
  asked = [];
  proxy = createServer();
  proxy.on("connect", (request, client: Socket) => {
    asked.push(`${request.headers["proxy-authorization"] ?? "nobody"} ${request.url}`);
    if (request.url !== NAME) return client.end("HTTP/1.1 403 Forbidden\r\n\r\n");
    const upstream = connect(server.port, "127.0.0.1", () => {
      client.write("HTTP/1.1 200 Connection established\r\n\r\n");
      upstream.pipe(client).pipe(upstream);
    });
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on("error", () => socket.destroy()); // either side may close it at any time
    }
    return undefined;
  });
  await new Promise<void>((done) => proxy.listen(0, "127.0.0.1", done));
});
afterAll(async () => {
  for (const socket of sockets) socket.destroy();
  proxy?.close();
  await server?.stop();
});

/** The admin's kubeconfig with the server's other name. */
function kubeconfig(): string {
  const config = parse(readFileSync(server.kubeconfig, "utf8")) as { clusters: { cluster: Record<string, unknown> }[] };
  Object.assign(config.clusters[0]?.cluster ?? {}, {
    server: `https://${NAME}`,
    "tls-server-name": "kubernetes.default.svc",
  });
  const path = join(dirname(server.kubeconfig), "proxied.kubeconfig");
  writeFileSync(path, stringify(config));
  return path;
}

async function clientWith(env: Record<string, string>): Promise<KubeClient> {
  const config = await kubeconfigFile(kubeconfig());
  return new KubeClient({ config, userAgent: "test", transport: httpTransport(config, env) });
}

test("reads, writes and watches use the proxy of HTTPS_PROXY, and writes still need the lease", async () => {
  const address = `127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  const client = await clientWith({ HTTPS_PROXY: `http://me:secret@${address}` });
  const { metadata } = await client.get(NAMESPACES, { name: "kube-system" }, options);
  expect(metadata.name).toBe("kube-system");
  expect(new Set(asked)).toEqual(new Set([`Basic ${Buffer.from("me:secret").toString("base64")} ${NAME}`]));
  const watch = client.watch(NAMESPACES, { initialEvents: true, timeoutSeconds: 5 }, options);
  expect((await watch.next()).value).toMatchObject({ type: "ADDED" });
  await watch.return();
  const config = await kubeconfigFile(kubeconfig());
  const transport = httpTransport(config, { HTTPS_PROXY: `http://${address}` });
  const standby = new KubeClient({ config, userAgent: "test", transport, mayChange: () => false });
  const draft = { apiVersion: "v1", kind: "Namespace", metadata: { name: "late" } };
  await expect(standby.create(NAMESPACES, draft, options)).rejects.toMatchObject({ code: "LeaseLost" });
  await Promise.all([client.close(), standby.close()]);
});

test("without HTTPS_PROXY or with a matching NO_PROXY, requests do not use the proxy", async () => {
  const address = `127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  for (const env of [{}, { HTTPS_PROXY: `http://${address}`, NO_PROXY: "kube-apiserver.test" }]) {
    asked = [];
    const client = await clientWith(env);
    const call = client.get(NAMESPACES, { name: "kube-system" }, { ...options, deadlineMs: 1_000 });
    await expect(call).rejects.toMatchObject({ code: "KubeUnavailable" });
    expect(asked).toEqual([]);
    await client.close();
  }
});
