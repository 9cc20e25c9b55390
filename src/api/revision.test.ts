import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { converted } from "#api/conversion.ts";
import { GROUP } from "#api/names.ts";
import { podTemplateFromV1alpha1 } from "#api/pod-template/conversion.ts";
import { askedIn, type MemberTemplate, revisionOf } from "#api/revision.ts";
import { clusterSpecSchema as clusterSpecV1alpha1 } from "#api/v1alpha1/cluster-schema.ts";
import { peerSpecSchema as peerSpecV1alpha1 } from "#api/v1alpha1/peer-schema.ts";
import { clusterSpecSchema } from "#api/v1beta1/cluster-schema.ts";

/** A spec in v1alpha1. */
interface PodTemplate {
  readonly metadata?: object;
  readonly resources?: object;
  readonly affinity?: object;
}

function of(podTemplate: PodTemplate, version = "3.6.16"): string {
  return revisionOf({ version, podTemplate: podTemplateFromV1alpha1(podTemplate, undefined) ?? {} });
}

/** Revision of a v1alpha1 object, read in the version that the operator uses. */
function ofV1alpha1(kind: string, spec: unknown): string {
  const object = { apiVersion: `${GROUP}/v1alpha1`, kind, metadata: {}, spec };
  // Both kinds have different fields for TLS: a cluster asks for it, a member has it.
  const { tls, ...template } = converted(object, kind, "v1beta1", GROUP).spec as MemberTemplate;
  return revisionOf(kind === "EtcdCluster" || tls === undefined ? template : { ...template, tls });
}

function ofV1beta1(spec: object): string {
  return revisionOf(askedIn(clusterSpecSchema.parse({ replicas: 3, version: "3.6.16", ...spec }), undefined));
}

function ofPod(spec: object): string {
  return ofV1beta1({ podTemplate: { spec } });
}

const ECDSA = "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256";
const RSA = "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256";

/** Two terms of two expressions each. */
const spread = {
  podAntiAffinity: {
    preferredDuringSchedulingIgnoredDuringExecution: [
      { weight: 1, podAffinityTerm: { topologyKey: "zone", labelSelector: { matchLabels: { app: "etcd", of: "a" } } } },
      { weight: 9, podAffinityTerm: { topologyKey: "node", labelSelector: { matchLabels: { app: "etcd", of: "a" } } } },
    ],
  },
  nodeAffinity: {
    requiredDuringSchedulingIgnoredDuringExecution: {
      nodeSelectorTerms: [
        { matchExpressions: [{ key: "disk", operator: "In", values: ["ssd", "nvme"] }] },
        { matchExpressions: [{ key: "gone", operator: "DoesNotExist" }] },
      ],
    },
  },
};

/** A copy with every list and every object in reverse order. */
function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed).reverse();
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .map(([key, item]) => [key, reversed(item)])
      .reverse(),
  );
}

const same: readonly { name: string; templates: readonly PodTemplate[] }[] = [
  {
    name: "keys are in another order",
    templates: [
      { metadata: { annotations: { a: "1", b: "2" } }, resources: { limits: { cpu: "1", memory: "1Gi" } } },
      { resources: { limits: { memory: "1Gi", cpu: "1" } }, metadata: { annotations: { b: "2", a: "1" } } },
    ],
  },
  {
    name: "terms of an affinity are in another order",
    templates: [{ affinity: spread }, { affinity: reversed(spread) as typeof spread }],
  },
  {
    name: "an amount is written in another way",
    templates: [
      { resources: { requests: { cpu: 1, memory: "1Gi" }, limits: { cpu: "2" } } },
      { resources: { requests: { cpu: "1", memory: "1024Mi" }, limits: { cpu: 2 } } },
      { resources: { requests: { cpu: "1000m", memory: "1073741824" }, limits: { cpu: "2.0" } } },
    ],
  },
  {
    name: "default values are written out",
    templates: [
      {},
      { metadata: {} },
      { metadata: { annotations: {} } },
      { resources: {} },
      { resources: { limits: {}, requests: {} } },
      { affinity: {} },
    ],
  },
];

describe("members have the same revision when", () => {
  test.each(same)("$name", ({ templates }) => {
    expect(new Set(templates.map((each) => of(each))).size).toBe(1);
  });
});

