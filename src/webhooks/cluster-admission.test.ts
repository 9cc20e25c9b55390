import fc from "fast-check";
import { beforeEach, describe, expect, test } from "vitest";
import { DEFAULT_TLS } from "#api/tls.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import { systemClock } from "#base/clock.ts";
import { OperatorError } from "#base/error.ts";
import { type Log, silentLog } from "#base/log.ts";
import { type Observed, present, unknown } from "#base/observed.ts";
import { claim, claimIdentity, cluster } from "#kit/snapshots/cluster.ts";
import { withResources } from "#kit/snapshots/pod-template.ts";
import { nested } from "#kit/tables/nested.ts";
import { fromRefusal } from "#kube/error.ts";
import type { Draft, KubeObject, Pod } from "#kube/kinds.ts";
import { clusterAdmission } from "#webhooks/cluster-admission.ts";

const settled = cluster().cluster;
const RICH = withResources({ requests: { cpu: "1", memory: "4Gi" } });

function object(spec: object = {}, metadata: object = {}): EtcdCluster {
  const { status: _, ...rest } = settled;
  return {
    ...rest,
    metadata: { ...settled.metadata, ...metadata },
    spec: { ...settled.spec, etcd: { autoCompaction: { mode: "None" } }, podTemplate: RICH, ...spec },
  };
}

interface Asked {
  readonly operation?: string;
  readonly object?: unknown;
  readonly oldObject?: unknown;
  readonly kind?: object;
}

