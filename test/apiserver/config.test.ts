import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { rootCertificates } from "node:tls";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type ApiServer, startApiServer } from "#kit/servers/apiserver.ts";
import { NAMESPACES } from "#kit/tables/kinds.ts";
import { KubeClient } from "#kube/client.ts";
import { inClusterConfig, type KubeConfig, kubeconfigFile } from "#kube/config.ts";

const { signal } = new AbortController();
let server: ApiServer;
let folder: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "config-"));
  server = await startApiServer();
});
afterAll(async () => {
  await server?.stop();
  rmSync(folder, { recursive: true });
});

async function namespaces(config: KubeConfig): Promise<number> {
  const client = new KubeClient({ config, userAgent: "test" });
  try {
    return (await client.list(NAMESPACES, {}, { signal })).items.length;
  } finally {
    await client.close();
  }
}

interface File {
  readonly users: readonly [{ readonly user: { readonly token: string } }];
  readonly clusters: readonly [{ readonly cluster: { readonly server: string } }];
}

/** The admin's kubeconfig with an exec plugin instead of the token. */
function withPlugin(script: string): string {
  const file = JSON.parse(readFileSync(server.kubeconfig, "utf8")) as File & Record<string, unknown>;
  const exec = {
    apiVersion: "client.authentication.k8s.io/v1",
    command: "sh",
    args: ["-c", script],
    interactiveMode: "Never",
  };
  const cluster = { server: server.url, "insecure-skip-tls-verify": true };
  const path = join(folder, "plugin.kubeconfig");
  const users = [{ name: "admin", user: { exec } }];
  writeFileSync(path, JSON.stringify({ ...file, users, clusters: [{ name: "local", cluster }] }));
  return path;
}

function credential(token: string): string {
  return JSON.stringify({ apiVersion: "client.authentication.k8s.io/v1", kind: "ExecCredential", status: { token } });
}

function adminToken(): string {
  return (JSON.parse(readFileSync(server.kubeconfig, "utf8")) as File).users[0].user.token;
}

test("an exec plugin provides the token, and runs again when the token is refused", async () => {
  // The first run returns a token that the server refuses.
  const marker = join(folder, "ran");
  const script = `if test -e ${marker}; then echo '${credential(adminToken())}'; else touch ${marker}; echo '${credential("old")}'; fi`;
  const config = await kubeconfigFile(withPlugin(script));
  expect((await config.credentials(false)).token).toBe("old");
  expect(await namespaces(config)).toBeGreaterThan(0);
});

test("a failing exec plugin is reported with its file and field", async () => {
  const path = withPlugin("exit 3");
  await expect(kubeconfigFile(path)).rejects.toMatchObject({
    code: "InvalidConfig",
    message: expect.stringMatching(/plugin\.kubeconfig: users\["admin"\]\.user\.exec failed/),
  });
});

test("a pod connects with its mounted files, also after the token and the CA were replaced", async () => {
  const certificates = readFileSync(join(server.kubeconfig, "..", "certs", "apiserver.crt"), "utf8");
  const mount = (token: string, ca: string): void => {
    writeFileSync(join(folder, "token"), token);
    writeFileSync(join(folder, "ca.crt"), ca);
    writeFileSync(join(folder, "namespace"), "default");
  };
  mount(adminToken(), certificates);
  const env = { KUBERNETES_SERVICE_HOST: "127.0.0.1", KUBERNETES_SERVICE_PORT: String(server.port) };
  const config = await inClusterConfig({ env, serviceAccountDirectory: folder });
  expect(await namespaces(config)).toBeGreaterThan(0);
  // The files are wrong when the process starts and right before its first call: both must be read again at once.
  mount("old", strangersCertificate());
  const early = await inClusterConfig({ env, serviceAccountDirectory: folder });
  mount(adminToken(), certificates);
  expect(await namespaces(early)).toBeGreaterThan(0);
});

/** A CA that is unrelated to the server: the first of the system's. */
function strangersCertificate(): string {
  const [first] = rootCertificates;
  if (first === undefined) throw new Error("Node has no CAs");
  return first;
}