const different: readonly { name: string; revision: string }[] = [
  { name: "no change", revision: of({}) },
  { name: "another release", revision: of({}, "3.6.17") },
  { name: "an annotation", revision: of({ metadata: { annotations: { a: "1" } } }) },
  { name: "another value of the annotation", revision: of({ metadata: { annotations: { a: "2" } } }) },
  { name: "an empty value of the annotation", revision: of({ metadata: { annotations: { a: "" } } }) },
  { name: "a limit", revision: of({ resources: { limits: { cpu: "1" } } }) },
  { name: "a request of the same amount", revision: of({ resources: { requests: { cpu: "1" } } }) },
  { name: "a limit and a request", revision: of({ resources: { requests: { cpu: "1" }, limits: { cpu: "1" } } }) },
  { name: "a thousandth more", revision: of({ resources: { limits: { cpu: "1001m" } } }) },
  { name: "the same amount of another resource", revision: of({ resources: { limits: { memory: "1" } } }) },
  { name: "a limit of zero", revision: of({ resources: { limits: { cpu: "0" } } }) },
  { name: "an invalid amount", revision: of({ resources: { limits: { cpu: "one" } } }) },
  { name: "another invalid amount", revision: of({ resources: { limits: { cpu: "two" } } }) },
  { name: "an affinity with an empty list of terms", revision: of({ affinity: { podAntiAffinity: {} } }) },
  { name: "an affinity", revision: of({ affinity: spread }) },
  { name: "an affinity with a term less", revision: of({ affinity: { nodeAffinity: spread.nodeAffinity } }) },
  { name: "a value in a list of the affinity", revision: of({ affinity: { a: [1, 2] } }) },
  { name: "the same value twice", revision: of({ affinity: { a: [1, 2, 2] } }) },
  { name: "a list within the list", revision: of({ affinity: { a: [[1, 2]] } }) },
  { name: "a null in the affinity", revision: of({ affinity: { a: null } }) },
  { name: "a label", revision: ofV1beta1({ podTemplate: { metadata: { labels: { a: "1" } } } }) },
  { name: "a repository", revision: ofV1beta1({ image: { repository: "registry.example/etcd" } }) },
  { name: "a pull secret", revision: ofV1beta1({ image: { pullSecrets: [{ name: "a" }] } }) },
  { name: "a quota", revision: ofV1beta1({ etcd: { backendQuota: { mode: "Fixed", size: "4Gi" } } }) },
  { name: "the quota that suits the volume", revision: ofV1beta1({ etcd: { backendQuota: { mode: "Auto" } } }) },
  { name: "a heartbeat", revision: ofV1beta1({ etcd: { heartbeatInterval: "200ms" } }) },
  { name: "an election timeout", revision: ofV1beta1({ etcd: { electionTimeout: "2s" } }) },
  { name: "a flag", revision: ofV1beta1({ etcd: { extraArgs: { "max-txn-ops": "256" } } }) },
  { name: "a variable", revision: ofPod({ containers: [{ name: "etcd", env: [{ name: "A", value: "1" }] }] }) },
  { name: "a sidecar", revision: ofPod({ containers: [{ name: "shipper", image: "a" }] }) },
  { name: "another sidecar", revision: ofPod({ containers: [{ name: "shipper", image: "b" }] }) },
  { name: "a priority", revision: ofPod({ priorityClassName: "important" }) },
  { name: "a toleration", revision: ofPod({ tolerations: [{ operator: "Exists" }] }) },
  ...["1Gi", "2Gi"].flatMap((size) => [
    { name: `a pod of ${size}`, revision: ofPod({ resources: { limits: { memory: size } } }) },
    { name: `a pod with a request of ${size}`, revision: ofPod({ resources: { requests: { memory: size } } }) },
    { name: `a volume of ${size}`, revision: ofPod({ volumes: [{ name: "a", emptyDir: { sizeLimit: size } }] }) },
    {
      name: `an additional volume of ${size}`,
      revision: ofPod({
        volumes: [
          { name: "a", ephemeral: { volumeClaimTemplate: { spec: { resources: { requests: { storage: size } } } } } },
        ],
      }),
    },
  ]),
  { name: "a volume without a limit", revision: ofPod({ volumes: [{ name: "a", emptyDir: {} }] }) },
  { name: "null as topology spread constraints", revision: ofPod({ topologySpreadConstraints: null }) },
  { name: "no runAsUser", revision: ofPod({ securityContext: { runAsUser: null } }) },
  {
    name: "variables in another order",
    revision: ofPod({ containers: [{ name: "a", env: [{ name: "A" }, { name: "B" }] }] }),
  },
  {
    name: "the same variables in reverse order",
    revision: ofPod({ containers: [{ name: "a", env: [{ name: "B" }, { name: "A" }] }] }),
  },
  { name: "another pull policy", revision: ofV1beta1({ image: { pullPolicy: "Always" } }) },
  {
    name: "compaction that keeps an hour of history",
    revision: ofV1beta1({ etcd: { autoCompaction: { mode: "Periodic", period: "1h" } } }),
  },
  {
    name: "compaction that keeps 3600000 revisions",
    revision: ofV1beta1({ etcd: { autoCompaction: { mode: "Revision", revisions: 3_600_000 } } }),
  },
  { name: "two init containers", revision: ofPod({ initContainers: [{ name: "a" }, { name: "b" }] }) },
  { name: "two init containers in reverse order", revision: ofPod({ initContainers: [{ name: "b" }, { name: "a" }] }) },
];

