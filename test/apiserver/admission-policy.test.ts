import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { OPERATOR, WEBHOOKS } from "#api/names.ts";
import { ETCD_CLUSTERS } from "#api/v1alpha1/cluster.ts";
import { ETCD_PEERS } from "#api/v1alpha1/peer.ts";
import { asOperatorError } from "#base/error.ts";
import { disruptionBudget } from "#cluster/desired/disruption-budget.ts";
import { fencedPeer } from "#cluster/desired/peer.ts";
import { clientService } from "#cluster/desired/services.ts";
import { identityOf } from "#cluster/snapshot.ts";
import { type ApiServer, startApiServer } from "#kit/apiserver.ts";
import { cluster } from "#kit/cluster.ts";
import { NAMESPACES } from "#kit/kinds.ts";
import { peer } from "#kit/peer.ts";
import type { KubeClient } from "#kube/client.ts";
import {
  type AnyResource,
  apiVersionOf,
  type Draft,
  type KubeObject,
  PERSISTENT_VOLUME_CLAIMS,
  POD_DISRUPTION_BUDGETS,
  PODS,
  REPLICA_SETS,
  resource,
  SECRETS,
  SERVICES,
  type Secret,
  VALIDATING_WEBHOOK_CONFIGURATIONS,
} from "#kube/kinds.ts";
import { podTemplate } from "#peer/desired/pod.ts";
import { replicaSet } from "#peer/desired/replica-set.ts";
import { volumeClaim } from "#peer/desired/volume-claim.ts";
import { secretFor } from "#webhooks/certificate/material.ts";
import { VALIDATIONS } from "../../scripts/admission-policy.ts";
import { crdManifests, OPERATOR_NAMESPACE, OPERATOR_USER, operatorManifests } from "../../scripts/manifests.ts";

// What the operator's account may do is asked of a real API server, with the manifests that are shipped.

const OPTIONS = { signal: new AbortController().signal };
const namespace = "foo";
/** Kinds of the manifests that are no namespaced kind of kinds.ts. */
const PLURALS: Readonly<Record<string, string>> = { ValidatingAdmissionPolicy: "validatingadmissionpolicies" };

let server: ApiServer;
let admin: KubeClient;
let operator: KubeClient;

beforeAll(async () => {
  // Some distributions have this plugin on: who sets an owner that blocks deletion must have a right on the owner.
  server = await startApiServer(["--enable-admission-plugins=OwnerReferencesPermissionEnforcement"]);
  admin = server.client;
  operator = await server.clientFor("operator");
  await admin.create(NAMESPACES, { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } }, OPTIONS);
  for (const manifest of [...crdManifests(), ...operatorManifests("operator:test")])
    await admin.create(kindOf(manifest), manifest as unknown as Draft<KubeObject>, OPTIONS);
  for (const each of [ETCD_CLUSTERS, ETCD_PEERS])
    await vi.waitFor(() => admin.list<KubeObject>(each, { namespace }, OPTIONS), { timeout: 30_000 });
});
afterAll(async () => await server?.stop());

function kindOf(manifest: object): AnyResource {
  const { apiVersion = "", kind = "", metadata } = manifest as Partial<KubeObject>;
  const [version = "", group = ""] = apiVersion.split("/").reverse();
  const plural = PLURALS[kind] ?? `${kind.toLowerCase()}s`;
  return resource({ group, version, kind, plural, namespaced: metadata?.namespace !== undefined });
}

/** What the operator itself would write, under a name of the test's own. */
function ours(of: AnyResource, name: string): Draft<KubeObject> {
  const draft = drafts()[of.plural]!;
  return { ...draft, metadata: { ...draft.metadata, name, namespace } };
}

