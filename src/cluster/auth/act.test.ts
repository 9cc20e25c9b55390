import { X509Certificate } from "node:crypto";
import { describe, expect, test } from "vitest";
import { clientAuthorityName, PAUSED_ANNOTATION } from "#api/names.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import { OperatorError } from "#base/error.ts";
import { present } from "#base/observed.ts";
import { factsOf, textIn } from "#certificates/facts.ts";
import { issuer } from "#certificates/issue.ts";
import { actOnCluster, type ClusterWrites } from "#cluster/act.ts";
import type { ClusterStep } from "#cluster/step.ts";
import type { Endpoint } from "#etcd/endpoint.ts";
import { authority, dataOf, leaf, secretOf } from "#kit/snapshots/certificates.ts";
import { guarded, PREPARED, ROOT_SECRET } from "#kit/snapshots/cluster-auth.ts";
import { withSeen } from "#kit/snapshots/cluster-tls.ts";
import type { Draft, KubeObject, Resource, Secret } from "#kube/kinds.ts";
import { newRootSecret, passwordIn } from "./root-secret.ts";

const { signal } = new AbortController();
const ca = await authority();
const own = await leaf(ca, { names: [], commonName: "etcd-cluster-operator", usages: ["clientAuth"] });
const identity = { ca: ca.certificate, cert: own.certificate, key: own.key, secretName: "my-etcd-operator-tls" };
const owners = newRootSecret(guarded()).metadata.ownerReferences;
const caSecret = secretOf(clientAuthorityName("my-etcd"), dataOf(ca, ca.certificate), { ownerReferences: owners });
const facts = { ...factsOf(caSecret, "authority"), knownForMs: 3_600_000, signerForMs: 3_600_000 };
const settled = withSeen(guarded(), { clientCA: present(facts) });
const rootSecret = {
  ...secretOf("my-etcd-root", { username: "root", password: "of the Secret" }),
  metadata: {
    namespace: "foo",
    name: "my-etcd-root",
    uid: "uid-of-root",
    resourceVersion: "1",
    ownerReferences: owners,
  },
} as Secret;

interface Call {
  readonly what: readonly unknown[];
  readonly at: Endpoint;
}

/** Runs the step against these objects. @returns the calls to etcd, and the created Secrets */
async function done(step: ClusterStep, given: { snapshot?: typeof settled; root?: Secret; live?: EtcdCluster } = {}) {
  const { snapshot = settled, root = rootSecret } = given;
  const calls: Call[] = [];
  const created: Draft<Secret>[] = [];
  const etcd = new Proxy({} as ClusterWrites["etcd"], {
    get:
      (_, name) =>
      (at: Endpoint, ...what: unknown[]) => {
        expect(what.pop()).toMatchObject({ expectedClusterId: expect.any(BigInt) });
        calls.push({ what: [name, ...what], at });
        return Promise.resolve();
      },
  });
  const kube = {
    get: ({ kind }: Resource<KubeObject>, { name }: { name: string }) =>
      Promise.resolve(
        kind === "EtcdCluster" ? (given.live ?? snapshot.cluster) : name === "my-etcd-root" ? root : caSecret,
      ),
    create: (_: unknown, draft: Draft<Secret>) => {
      created.push(draft);
      return Promise.resolve(draft);
    },
  } as unknown as ClusterWrites["kube"];
  // The pods of these snapshots lack an address and the annotation with their scheme.
  const [name, pod] = [...snapshot.pods][0]!;
  const dialled = {
    ...pod,
    metadata: {
      ...pod.metadata,
      labels: { ...pod.metadata.labels, "etcd.improbable.io/cluster-name": "my-etcd" },
      annotations: { ...pod.metadata.annotations, "etcd.improbable.io/client-scheme": "https" },
    },
  };
  const pods = new Map([...snapshot.pods, [name, dialled]]);
  const written = await actOnCluster(
    { kube, etcd, identities: { identityOf: () => identity }, issuer },
    step,
    { ...snapshot, pods },
    signal,
  );
  expect(written).toEqual(created[0] === undefined ? { kind: "external" } : { kind: "unwatched", object: created[0] });
  return { calls, created };
}

test("createRootSecret: each Secret is owned by the cluster and has a new random password", async () => {
  const all = await Promise.all([done({ do: "createRootSecret" }), done({ do: "createRootSecret" })]);
  const [one, other] = all.map(({ created }) => created[0] as Secret);
  expect(one).toMatchObject({
    type: "kubernetes.io/basic-auth",
    metadata: {
      namespace: "foo",
      name: "my-etcd-root",
      ownerReferences: [{ controller: true, uid: "uid-of-cluster" }],
    },
  });
  expect(textIn(one!, "username")).toBe("root");
  expect(passwordIn(one!)).toMatch(/^[A-Za-z0-9_-]{32}$/);
  expect(passwordIn(one!)).not.toBe(passwordIn(other!));
});

