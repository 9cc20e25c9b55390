import { expect, test } from "vitest";
import { draftText } from "#api/applied-hash.ts";
import { FENCE, REVISION_ANNOTATION } from "#api/names.ts";
import { revisionOf } from "#api/revision.ts";
import { peer } from "#kit/snapshots/peer.ts";
import { withResources } from "#kit/snapshots/pod-template.ts";
import { SIDECAR } from "#kit/tables/pod-power.ts";
import { replicaSet, replicaSetText } from "#peer/desired/replica-set.ts";
import type { PeerSnapshot } from "#peer/snapshot.ts";

const SELECTOR = {
  "app.kubernetes.io/name": "etcd",
  "app.kubernetes.io/managed-by": "etcd-cluster-operator",
  "etcd.improbable.io/cluster-name": "my-etcd",
  "app.kubernetes.io/component": "member",
  "etcd.improbable.io/peer-name": "my-etcd-0",
};
const LABELS = { ...SELECTOR, "app.kubernetes.io/instance": "my-etcd" };

/** The pod that users, policies and other tools see. A change here changes it for every running cluster. */
const GOLDEN = {
  metadata: {
    labels: LABELS,
    annotations: {
      "etcd.improbable.io/initial-cluster": [0, 1, 2]
        .map((n) => `my-etcd-${n}=http://my-etcd-${n}.my-etcd.foo.svc:2380`)
        .join(","),
      "etcd.improbable.io/initial-cluster-state": "new",
      "etcd.improbable.io/revision": "21e53824edcfea7e",
    },
  },
  spec: {
    hostname: "my-etcd-0",
    subdomain: "my-etcd",
    hostAliases: [{ ip: "127.0.0.1", hostnames: ["my-etcd-0.my-etcd.foo.svc"] }],
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    terminationGracePeriodSeconds: 30,
    securityContext: {
      runAsNonRoot: true,
      runAsUser: 65532,
      runAsGroup: 65532,
      fsGroup: 65532,
      fsGroupChangePolicy: "OnRootMismatch",
      seccompProfile: { type: "RuntimeDefault" },
    },
    topologySpreadConstraints: ["topology.kubernetes.io/zone", "kubernetes.io/hostname"].map((topologyKey) => ({
      topologyKey,
      maxSkew: 1,
      whenUnsatisfiable: "ScheduleAnyway",
      labelSelector: {
        matchLabels: {
          "app.kubernetes.io/name": "etcd",
          "etcd.improbable.io/cluster-name": "my-etcd",
          "app.kubernetes.io/component": "member",
        },
      },
    })),
    containers: [
      {
        name: "etcd",
        image: "registry.example/etcd:v3.6.16",
        imagePullPolicy: "IfNotPresent",
        command: ["etcd"],
        terminationMessagePolicy: "FallbackToLogsOnError",
        env: [
          { name: "ETCD_NAME", value: "my-etcd-0" },
          { name: "ETCD_DATA_DIR", value: "/var/lib/etcd/data" },
          { name: "ETCD_LISTEN_PEER_URLS", value: "http://0.0.0.0:2380" },
          { name: "ETCD_LISTEN_CLIENT_URLS", value: "http://0.0.0.0:2379" },
          { name: "ETCD_LISTEN_METRICS_URLS", value: "http://0.0.0.0:2381" },
          { name: "ETCD_INITIAL_ADVERTISE_PEER_URLS", value: "http://my-etcd-0.my-etcd.foo.svc:2380" },
          { name: "ETCD_ADVERTISE_CLIENT_URLS", value: "http://my-etcd-0.my-etcd.foo.svc:2379" },
          { name: "ETCD_INITIAL_CLUSTER_TOKEN", value: "foo/my-etcd/uid-of-cluster" },
          fromAnnotation("ETCD_INITIAL_CLUSTER", "etcd.improbable.io/initial-cluster"),
          fromAnnotation("ETCD_INITIAL_CLUSTER_STATE", "etcd.improbable.io/initial-cluster-state"),
        ],
        ports: [
          { name: "etcd-client", containerPort: 2379, protocol: "TCP" },
          { name: "etcd-peer", containerPort: 2380, protocol: "TCP" },
          { name: "etcd-metrics", containerPort: 2381, protocol: "TCP" },
        ],
        startupProbe: probe("/livez", 2381, { periodSeconds: 1, failureThreshold: 2_147_483_647 }),
        livenessProbe: probe("/livez?exclude=serializable_read", 2381, { periodSeconds: 10, failureThreshold: 12 }),
        readinessProbe: probe("/readyz", 2379, { periodSeconds: 1, failureThreshold: 5, timeoutSeconds: 3 }),
        lifecycle: { preStop: { sleep: { seconds: 2 } } },
        securityContext: {
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ["ALL"] },
        },
        volumeMounts: [{ name: "etcd-data", mountPath: "/var/lib/etcd" }],
      },
    ],
    volumes: [{ name: "etcd-data", persistentVolumeClaim: { claimName: "my-etcd-0" } }],
  },
};

