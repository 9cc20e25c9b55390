import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { ROTATED_AT_ANNOTATION } from "#api/names.ts";
import type { EtcdUser } from "#api/v1beta1/user.ts";
import { rfc3339 } from "#base/timestamp.ts";
import { ByClientSecret } from "#kit/e2e/client-secret.ts";
import { eventually, testNamespace, UserCluster } from "#kit/e2e/e2e.ts";
import { CLIENTS, Load } from "#kit/e2e/load.ts";
import { PasswordClient } from "#kit/e2e/password-client.ts";
import { secretTexts } from "#kit/e2e/user-tls.ts";
import { loginByMount, loginBySecret } from "#kit/etcd/password-login.ts";
import { IDLE, processIn } from "#kit/pods/idle-pod.ts";
import type { KubeObject } from "#kube/kinds.ts";

// Passwords are rotated while applications use them. An application keeps its connections. When it is refused, it
// rereads its Secret: from the API server, or from the file that the kubelet updates.

const TLS = { peer: { provider: "Operator" }, client: { provider: "Operator" } } as const;
const ROTATIONS = 4;
/** The password that a person writes into the Secret. */
const CHOSEN = "chosen-by-hand-4712";
/** All clients log in at once, and etcd hashes a password for each: on a busy machine that takes seconds. */
const ALL_LOGGED_IN_MS = 15_000;
const { signal } = new AbortController();
/** Secrets of clusters are read once a minute. */
const ROOT_MS = 120_000;
/** A kubelet updates the files of a changed Secret within a minute or two by default. */
const MOUNTED_MS = 180_000;

let namespace: Awaited<ReturnType<typeof testNamespace>>;
let cluster: UserCluster;
let reach: ByClientSecret;

beforeAll(async () => {
  namespace = await testNamespace("rotated-passwords");
  cluster = new UserCluster(namespace.name);
  await cluster.create({ replicas: 3, tls: TLS, auth: { enabled: true } });
  const text = readFileSync("examples/users.yaml", "utf8").replaceAll("{ name: orders }", "{ name: my-etcd }");
  const example = parseAllDocuments(text).map((each) => each.toJS() as KubeObject);
  for (const each of example.filter(({ metadata }) => metadata.name === "shop")) await cluster.apply(idle(each));
  await cluster.untilReady();
  await untilBound();
  reach = await ByClientSecret.start(cluster, "shop-binding");
});
afterAll(async () => {
  await reach?.[Symbol.asyncDispose]();
  await namespace[Symbol.asyncDispose]();
});

/** Makes the example's pod idle: the test needs only its mounts. */
function idle(each: KubeObject): object {
  if (each.kind !== "Pod") return each;
  const { spec } = each as KubeObject & { readonly spec: { readonly containers: readonly object[] } };
  return { ...each, spec: { ...spec, containers: spec.containers.map((its) => ({ ...its, command: IDLE })) } };
}

async function untilBound(): Promise<void> {
  await cluster.kubectl(
    "wait",
    "etcduser/shop",
    "--for=jsonpath={.status.conditions[0].reason}=Bound",
    "--timeout=60s",
  );
}

async function passwordIn(secretName: string): Promise<string> {
  return (await secretTexts(cluster, secretName)).password ?? "";
}

let rotations = 0;

/** Requests new credentials of the user, and waits until etcd has them. */
async function rotate(): Promise<void> {
  const before = await passwordIn("shop-binding");
  rotations++;
  await cluster.kubectl(
    "annotate",
    "--overwrite",
    "etcduser",
    "shop",
    `etcd.improbable.io/rotate-credentials=${rotations}`,
  );
  await eventually(async () => expect(await passwordIn("shop-binding")).not.toBe(before));
  await untilRefused("shop", before);
}

/**
 * Makes the user's credentials look older than they may be, by their Secret's annotation, and waits until etcd has new
 * ones.
 */
async function outlive(): Promise<void> {
  const before = await passwordIn("shop-binding");
  const madeAt = `${ROTATED_AT_ANNOTATION}=${rfc3339(Date.now() - 3_600_000)}`;
  await cluster.kubectl("annotate", "--overwrite", "secret", "shop-binding", madeAt);
  // The new prefix makes the operator write the Secret, and see the annotation: else it would reread it only in
  // minutes.
  const spec = { rotation: { every: "30m" }, keyPrefix: "shop/kept/" };
  await cluster.kubectl("patch", "etcduser", "shop", "--type=merge", "-p", JSON.stringify({ spec }));
  const next = await eventually(async () => {
    const password = await passwordIn("shop-binding");
    expect(password).not.toBe(before);
    return password;
  });
  await untilRefused("shop", before);
  await untilBound();
  const { status } = await cluster.json<EtcdUser>("get", "etcduser", "shop");
  expect(Date.now() - Date.parse(status?.lastRotationTime ?? "")).toBeLessThan(60_000);
  expect(await passwordIn("shop-binding")).toBe(next);
}