function drafts(): Readonly<Record<string, Draft<KubeObject>>> {
  const [member, whole] = [peer(), cluster()];
  const { metadata, spec } = podTemplate(member);
  const annotations = { ...metadata.annotations, "example.com/of": "others" };
  return {
    pods: {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "", labels: metadata.labels, annotations },
      spec,
    } as Draft<KubeObject>,
    services: clientService(whole),
    persistentvolumeclaims: volumeClaim(member),
    secrets: certificate(),
    replicasets: replicaSet(member),
    poddisruptionbudgets: disruptionBudget(whole),
    etcdpeers: fencedPeer(whole, identityOf(whole)!, "my-etcd-0"),
  };
}

function certificate(): Draft<Secret> {
  return secretFor(OPERATOR_NAMESPACE, { authority: NO_PAIR, serving: NO_PAIR, earlier: [] }, undefined);
}

const NO_PAIR = { certificate: "a", key: "b" };

type Json = { [key: string]: unknown };

/** A merge patch (RFC 7386), as far as tests need one. */
function merged(to: unknown, change: unknown): unknown {
  if (typeof change !== "object" || change === null || Array.isArray(change)) return change;
  const result: Json = { ...(to as Json) };
  for (const [key, value] of Object.entries(change)) {
    if (value === null) delete result[key];
    else result[key] = merged(result[key] ?? {}, value);
  }
  return result;
}

const UNLABELLED = { metadata: { labels: { "app.kubernetes.io/managed-by": null } } };
const QUARANTINED = { metadata: { labels: { "etcd.improbable.io/quarantined": "true" } } };
const NOT_OURS = {
  metadata: {
    labels: null,
    annotations: { "etcd.improbable.io/cluster-id": null },
  },
};
const OWNER = { apiVersion: "v1", kind: "ConfigMap", name: "owner", uid: "11111111-1111-1111-1111-111111111111" };

interface Case {
  readonly what: string;
  readonly of: AnyResource;
  /** How the object that somebody made before differs from what the operator would have made. */
  readonly was?: object;
  readonly write: { create: object } | { patch: object } | "delete";
  /** What the answer says; absent: it is allowed. */
  readonly says?: string;
}

const NO_LABEL = "nothing without the label app.kubernetes.io/managed-by=etcd-cluster-operator";
const NOT_MANAGED = "changes and deletes only what has the label";
const KEEPS_LABEL = "does not take the label";
const POD = "of a pod the operator changes only annotations";
const PODS_SPEC = `${POD}, not its spec`;
const PODS_LABELS = `${POD}, not its labels`;
const PODS_OWNERS = `${POD}, not its finalizers or owners`;
const PODS_ANNOTATIONS = `${POD} that begin with etcd.improbable.io/`;
const CLAIM = "of a claim the operator changes only labels and annotations, ";
const NO_SECRETS = "read no Secrets and no ConfigMaps, and mount nothing but claims";
const OTHER_SECRET = "of Secrets the operator writes only etcd-cluster-operator-webhooks";
const NODE = "do not share the network, processes or memory of their node";
const PRIVILEGES = "do not gain privileges";
const ACCOUNT = "run under no service account but the default one";
const DEVICES = "claim no devices";
const HOST = "name no host: they ask their own pod";
const NEW_VOLUME = "claims are for new volumes, neither for one by its name nor for a copy";
const NODE_PORT = "take no port of their node";
const TYPE = "have the type ClusterIP";
const ADDRESSES = "take no externalIPs";

const MADE = [SERVICES, POD_DISRUPTION_BUDGETS, REPLICA_SETS, PERSISTENT_VOLUME_CLAIMS, ETCD_PEERS];