describe("members have the same revision in v1beta1 when", () => {
  const alike: readonly { name: string; specs: readonly object[] }[] = [
    {
      name: "default values are written out",
      specs: [
        {},
        { image: {} },
        { image: { pullSecrets: [] } },
        { etcd: {} },
        { etcd: { extraArgs: {} } },
        { podTemplate: { spec: {} } },
        { podTemplate: { spec: { containers: [] } } },
        { podTemplate: { spec: { containers: [{ name: "etcd" }], tolerations: [] } } },
        { podTemplate: { spec: { affinity: {}, topologySpreadConstraints: [] } } },
      ],
    },
    {
      name: "amounts and durations are written in another way",
      specs: [
        { etcd: { backendQuota: { mode: "Fixed", size: "4Gi" }, heartbeatInterval: "1s", electionTimeout: "10s" } },
        {
          etcd: {
            backendQuota: { mode: "Fixed", size: 4 * 1024 ** 3 },
            heartbeatInterval: "1000ms",
            electionTimeout: "0.1m4s",
          },
        },
      ],
    },
    {
      name: "lists without an order are in another order",
      specs: [
        {
          podTemplate: {
            spec: { containers: [{ name: "a" }, { name: "b" }], tolerations: [{ key: "a" }, { key: "b" }] },
          },
        },
        {
          podTemplate: {
            spec: { containers: [{ name: "b" }, { name: "a" }], tolerations: [{ key: "b" }, { key: "a" }] },
          },
        },
      ],
    },
    {
      name: "an empty list is added",
      specs: [
        { podTemplate: { spec: { tolerations: [{ key: "a" }] } } },
        { podTemplate: { spec: { tolerations: [{ key: "a" }], volumes: [], initContainers: [] } } },
        { podTemplate: { spec: { tolerations: [{ key: "a" }], containers: [{ name: "etcd", env: [] }] } } },
        { podTemplate: { spec: { tolerations: [{ key: "a" }], nodeSelector: {}, securityContext: {} } } },
      ],
    },
    { name: "compaction is None or absent", specs: [{ etcd: { autoCompaction: { mode: "None" } } }, {}] },
    {
      name: "compaction keeps the same time",
      specs: [
        { etcd: { autoCompaction: { mode: "Periodic", period: "1h" } } },
        { etcd: { autoCompaction: { mode: "Periodic", period: "60m" } } },
      ],
    },
    {
      name: "a sidecar requests the same amount",
      specs: [
        { podTemplate: { spec: { containers: [{ name: "a", resources: { requests: { cpu: "1" } } }] } } },
        { podTemplate: { spec: { containers: [{ name: "a", resources: { requests: { cpu: "1000m" } } }] } } },
      ],
    },
    {
      name: "resources of the whole pod request the same amount",
      specs: ["1Gi", "1024Mi", 1_073_741_824].map((memory) => ({
        podTemplate: { spec: { resources: { limits: { memory }, requests: { memory } } } },
      })),
    },
    {
      name: "resources of the whole pod request nothing",
      specs: [
        {},
        { podTemplate: { spec: { resources: {} } } },
        { podTemplate: { spec: { resources: { limits: {} } } } },
      ],
    },
    {
      name: "a volume has the same limit",
      specs: ["1Gi", "1024Mi", 1_073_741_824].map((sizeLimit) => ({
        podTemplate: { spec: { volumes: [{ name: "a", emptyDir: { medium: "Memory", sizeLimit } }] } },
      })),
    },
    {
      name: "an additional volume has the same size",
      specs: ["1Gi", "1024Mi"].map((storage) => ({
        podTemplate: {
          spec: {
            volumes: [
              { name: "a", ephemeral: { volumeClaimTemplate: { spec: { resources: { requests: { storage } } } } } },
            ],
          },
        },
      })),
    },
    {
      name: "the image has its default pull policy",
      specs: [{ image: { repository: "a" } }, { image: { repository: "a", pullPolicy: "IfNotPresent" } }],
    },
    {
      name: "only fields that need no restart differ",
      specs: [
        {},
        { paused: true },
        { clientService: { spec: { type: "NodePort" } } },
        { updateStrategy: { type: "OnDelete" } },
      ],
    },
  ];
  test.each(alike)("$name", ({ specs }) => {
    expect(new Set(specs.map(ofV1beta1)).size).toBe(1);
  });
});

