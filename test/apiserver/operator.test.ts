import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { OPERATOR } from "#api/names.ts";
import { systemClock } from "#base/clock.ts";
import { type ApiServer, startApiServer } from "#kit/apiserver.ts";
import { CUSTOM_RESOURCE_DEFINITIONS, type CustomResourceDefinition } from "#kit/kinds.ts";
import { LEASES } from "#kube/kinds.ts";
import { Election } from "#kube/lease.ts";
import { crdManifests } from "../../scripts/manifests.ts";
import { LEASE_PERMISSIONS } from "../../src/bin/permissions.ts";

const PROGRAM = join(import.meta.dirname, "../../src/bin/operator.ts");
/** What a person or the kubelet waits for without wondering; a start of Node on a busy machine is not part of it. */
const PROMPTLY_MS = 3_000;

let server: ApiServer;
beforeAll(async () => {
  server = await startApiServer();
});
afterAll(async () => await server?.stop());

function startOperator(
  namespace = "default",
  ...more: readonly string[]
): {
  process: ChildProcess;
  log: () => string;
  end: Promise<number | null>;
} {
  const args = [
    PROGRAM,
    "--kubeconfig",
    server.kubeconfig,
    "--http-port",
    "0",
    "--webhook-port",
    "0",
    "--metrics-port",
    "0",
    "--namespace",
    namespace,
    ...more,
  ];
  const operator = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "pipe"] });
  let log = "";
  for (const stream of [operator.stdout, operator.stderr]) stream?.on("data", (bytes) => (log += bytes));
  return { process: operator, log: () => log, end: new Promise((resolve) => operator.once("exit", resolve)) };
}

test.each([
  ["knows no EtcdClusters", () => undefined, []],
  ["does not answer", () => server.pause(), []],
  ["does not answer and it is to lead shards", () => server.pause(), ["--shards", "3"]],
])(
  "an operator that is stopped while the API server %s ends at once, with exit code 0",
  async (_what, trouble, flags) => {
    trouble();
    const operator = startOperator("default", ...flags);
    try {
      await vi.waitFor(() => expect(operator.log()).toContain('"started"'), 30_000);
      const startedAtMs = performance.now();
      operator.process.kill("SIGTERM");
      expect(await operator.end, operator.log()).toBe(0);
      expect(performance.now() - startedAtMs).toBeLessThan(PROMPTLY_MS);
    } finally {
      operator.process.kill("SIGKILL");
      server.resume();
    }
  },
);