interface Times {
  readonly periodSeconds: number;
  readonly failureThreshold: number;
  readonly timeoutSeconds?: number;
}

function probe(path: string, port: number, times: Times) {
  return { httpGet: { path, port, scheme: "HTTP" }, timeoutSeconds: 5, ...times };
}

const starting = peer({ stage: "starting" });

test("the ReplicaSet of a member that bootstraps has the documented fields", () => {
  const { metadata, spec, ...rest } = replicaSet(starting);
  expect(rest).toEqual({ apiVersion: "apps/v1", kind: "ReplicaSet" });
  expect(metadata).toEqual({
    namespace: "foo",
    name: "my-etcd-0",
    labels: LABELS,
    annotations: {
      "etcd.improbable.io/applied-hash": expect.stringMatching(/^\S{8,}$/),
      "etcd.improbable.io/revision": "21e53824edcfea7e",
    },
    ownerReferences: [
      {
        apiVersion: "etcd.improbable.io/v1beta1",
        kind: "EtcdPeer",
        name: "my-etcd-0",
        uid: "uid-of-peer",
        controller: true,
        blockOwnerDeletion: true,
      },
    ],
  });
  expect(spec).toEqual({ replicas: 1, selector: { matchLabels: SELECTOR }, template: GOLDEN });
});

function fromAnnotation(name: string, annotation: string) {
  return { name, valueFrom: { fieldRef: { apiVersion: "v1", fieldPath: `metadata.annotations['${annotation}']` } } };
}

function containerOf(snapshot: PeerSnapshot) {
  return replicaSet(snapshot).spec!.template!.spec!.containers[0]!;
}
function environment(snapshot: PeerSnapshot): Readonly<Record<string, string | undefined>> {
  const annotations = replicaSet(snapshot).spec!.template!.metadata!.annotations!;
  // The kubelet resolves the annotations when it starts the container.
  return Object.fromEntries(
    containerOf(snapshot).env!.map(({ name, value, valueFrom }) => [
      name,
      value ?? annotations[/\['(.*)'\]/.exec(valueFrom!.fieldRef!.fieldPath)![1]!],
    ]),
  );
}

test("a member that has joined gets flags with which it cannot bootstrap, and no other changes", () => {
  const before = environment(starting);
  const after = environment(peer());
  expect(after).toEqual({
    ...before,
    ETCD_INITIAL_CLUSTER: FENCE,
    ETCD_INITIAL_CLUSTER_STATE: "existing",
    ETCD_INITIAL_CLUSTER_TOKEN: "my-etcd",
  });
  expect(FENCE).not.toContain("my-etcd");
});

test("a member that joins an existing cluster gets that cluster's flags", () => {
  const hosts = [0, 3].map((ordinal) => ({ host: `my-etcd-${ordinal}.my-etcd.foo.svc` }));
  const bootstrap = { initialClusterState: "Existing", static: { initialCluster: hosts } };
  expect(environment(peer({ stage: "claimed", spec: { bootstrap } }))).toMatchObject({
    ETCD_INITIAL_CLUSTER:
      "my-etcd-0=http://my-etcd-0.my-etcd.foo.svc:2380,my-etcd-3=http://my-etcd-3.my-etcd.foo.svc:2380",
    ETCD_INITIAL_CLUSTER_STATE: "existing",
    ETCD_INITIAL_CLUSTER_TOKEN: "my-etcd",
  });
});