describe("with its own certificate the operator", () => {
  test.each<[ClusterStep, readonly unknown[]]>([
    [{ do: "setRootPassword", secret: ROOT_SECRET, isNew: true }, ["userAdd", "root", "of the Secret"]],
    [{ do: "setRootPassword", secret: ROOT_SECRET, isNew: false }, ["userChangePassword", "root", "of the Secret"]],
    [{ do: "addUser", user: "me", asRoot: false }, ["userAdd", "me", undefined]],
    [{ do: "grantRole", user: "me", asRoot: false }, ["userGrantRole", "me", "root"]],
    [{ do: "enableAuth" }, ["authEnable"]],
    [{ do: "disableAuth", asRoot: false }, ["authDisable"]],
  ])("makes one call for %j", async (step, asked) => {
    const { calls } = await done(step);
    expect(calls.map(({ what }) => what)).toEqual([asked]);
    expect(calls[0]?.at.tls?.cert).toBe(own.certificate);
  });
});

test.each<[string, ClusterStep]>([
  ["opened to all clients", { do: "disableAuth", asRoot: false }],
  ["closed to clients without a user", { do: "enableAuth" }],
])("etcd is not %s when the live EtcdCluster was edited or paused since the observation", async (_, step) => {
  const { metadata, spec, ...rest } = settled.cluster;
  const edited = { ...metadata, generation: (metadata.generation ?? 1) + 1 };
  const annotated = { ...metadata, annotations: { ...metadata.annotations, [PAUSED_ANNOTATION]: "true" } };
  for (const now of [edited, annotated]) {
    const live = { ...rest, spec, metadata: now } as EtcdCluster;
    await expect(done(step, { live })).rejects.toMatchObject({ code: "KubeConflict" });
  }
});

test("as root the operator uses a client certificate from the cluster's client CA that is valid for a day", async () => {
  for (const step of [{ do: "addUser", user: "me" }, { do: "grantRole", user: "me" }, { do: "disableAuth" }] as const) {
    const { calls } = await done({ ...step, asRoot: true } as ClusterStep);
    const shown = new X509Certificate(calls[0]?.at.tls?.cert ?? "");
    expect(shown.subject).toBe("CN=root");
    expect(shown.verify(new X509Certificate(ca.certificate).publicKey)).toBe(true);
    expect(shown.validToDate.getTime()).toBe(settled.takenAtMs + 24 * 3_600_000);
    expect(shown.keyUsage).toEqual(["1.3.6.1.5.5.7.3.2"]);
  }
});

test("as root the operator uses a new certificate for each step", async () => {
  const step = { do: "addUser", user: "me", asRoot: true } as const;
  const [one, other] = (await Promise.all([done(step), done(step)])).map(({ calls }) => calls[0]?.at.tls);
  expect(one?.cert).toContain("BEGIN CERTIFICATE");
  expect(one?.cert).not.toBe(other?.cert);
  expect(one?.key).not.toBe(other?.key);
});

test("the operator signs for root only with the cluster's own CA", async () => {
  const step = { do: "addUser", user: "me", asRoot: true } as const;
  const theirs = withSeen(settled, { clientCA: present({ ...facts, ownerUid: undefined }) });
  await expect(done(step, { snapshot: theirs })).rejects.toMatchObject({ code: "EtcdNotNow" });
  await expect(done(step, { snapshot: withSeen(settled, { clientCA: { is: "absent" } }) })).rejects.toMatchObject({
    code: "EtcdNotNow",
  });
});

test("setRootPassword: an existing root is deleted and created with the password while authentication is off", async () => {
  const snapshot = withSeen(guarded({ state: PREPARED }), { clientCA: present(facts) });
  const { calls } = await done({ do: "setRootPassword", secret: ROOT_SECRET, isNew: false }, { snapshot });
  expect(calls.map(({ what }) => what)).toEqual([
    ["userDelete", "root"],
    ["userAdd", "root", "of the Secret"],
  ]);
});

test("setRootPassword: fails when root's Secret has changed or has another owner, without showing the password", async () => {
  const step = { do: "setRootPassword", secret: ROOT_SECRET, isNew: false } as const;
  const edited = { ...rootSecret, metadata: { ...rootSecret.metadata, resourceVersion: "2" } };
  const theirs = { ...rootSecret, metadata: { ...rootSecret.metadata, ownerReferences: [] } };
  for (const root of [edited, theirs]) {
    const thrown = await done(step, { root }).catch((error: unknown) => error);
    expect(thrown).toBeInstanceOf(OperatorError);
    expect(thrown).toMatchObject({ code: "KubeConflict", message: expect.not.stringContaining("of the Secret") });
  }
});
