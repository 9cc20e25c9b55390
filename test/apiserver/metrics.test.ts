import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { request } from "node:https";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { WEBHOOKS } from "#api/names.ts";
import { expectGoodServing } from "#kit/etcd/openssl.ts";
import { type ApiServer, startApiServer, type User } from "#kit/servers/apiserver.ts";
import { install } from "#kit/servers/webhooks-apiserver.ts";
import { SECRETS } from "#kube/kinds.ts";
import { webhookHost } from "#webhooks/certificate/keeper.ts";
import { crdManifests, OPERATOR_NAMESPACE, operatorManifests } from "../../scripts/manifests.ts";
import { METRICS_READER_ROLE } from "../../src/bin/permissions.ts";

// Access to the operator's metrics, according to a real API server. The operator has the shipped rights.

const PROGRAM = join(import.meta.dirname, "../../src/bin/operator.ts");
const OPTIONS = { signal: new AbortController().signal };
const REFUSED_MS = 10_000;

let server: ApiServer;
let operator: ChildProcess;
let log = "";
let ports: { metrics: number; http: number; webhooks: number };
let ca: string;

beforeAll(async () => {
  server = await startApiServer();
  for (const manifest of [...crdManifests(), ...operatorManifests("operator:test")])
    await install(server.client, manifest);
  const flags = ["--http-port=0", "--webhook-port=0", "--metrics-port=0", `--operator-namespace=${OPERATOR_NAMESPACE}`];
  const args = [PROGRAM, "--kubeconfig", server.kubeconfigFor("operator"), ...flags];
  operator = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "pipe"] });
  for (const stream of [operator.stdout, operator.stderr]) stream?.on("data", (bytes) => (log += bytes));
  await vi.waitFor(() => expect(log).toContain("the webhooks use a new certificate"), { timeout: 60_000 });
  const port = (words: string) =>
    Number(/"address":":(\d+)"/.exec(log.split("\n").find((line) => line.includes(words)) ?? "")?.[1]);
  ports = { metrics: port("serves metrics"), http: port("started"), webhooks: port("serves webhooks") };
  const { data } = await server.client.get(SECRETS, { namespace: OPERATOR_NAMESPACE, name: WEBHOOKS }, OPTIONS);
  ca = Buffer.from(data?.["ca.crt"] ?? "", "base64").toString();
}, 120_000);
afterAll(async () => {
  operator?.kill("SIGKILL");
  await server?.stop();
});

function tokenOf(user: User): string {
  const config = JSON.parse(readFileSync(server.kubeconfigFor(user), "utf8")) as {
    users: { user: { token: string } }[];
  };
  return config.users[0]!.user.token;
}

interface Answer {
  readonly status: number | undefined;
  readonly text: string;
  readonly type: string | undefined;
  readonly challenge: string | undefined;
}

/** Requests like Prometheus: with trust in the Secret's CA, and with the Service's name. */
async function ask(token?: string, { path = "/metrics", method = "GET", from = "127.0.0.1" } = {}): Promise<Answer> {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const to = { host: "127.0.0.1", port: ports.metrics, servername: webhookHost(OPERATOR_NAMESPACE), ca };
  return await new Promise((resolve, reject) => {
    request({ ...to, path, method, headers, agent: false, localAddress: from }, (answer) => {
      let text = "";
      const { statusCode: status, headers: told } = answer;
      answer.on("data", (bytes) => (text += bytes));
      answer.on("end", () =>
        resolve({ status, text, type: told["content-type"], challenge: told["www-authenticate"] }),
      );
    })
      .on("error", reject)
      .end();
  });
}

test.each(["metrics", "webhooks"] as const)("openssl accepts the certificate at the port for %s", async (what) => {
  await expectGoodServing(ports[what], webhookHost(OPERATOR_NAMESPACE), ca);
});

test("a client without a token or with an unknown token gets status 401", async () => {
  expect(await ask()).toMatchObject({ status: 401, challenge: "Bearer" });
  const { status, text } = await ask("nobody-has-this-one");
  expect(status).toBe(401);
  expect(text).toBe("the API server does not know this token\n");
});