describe("one operator per Kubernetes cluster", () => {
  const options = { signal: new AbortController().signal };
  const holderIn = async (namespace: string) =>
    (await server.client.get(LEASES, { namespace, name: OPERATOR }, options)).spec?.holderIdentity;
  const said = (operator: { log: () => string }, words: string) =>
    vi.waitFor(() => expect(operator.log()).toContain(words), { timeout: 60_000, interval: 100 });
  const AT_WORK = "this process leads: at work";
  const RIVAL = "an operator that is installed elsewhere leads in this Kubernetes cluster";

  beforeAll(async () => {
    for (const crd of crdManifests())
      await server.client.create(CUSTOM_RESOURCE_DEFINITIONS, crd as unknown as CustomResourceDefinition, options);
  });

  test("of two installations one acts, the other says whom it waits for, and takes over when that one is gone", async () => {
    const here = startOperator("default");
    await said(here, AT_WORK);
    const there = startOperator("kube-public");
    try {
      await said(there, RIVAL);
      expect(there.log()).toMatch(/"level":"warn".*"name":"default\//);
      expect(await holderIn("kube-system")).toMatch(/^default\//);
      // Its own is not enough. Which of the two it asks for first is nobody's business.
      await vi.waitFor(async () => expect(await holderIn("kube-public")).toBeDefined(), { timeout: 15_000 });
      expect(there.log()).not.toContain(AT_WORK);
      here.process.kill("SIGTERM");
      expect(await here.end, here.log()).toBe(0);
      await said(there, AT_WORK);
      expect(await holderIn("kube-system")).toMatch(/^kube-public\//);
      expect(here.log()).not.toContain(RIVAL);
    } finally {
      for (const operator of [here, there]) operator.process.kill("SIGKILL");
      await Promise.all([here.end, there.end]);
    }
  });

  test("a replica of the same installation takes over from a dead one in one lease's time, not two", async () => {
    for (const namespace of ["default", "kube-system"]) await forget(namespace);
    const first = startOperator();
    await said(first, AT_WORK);
    const second = startOperator();
    try {
      await said(second, '"started"');
      await systemClock.sleep(2_000);
      const startedAtMs = performance.now();
      first.process.kill("SIGKILL");
      await said(second, AT_WORK);
      expect(performance.now() - startedAtMs).toBeLessThan(20_000);
      expect(second.log()).not.toContain(RIVAL);
    } finally {
      for (const operator of [first, second]) operator.process.kill("SIGKILL");
      await Promise.all([first.end, second.end]);
    }
  });

  test("while a process of an older release holds the own lease, which is all it knows, nobody else acts", async () => {
    await forget("default");
    const old = new Election({ client: server.client, namespace: "default", name: OPERATOR, identity: "old-release" });
    const stop = new AbortController();
    const done = old.run(stop.signal, {
      onStarted: (over) => new Promise<void>((end) => over.addEventListener("abort", () => end())),
    });
    await vi.waitFor(() => expect(old.mayAct()).toBe(true), 60_000);
    const next = startOperator("default");
    try {
      await said(next, '"started"');
      await systemClock.sleep(3_000);
      expect(next.log()).not.toContain(AT_WORK);
      stop.abort();
      await done;
      await said(next, AT_WORK);
    } finally {
      next.process.kill("SIGKILL");
      await next.end;
    }
  });

  /** So that nobody has to wait for the lease of a process that was killed. */
  async function forget(namespace: string): Promise<void> {
    const ref = { namespace, name: OPERATOR };
    const found = await server.client.find(LEASES, ref, options);
    if (found.is !== "present") return;
    await server.client.delete(LEASES, ref, { ...options, preconditions: { uid: found.value.metadata.uid } });
  }

  test("the rights that the operator has suffice for its lease, and for no other", async () => {
    const rbac = "rbac.authorization.k8s.io";
    const metadata = { namespace: "kube-system", name: "lease-test" };
    const role = { apiVersion: `${rbac}/v1`, kind: "Role", metadata, rules: LEASE_PERMISSIONS };
    const binding = {
      apiVersion: `${rbac}/v1`,
      kind: "RoleBinding",
      metadata,
      roleRef: { apiGroup: rbac, kind: "Role", name: metadata.name },
      subjects: [{ kind: "User", name: "nobody", apiGroup: rbac }],
    };
    const path = `/apis/${rbac}/v1/namespaces/kube-system`;
    await server.client.raw("POST", `${path}/roles`, { ...options, body: role });
    await server.client.raw("POST", `${path}/rolebindings`, { ...options, body: binding });
    await forget("kube-system");
    const client = await server.clientFor("nobody");
    const lead = async (name: string) => {
      const election = new Election({ client, namespace: "kube-system", name, identity: "rights" });
      const stop = new AbortController();
      const done = election.run(stop.signal, {
        onStarted: (over) => new Promise<void>((end) => over.addEventListener("abort", () => end())),
      });
      await systemClock.sleep(5_000); // long enough for a renewal
      const { holder } = election;
      const leads = election.mayAct();
      stop.abort();
      await done;
      return { holder, leads };
    };
    expect(await lead(OPERATOR)).toEqual({ holder: "rights", leads: true });
    expect(await holderIn("kube-system")).toBe(""); // given back
    expect(await lead("kube-scheduler")).toEqual({ holder: undefined, leads: false });
  });
});
