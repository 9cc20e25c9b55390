import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { OPERATOR } from "#api/names.ts";
import { ETCD_CLUSTERS } from "#api/v1beta1/cluster.ts";
import { systemClock } from "#base/clock.ts";
import { type ApiServer, startApiServer } from "#kit/servers/apiserver.ts";
import { FAULTS, type Faults } from "#kit/sweeps/operator-faults.ts";
import { CUSTOM_RESOURCE_DEFINITIONS, type CustomResourceDefinition } from "#kit/tables/kinds.ts";
import { apiVersionOf, LEASES } from "#kube/kinds.ts";
import { Election } from "#kube/lease.ts";
import { crdManifests } from "../../scripts/manifests.ts";
import { LEASE_PERMISSIONS } from "../../src/bin/permissions.ts";

const PROGRAM = join(import.meta.dirname, "../../src/bin/operator.ts");
const FAULTY = join(import.meta.dirname, "../kit/sweeps/faulty-operator.ts");
/** The time in which a person or the kubelet expects an answer, without the start of Node on a busy machine. */
const PROMPTLY_MS = 3_000;

let server: ApiServer;
beforeAll(async () => {
  server = await startApiServer();
});
afterAll(async () => await server?.stop());

interface Started {
  readonly process: ChildProcess;
  readonly log: () => string;
  readonly end: Promise<number | null>;
}

function startOperator(namespace = "default", ...more: readonly string[]): Started {
  return start(PROGRAM, {}, namespace, more);
}

/** An operator with these faults. */
function startFaulty(faults: Faults, ...more: readonly string[]): Started {
  return start(FAULTY, { [FAULTS]: JSON.stringify(faults) }, "default", more);
}

function start(
  program: string,
  env: Readonly<Record<string, string>>,
  namespace: string,
  more: readonly string[],
): Started {
  const ports = ["--http-port", "0", "--webhook-port", "0", "--metrics-port", "0"];
  const args = [program, "--kubeconfig", server.kubeconfig, ...ports, "--operator-namespace", namespace, ...more];
  const operator = spawn(process.execPath, args, {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, ...env },
  });
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

describe("operators in one Kubernetes cluster:", () => {
  const options = { signal: new AbortController().signal };
  const holderIn = async (namespace: string) =>
    (await server.client.get(LEASES, { namespace, name: OPERATOR }, options)).spec?.holderIdentity;
  const said = (operator: { log: () => string }, words: string) =>
    vi.waitFor(() => expect(operator.log()).toContain(words), { timeout: 60_000, interval: 100 });
  const NONE = { provider: "None" };
  /** The last line of the log with these words. */
  const lineWith = (operator: Started, words: string): string =>
    operator
      .log()
      .split("\n")
      .findLast((line) => line.includes(words)) ?? "{}";
  const timeOf = (line: string): number => Date.parse((JSON.parse(line) as { time: string }).time);
  const AT_WORK = "this process leads: at work";
  const RIVAL = "an operator of another installation leads in this Kubernetes cluster";

  beforeAll(async () => {
    for (const crd of crdManifests())
      await server.client.create(CUSTOM_RESOURCE_DEFINITIONS, crd as unknown as CustomResourceDefinition, options);
  });

  test("one of two installations acts; the other reports that it waits, and takes over later", async () => {
    const here = startOperator("default");
    await said(here, AT_WORK);
    const there = startOperator("kube-public");
    try {
      await said(there, RIVAL);
      expect(there.log()).toMatch(/"level":"warn".*"name":"default\//);
      expect(await holderIn("kube-system")).toMatch(/^default\//);
      // Its own lease is not enough. The order of the two requests does not matter.
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

  test("a replica of the same installation takes over after one lease duration when the leader is killed", async () => {
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

  test.each([
    ["exception", "1"],
    ["rejection", "1"],
    ["exception", "2"],
  ] as const)(
    "after an unhandled %s ends one of two processes, with %s shards, the other process takes over within seconds",
    async (as, shards) => {
      for (const namespace of ["default", "kube-system"]) await forget(namespace);
      const metadata = { namespace: "default", name: `crash-${as}-${shards}` };
      const faults: Faults = {
        throwAfter: { write: `POST services/${metadata.name}`, nth: 1, as },
        notes: "/dev/null",
      };
      const atWork = shards === "1" ? AT_WORK : "this process leads the shard: at work";
      const terms = (operator: Started): number => operator.log().split(atWork).length - 1;
      const operators: Started[] = [];
      try {
        for (let n = 0; n < 2; n++) {
          operators.push(startFaulty(faults, "--shards", shards));
          await said(operators[n]!, n === 0 || shards === "2" ? atWork : '"started"');
        }
        const spec = { replicas: 1, version: "3.6.16", storage: { size: "1Gi" }, tls: { peer: NONE, client: NONE } };
        await server.client.create(
          ETCD_CLUSTERS,
          { apiVersion: apiVersionOf(ETCD_CLUSTERS), kind: "EtcdCluster", metadata, spec } as never,
          options,
        );
        const ended = await Promise.race(operators.map((each) => each.end.then((code) => ({ each, code }))));
        expect(ended.code, ended.each.log()).toBe(1);
        const line = lineWith(ended.each, "an unhandled exception ends this process");
        expect(JSON.parse(line)).toMatchObject({ level: "error", controller: "cluster", ...metadata });
        expect(line).toContain("an unexpected failure");
        const left = operators.find((each) => each !== ended.each)!;
        // The ended process led nothing, or one of two shards.
        await vi.waitFor(() => expect(terms(left)).toBe(Number(shards)), { timeout: 30_000, interval: 50 });
        const tookMs = timeOf(lineWith(left, atWork)) - timeOf(line);
        expect(tookMs).toBeLessThan(8_000);
      } finally {
        for (const operator of operators) operator.process.kill("SIGKILL");
        await Promise.all(operators.map((each) => each.end));
      }
    },
  );

  test("no other process acts while a process of an older release holds its lease", async () => {
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

  /** Clears the lease of a killed process, so that no test waits for it to expire. */
  async function forget(namespace: string): Promise<void> {
    const ref = { namespace, name: OPERATOR };
    const found = await server.client.find(LEASES, ref, options);
    if (found.is !== "present") return;
    await server.client.delete(LEASES, ref, { ...options, preconditions: { uid: found.value.metadata.uid } });
  }

  test("the RBAC rules allow the operator to hold its own lease and no other", async () => {
    const rbac = "rbac.authorization.k8s.io";
    const metadata = { namespace: "kube-system", name: "lease-test" };
    const role = { apiVersion: `${rbac}/v1`, kind: "Role", metadata, rules: LEASE_PERMISSIONS };
    const binding = {
      apiVersion: `${rbac}/v1`,
      kind: "RoleBinding",
      metadata,
      roleRef: { apiGroup: rbac, kind: "Role", name: metadata.name },
      subjects: [{ kind: "User", name: "visitor", apiGroup: rbac }],
    };
    const path = `/apis/${rbac}/v1/namespaces/kube-system`;
    await server.client.raw("POST", `${path}/roles`, { ...options, body: role });
    await server.client.raw("POST", `${path}/rolebindings`, { ...options, body: binding });
    await forget("kube-system");
    const client = await server.clientFor("visitor");
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