test("an affinity in the pod template replaces the default topology spread", () => {
  const affinity = { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [] } } };
  const spec = replicaSet(peer({ spec: { podTemplate: { spec: { affinity } } } })).spec?.template?.spec;
  expect(spec?.affinity).toEqual(affinity);
  expect(spec).not.toHaveProperty("topologySpreadConstraints");
});

test("annotations, resources and affinity in a pod template result in the same pod otherwise", () => {
  const annotations = { "example.com/scrape": "true" };
  const resources = { limits: { memory: "1Gi" } };
  const affinity = { nodeAffinity: {} };
  const podTemplate = { metadata: { annotations }, spec: { affinity, containers: [{ name: "etcd", resources }] } };
  const snapshot = peer({ stage: "starting", spec: { podTemplate } });
  const { topologySpreadConstraints: _, ...spec } = GOLDEN.spec;
  const [container] = spec.containers;
  const env = container!.env.toSpliced(8, 0, { name: "GOMEMLIMIT", value: "966367641" } as never);
  expect(replicaSet(snapshot).spec?.template).toEqual({
    metadata: {
      labels: LABELS,
      annotations: {
        ...GOLDEN.metadata.annotations,
        ...annotations,
        "etcd.improbable.io/revision": revisionOf(snapshot.peer.spec),
      },
    },
    spec: { ...spec, affinity, containers: [{ ...container, env, resources }] },
  });
});

test("a pod template's fields are in the pod, and its labels are not in the selector", () => {
  const sidecar = { ...SIDECAR, volumeMounts: [{ name: "settings", mountPath: "/etc/agent" }] };
  const volume = { name: "settings", configMap: { name: "agent" } };
  const podTemplate = {
    metadata: { labels: { team: "shop" } },
    spec: {
      priorityClassName: "important",
      tolerations: [{ operator: "Exists" }],
      imagePullSecrets: [{ name: "agents" }],
      initContainers: [{ ...SIDECAR, name: "first" }],
      containers: [sidecar, { name: "etcd", env: [{ name: "TZ", value: "UTC" }] }],
      volumes: [volume],
    },
  };
  const { selector, template } = replicaSet(
    peer({ stage: "starting", spec: { podTemplate, image: { pullSecrets: [{ name: "etcd" }] } } }),
  ).spec!;
  expect(selector).toEqual({ matchLabels: SELECTOR });
  expect(template?.metadata?.labels).toEqual({ ...LABELS, team: "shop" });
  const [etcd, ...others] = GOLDEN.spec.containers;
  expect(template?.spec).toEqual({
    ...GOLDEN.spec,
    priorityClassName: "important",
    tolerations: [{ operator: "Exists" }],
    imagePullSecrets: [{ name: "etcd" }, { name: "agents" }],
    initContainers: [{ ...SIDECAR, name: "first" }],
    containers: [{ ...etcd, env: [...etcd!.env, { name: "TZ", value: "UTC" }] }, ...others, sidecar],
    volumes: [...GOLDEN.spec.volumes, volume],
  });
});

test("a pod template with a reserved field is ignored completely", () => {
  const etcd = { name: "etcd", resources: { limits: { cpu: 1, memory: "1Gi" } }, command: ["sh"] };
  const podTemplate = { metadata: { labels: { team: "shop" } }, spec: { hostNetwork: true, containers: [etcd] } };
  const snapshot = peer({ stage: "starting", spec: { podTemplate } });
  const { template } = replicaSet(snapshot).spec!;
  const revision = { "etcd.improbable.io/revision": revisionOf(snapshot.peer.spec) };
  const annotations = { ...GOLDEN.metadata.annotations, ...revision };
  expect(template).toEqual({ ...GOLDEN, metadata: { ...GOLDEN.metadata, annotations } });
});