const CASES: readonly Case[] = [
  ...MADE.flatMap((of): Case[] => [
    { what: "make its own", of, write: { create: {} } },
    { what: "make one without its label", of, write: { create: UNLABELLED }, says: NO_LABEL },
    { what: "change its own", of, write: { patch: { metadata: { annotations: { "etcd.improbable.io/new": "1" } } } } },
    { what: "delete its own", of, write: "delete" },
  ]),
  ...[...MADE, PODS]
    .filter((of) => of !== ETCD_PEERS)
    .flatMap((of): Case[] => [
      {
        what: "change somebody else's",
        of,
        was: NOT_OURS,
        write: { patch: { metadata: { annotations: { "etcd.improbable.io/new": "1" } } } },
        says: NOT_MANAGED,
      },
      {
        what: "take somebody else's over",
        of,
        was: NOT_OURS,
        write: { patch: { metadata: { labels: { "app.kubernetes.io/managed-by": OPERATOR } } } },
        says: NOT_MANAGED,
      },
      { what: "take its label off", of, write: { patch: UNLABELLED }, says: KEEPS_LABEL },
      { what: "delete somebody else's", of, was: NOT_OURS, write: "delete", says: NOT_MANAGED },
    ]),
  {
    what: "change somebody else's that calls itself a cluster's",
    of: SERVICES,
    was: { metadata: { labels: null, annotations: { "etcd.improbable.io/cluster-id": "1" } } },
    write: { patch: { metadata: { annotations: { "etcd.improbable.io/new": "1" } } } },
    says: NOT_MANAGED,
  },
  // A peer that lost its labels is still its cluster's.
  {
    what: "change one without labels",
    of: ETCD_PEERS,
    was: UNLABELLED,
    write: { patch: { metadata: { finalizers: ["etcdpeer.etcd.improbable.io/pvc-cleanup"] } } },
  },
  { what: "delete one without labels", of: ETCD_PEERS, was: UNLABELLED, write: "delete" },

  {
    what: "fence a running one",
    of: PODS,
    write: {
      patch: {
        metadata: { annotations: { "etcd.improbable.io/initial-cluster": "fenced", "etcd.improbable.io/more": "1" } },
      },
    },
  },
  {
    what: "take an annotation of its own back",
    of: PODS,
    write: { patch: { metadata: { annotations: { "etcd.improbable.io/initial-cluster": null } } } },
  },
  { what: "make one", of: PODS, write: { create: {} }, says: "creates no pods" },
  { what: "delete a member's", of: PODS, write: "delete" },
  {
    what: "delete one that is no member's",
    of: PODS,
    was: { metadata: { labels: { "etcd.improbable.io/peer-name": null } } },
    write: "delete",
    says: "deletes only those of members",
  },
  { what: "change its spec", of: PODS, write: { patch: { spec: { activeDeadlineSeconds: 1 } } }, says: PODS_SPEC },
  {
    what: "change its labels",
    of: PODS,
    write: { patch: { metadata: { labels: { "example.com/new": "1" } } } },
    says: PODS_LABELS,
  },
  {
    what: "add a finalizer",
    of: PODS,
    write: { patch: { metadata: { finalizers: ["example.com/hold"] } } },
    says: PODS_OWNERS,
  },
  { what: "add an owner", of: PODS, write: { patch: { metadata: { ownerReferences: [OWNER] } } }, says: PODS_OWNERS },
  {
    what: "add somebody else's annotation",
    of: PODS,
    write: { patch: { metadata: { annotations: { "example.com/new": "1" } } } },
    says: PODS_ANNOTATIONS,
  },
  {
    what: "change somebody else's annotation",
    of: PODS,
    write: { patch: { metadata: { annotations: { "example.com/of": "us" } } } },
    says: PODS_ANNOTATIONS,
  },
  {
    what: "remove somebody else's annotation",
    of: PODS,
    write: { patch: { metadata: { annotations: { "example.com/of": null } } } },
    says: PODS_ANNOTATIONS,
  },

  {
    what: "give one its labels back",
    of: PERSISTENT_VOLUME_CLAIMS,
    was: { metadata: { labels: null } },
    write: { patch: { metadata: { labels: ours(PERSISTENT_VOLUME_CLAIMS, "").metadata.labels } } },
  },
  {
    what: "put one aside",
    of: PERSISTENT_VOLUME_CLAIMS,
    write: {
      patch: merged(QUARANTINED, {
        metadata: { annotations: { "etcd.improbable.io/quarantine-reason": "lost" } },
      }) as object,
    },
  },
  {
    what: "put one aside again that a person took back",
    of: PERSISTENT_VOLUME_CLAIMS,
    was: asideSince("2026-01-01T00:00:00Z", "lost", null),
    write: { patch: asideSince("2026-02-02T00:00:00Z", "lost once more", "true") },
  },
  {
    what: "put one aside that lost its labels",
    of: PERSISTENT_VOLUME_CLAIMS,
    was: { metadata: { labels: null } },
    write: { patch: QUARANTINED },
  },
  {
    what: "delete its own that lost its labels",
    of: PERSISTENT_VOLUME_CLAIMS,
    was: { metadata: { labels: null } },
    write: "delete",
  },
  {
    what: "delete one that was put aside",
    of: PERSISTENT_VOLUME_CLAIMS,
    was: QUARANTINED,
    write: "delete",
    says: "claims that were put aside are deleted by people only",
  },
  {
    what: "change its volume",
    of: PERSISTENT_VOLUME_CLAIMS,
    was: { spec: { storageClassName: "" } },
    write: { patch: { spec: { volumeName: "somebody-elses" } } },
    says: `${CLAIM}not its spec`,
  },
  {
    what: "change its finalizers",
    of: PERSISTENT_VOLUME_CLAIMS,
    write: { patch: { metadata: { finalizers: [] } } },
    says: `${CLAIM}not its finalizers`,
  },
  {
    what: "give it an owner",
    of: PERSISTENT_VOLUME_CLAIMS,
    write: { patch: { metadata: { ownerReferences: [OWNER] } } },
    says: "gives no claim an owner",
  },
  {
    what: "put one aside that somebody gave an owner",
    of: PERSISTENT_VOLUME_CLAIMS,
    was: { metadata: { ownerReferences: [OWNER] } },
    write: { patch: QUARANTINED },
  },
  {
    what: "make one with an owner",
    of: PERSISTENT_VOLUME_CLAIMS,
    write: { create: { metadata: { ownerReferences: [OWNER] } } },
    says: "gives no claim an owner",
  },
  ...[
    { volumeName: "somebody-elses" },
    { dataSource: { kind: "PersistentVolumeClaim", name: "somebody-elses" } },
    { dataSourceRef: { apiGroup: "example.com", kind: "Image", name: "somebody-elses" } },
  ].map(
    (spec): Case => ({
      what: `make one with ${Object.keys(spec)}`,
      of: PERSISTENT_VOLUME_CLAIMS,
      write: { create: { spec } },
      says: NEW_VOLUME,
    }),
  ),
  {
    what: "say that its data is another cluster's",
    of: PERSISTENT_VOLUME_CLAIMS,
    write: { patch: { metadata: { annotations: { "etcd.improbable.io/cluster-id": "1" } } } },
    says: "does not rewrite what a claim says of its data",
  },
  {
    what: "say no more whose data it is",
    of: PERSISTENT_VOLUME_CLAIMS,
    write: { patch: { metadata: { annotations: { "etcd.improbable.io/member-id": null } } } },
    says: "does not rewrite what a claim says of its data",
  },
  {
    what: "say that its data is that of another attempt",
    of: PERSISTENT_VOLUME_CLAIMS,
    write: { patch: { metadata: { annotations: { "etcd.improbable.io/cluster-token": "other" } } } },
    says: "does not rewrite what a claim says of its data",
  },

  { what: "make one of another name", of: SECRETS, write: { create: {} }, says: OTHER_SECRET },
  { what: "change one of another name", of: SECRETS, write: { patch: { data: { a: "" } } }, says: OTHER_SECRET },
  { what: "delete one of another name", of: SECRETS, write: "delete", says: OTHER_SECRET },

  ...["LoadBalancer", "NodePort"].flatMap((type) => inService(`of the type ${type}`, { type }, TYPE)),
  ...inService("of the type ExternalName", { type: "ExternalName", externalName: "example.com" }, TYPE),
  ...inService("with addresses of others", { externalIPs: ["192.0.2.1"] }, ADDRESSES),
  {
    what: "mend one that a person opened to the outside",
    of: SERVICES,
    was: { spec: { type: "LoadBalancer", externalIPs: ["192.0.2.1"], selector: { "example.com/of": "others" } } },
    write: { patch: { spec: { selector: { "example.com/of": null } } } },
  },
  {
    what: "close one that a person opened to the outside",
    of: SERVICES,
    was: { spec: { type: "NodePort", externalIPs: ["192.0.2.1"] } },
    write: { patch: { spec: { type: "ClusterIP", externalIPs: null } } },
  },
  {
    what: "give one more addresses than a person did",
    of: SERVICES,
    was: { spec: { externalIPs: ["192.0.2.1"] } },
    write: { patch: { spec: { externalIPs: ["192.0.2.1", "192.0.2.2"] } } },
    says: ADDRESSES,
  },

  ...inPod("mount a Secret", { volumes: [{ name: "etcd-data", secret: { secretName: "s" } }] }, NO_SECRETS),
  ...inPod("mount a folder of the node", { volumes: [{ name: "etcd-data", hostPath: { path: "/" } }] }, NO_SECRETS),
  ...inPod(
    "mount a token",
    { volumes: [{ name: "etcd-data", projected: { sources: [{ serviceAccountToken: { path: "t" } }] } }] },
    NO_SECRETS,
  ),
  ...inContainer("read Secrets as its environment", { envFrom: [{ secretRef: { name: "s" } }] }, NO_SECRETS),
  ...inContainer(
    "read a Secret as a variable",
    { env: [{ name: "S", valueFrom: { secretKeyRef: { name: "s", key: "k" } } }] },
    NO_SECRETS,
  ),
  ...inPod("get a token", { automountServiceAccountToken: true }, "get no token"),
  ...inPod("get a token by default", { automountServiceAccountToken: null }, "get no token"),
  ...["hostNetwork", "hostPID", "hostIPC"].flatMap((shared) => inPod(`have ${shared}`, { [shared]: true }, NODE)),
  ...inPod("have an account of its own", { serviceAccountName: "somebody-elses" }, ACCOUNT),
  ...inPod("claim a device", { resourceClaims: [{ name: "d", resourceClaimName: "d" }] }, DEVICES),
  ...["startupProbe", "livenessProbe", "readinessProbe"].flatMap((probe) =>
    [
      { httpGet: { host: "192.0.2.1", port: 80, path: "/" }, tcpSocket: null },
      { tcpSocket: { host: "192.0.2.1", port: 80 }, httpGet: null },
    ].flatMap((handler) =>
      inOwnContainer(`ask others by their ${probe} (${handler.httpGet ? "http" : "tcp"})`, { [probe]: handler }, HOST),
    ),
  ),
  ...["postStart", "preStop"].flatMap((hook) =>
    inOwnContainer(
      `ask others at ${hook}`,
      { lifecycle: { [hook]: { httpGet: { host: "192.0.2.1", port: 80, path: "/" } } } },
      HOST,
    ),
  ),
  {
    what: "make one whose pods ask themselves at their end",
    of: REPLICA_SETS,
    write: {
      create: containersOf(
        merged(podTemplate(peer()).spec.containers[0], {
          lifecycle: { preStop: { httpGet: { port: 80, path: "/" } } },
        }),
      ),
    },
  },
  ...inContainer("escalate", { securityContext: { allowPrivilegeEscalation: true } }, PRIVILEGES),
  ...inContainer("escalate by default", { securityContext: null }, PRIVILEGES),
  ...inContainer("listen on a port of the node", { ports: [{ containerPort: 9999, hostPort: 9999 }] }, NODE_PORT),
  ...inContainer("have a capability", { securityContext: { capabilities: { add: ["SYS_ADMIN"] } } }, PRIVILEGES),
];