test("every change of a member's template changes the revision", () => {
  const names = Map.groupBy(different, ({ revision }) => revision);
  expect([...names.values()].filter((alike) => alike.length > 1)).toEqual([]);
});

test("a revision is 16 hexadecimal digits, a valid annotation value", () => {
  expect(of({ affinity: spread })).toMatch(/^[0-9a-f]{16}$/);
});

const amount = fc.oneof(
  fc.nat(),
  fc.nat().map(String),
  fc.nat().map((n) => `${n}m`),
  fc.nat().map((n) => `${n}Mi`),
);
const resources = fc.record({
  limits: fc.dictionary(fc.constantFrom("cpu", "memory"), amount),
  requests: fc.dictionary(fc.constantFrom("cpu", "memory"), amount),
});
const templates = fc.record({
  metadata: fc.record({ annotations: fc.dictionary(fc.string(), fc.string()) }),
  resources,
  affinity: fc.dictionary(fc.string(), fc.jsonValue()),
});

test("the order of keys, and of lists in an affinity, does not change the revision", () => {
  fc.assert(
    fc.property(templates, (template) => {
      expect(of(reversed(template) as PodTemplate)).toBe(of(template as PodTemplate));
    }),
  );
});

test("a template has the same revision after the API server has stored it", () => {
  fc.assert(
    fc.property(templates, (template) => {
      expect(of(JSON.parse(JSON.stringify(template)) as PodTemplate)).toBe(of(template as PodTemplate));
    }),
  );
});

test("a revision can be computed for any stored template", () => {
  const anything = fc.record({ metadata: fc.jsonValue(), spec: fc.jsonValue() });
  const inner = fc.dictionary(
    fc.constantFrom("containers", "initContainers", "affinity", "volumes", "tolerations", "topologySpreadConstraints"),
    fc.jsonValue(),
  );
  fc.assert(
    fc.property(fc.oneof(anything, fc.record({ spec: inner })), fc.jsonValue(), (podTemplate, extraArgs) => {
      const given = { version: "3.6.16", podTemplate, etcd: { extraArgs } } as unknown as MemberTemplate;
      expect(revisionOf(given)).toMatch(/^[0-9a-f]{16}$/);
    }),
  );
});

/** EtcdClusters as users wrote them, and the stored EtcdPeers that the previous release made of them. */
const stored: readonly { name: string; cluster: object; peer: { version: string; podTemplate: object } }[] = [
  { name: "an empty cluster", cluster: { replicas: 3 }, peer: { version: "3.6.16", podTemplate: {} } },
  {
    name: "a cluster with all fields",
    cluster: {
      replicas: 3,
      version: "3.5.35",
      podTemplate: {
        metadata: { annotations: { "example.com/team": "db" } },
        resources: { requests: { cpu: "200m", memory: "1Gi" }, limits: { cpu: 2, memory: "2Gi" } },
        affinity: spread,
      },
    },
    peer: {
      version: "3.5.35",
      podTemplate: {
        affinity: spread,
        metadata: { annotations: { "example.com/team": "db" } },
        resources: { limits: { cpu: 2, memory: "2Gi" }, requests: { cpu: "200m", memory: "1Gi" } },
      },
    },
  },
  {
    name: "a cluster with an empty podTemplate",
    cluster: { replicas: 1, podTemplate: { metadata: {}, resources: {} } },
    peer: { version: "3.6.16", podTemplate: { metadata: {}, resources: {} } },
  },
];

describe("an upgrade of the operator restarts no member", () => {
  test.each(stored)("and $name has the revision of its EtcdPeers", ({ cluster, peer }) => {
    const spec = {
      clusterName: "my-etcd",
      clusterID: "1d7f0a5bb4fdd2f0",
      clusterToken: "foo/my-etcd/uid-of-cluster",
      memberID: "8e9e05c52164694d",
      storage: {
        volumeClaimTemplate: {
          accessModes: ["ReadWriteOnce"],
          resources: { requests: { storage: "8Gi" } },
          volumeMode: "Filesystem",
        },
      },
      ...peer,
    };
    expect(ofV1alpha1("EtcdPeer", peerSpecV1alpha1.parse(spec))).toBe(
      ofV1alpha1("EtcdCluster", clusterSpecV1alpha1.parse(cluster)),
    );
  });
});