function review({ operation = "CREATE", kind, ...objects }: Asked): object {
  const request = {
    uid: "uid-1",
    kind: kind ?? { group: "etcd.improbable.io", version: "v1beta1", kind: "EtcdCluster" },
    operation,
    object: null,
    oldObject: null,
    ...objects,
  };
  return { apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", request };
}

const calls: string[] = [];
let tried: Draft<KubeObject> | undefined;
let triedOut: () => Promise<KubeObject>;
let claims: () => Promise<{ items: KubeObject[]; resourceVersion: string }>;
const secrets = new Map<string, Observed<object>>();
const logged: string[] = [];
const log: Log = {
  ...silentLog,
  warn: (fields, message) => void logged.push(`${message}: ${fields.error}`),
  info: (fields, message) => void logged.push(`${message}: ${fields.because}`),
};

beforeEach(() => {
  calls.length = 0;
  logged.length = 0;
  secrets.clear();
  triedOut = () => Promise.resolve({} as KubeObject);
  claims = () => Promise.resolve({ items: [], resourceVersion: "1" });
});

const admission = clusterAdmission({
  imageRepository: "registry.example/etcd",
  clock: systemClock,
  log,
  kube: {
    create: (({ plural }: { plural: string }, draft: Draft<KubeObject>, { dryRun }: { dryRun?: boolean }) => {
      calls.push(`create ${plural} dryRun=${dryRun}`);
      tried = draft;
      return triedOut();
    }) as never,
    list: (({ plural }: { plural: string }, query: object) => {
      calls.push(`list ${plural} ${JSON.stringify(query)}`);
      return claims();
    }) as never,
    find: (({ plural }: { plural: string }, { name }: { name: string }) => {
      calls.push(`find ${plural} ${name}`);
      return Promise.resolve(secrets.get(name) ?? { is: "absent" });
    }) as never,
  },
});

interface Response {
  readonly uid: string;
  readonly allowed: boolean;
  readonly warnings?: readonly string[];
  readonly status?: { code: number; message: string; reason: string; details: { causes: readonly object[] } };
}

async function ask(asked: Asked): Promise<Response> {
  const answer = await admission.answer(review(asked), new AbortController().signal);
  expect(answer).toMatchObject({ apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview" });
  return (answer as { response: Response }).response;
}

test("a new cluster results in a dry run and a list of its claims, and no other request", async () => {
  expect(await ask({ object: object() })).toEqual({ uid: "uid-1", allowed: true });
  expect(calls.sort()).toEqual([
    "create replicasets dryRun=true",
    'list persistentvolumeclaims {"namespace":"foo","labelSelector":"app.kubernetes.io/managed-by=etcd-cluster-operator,etcd.improbable.io/cluster-name=my-etcd"}',
  ]);
  expect(logged).toEqual([]);
  const first = tried?.metadata.name;
  await ask({ object: object() });
  expect(tried?.metadata.name).not.toBe(first);
});

const BROUGHT = {
  peer: { provider: "Secret", secret: { name: "peers" } },
  client: { provider: "Secret", secret: { server: { name: "server" }, operator: { name: "own" } } },
};
const FOR_CLUSTERS = { namespace: "foo", name: "a", labels: { "etcd.improbable.io/tls": "true" } };
const secret = (...keys: readonly string[]) =>
  present({ metadata: FOR_CLUSTERS, data: Object.fromEntries(keys.map((key) => [key, ""])) });

describe("user-provided certificates", () => {
  test("are read, and missing keys and labels result in warnings", async () => {
    secrets.set("peers", secret("tls.crt", "tls.key", "ca.crt"));
    secrets.set("own", secret("tls.crt"));
    const { allowed, warnings } = await ask({ object: object({ tls: BROUGHT }) });
    expect(allowed).toBe(true);
    expect(warnings).toEqual([
      'spec.tls.client.secret.server.name is server: this Secret does not exist yet; it must have tls.crt, tls.key and ca.crt, and the label etcd.improbable.io/tls: "true"',
      "spec.tls.client.secret.operator.name is own: this Secret has no tls.key and no ca.crt; it must have tls.crt, tls.key and ca.crt",
    ]);
    expect(calls.filter((call) => call.startsWith("find")).sort()).toEqual([
      "find secrets own",
      "find secrets peers",
      "find secrets server",
    ]);
  });

  test("in a Secret without the label result in a warning without the Secret's content", async () => {
    for (const name of ["peers", "server"]) secrets.set(name, secret("tls.crt", "tls.key", "ca.crt"));
    secrets.set("own", present({ metadata: { namespace: "foo", name: "own" }, data: {} }));
    expect((await ask({ object: object({ tls: BROUGHT }) })).warnings).toEqual([
      "spec.tls.client.secret.operator.name is own: it lacks the label that lets EtcdClusters use it: kubectl -n foo label secret own etcd.improbable.io/tls=true",
    ]);
  });

  test("that cannot be read result in no warning", async () => {
    for (const name of ["peers", "own", "server"]) secrets.set(name, unknown("it is forbidden"));
    expect(await ask({ object: object({ tls: BROUGHT }) })).not.toHaveProperty("warnings");
  });

  test("are read when their names change, not at every edit", async () => {
    const before = object({ tls: BROUGHT });
    await ask({ operation: "UPDATE", object: object({ tls: BROUGHT, replicas: 5 }), oldObject: before });
    const moved = { ...BROUGHT, peer: { provider: "Secret", secret: { name: "others" } } };
    await ask({ operation: "UPDATE", object: object({ tls: moved }), oldObject: before });
    expect(calls.filter((call) => call.startsWith("find"))).toEqual(["find secrets others"]);
  });

  test("are mounted in the dry run", async () => {
    await ask({ object: object({ tls: { peer: { provider: "None" }, client: BROUGHT.client } }) });
    const template = (tried as unknown as { spec: { template: Pod } }).spec.template;
    expect(template.spec?.volumes?.map(({ name, projected }) => projected?.sources?.[0]?.secret?.name ?? name)).toEqual(
      ["etcd-data", "server"],
    );
  });

  test("have only DNS names and IP addresses as spec.tls.client.extraNames", async () => {
    const named = (...extraNames: readonly string[]) => object({ tls: { client: { extraNames } } });
    const { status } = await ask({ object: named("::1", "a.b", "1::2::3", "12345::", "fd00::1.2.3.4") });
    expect(status?.message).toContain(
      "spec.tls.client.extraNames[2]: it is 1::2::3; it must be a DNS name or an IP address",
    );
    expect(status?.details.causes).toHaveLength(2);
    expect((await ask({ object: named("::1"), oldObject: object(), operation: "UPDATE" })).allowed).toBe(true);
  });

  test("may not be in Secrets of the operator or an EtcdUser, except under unchanged names", async () => {
    const named = (secretName: string) =>
      object({ tls: { peer: { provider: "Secret", secret: { name: secretName } } } });
    const own = named("my-etcd-peer-tls");
    expect((await ask({ object: own })).status?.message).toContain(
      "spec.tls.peer.secret.name: it is my-etcd-peer-tls: this name is reserved for the operator's own Secrets of EtcdCluster my-etcd; copy the Secret to another name",
    );
    for (const name of ["my-app-binding", "my-app-binding-tls"])
      expect((await ask({ object: named(name) })).status?.message).toContain(
        `it is ${name}: the operator uses such names for Secrets of EtcdUsers; it must be another name`,
      );
    expect((await ask({ object: named("my-app-binding-2") })).allowed).toBe(true);
    expect((await ask({ object: own, oldObject: own, operation: "UPDATE" })).allowed).toBe(true);
  });

  test("may change their provider, and may not lose spec.tls as by an edit in v1alpha1", async () => {
    const before = object({ tls: { ...BROUGHT, client: { provider: "Operator" } } });
    const edited = async (tls: object | undefined, oldObject = before) =>
      (await ask({ operation: "UPDATE", object: object({ tls }), oldObject })).status?.message;
    const where =
      "in v1alpha1 spec.tls is in metadata.annotations[etcd.improbable.io/v1beta1], which must be left as it was read";
    const explicit = "set it as it was, or set provider None to turn TLS off";
    expect(await edited(undefined)).toContain(
      `spec.tls: it is missing, but members use TLS (peer); ${explicit}; ${where}; spec.tls: it is missing, but members use TLS (client); ${explicit}; ${where}`,
    );
    const [manager, off] = [{ provider: "CertManager" }, { provider: "None" }];
    expect(await edited({ ...before.spec.tls, client: manager })).toBeUndefined();
    expect(await edited({ ...before.spec.tls, client: off })).toBeUndefined();
    const others = { provider: "Secret", secret: { name: "others" } };
    expect(await edited({ ...before.spec.tls, peer: others })).toBeUndefined();
    expect(await edited(before.spec.tls)).toBeUndefined();
    expect(await edited({ peer: BROUGHT.peer })).toBeUndefined();
    // A cluster that lost spec.tls gets it back.
    expect(await edited(before.spec.tls, object())).toBeUndefined();
  });

  test("refuse a pod template that mounts over them, even when only spec.tls is new", async () => {
    const podTemplate = { spec: { volumes: [{ name: "etcd-peer-tls", emptyDir: {} }] } };
    expect((await ask({ object: object({ podTemplate }) })).allowed).toBe(true);
    const { status } = await ask({ object: object({ podTemplate, tls: BROUGHT }) });
    expect(status?.message).toContain('spec.podTemplate.spec.volumes[0].name: is "etcd-peer-tls"');
    const edit = {
      operation: "UPDATE",
      object: object({ podTemplate, tls: BROUGHT }),
      oldObject: object({ podTemplate }),
    };
    expect((await ask(edit)).allowed).toBe(false);
  });
});

describe("a cluster without spec.tls", () => {
  const { tls: _, ...spec } = object().spec;
  const left = { ...object(), spec };

  test("has TLS in its dry run", async () => {
    expect((await ask({ object: left })).allowed).toBe(true);
    const { template } = (tried as Draft<KubeObject> & { spec: { template: Pod } }).spec;
    expect(template.spec?.volumes?.map(({ name }) => name)).toContain("etcd-client-tls");
    await ask({ object: { ...left, status: settled.status }, oldObject: object(), operation: "UPDATE" });
    const next = (tried as Draft<KubeObject> & { spec: { template: Pod } }).spec.template;
    expect(next.spec?.volumes?.map(({ name }) => name)).not.toContain("etcd-client-tls");
  });

  test("has no second dry run when the operator sets spec.tls to the default", async () => {
    const edit = { object: { ...left, spec: { ...spec, tls: DEFAULT_TLS } }, oldObject: left, operation: "UPDATE" };
    expect((await ask(edit)).allowed).toBe(true);
    expect(calls).toEqual([]);
    await ask({ ...edit, object: object() });
    expect(calls).toEqual(["create replicasets dryRun=true"]);
    const { status } = settled;
    await ask({ ...edit, object: { ...edit.object, status }, oldObject: { ...left, status } });
    expect(calls.length).toBe(2);
  });

  test.each([{}, { "etcd.improbable.io/peer-scheme": "https" }])(
    "accepts existing claims with annotations %j",
    async (more) => {
      const items = [0, 1, 2].map((n) => claim(`my-etcd-${n}`, { ...claimIdentity("abc", `${n + 1}`), ...more }));
      claims = () => Promise.resolve({ items, resourceVersion: "1" });
      expect(await ask({ object: left })).toMatchObject({ allowed: true });
    },
  );
});

test("a cluster with warnings is accepted", async () => {
  const { allowed, warnings } = await ask({ object: object({ replicas: 2, etcd: {}, podTemplate: {} }) });
  expect(allowed).toBe(true);
  expect(warnings).toHaveLength(3);
});

function refusal(httpCode: number, status: object) {
  return fromRefusal({ call: "create replicasets.apps foo/x", httpCode, status: { kind: "Status", ...status } });
}

const INVALID = refusal(422, {
  reason: "Invalid",
  details: {
    causes: [
      { field: "spec.template.spec.containers[0].resources.requests", message: `Invalid value: "2": must be less` },
    ],
  },
});

test("a pod that the API server would refuse is refused with the API server's message", async () => {
  triedOut = () => Promise.reject(INVALID);
  expect(await ask({ object: object() })).toEqual({
    uid: "uid-1",
    allowed: false,
    status: {
      code: 422,
      reason: "Invalid",
      message: `spec.podTemplate.spec.containers[etcd].resources.requests: Invalid value: "2": must be less`,
      details: {
        group: "etcd.improbable.io",
        kind: "EtcdCluster",
        name: "my-etcd",
        causes: [
          {
            reason: "FieldValueInvalid",
            field: "spec.podTemplate.spec.containers[etcd].resources.requests",
            message: `Invalid value: "2": must be less`,
          },
        ],
      },
    },
  });
  expect(logged).toHaveLength(1);
});

test("a pod template with reserved fields is refused with the operator's message and without a dry run", async () => {
  const spec = {
    hostname: "x",
    containers: [
      ...(RICH.spec?.containers ?? []),
      { name: "agent", securityContext: { allowPrivilegeEscalation: true } },
    ],
  };
  const labels = { "etcd.improbable.io/a b": "c" };
  const { allowed, status } = await ask({ object: object({ podTemplate: { metadata: { labels }, spec } }) });
  expect(allowed).toBe(false);
  expect(status?.details.causes).toEqual([
    {
      reason: "FieldValueInvalid",
      field: "spec.podTemplate.metadata.labels[etcd.improbable.io/a b]",
      message: 'is "c"; it must be left out: it is the operator\'s own',
    },
    {
      reason: "FieldValueInvalid",
      field: "spec.podTemplate.spec.hostname",
      message: 'is "x"; it must be left out: members find each other by the host names that the operator gives them',
    },
    {
      reason: "FieldValueInvalid",
      field: "spec.podTemplate.spec.containers[1].securityContext.allowPrivilegeEscalation",
      message: expect.stringMatching(
        /^is true; it must be false or left out: the operator may not hand out privileges/,
      ),
    },
  ]);
  expect(calls).toEqual([expect.stringMatching(/^list persistentvolumeclaims /)]);
});

test("unknown flags are refused, and deprecated flags result in warnings", async () => {
  const extraArgs = { "data-dir": "/x", "max-txn-op": "1", "experimental-watch-progress-notify-interval": "1s" };
  const { allowed, status, warnings } = await ask({
    object: object({ version: "3.6.16", etcd: { autoCompaction: { mode: "None" }, extraArgs } }),
  });
  expect(allowed).toBe(false);
  expect(status?.details.causes).toEqual([
    { reason: "FieldValueInvalid", field: "spec.etcd.extraArgs", message: expect.stringMatching(/^"data-dir" /) },
    {
      reason: "FieldValueInvalid",
      field: "spec.etcd.extraArgs",
      message: '"max-txn-op" is not a flag of etcd 3.6; did you mean max-txn-ops?',
    },
  ]);
  expect(warnings).toEqual([
    expect.stringMatching(/^spec\.etcd\.extraArgs: "experimental-watch-progress-.* is deprecated in etcd 3\.6/),
  ]);
});

test("existing claims of different clusters are refused", async () => {
  const items = ["a", "b"].map((id, ordinal) => claim(`my-etcd-${ordinal}`, claimIdentity(id, id)));
  claims = () => Promise.resolve({ items, resourceVersion: "1" });
  const { allowed, status } = await ask({ object: object() });
  expect(allowed).toBe(false);
  expect(status?.message).toMatch(/^metadata\.name: my-etcd cannot be used: claims of an earlier cluster exist/);
  triedOut = () => Promise.reject(INVALID);
  expect((await ask({ object: object() })).status?.details.causes).toHaveLength(2);
});

const MOUNT = { spec: { ...RICH.spec, volumes: [{ name: "x", persistentVolumeClaim: { claimName: "other-0" } }] } };

test("a pod template that mounts the claim of another cluster's member is refused", async () => {
  const { metadata, ...rest } = claim("other-0");
  const labels = { ...metadata.labels, "etcd.improbable.io/cluster-name": "other" };
  const asked =
    'list persistentvolumeclaims {"namespace":"foo","labelSelector":"app.kubernetes.io/managed-by=etcd-cluster-operator"}';
  const update = () => ask({ operation: "UPDATE", object: object({ podTemplate: MOUNT }), oldObject: object() });
  expect(await update()).toEqual({ uid: "uid-1", allowed: true });
  expect(calls).toContain(asked);
  claims = () => Promise.resolve({ items: [{ ...rest, metadata: { ...metadata, labels } }], resourceVersion: "1" });
  for (const { allowed, status } of [await update(), await ask({ object: object({ podTemplate: MOUNT }) })]) {
    expect(allowed).toBe(false);
    expect(status?.message).toContain(
      'spec.podTemplate.spec.volumes[0].persistentVolumeClaim.claimName: is "other-0"; it must be another claim: this one belongs to a member of other, and another writer would destroy its data',
    );
  }
  const kept = object({ podTemplate: MOUNT, replicas: 5 });
  expect((await ask({ operation: "UPDATE", object: kept, oldObject: object({ podTemplate: MOUNT }) })).allowed).toBe(
    true,
  );
});

test("a cluster is accepted when the check of its claims fails, and the failure is logged", async () => {
  claims = () => Promise.reject(new OperatorError("KubeUnavailable", "no answer within 3000 ms"));
  const now = object({ podTemplate: MOUNT });
  expect((await ask({ operation: "UPDATE", object: now, oldObject: object() })).allowed).toBe(true);
  expect(logged).toEqual([
    "admitted a pod template without checking the claims that it mounts: no answer within 3000 ms",
  ]);
});

describe("a cluster is accepted when the dry run or the list of claims ends with", () => {
  const failures: readonly { name: string; error: unknown }[] = [
    { name: "a timeout", error: new OperatorError("KubeUnavailable", "no answer within 3000 ms") },
    {
      name: "a missing permission",
      error: refusal(403, { reason: "Forbidden", message: 'User "o" cannot create resource' }),
    },
    { name: "too many requests", error: refusal(429, { reason: "TooManyRequests", message: "slow down" }) },
    { name: "a cancellation", error: new OperatorError("Cancelled", "over") },
    { name: "a programming error", error: new TypeError("x is undefined") },
  ];
  for (const { name, error } of failures) {
    test(name, async () => {
      triedOut = () => Promise.reject(error);
      claims = () => Promise.reject(error);
      expect(await ask({ object: object() })).toEqual({ uid: "uid-1", allowed: true });
      expect(logged.sort()).toEqual([
        expect.stringContaining("admitted a new cluster without checking its claims"),
        expect.stringContaining("admitted a pod template without a dry run"),
      ]);
    });
  }

  test("an exceeded quota, which becomes a warning", async () => {
    const message = 'replicasets.apps "x" is forbidden: exceeded quota: few';
    triedOut = () => Promise.reject(refusal(403, { reason: "Forbidden", message }));
    expect(await ask({ object: object() })).toEqual({
      uid: "uid-1",
      allowed: true,
      warnings: [`members could not be started at present: ${message}`],
    });
  });

  test("a long message, which is truncated in the warning", async () => {
    const message = `replicasets.apps "x" is forbidden: ${"much ".repeat(200)}`;
    triedOut = () => Promise.reject(refusal(403, { reason: "Forbidden", message }));
    const { warnings } = await ask({ object: object() });
    expect(warnings?.[0]).toHaveLength(256);
    expect(warnings?.[0]).toMatch(/…$/);
  });
});

describe("an edit of an EtcdCluster", () => {
  const update = (now: EtcdCluster, before: EtcdCluster) =>
    ask({ operation: "UPDATE", object: now, oldObject: before });

  test("in fields without checks causes no requests and no warnings", async () => {
    const questionable = object({ replicas: 4, podTemplate: {} });
    expect(await update(object({ replicas: 4, podTemplate: {} }, { labels: { a: "b" } }), questionable)).toEqual({
      uid: "uid-1",
      allowed: true,
    });
    expect(calls).toEqual([]);
  });

  test("in the pod template causes a dry run", async () => {
    triedOut = () => Promise.reject(INVALID);
    const { allowed } = await update(object({ podTemplate: { spec: { ...RICH.spec, affinity: {} } } }), object());
    expect(allowed).toBe(false);
    expect(calls).toEqual(["create replicasets dryRun=true"]);
  });

  test.each([
    ["spec.version", { version: "3.6.1" }],
    ["spec.image", { image: { repository: "registry.example/other" } }],
    ["spec.etcd", { etcd: { snapshotCount: 5_000 } }],
  ])("in %s causes a dry run", async (_, spec) => {
    triedOut = () => Promise.reject(INVALID);
    const { allowed } = await update(object({ podTemplate: { spec: RICH.spec }, ...spec }), object());
    expect(allowed).toBe(false);
    expect(calls).toEqual(["create replicasets dryRun=true"]);
  });

  test("in other fields is accepted, although the unchanged fields would be refused today", async () => {
    const old = { podTemplate: { spec: { ...RICH.spec, hostNetwork: true } }, etcd: { extraArgs: { nonsense: "1" } } };
    expect(await update(object({ ...old, replicas: 5 }), object(old))).toEqual({ uid: "uid-1", allowed: true });
    expect((await update(object({ ...old, version: "3.6.1" }), object(old))).status?.message).toBe(
      'spec.etcd.extraArgs: "nonsense" is not a flag of etcd 3.6',
    );
    const { spec } = old.podTemplate;
    const other = object({ ...old, podTemplate: { spec: { ...spec, priorityClassName: "p" } } });
    expect((await update(other, object(old))).status?.message).toMatch(
      /^spec\.podTemplate\.spec\.hostNetwork: is true; /,
    );
  });

  test("in spec.replicas may result in a warning", async () => {
    expect((await update(object({ replicas: 4 }), object())).warnings).toEqual([expect.stringContaining("is 4: ")]);
    expect(calls).toEqual([]);
  });

  test("by kubectl scale may result in a warning", async () => {
    const kind = { group: "autoscaling", version: "v1", kind: "Scale" };
    const scale = (replicas: number | undefined) => ({ metadata: { name: "my-etcd" }, spec: { replicas } });
    const scaled = (now: unknown, before: unknown) =>
      ask({ operation: "UPDATE", kind, object: now, oldObject: before });
    expect(await scaled(scale(2), scale(3))).toEqual({
      uid: "uid-1",
      allowed: true,
      warnings: [expect.stringContaining("spec.replicas is 2: ")],
    });
    expect(await scaled(scale(2), scale(2))).toEqual({ uid: "uid-1", allowed: true });
    expect((await scaled(scale(1), { spec: {} })).warnings).toHaveLength(1);
    expect((await scaled(scale(0), scale(3))).warnings).toEqual([
      expect.stringContaining("spec.replicas is 0: all members stop"),
    ]);
    await expect(scaled({ spec: { replicas: "2" } }, scale(3))).rejects.toThrow('request.object.spec.replicas is "2"');
    await expect(scaled({}, scale(3))).rejects.toThrow("request.object.spec is missing");
    expect(calls).toEqual([]);
  });

  test("is always accepted while the cluster is being deleted", async () => {
    triedOut = () => Promise.reject(INVALID);
    const going = object({ podTemplate: {}, replicas: 2 }, { deletionTimestamp: "2026-01-01T00:00:00Z" });
    expect(await update(going, object())).toEqual({ uid: "uid-1", allowed: true });
    expect(calls).toEqual([]);
  });

  test("is not checked when the operation is DELETE or CONNECT", async () => {
    for (const operation of ["DELETE", "CONNECT"])
      expect(await ask({ operation, oldObject: object() })).toEqual({ uid: "uid-1", allowed: true });
    expect(calls).toEqual([]);
  });
});

describe("an AdmissionReview is refused as invalid:", () => {
  const answer = (body: unknown) => admission.answer(body, new AbortController().signal);
  const good = { object: object() };
  const cases: readonly { name: string; body: unknown; says: string }[] = [
    { name: "null", body: null, says: "the body is null; it must be an object" },
    { name: "a list", body: [], says: "the body is []; it must be an object" },
    {
      name: "a body of another kind",
      body: { apiVersion: "v1", kind: "Pod" },
      says: 'apiVersion is "v1"; it must be admission',
    },
    {
      name: "another apiVersion",
      body: { ...review(good), apiVersion: "admission.k8s.io/v1beta1" },
      says: "it must be admission.k8s.io/v1",
    },
    { name: "a review without a request", body: { ...review(good), request: undefined }, says: "request is missing" },
    {
      name: "an object of another kind",
      body: review({ ...good, kind: { group: "apps", version: "v1", kind: "Deployment" } }),
      says: 'request.kind is "Deployment.v1.apps"; this webhook checks EtcdClusters',
    },
    { name: "a request without an object", body: review({}), says: "request.object is null; it must be an object" },
    {
      name: "an update without an old object",
      body: review({ ...good, operation: "UPDATE" }),
      says: "request.oldObject is null",
    },
    {
      name: "an object without a name",
      body: review({ object: object({}, { name: "" }) }),
      says: 'request.object.metadata.name is ""',
    },
    {
      name: "a text as spec.replicas",
      body: review({ object: object({ replicas: "3" }) }),
      says: 'spec.replicas is "3"; it must be',
    },
    {
      name: "a number as spec.etcd",
      body: review({ object: object({ etcd: 1 }) }),
      says: "spec.etcd is 1; it must be an object",
    },
    {
      name: "a number as a flag's value",
      body: review({ object: object({ etcd: { extraArgs: { a: 1 } } }) }),
      says: 'spec.etcd.extraArgs["a"] is 1; it must be a string',
    },
    {
      name: "a Secret for members without a name",
      body: review({ object: object({ tls: { peer: { provider: "Secret", secret: {} } } }) }),
      says: "spec.tls.peer.secret.name is missing; it must be",
    },
    {
      name: "Secrets for clients without the operator's",
      body: review({ object: object({ tls: { client: { provider: "Secret", secret: { server: { name: "a" } } } } }) }),
      says: "spec.tls.client.secret.operator is missing; it must be",
    },
    {
      name: "a number as the name of a Secret for clients",
      body: review({
        object: object({ tls: { client: { secret: { server: { name: 1 }, operator: { name: "a" } } } } }),
      }),
      says: "spec.tls.client.secret.server.name is 1; it must be",
    },
    {
      name: "a number as spec.podTemplate",
      body: review({ object: object({ podTemplate: 1 }) }),
      says: "spec.podTemplate is 1",
    },
  ];
  for (const { name, body, says } of cases) {
    test(name, async () => {
      const thrown = await answer(body).catch((error: unknown) => error);
      expect(thrown).toMatchObject({ code: "InvalidSpec", message: expect.stringContaining(says) });
      expect(calls).toEqual([]);
    });
  }

  test("any object is accepted or refused with a short message", async () => {
    const anything = fc.oneof(
      fc.jsonValue(),
      fc.jsonValue().map((request) => ({ apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", request })),
      fc.jsonValue().map((each) => review({ object: each })),
      fc.jsonValue().map((podTemplate) => review({ object: object({ podTemplate }) })),
      fc
        .jsonValue()
        .map((resources) =>
          review({ object: object({ podTemplate: { spec: { containers: [{ name: "etcd", resources }] } } }) }),
        ),
      fc.jsonValue().map((extraArgs) => review({ object: object({ etcd: { extraArgs } }) })),
      fc.integer().map((replicas) => review({ object: object({ replicas }) })),
    );
    await fc.assert(
      fc.asyncProperty(anything, async (body) => {
        const outcome = await answer(body).catch((error: unknown) => error);
        if (outcome instanceof OperatorError) {
          expect(outcome.code).toBe("InvalidSpec");
          expect(outcome.message.length).toBeLessThan(300);
        } else expect(outcome).toMatchObject({ response: { uid: "uid-1" } });
      }),
    );
  });
});

describe("an object nested too deeply", () => {
  const affine = (levels: number) => object({ podTemplate: { spec: { affinity: nested(levels) } } });

  test("is refused with the field that contains the nesting", async () => {
    const { allowed, status } = await ask({ object: affine(9_900) });
    expect([allowed, status?.message]).toEqual([
      false,
      expect.stringContaining("spec.podTemplate: is nested more than 32 levels deep; it must be at most 32"),
    ]);
    expect(calls).toEqual([]);
  });

  test("is refused when it is unchanged, and accepted when it is removed or the cluster is being deleted", async () => {
    const deep = affine(9_900);
    expect((await ask({ operation: "UPDATE", object: deep, oldObject: deep })).allowed).toBe(false);
    expect((await ask({ operation: "UPDATE", object: object(), oldObject: deep })).allowed).toBe(true);
    const going = { ...deep, metadata: { ...deep.metadata, deletionTimestamp: "2026-01-01T12:00:00Z" } };
    expect((await ask({ operation: "UPDATE", object: going, oldObject: deep })).allowed).toBe(true);
  });

  test("is refused when the nesting is in another field", async () => {
    const storage = { ...settled.spec.storage, selector: nested(33) };
    expect((await ask({ object: object({ storage }) })).status?.message).toContain("spec.storage: is nested");
  });

  test("is accepted up to thirty-two levels", async () => {
    expect((await ask({ object: affine(30) })).allowed).toBe(true);
    expect((await ask({ object: affine(31) })).allowed).toBe(false);
  });
});