/** What the operator writes when it puts a claim aside. @param label null: a person took it off */
function asideSince(at: string, reason: string, label: "true" | null): object {
  const annotations = { "etcd.improbable.io/quarantine-reason": reason, "etcd.improbable.io/quarantined-at": at };
  return { metadata: { labels: { "etcd.improbable.io/quarantined": label }, annotations } };
}

/** A Service that is made so, and one that is changed so. */
function inService(what: string, spec: object, says: string): readonly Case[] {
  return [
    { what: `make one ${what}`, of: SERVICES, write: { create: { spec } }, says },
    { what: `turn one into one ${what}`, of: SERVICES, write: { patch: { spec } }, says },
  ];
}

/** A ReplicaSet that is made so, and one that is changed so. */
function inPod(what: string, change: object, says: string): readonly Case[] {
  const spec = { template: { spec: change } };
  return [
    { what: `make one whose pods ${what}`, of: REPLICA_SETS, write: { create: { spec } }, says },
    { what: `let the pods of one ${what}`, of: REPLICA_SETS, write: { patch: { spec } }, says },
  ];
}

function containersOf(container: unknown): object {
  return { spec: { template: { spec: { containers: [container] } } } };
}

/** The same for its container. */
function inOwnContainer(what: string, change: object, says: string): readonly Case[] {
  return inPod(what, { containers: [merged(podTemplate(peer()).spec.containers[0], change)] }, says);
}