const A = "-----BEGIN CERTIFICATE-----\nAAAA\nBBBB\n-----END CERTIFICATE-----\n";
const B = "-----BEGIN CERTIFICATE-----\nCCCC\n-----END CERTIFICATE-----\n";
const side = { secretName: "s", trust: A };
const served = { ...side, clientCertificates: "Required" as const };

function ofTls(tls: MemberTemplate["tls"]): string {
  return revisionOf(askedIn(clusterSpecSchema.parse({ replicas: 3, version: "3.6.16" }), tls));
}

describe("the revision of a template with TLS", () => {
  test.each<{ name: string; of: readonly MemberTemplate["tls"][] }>([
    { name: "empty TLS options are no TLS", of: [undefined, {}, { minVersion: "TLS1.2" }] },
    {
      name: "the order and format of a CA bundle do not matter",
      of: [
        { peer: { secretName: "s", trust: `${A}${B}` } },
        { peer: { secretName: "s", trust: `corp\n${B}\n${A.replaceAll("\n", "\r\n")}${B}` } },
        { peer: { secretName: "s", trust: `${A.replace("AAAA\nBBBB", "AA\nAABB\nBB")}${B}` } },
      ],
    },
    {
      name: "the order of cipher suites does not matter",
      of: [
        { peer: side, cipherSuites: [ECDSA, RSA] },
        { peer: side, cipherSuites: [RSA, ECDSA] },
      ],
    },
    {
      name: "client certificates are verified by default",
      of: [{ client: served }, { client: side as typeof served }],
    },
    {
      name: "https peer URLs and clients by https alone are the default",
      of: [
        { peer: side, client: served },
        { peer: { ...side, scheme: "https" }, client: { ...served, plaintext: false } },
      ],
    },
  ])("is the same: $name", ({ of }) => expect(new Set(of.map(ofTls)).size).toBe(1));

  test("changes with each of these TLS changes", () => {
    const all: MemberTemplate["tls"][] = [
      undefined,
      { peer: side },
      { peer: { ...side, secretName: "t" } },
      { peer: { ...side, trust: B } },
      { peer: { ...side, trust: `${A}${B}` } },
      { client: served },
      { peer: { ...side, scheme: "http" } },
      { client: { ...served, clientCertificates: "NotRequired" } },
      { client: { ...served, plaintext: true } },
      { peer: side, client: served },
      { peer: side, minVersion: "TLS1.3" },
      { peer: side, cipherSuites: [ECDSA] },
      { peer: side, cipherSuites: [ECDSA, RSA] },
    ];
    expect(new Set(all.map(ofTls)).size).toBe(all.length);
  });
});

test("the revisions of two fixed templates stay, since a new revision restarts every member", () => {
  expect(ofV1beta1({})).toBe("21e53824edcfea7e");
  expect(ofV1alpha1("EtcdCluster", stored[1]!.cluster)).toBe("e6a5ec95e351aa18");
});

describe("the revision of a template", () => {
  const watched = () => {
    let looks = 0;
    const podTemplate = {
      get spec() {
        looks++;
        return { nodeSelector: { disk: "ssd" } };
      },
    };
    return { podTemplate: podTemplate as MemberTemplate["podTemplate"], looks: () => looks };
  };

  test("is computed once and cached", () => {
    const { podTemplate, looks } = watched();
    const given = { version: "3.6.16", image: {}, etcd: {}, podTemplate };
    const name = revisionOf(given);
    const before = looks();
    expect(revisionOf({ ...given })).toBe(name);
    expect(looks()).toBe(before);
    expect(name).toBe(revisionOf({ ...given, podTemplate: { spec: { nodeSelector: { disk: "ssd" } } } }));
  });

  test("depends on the version, image, TLS and etcd options", () => {
    const { podTemplate } = watched();
    const given: MemberTemplate = { version: "3.6.16", podTemplate };
    const changes = [
      {},
      { version: "3.6.17" },
      { image: { repository: "x" } },
      { etcd: { extraArgs: { a: "b" } } },
      { tls: { peer: side } },
    ];
    const names = () => changes.map((change) => revisionOf({ ...given, ...change }));
    expect(new Set(names()).size).toBe(5);
    for (const [n, change] of changes.entries()) {
      expect(revisionOf(given)).toBe(names()[0]);
      revisionOf(given);
      expect(revisionOf({ ...given, ...change })).toBe(names()[n]);
    }
  });
});
