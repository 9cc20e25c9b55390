import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { afterAll, expect, test, vi } from "vitest";
import { connect, contextsOf } from "./connect.ts";

const folder = mkdtempSync(join(tmpdir(), "connect-test-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Writes a kubeconfig with one context. @returns its path */
function kubeconfig(name: string, change: { server?: string; user?: object; namespace?: string } = {}): string {
  const path = join(folder, `${name}.yaml`);
  const { server = "https://127.0.0.1:1", user = { token: `token-of-${name}` }, namespace } = change;
  const document = {
    apiVersion: "v1",
    kind: "Config",
    "current-context": name,
    contexts: [{ name, context: { cluster: "c", user: "u", ...(namespace === undefined ? {} : { namespace }) } }],
    clusters: [{ name: "c", cluster: { server } }],
    users: [{ name: "u", user }],
  };
  writeFileSync(path, JSON.stringify(document));
  return path;
}

test("several files are merged, and the first that names something decides", () => {
  const [a, b] = [kubeconfig("a", { namespace: "shop" }), kubeconfig("b")];
  const env = { KUBECONFIG: [join(folder, "missing"), a, b].join(delimiter) };
  expect(contextsOf({}, env).toSorted()).toEqual(["a", "b"]);
  expect(connect({}, env, "1").namespace).toBe("shop");
  expect(connect({ context: "b" }, env, "1").namespace).toBe("default");
  expect(connect({ namespace: "other" }, env, "1").namespace).toBe("other");
  expect(connect({}, env, "1").config.getCurrentUser()?.token).toBe("token-of-a");
});

test.each([
  ["no file", { KUBECONFIG: "/missing" }, {}, "there is no kubeconfig: /missing does not exist"],
  ["an unknown context", {}, { context: "z" }, 'the kubeconfig has no context "z" with a cluster'],
])("%s is refused", (_, env, wish, message) => {
  const one = kubeconfig("one");
  expect(() => connect(wish, { KUBECONFIG: one, ...env }, "1")).toThrow(message);
});

test("a file that is no kubeconfig is refused without its text, which may have a token", () => {
  const path = join(folder, "broken.yaml");
  writeFileSync(path, "users: [{token: swordfish");
  expect(() => connect({}, { KUBECONFIG: path }, "1")).toThrow(`${path} cannot be read: it is not a valid kubeconfig`);
});

test("impersonation is refused, as requests would have the rights of another user", () => {
  const env = { KUBECONFIG: kubeconfig("as", { user: { as: "root", token: "t" } }) };
  expect(() => connect({}, env, "1")).toThrow("impersonation is not supported");
});

test.each([
  ["--namespace", "", { namespace: "" }, undefined],
  ["--namespace", "a/../b", { namespace: "a/../b" }, undefined],
  ["the namespace of the context", "x?y", {}, "x?y"],
])("%s %j is refused", (field, value, wish, namespace) => {
  const env = { KUBECONFIG: kubeconfig("space", namespace === undefined ? {} : { namespace }) };
  const message = `${field} is ${JSON.stringify(value)}; it must be the name of a namespace`;
  expect(() => connect(wish, env, "1")).toThrow(message);
});

test("a context with an empty namespace has the namespace default", () => {
  expect(connect({}, { KUBECONFIG: kubeconfig("empty", { namespace: "" }) }, "1").namespace).toBe("default");
});

test("without a kubeconfig, the ServiceAccount of the pod is used", async () => {
  const files = join(folder, "var/run/secrets/kubernetes.io/serviceaccount");
  mkdirSync(files, { recursive: true });
  writeFileSync(join(files, "token"), "of-pod");
  writeFileSync(join(files, "namespace"), "shop");
  writeFileSync(join(files, "ca.crt"), "");
  const env = { HOME: join(folder, "nowhere"), KUBERNETES_SERVICE_HOST: "192.0.2.1", KUBERNETES_SERVICE_PORT: "443" };
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
  const { config, namespace } = connect({}, env, "1", folder);
  vi.unstubAllEnvs();
  expect(namespace).toBe("shop");
  expect(config.getCurrentCluster()?.server).toBe("https://192.0.2.1:443");
  const options: { headers?: Record<string, string> } = {};
  await config.applyToHTTPSOptions(options);
  expect(options.headers?.Authorization).toBe("Bearer of-pod");
  expect(() => connect({}, { HOME: env.HOME }, "1", folder)).toThrow("there is no kubeconfig");
});

test("a refused connection and an unknown host are reported at once", async () => {
  const free = createServer();
  await new Promise<void>((resolve) => free.listen(0, "127.0.0.1", resolve));
  const { port } = free.address() as AddressInfo;
  await new Promise((resolve) => free.close(resolve));
  const env = { KUBECONFIG: kubeconfig("refused", { server: `https://127.0.0.1:${port}` }) };
  const { client } = connect({}, env, "1");
  const asked = client.raw("GET", "/version", { signal: new AbortController().signal });
  // The client would retry, and its error would begin with the request.
  await expect(asked).rejects.toThrow(`The API server https://127.0.0.1:${port} cannot be reached: `);
  await client.close();
});

test("a server without TLS gets the token of the kubeconfig, also from a login program", async () => {
  const seen: (string | undefined)[] = [];
  const server = createServer((request, response) => {
    seen.push(request.headers.authorization);
    response.end("{}");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const credential = {
    apiVersion: "client.authentication.k8s.io/v1",
    kind: "ExecCredential",
    status: { token: "of-program" },
  };
  const exec = {
    apiVersion: "client.authentication.k8s.io/v1",
    command: "echo",
    args: [JSON.stringify(credential)],
    interactiveMode: "Never",
  };
  for (const user of [{ token: "of-file" }, { exec }]) {
    const { client } = connect({}, { KUBECONFIG: kubeconfig("http", { server: url, user }) }, "1");
    await client.raw("GET", "/version", { signal: new AbortController().signal });
    await client.close();
  }
  server.close();
  expect(seen).toEqual(["Bearer of-file", "Bearer of-program"]);
});