/** The same for its container, and for a container that runs before it. */
function inContainer(what: string, change: object, says: string): readonly Case[] {
  const [container] = podTemplate(peer()).spec.containers;
  return [
    ...inOwnContainer(what, change, says),
    ...inPod(
      `${what} at first`,
      {
        initContainers: [
          merged(
            merged(container, {
              name: "first",
              startupProbe: null,
              livenessProbe: null,
              readinessProbe: null,
              ports: [],
            }),
            change,
          ),
        ],
      },
      says,
    ),
  ];
}

/** Does it as the operator. @returns what the refusal says; undefined when it is done */
async function outcome({ of, was, write }: Case, name: string): Promise<string | undefined> {
  const ref = { namespace, name };
  const draft = ours(of, name);
  const object =
    typeof write === "object" && "create" in write
      ? (merged(draft, write.create) as Draft<KubeObject>)
      : await admin.create(of, merged(draft, was ?? {}) as Draft<KubeObject>, OPTIONS);
  const done =
    write === "delete"
      ? operator.delete(of, ref, { ...OPTIONS, preconditions: { uid: (object as KubeObject).metadata.uid } })
      : "create" in write
        ? operator.create(of, object, OPTIONS)
        : operator.patch(of, ref, write.patch, { ...OPTIONS, type: "merge" });
  return await done.then(
    () => undefined,
    (thrown) => asOperatorError(thrown).message,
  );
}

