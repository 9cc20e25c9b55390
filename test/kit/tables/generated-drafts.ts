import fc from "fast-check";

// Pods that an attacker with the operator's account might create: a valid pod with a few changes that concern Secrets.

type Json = Record<string, unknown>;

/** Changes the spec of a pod in place. */
export type Change = (spec: Json) => void;

const NAMES = ["s", "my-etcd-peer-ca", "my-etcd-client-ca", "my-etcd-peer-tls", "etcd-backup-credentials"];
const KEYS = [
  "tls.key",
  "tls.crt",
  "ca.crt",
  "password",
  "any",
  "credentials.json",
  "ETCD_PASSWORD",
  "key",
  "AWS_SECRET_ACCESS_KEY",
];
const VOLUMES = [
  "etcd-data",
  "destination",
  "credentials",
  "encryption",
  "source-tls",
  "source-auth",
  "etcd-peer-tls",
  "etcd-client-tls",
  "more",
];
const PLACES = [
  "/var/lib/etcd",
  "/volume",
  "/run/agent/credentials",
  "/run/agent/encryption",
  "/run/agent/source-tls",
  "/run/agent/source-auth",
  "/run/agent/source-auth/ETCD_PASSWORD",
  "/usr/local/bin",
  "/tls",
];

const name = fc.constantFrom(...NAMES);
const key = fc.constantFrom(...KEYS);
const item = fc.record({ key, path: fc.oneof(key, fc.constant("key")) });
const sameItem = key.map((each) => ({ key: each, path: each }));
const items = fc.oneof(fc.constant([]), fc.array(sameItem, { maxLength: 2 }), fc.array(item, { maxLength: 2 }));
const ref = name.map((each) => ({ name: each }));

const source = fc.oneof(
  { weight: 5, arbitrary: fc.record({ secret: fc.record({ name, items }) }) },
  fc.constant({ serviceAccountToken: { path: "token" } }),
  fc.constant({ configMap: { name: "settings" } }),
  fc.constant({ downwardAPI: { items: [{ path: "n", fieldRef: { fieldPath: "metadata.name" } }] } }),
  fc.constant({ clusterTrustBundle: { name: "trust", path: "ca.crt" } }),
);

const volumeKind = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ projected: fc.record({ sources: fc.array(source, { minLength: 1, maxLength: 2 }) }) }),
  },
  fc.record({ secret: fc.record({ secretName: name, items }) }),
  fc.constant({ emptyDir: {} }),
  fc.constant({ persistentVolumeClaim: { claimName: "c" } }),
  fc.constant({ configMap: { name: "settings" } }),
  fc.constant({ hostPath: { path: "/var/lib/kubelet" } }),
  fc.record({ csi: fc.record({ driver: fc.constant("secrets-store.csi.k8s.io"), nodePublishSecretRef: ref }) }),
  fc.record({ flexVolume: fc.record({ driver: fc.constant("example.com/d"), secretRef: ref }) }),
  fc.record({ azureFile: fc.record({ secretName: name, shareName: fc.constant("share") }) }),
  fc.record({ cephfs: fc.record({ monitors: fc.constant(["a"]), secretRef: ref }) }),
  fc.record({ rbd: fc.record({ monitors: fc.constant(["a"]), image: fc.constant("i"), secretRef: ref }) }),
  fc.record({
    iscsi: fc.record({
      targetPortal: fc.constant("a"),
      iqn: fc.constant("iqn.2000-01.com.example:x"),
      lun: fc.constant(0),
      chapAuthSession: fc.constant(true),
      secretRef: ref,
    }),
  }),
  fc.record({ image: fc.constant({ reference: "example.com/i:1" }) }),
);

const mount = fc.record(
  {
    name: fc.constantFrom(...VOLUMES),
    mountPath: fc.constantFrom(...PLACES),
    subPath: fc.constantFrom("key", "tls.key"),
    readOnly: fc.constant(true),
  },
  { requiredKeys: ["name", "mountPath"] },
);

const variable = fc.oneof(
  fc.record({
    name: fc.constantFrom("AGENT_TASK", "S"),
    valueFrom: fc.record({ secretKeyRef: fc.record({ name, key }) }),
  }),
  fc.constant({ name: "NODE_OPTIONS", value: "--import=/volume/x.mjs" }),
  fc.constant({ name: "F", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } }),
);