/** Whether etcd refuses this password, which is tried once. */
async function isRefused(name: string, password: string): Promise<boolean> {
  let isTried = false;
  const credentials = () => {
    if (isTried) throw new Error("there is no other password");
    isTried = true;
    return Promise.resolve({ name, password });
  };
  const login = { credentials, logins: 0, refusedPasswords: 0 };
  const client = new PasswordClient(login);
  try {
    await client.get(reach.endpoint(), "shop/", { signal, deadlineMs: 5_000 });
    return false;
  } catch (thrown) {
    if (login.refusedPasswords > 0) return true;
    throw thrown;
  } finally {
    client.closeAll();
  }
}

async function untilRefused(name: string, password: string): Promise<void> {
  const sinceMs = performance.now();
  await eventually(async () => expect(await isRefused(name, password)).toBe(true), ROOT_MS);
  const tookMs = Math.round(performance.now() - sinceMs);
  console.log(`${name}: the previous password was refused ${tookMs} ms after the Secret had a new one`);
}

/**
 * Writes and reads during `work`: no request fails, and nothing is lost.
 * @param work receives a function that waits until every client has had to log in once more
 */
async function loaded(secretName: string, work: (untilAllIn: () => Promise<void>) => Promise<void>): Promise<void> {
  const login = loginBySecret(cluster, secretName);
  await using load = new Load(namespace.name, cluster.name, { reach, login, prefix: "shop/", everyMs: 100 });
  let times = 0;
  const untilAllIn = async () => {
    times++;
    await eventually(() => Promise.resolve(expect(login.logins).toBeGreaterThanOrEqual(times * CLIENTS)));
    await load.untilServed();
  };
  await untilAllIn();
  expect(login).toMatchObject({ logins: CLIENTS, refusedPasswords: 0 });
  const sinceMs = load.now();
  await work(untilAllIn);
  const { failedRequests, longestPauseMs, acknowledgedWrites, why } = load.felt(sinceMs);
  console.log(`${secretName}: ${login.logins} logins, ${login.refusedPasswords} refused passwords, ${acknowledgedWrites} writes, longest pause ${longestPauseMs} ms, ${failedRequests} failed requests`, why.slice(0, 3)); // biome-ignore format: a line
  expect(failedRequests).toBe(0);
  expect(longestPauseMs).toBeLessThan(ALL_LOGGED_IN_MS);
  expect(await load.end()).toEqual([]);
}

test("no request fails during rotations if a client rereads the binding Secret when it is refused", async () => {
  await loaded("shop-binding", async (untilAllIn) => {
    for (let n = 0; n < ROTATIONS; n++) {
      await rotate();
      await untilAllIn();
    }
    await outlive();
    await untilAllIn();
  });
});

test("no request of root fails when its password is edited or its Secret is deleted and recreated", async () => {
  await loaded("my-etcd-root", async (untilAllIn) => {
    const first = await passwordIn("my-etcd-root");
    const data = JSON.stringify({ stringData: { password: CHOSEN } });
    await cluster.kubectl("patch", "secret", "my-etcd-root", "-p", data);
    await untilRefused("root", first);
    await untilAllIn();
    expect(await isRefused("root", CHOSEN)).toBe(false);
    await cluster.kubectl("delete", "secret", "my-etcd-root");
    await eventually(async () => expect(await passwordIn("my-etcd-root")).not.toBe(""), ROOT_MS);
    await untilRefused("root", CHOSEN);
    await untilAllIn();
  });
}, 400_000);

test("a client with a mounted Secret is refused only until the kubelet has updated the file", async () => {
  await cluster.kubectl("wait", "--for=condition=Ready", "pod/shop", "--timeout=90s");
  const endpoints = `https://my-etcd-client.${namespace.name}.svc:2379`;
  const login = loginByMount(await processIn("shop", ["ETCDCTL_ENDPOINTS", endpoints]), "/bindings/etcd");
  const client = new PasswordClient(login);
  const write = async () =>
    await client.put(reach.endpoint(), "shop/mounted", "1", {
      signal,
      deadlineMs: 15_000,
    });
  // An earlier rotation may not have reached the pod yet.
  await eventually(write, MOUNTED_MS);
  await rotate();
  const sinceMs = performance.now();
  const told = new Set<string>();
  while (performance.now() - sinceMs < MOUNTED_MS) {
    const refusal = await write().then(
      () => undefined,
      (thrown: Error) => thrown.message,
    );
    if (refusal === undefined) break;
    told.add(refusal);
    await sleep(1_000);
  }
  console.log(`the mounted password worked ${Math.round((performance.now() - sinceMs) / 1_000)} s after etcd had it`);
  client.closeAll();
  expect([...told].filter((each) => !each.includes("invalid user ID or password"))).toEqual([]);
  expect((await login.credentials()).password).toBe(await passwordIn("shop-binding"));
  await write();
}, 500_000);
