import fc from "fast-check";
import { expect, test } from "vitest";
import { askedIn, revisionOf } from "#api/revision.ts";
import { whyNotShape } from "#api/shape.ts";
import { clusterSpecSchema } from "#api/v1beta1/cluster-schema.ts";
import { whyNotSpec } from "#cluster/update/refused-spec.ts";
import { nested } from "#kit/tables/nested.ts";

const GOOD = clusterSpecSchema.parse({
  replicas: 3,
  version: "3.6.16",
  etcd: {
    backendQuota: { mode: "Fixed", size: 1_073_741_824 },
    snapshotCount: 1_000,
    extraArgs: { "max-txn-ops": "256" },
  },
  image: { pullPolicy: "Always", pullSecrets: [{ name: "s" }] },
  podTemplate: {
    metadata: { labels: { team: "db" } },
    spec: { hostname: null, containers: [{ name: "etcd", tty: true, resources: { limits: { cpu: 2 } } }] },
  },
});

test("a spec that fits the schema is accepted, even with unknown fields of a newer operator", () => {
  expect(whyNotShape(GOOD, "EtcdCluster")).toBeUndefined();
  expect(whyNotShape({ ...GOOD, newer: { a: [nested(20)] } }, "EtcdCluster")).toBeUndefined();
  const peer = { clusterName: "a", version: "3.6.16", previous: { version: "3.6.15", podTemplate: {} } };
  expect(whyNotShape({ ...peer, storage: GOOD.storage, podTemplate: {} }, "EtcdPeer")).toBeUndefined();
});

const bad: readonly (readonly [object, string])[] = [
  [{ paused: "maybe" }, 'spec.paused is "maybe"; it must be a boolean'],
  [
    { updateStrategy: { type: "Nonsense" } },
    'spec.updateStrategy.type is "Nonsense"; it must be RollingUpdate or OnDelete',
  ],
  [{ etcd: { extraArgs: null } }, "spec.etcd.extraArgs is null; it must be an object"],
  [{ etcd: { extraArgs: { "feature-gates": 5 } } }, "spec.etcd.extraArgs.feature-gates is 5; it must be a text"],
  [{ etcd: { extraArgs: { "a b": 5 } } }, 'spec.etcd.extraArgs["a b"] is 5; it must be a text'],
  [{ etcd: { extraArgs: { a: "x".repeat(4_097) } } }, "it must be at most 4096 characters long"],
  [
    { etcd: { backendQuota: { mode: "Fixed", size: 1.5 } } },
    "spec.etcd.backendQuota.size is 1.5; it must be a number or a text",
  ],
  [{ etcd: { snapshotCount: 5 } }, "spec.etcd.snapshotCount is 5; it must be at least 100"],
  [{ etcd: { snapshotCount: 1e9 } }, "spec.etcd.snapshotCount is 1000000000; it must be at most 10000000"],
  [{ etcd: { snapshotCount: 100.5 } }, "spec.etcd.snapshotCount is 100.5; it must be an integer"],
  [{ etcd: { autoCompaction: { period: "1h" } } }, "spec.etcd.autoCompaction.mode is missing; it must be given"],
  [{ image: { repository: "" } }, 'spec.image.repository is ""; it must be at least 1 characters long'],
  [{ storage: { size: "1Gi", accessModes: [] } }, "spec.storage.accessModes is []; it must be at least 1 items long"],
  [{ podTemplate: null }, "spec.podTemplate is null; it must be an object"],
  [{ podTemplate: { spec: { containers: "x" } } }, 'spec.podTemplate.spec.containers is "x"; it must be a list'],
  [
    { podTemplate: { spec: { containers: [null] } } },
    "spec.podTemplate.spec.containers[0] is null; it must be an object",
  ],
  [{ podTemplate: { spec: { containers: Array(17).fill({ name: "a" }) } } }, "it must be at most 16 items long"],
  [
    { podTemplate: { metadata: { labels: Object.fromEntries([...Array(65).keys()].map((key) => [key, ""])) } } },
    "it must be at most 64 keys large",
  ],
  [{ podTemplate: { spec: { x: nested(33) } } }, "spec.podTemplate.spec.x is nested more than 32 levels deep"],
  [{ podTemplate: { spec: { x: nested(9_000) } } }, "spec.podTemplate.spec.x is nested more than 32 levels deep"],
];

for (const [given, sentence] of bad) {
  test(`an invalid spec is refused with the message: ${sentence}`, () =>
    expect(whyNotShape({ ...GOOD, ...given }, "EtcdCluster")).toContain(sentence));
}

test("a spec with 32 levels of nesting is accepted", () =>
  expect(whyNotShape({ ...GOOD, podTemplate: { spec: { x: nested(32) } } }, "EtcdCluster")).toBeUndefined());

test("any value can be checked, and an accepted spec has a revision and passes further checks without an error", () => {
  let fitting = 0;
  const part = fc.oneof(fc.jsonValue(), fc.constant({}), fc.constant([]), fc.constant(null), fc.constant("1Gi"));
  const keys = [
    "etcd",
    "image",
    "podTemplate",
    "updateStrategy",
    "extraArgs",
    "spec",
    "metadata",
    "containers",
    "name",
  ];
  const { tree } = fc.letrec((tie) => ({
    tree: fc.oneof(
      { maxDepth: 5, withCrossShrink: true },
      part,
      fc.dictionary(fc.constantFrom(...keys, "x", "__proto__", "constructor"), tie("tree"), { maxKeys: 4 }),
      fc.array(tie("tree"), { maxLength: 2 }),
    ),
  }));
  fc.assert(
    fc.property(fc.dictionary(fc.constantFrom(...keys), tree, { maxKeys: 5 }), tree, (pod, whole) => {
      expect(() => whyNotShape(whole, "EtcdPeer")).not.toThrow();
      const spec = { ...GOOD, podTemplate: { spec: pod } };
      if (whyNotShape(spec, "EtcdCluster") !== undefined) return;
      fitting++;
      expect(() => revisionOf(askedIn(spec, undefined))).not.toThrow();
      expect(() => whyNotSpec(spec, "3.6.16", "my-etcd")).not.toThrow();
    }),
    { numRuns: 2_000 },
  );
  expect(fitting).toBeGreaterThan(50);
});