const containerPart: fc.Arbitrary<(container: Json) => void> = fc.oneof(
  { weight: 4, arbitrary: mount.map((each) => appended("volumeMounts", each)) },
  variable.map((each) => appended("env", each)),
  ref.map((each) => appended("envFrom", { secretRef: each })),
  fc.constantFrom("busybox", "operator:test").map((image) => set("image", image)),
  fc.constantFrom("etcd", "etcdutl", "agent", "sidecar").map((other) => set("name", other)),
  fc.constantFrom(["sh"], ["etcd"], undefined).map((command) => set("command", command)),
  fc.constantFrom(["-e", "1"]).map((args) => set("args", args)),
  fc.constant(set("workingDir", "/volume")),
  fc.constant(set("lifecycle", { preStop: { exec: { command: ["cat"] } } })),
);

function appended(field: string, value: unknown): (container: Json) => void {
  return (container) => {
    container[field] = [...((container[field] as unknown[]) ?? []), value];
  };
}

function set(field: string, value: unknown): (container: Json) => void {
  return (container) => {
    if (value === undefined) delete container[field];
    else container[field] = value;
  };
}

const podPart: fc.Arbitrary<Change> = fc.oneof(
  fc.constant(set("shareProcessNamespace", true)),
  fc.constantFrom(true, undefined).map((value) => set("automountServiceAccountToken", value)),
  fc.constantFrom("backup", "default").map((account) => set("serviceAccountName", account)),
  ref.map((each) => set("imagePullSecrets", [each])),
  fc.constant(set("hostPID", true)),
);

/** Adds a volume, or replaces the one of its name, and mounts it into one container. */
const volumePart: fc.Arbitrary<Change> = fc
  .record({
    volume: fc.constantFrom(...VOLUMES),
    kind: volumeKind,
    nth: fc.nat(5),
    place: fc.option(fc.constantFrom(...PLACES)),
  })
  .map(({ volume, kind, nth, place }) => (spec) => {
    const volumes = (spec.volumes as Json[]) ?? [];
    spec.volumes = [...volumes.filter((each) => each.name !== volume), { name: volume, ...kind }];
    if (place !== null) containerAt(spec, nth, appended("volumeMounts", { name: volume, mountPath: place }));
  });

const sidecar: fc.Arbitrary<Change> = fc
  .record({
    list: fc.constantFrom("containers", "initContainers"),
    part: containerPart,
    twice: fc.option(containerPart),
  })
  .map(({ list, part, twice }) => (spec) => {
    const container: Json = { name: "sidecar", image: "busybox", securityContext: { allowPrivilegeEscalation: false } };
    part(container);
    twice?.(container);
    spec[list] = [...((spec[list] as Json[]) ?? []), container];
  });

function containerAt(spec: Json, nth: number, change: (container: Json) => void): void {
  const all = [...((spec.initContainers as Json[]) ?? []), ...(spec.containers as Json[])];
  change(all[nth % all.length] as Json);
}

const change: fc.Arbitrary<Change> = fc.oneof(
  { weight: 5, arbitrary: volumePart },
  {
    weight: 4,
    arbitrary: fc.record({ nth: fc.nat(5), part: containerPart }).map(
      ({ nth, part }) =>
        (spec: Json) =>
          containerAt(spec, nth, part),
    ),
  },
  { weight: 1, arbitrary: sidecar },
  { weight: 2, arbitrary: podPart },
);

/**
 * Removes what the API server refuses before any policy: mounts without a volume, and duplicate containers, mounts or
 * volumes.
 */
export function repair(spec: Json): void {
  spec.volumes = unique((spec.volumes as Json[]) ?? [], "name");
  const volumes = new Set((spec.volumes as Json[]).map(({ name }) => name));
  for (const list of ["containers", "initContainers"]) {
    const containers = unique((spec[list] as Json[]) ?? [], "name");
    for (const each of containers) {
      const mounts = ((each.volumeMounts as Json[]) ?? []).filter(({ name }) => volumes.has(name));
      each.volumeMounts = unique(mounts, "mountPath");
    }
    if (containers.length > 0) spec[list] = containers;
  }
}

/** The last item of each value of the field. */
function unique(all: readonly Json[], field: string): Json[] {
  return [...new Map(all.map((each) => [each[field], each])).values()];
}

/**
 * One to three changes.
 * @param bases number of valid pods
 * @returns the pod to start from, and its changes
 */
export function changesOf(bases: number): fc.Arbitrary<{ readonly base: number; readonly changes: readonly Change[] }> {
  return fc.record({ base: fc.nat(bases - 1), changes: fc.array(change, { minLength: 1, maxLength: 3 }) });
}
