import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type MemberTemplate, revisionOf } from "#api/revision.ts";
import { clusterSpecSchema } from "#api/v1alpha1/cluster-schema.ts";
import { peerSpecSchema } from "#api/v1alpha1/peer-schema.ts";

type PodTemplate = MemberTemplate["podTemplate"];

function of(podTemplate: PodTemplate, version = "3.6.16"): string {
  return revisionOf({ version, podTemplate });
}

/** Two terms, each of two expressions. */
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

/** The same with every list and every object the other way round. */
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
    name: "nothing is said in another way",
    templates: [
      {},
      { metadata: {} },
      { metadata: { annotations: {} } },
      { resources: {} },
      { resources: { limits: {}, requests: {} } },
    ],
  },
];

describe("a revision is the same when", () => {
  test.each(same)("$name", ({ templates }) => {
    expect(new Set(templates.map((each) => of(each))).size).toBe(1);
  });
});

const different: readonly { name: string; revision: string }[] = [
  { name: "nothing", revision: of({}) },
  { name: "another release", revision: of({}, "3.6.17") },
  { name: "an annotation", revision: of({ metadata: { annotations: { a: "1" } } }) },
  { name: "another value of it", revision: of({ metadata: { annotations: { a: "2" } } }) },
  { name: "an empty value of it", revision: of({ metadata: { annotations: { a: "" } } }) },
  { name: "a limit", revision: of({ resources: { limits: { cpu: "1" } } }) },
  { name: "the same as a request", revision: of({ resources: { requests: { cpu: "1" } } }) },
  { name: "both", revision: of({ resources: { requests: { cpu: "1" }, limits: { cpu: "1" } } }) },
  { name: "a thousandth more", revision: of({ resources: { limits: { cpu: "1001m" } } }) },
  { name: "as much of something else", revision: of({ resources: { limits: { memory: "1" } } }) },
  { name: "a limit of nothing", revision: of({ resources: { limits: { cpu: "0" } } }) },
  { name: "what is no amount", revision: of({ resources: { limits: { cpu: "one" } } }) },
  { name: "what is no other amount", revision: of({ resources: { limits: { cpu: "two" } } }) },
  { name: "an affinity without a term, which replaces the default", revision: of({ affinity: {} }) },
  { name: "an affinity of no terms", revision: of({ affinity: { podAntiAffinity: {} } }) },
  { name: "an affinity", revision: of({ affinity: spread }) },
  { name: "an affinity of which a term is missing", revision: of({ affinity: { nodeAffinity: spread.nodeAffinity } }) },
  { name: "a value in a list of the affinity", revision: of({ affinity: { a: [1, 2] } }) },
  { name: "the same one twice", revision: of({ affinity: { a: [1, 2, 2] } }) },
  { name: "a list within the list", revision: of({ affinity: { a: [[1, 2]] } }) },
  { name: "a null in the affinity", revision: of({ affinity: { a: null } }) },
];

test("a revision differs for all that means something else", () => {
  const names = Map.groupBy(different, ({ revision }) => revision);
  expect([...names.values()].filter((alike) => alike.length > 1)).toEqual([]);
});

test("a revision is 16 hexadecimal digits, which a pod can bear as an annotation", () => {
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

test("the order of keys, and of lists in an affinity, never makes a difference", () => {
  fc.assert(
    fc.property(templates, (template) => {
      expect(of(reversed(template) as PodTemplate)).toBe(of(template as PodTemplate));
    }),
  );
});

test("what the API server stores and gives back has the same revision", () => {
  fc.assert(
    fc.property(templates, (template) => {
      expect(of(JSON.parse(JSON.stringify(template)) as PodTemplate)).toBe(of(template as PodTemplate));
    }),
  );
});

/** EtcdClusters as people wrote them, and the EtcdPeers that the release before this one made of them, as they are stored. */
const stored: readonly { name: string; cluster: object; peer: { version: string; podTemplate: object } }[] = [
  { name: "one that says nothing", cluster: { replicas: 3 }, peer: { version: "3.6.16", podTemplate: {} } },
  {
    name: "one that says everything",
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
    name: "one whose podTemplate has nothing in it",
    cluster: { replicas: 1, podTemplate: { metadata: {}, resources: {} } },
    peer: { version: "3.6.16", podTemplate: { metadata: {}, resources: {} } },
  },
];

describe("an upgrade of the operator restarts nobody", () => {
  test.each(stored)("the members of $name are what it asks for", ({ cluster, peer }) => {
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
    expect(revisionOf(peerSpecSchema.parse(spec))).toBe(revisionOf(clusterSpecSchema.parse(cluster)));
  });
});

test("these revisions stand on pods that run: another one of the same wish would restart every member", () => {
  expect(revisionOf(clusterSpecSchema.parse({ replicas: 3 }))).toBe("21e53824edcfea7e");
  expect(revisionOf(clusterSpecSchema.parse(stored[1]!.cluster))).toBe("e6a5ec95e351aa18");
});