describe("with the rights that are shipped", () => {
  test("owners that block deletion may be set, which takes a right on the owner's finalizers", async () => {
    const peerOf = await operator.create(ETCD_PEERS, ours(ETCD_PEERS, "owned") as never, OPTIONS);
    expect(peerOf.metadata.ownerReferences).toMatchObject([{ kind: "EtcdCluster", blockOwnerDeletion: true }]);
    const set = await operator.create(REPLICA_SETS, ours(REPLICA_SETS, "owned") as never, OPTIONS);
    expect(set.metadata.ownerReferences).toMatchObject([{ kind: "EtcdPeer", blockOwnerDeletion: true }]);
    for (const each of [peerOf, set]) {
      const metadata = { name: "other-owner", namespace, ownerReferences: [{ ...OWNER, blockOwnerDeletion: true }] };
      const draft = {
        ...ours(kindOf(each), "other-owner"),
        metadata: { ...ours(kindOf(each), "").metadata, ...metadata },
      };
      await expect(operator.create(kindOf(each), draft, OPTIONS)).rejects.toThrow(/cannot set blockOwnerDeletion/);
    }
  });

  test("nothing else of the API is open", async () => {
    for (const at of [namespace, OPERATOR_NAMESPACE]) {
      const lists = operator.list(SECRETS, { namespace: at }, OPTIONS);
      await expect(lists).rejects.toMatchObject({ code: "KubeForbidden" });
    }
  });

  test("the certificate of the webhooks is read and written by its name, in the operator's namespace", async () => {
    const made = await operator.create(SECRETS, certificate(), OPTIONS);
    await operator.replace(SECRETS, { ...made, data: { ...made.data, "tls.key": "" } }, OPTIONS);
    await expect(
      operator.create(SECRETS, { ...certificate(), metadata: { ...certificate().metadata, name: "other" } }, OPTIONS),
    ).rejects.toThrow(`of Secrets the operator writes only ${WEBHOOKS}`);
    await expect(
      operator.create(SECRETS, { ...certificate(), metadata: { ...certificate().metadata, namespace } }, OPTIONS),
    ).rejects.toMatchObject({ code: "KubeForbidden" });
    const other = { namespace: OPERATOR_NAMESPACE, name: "other" };
    await expect(operator.get(SECRETS, other, OPTIONS)).rejects.toMatchObject({ code: "KubeForbidden" });
    const { uid } = made.metadata;
    const gone = operator.delete(SECRETS, made.metadata, { ...OPTIONS, preconditions: { uid } });
    await expect(gone).rejects.toMatchObject({ code: "KubeForbidden" });
  });

  test("of what governs admission the operator writes its own webhooks, and nothing else", async () => {
    const own = await operator.get(VALIDATING_WEBHOOK_CONFIGURATIONS, { name: OPERATOR }, OPTIONS);
    await operator.replace(VALIDATING_WEBHOOK_CONFIGURATIONS, own, OPTIONS);
    const { metadata: _, ...rest } = own;
    const others = { ...rest, metadata: { name: "others" }, webhooks: [] };
    await expect(operator.create(VALIDATING_WEBHOOK_CONFIGURATIONS, others, OPTIONS)).rejects.toMatchObject({
      code: "KubeForbidden",
    });
    const made = await admin.create(VALIDATING_WEBHOOK_CONFIGURATIONS, others, OPTIONS);
    await expect(operator.replace(VALIDATING_WEBHOOK_CONFIGURATIONS, made, OPTIONS)).rejects.toMatchObject({
      code: "KubeForbidden",
    });
  });
});