test.each([
  { having: "nothing", spec: {}, is: { preStop: { sleep: { seconds: 2 } } } },
  {
    having: "another hook",
    ...ending({ preStop: { exec: { command: ["x"] } } }),
    is: { preStop: { exec: { command: ["x"] } } },
  },
  {
    having: "another pause",
    ...ending({ preStop: { sleep: { seconds: 5 } } }),
    is: { preStop: { sleep: { seconds: 5 } } },
  },
  { having: "no hook", ...ending({ preStop: null }), is: {} },
  { having: "no lifecycle", ...ending(null), is: undefined },
  {
    having: "a stop signal",
    ...ending({ stopSignal: "SIGINT" }),
    is: { stopSignal: "SIGINT", preStop: { sleep: { seconds: 2 } } },
  },
  {
    having: "a hook of another container",
    spec: { containers: [{ ...SIDECAR, lifecycle: { preStop: { exec: { command: ["x"] } } } }] },
    is: { preStop: { sleep: { seconds: 2 } } },
  },
  { having: "a grace period of 11 s", spec: { terminationGracePeriodSeconds: 11 }, is: undefined },
  {
    having: "a grace period of 12 s",
    spec: { terminationGracePeriodSeconds: 12 },
    is: { preStop: { sleep: { seconds: 2 } } },
  },
  {
    having: "the default grace period",
    spec: { terminationGracePeriodSeconds: null },
    is: { preStop: { sleep: { seconds: 2 } } },
  },
])("a pod template with $having gives etcd the lifecycle $is", ({ spec, is }) => {
  expect(containerOf(peer({ spec: { podTemplate: { spec } } })).lifecycle).toEqual(is);
});

function ending(lifecycle: object | null) {
  return { spec: { containers: [{ name: "etcd", lifecycle }] } };
}

test("annotations and resources in the pod template are in the pod, and the operator's labels stay", () => {
  const resources = { limits: { cpu: "2", memory: "2Gi" }, requests: { cpu: "500m" } };
  const annotations = { "example.com/scrape": "true" };
  const snapshot = peer({ spec: { podTemplate: { metadata: { annotations }, ...withResources(resources) } } });
  const metadata = replicaSet(snapshot).spec?.template?.metadata;
  expect(metadata?.labels).toEqual(LABELS);
  expect(metadata?.annotations).toMatchObject(annotations);
  expect(containerOf(snapshot).resources).toEqual(resources);
});

test("the applied hash depends on version and image repository, and not on the time", () => {
  const hash = (snapshot: PeerSnapshot) =>
    replicaSet(snapshot).metadata.annotations?.["etcd.improbable.io/applied-hash"];
  expect(hash({ ...peer(), takenAtMs: 0 })).toBe(hash(peer()));
  expect(hash(peer({ spec: { version: "3.7.3" } }))).not.toBe(hash(peer()));
  expect(hash({ ...peer(), imageRepository: "other.example/etcd" })).not.toBe(hash(peer()));
});

// Go counts a node's processors, not the container's share: with a limit of 1 on 64 cores it would mostly be throttled.
const threads: { limit: string | number | undefined; expect: string | undefined }[] = [
  { limit: undefined, expect: undefined },
  { limit: 1, expect: "1" },
  { limit: "4", expect: "4" },
  { limit: "2.5", expect: "2" },
  { limit: "2500m", expect: "2" },
  { limit: "250m", expect: "1" },
  { limit: "0.1", expect: "1" },
  { limit: ".5", expect: "1" },
  { limit: "0", expect: undefined },
  { limit: "1e3", expect: "1000" },
  { limit: "2k", expect: "2000" },
  { limit: "many", expect: undefined },
];
for (const { limit, expect: wanted } of threads) {
  test(`a CPU limit of ${limit} gives GOMAXPROCS ${wanted}`, () => {
    const limits = limit === undefined ? {} : { cpu: limit };
    expect(environment(peer({ spec: { podTemplate: withResources({ limits }) } })).GOMAXPROCS).toBe(wanted);
  });
}

test.each([
  { limit: undefined, wanted: undefined },
  { limit: "1Gi", wanted: "966367641" },
  { limit: 1_000, wanted: "900" },
  { limit: "0", wanted: undefined },
  { limit: "much", wanted: undefined },
])("a memory limit of $limit gives GOMEMLIMIT $wanted", ({ limit, wanted }) => {
  const limits = limit === undefined ? {} : { memory: limit };
  expect(environment(peer({ spec: { podTemplate: withResources({ limits }) } })).GOMEMLIMIT).toBe(wanted);
});