test("a client without the right is refused with its user name in the message", async () => {
  const { status, text } = await ask(tokenOf("visitor"));
  expect(status).toBe(403);
  expect(text).toContain("visitor may not get the path /metrics");
});

test("a client with the right can read the metrics", async () => {
  const rbac = "rbac.authorization.k8s.io";
  await install(server.client, {
    apiVersion: `${rbac}/v1`,
    kind: "ClusterRoleBinding",
    metadata: { name: "prometheus" },
    roleRef: { apiGroup: rbac, kind: "ClusterRole", name: METRICS_READER_ROLE },
    subjects: [{ apiGroup: rbac, kind: "User", name: "visitor" }],
  });
  await vi.waitFor(async () => expect((await ask(tokenOf("visitor"))).status).toBe(200), {
    timeout: REFUSED_MS + 10_000,
    interval: 1_000,
  });
  const { text, type } = await ask(tokenOf("visitor"));
  expect(type).toContain("text/plain; version=");
  expect(text).toContain("etcd_operator_leading");
  expect(text).toContain("process_cpu_seconds_total");
  const page = readFileSync("docs/reference/metrics.md", "utf8");
  const names = [...text.matchAll(/^# TYPE (etcd_operator_\w+)/gm)].map(([, name]) => name);
  expect(names.filter((name) => !page.includes(`\`${name}\``))).toEqual([]);
  expect(names).toContain("etcd_operator_leading");
});

test("the metrics port serves nothing else, and no other port serves metrics", async () => {
  expect((await ask(tokenOf("visitor"), { path: "/healthz" })).status).toBe(404);
  expect((await ask(tokenOf("visitor"), { method: "POST" })).status).toBe(405);
  const plain = await fetch(`http://127.0.0.1:${ports.http}/metrics`);
  expect(plain.status).toBe(404);
  expect(await plain.text()).toBe("served here: /healthz /readyz; /metrics over HTTPS, at --metrics-port\n");
  expect((await fetch(`http://127.0.0.1:${ports.http}/healthz`)).status).toBe(200);
});

describe("during a flood of unknown tokens", () => {
  test("few tokens are sent to the API server for review, and a known client can still read metrics", async () => {
    const before = await reviews();
    // Eight connections of one address are accepted at once.
    const from = (n: number) => `127.0.1.${1 + (n % 10)}`;
    const flood = await Promise.all(Array.from({ length: 60 }, (_, n) => ask(`wrong-${n}`, { from: from(n) })));
    expect(new Set(flood.map(({ status }) => status))).toEqual(new Set([401, 429]));
    expect((await ask(tokenOf("visitor"))).status).toBe(200);
    const more = (await reviews()) - before;
    expect(more).toBeGreaterThan(0);
    expect(more).toBeLessThan(60);
  });

  /** Number of requests without a resource, such as reviews. */
  async function reviews(): Promise<number> {
    const { text } = await ask(tokenOf("visitor"));
    const lines = text.split("\n").filter((line) => line.startsWith('etcd_operator_kube_requests_total{verb="raw"'));
    return lines.reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
  }
});

test("while the API server does not answer, an unknown client gets status 503, and the operator keeps running", async () => {
  server.pause();
  try {
    // The rest of the flood above delays it for a moment.
    const { text } = await vi.waitFor(
      async () => {
        const answer = await ask(tokenOf("admin"));
        expect(answer.status).toBe(503);
        return answer;
      },
      { timeout: 30_000 },
    );
    expect(text).toMatch(/^the API server could not be asked whether you may read metrics: .*no answer within 5000 ms/);
    expect(operator.exitCode).toBeNull();
    expect((await fetch(`http://127.0.0.1:${ports.http}/healthz`)).status).toBe(200);
  } finally {
    server.resume();
  }
  await vi.waitFor(async () => expect((await ask(tokenOf("admin"))).status).toBe(200), { timeout: 30_000 });
}, 90_000);

test("the log contains no token", () => {
  for (const token of ["nobody-has-this-one", "wrong-1", tokenOf("visitor"), tokenOf("admin")])
    expect(log).not.toContain(token);
});