describe("with every right that there is, the policy alone lets the operator", () => {
  beforeAll(async () => {
    const group = "rbac.authorization.k8s.io";
    const binding = {
      apiVersion: `${group}/v1`,
      kind: "ClusterRoleBinding",
      metadata: { name: "everything" },
      roleRef: { apiGroup: group, kind: "ClusterRole", name: "cluster-admin" },
      subjects: [{ apiGroup: group, kind: "User", name: OPERATOR_USER }],
    };
    await admin.create(kindOf(binding), binding, OPTIONS);
    const probe: Case = { what: "", of: PODS, write: { create: {} }, says: "" };
    let number = 0;
    await vi.waitFor(async () => expect(await outcome(probe, `probe-${number++}`)).toContain("creates no pods"), {
      timeout: 30_000,
      interval: 200,
    });
  });

  for (const [index, one] of CASES.entries()) {
    const { what, of, says } = one;
    test(`${says === undefined ? "" : "not "}${what} (${of.plural})`, async () => {
      const said = await outcome(one, `case-${index}`);
      if (says === undefined) expect(said).toBeUndefined();
      else expect(said).toMatch(new RegExp(`ValidatingAdmissionPolicy '${OPERATOR}' .*${says}`));
    });
  }

  test("each sentence of the policy refuses something here", () => {
    const silent = VALIDATIONS.filter(({ message }) => !CASES.some(({ says }) => says && message.includes(says)));
    expect(silent.map(({ message }) => message)).toEqual([]);
  });

  test("others are not asked", async () => {
    const draft = merged(ours(PODS, "by-somebody"), NOT_OURS) as Draft<KubeObject>;
    expect(await admin.create(PODS, draft as never, OPTIONS)).toMatchObject({ apiVersion: apiVersionOf(PODS) });
  });
});