const digest = `sha256:${"0".repeat(64)}`;
test.each([
  { image: undefined, is: "registry.example/etcd:v3.6.16", pulled: "IfNotPresent" },
  { image: { pullPolicy: "Always" }, is: "registry.example/etcd:v3.6.16", pulled: "Always" },
  { image: { repository: "mirror.example/etcd" }, is: "mirror.example/etcd:v3.6.16", pulled: "IfNotPresent" },
  { image: { digest }, is: `registry.example/etcd@${digest}`, pulled: "IfNotPresent" },
  { image: { repository: "a/b", digest, pullPolicy: "Never" }, is: `a/b@${digest}`, pulled: "Never" },
])("spec.image $image gives image $is", ({ image, is, pulled }) => {
  const container = containerOf(peer({ spec: image === undefined ? {} : { image } }));
  expect(container).toMatchObject({ image: is, imagePullPolicy: pulled });
});

test("spec.image.pullSecrets are in the pod", () => {
  const pullSecrets = [{ name: "registry" }];
  const podOf = (spec: object) => replicaSet(peer({ spec })).spec!.template!.spec!;
  expect(podOf({ image: { pullSecrets } }).imagePullSecrets).toEqual(pullSecrets);
  expect(podOf({ image: {} })).not.toHaveProperty("imagePullSecrets");
});

test("a sidecar gets allowPrivilegeEscalation false, with or without a security context", () => {
  const spec = {
    containers: [{ name: "agent", image: "x", securityContext: { runAsUser: 1 } }],
    initContainers: [{ name: "first", image: "y" }],
  };
  const pod = replicaSet(peer({ spec: { podTemplate: { spec } } })).spec!.template!.spec!;
  expect(pod.containers[1]?.securityContext).toEqual({ allowPrivilegeEscalation: false, runAsUser: 1 });
  expect(pod.initContainers?.[0]?.securityContext).toEqual({ allowPrivilegeEscalation: false });
});

test("typed etcd options are passed as variables, and extraArgs on the command line", () => {
  const etcd = { snapshotCount: 5_000, extraArgs: { "max-txn-ops": "256" } };
  expect(environment(peer({ spec: { etcd } }))).toMatchObject({ ETCD_SNAPSHOT_COUNT: "5000" });
  expect(containerOf(peer({ spec: { etcd } }))).toMatchObject({ command: ["etcd"], args: ["--max-txn-ops=256"] });
  expect(containerOf(peer())).not.toHaveProperty("args");
});

test("an etcd container without resources in the pod template has no resources field", () => {
  expect(replicaSet(peer()).spec?.template?.spec?.containers[0]).not.toHaveProperty("resources");
});

test("the cached text of a ReplicaSet is the same as a newly built text", () => {
  const first = peer();
  const others: readonly PeerSnapshot[] = [
    { ...first, isAsleep: true },
    { ...first, imageRepository: "elsewhere.example/etcd" },
    { ...first, peer: { ...first.peer, spec: { ...first.peer.spec, version: "3.5.21" } } },
  ];
  const texts = [first, ...others].map((snapshot) => draftText(replicaSet(snapshot)));
  expect(new Set(texts).size).toBe(texts.length);
  for (const again of ["at first", "once more"])
    for (const [n, snapshot] of [first, ...others].entries())
      expect([again, replicaSetText(snapshot), replicaSetText(snapshot)]).toEqual([again, texts[n], texts[n]]);
});

test("a changed volume capacity changes the next pod, and not the revision, so no member restarts", () => {
  const small = peer({ spec: { storage: { size: "8Gi" } } });
  const quotaOf = (snapshot: typeof small) =>
    replicaSet(snapshot).spec?.template?.spec?.containers[0]?.env?.find(
      ({ name }) => name === "ETCD_QUOTA_BACKEND_BYTES",
    );
  const withCapacity = (storage: string | number) => {
    const claim = { ...small.claim!, status: { phase: "Bound" as const, capacity: { storage } } };
    return { ...small, claim };
  };
  expect(quotaOf(small)).toBeUndefined();
  const texts = [small, withCapacity("8Gi"), withCapacity("1Gi"), withCapacity(2 * 1024 ** 3)].map(replicaSetText);
  expect(new Set(texts).size).toBe(3);
  expect(quotaOf(withCapacity("1Gi"))?.value).toBe(String(256 * 1024 ** 2));
  expect(quotaOf(withCapacity(2 * 1024 ** 3))?.value).toBe(String(768 * 1024 ** 2));
  const revisionIn = (snapshot: typeof small) => replicaSet(snapshot).metadata.annotations?.[REVISION_ANNOTATION];
  expect(revisionIn(withCapacity("1Gi"))).toBe(revisionIn(small));
});
