import { expect, test } from "vitest";
import { mergePodTemplate, type PartialPodTemplate } from "#api/pod-template/merge.ts";

// The same patches are merged by an API server in test/apiserver/pod-template.test.ts.

const OURS = {
  metadata: { labels: { app: "etcd" }, annotations: { revision: "1" } },
  spec: {
    hostname: "my-etcd-0",
    securityContext: { runAsUser: 65532, seccompProfile: { type: "RuntimeDefault" } },
    topologySpreadConstraints: [{ topologyKey: "zone", maxSkew: 1 }],
    containers: [
      {
        name: "etcd",
        image: "etcd:v3.6.16",
        command: ["etcd"],
        env: [
          { name: "A", value: "1" },
          { name: "B", value: "2" },
        ],
      },
    ],
  },
};
const ETCD = OURS.spec.containers[0]!;

/** The fields of the operator's pod spec that a patch changes. */
const cases: readonly { name: string; given: object; expect: object }[] = [
  { name: "a value replaces the operator's value", given: { hostname: "other" }, expect: { hostname: "other" } },
  { name: "a new field is added", given: { priority: 1 }, expect: { priority: 1 } },
  {
    name: "maps are merged, however deep",
    given: { securityContext: { runAsGroup: 1, seccompProfile: { type: "Localhost", localhostProfile: "p" } } },
    expect: {
      securityContext: {
        runAsUser: 65532,
        runAsGroup: 1,
        seccompProfile: { type: "Localhost", localhostProfile: "p" },
      },
    },
  },
  { name: "null removes a field", given: { hostname: null }, expect: { hostname: undefined } },
  {
    name: "null removes a field inside a map",
    given: { securityContext: { runAsUser: null } },
    expect: { securityContext: { seccompProfile: { type: "RuntimeDefault" } } },
  },
  { name: "null for an absent field changes nothing", given: { nodeSelector: null }, expect: {} },
  {
    name: "null in a new map is left out",
    given: { dnsConfig: { searches: null, nameservers: ["10.0.0.1"] } },
    expect: { dnsConfig: { nameservers: ["10.0.0.1"] } },
  },
  {
    name: "a container of the operator's name is merged, and any other is appended",
    given: {
      containers: [
        { name: "sidecar", image: "x" },
        { name: "etcd", tty: true },
      ],
    },
    expect: {
      containers: [
        { ...ETCD, tty: true },
        { name: "sidecar", image: "x" },
      ],
    },
  },
  {
    name: "variables are merged by name and keep their order; new ones are appended",
    given: {
      containers: [
        {
          name: "etcd",
          env: [
            { name: "C", value: "3" },
            { name: "B", value: "x" },
            { name: "A", valueFrom: 1 },
          ],
        },
      ],
    },
    expect: {
      containers: [
        {
          ...ETCD,
          env: [
            { name: "A", value: "1", valueFrom: 1 },
            { name: "B", value: "x" },
            { name: "C", value: "3" },
          ],
        },
      ],
    },
  },
  {
    name: "a list without a merge key is replaced",
    given: { containers: [{ name: "etcd", command: ["sh"] }] },
    expect: { containers: [{ ...ETCD, command: ["sh"] }] },
  },
  {
    name: "a new list is taken unchanged",
    given: { volumes: [{ name: "b" }, { name: "a" }], tolerations: [{ key: "x" }] },
    expect: { volumes: [{ name: "b" }, { name: "a" }], tolerations: [{ key: "x" }] },
  },
  {
    name: "an affinity replaces the default spreading",
    given: { affinity: { nodeAffinity: {} } },
    expect: { affinity: { nodeAffinity: {} }, topologySpreadConstraints: undefined },
  },
  {
    name: "constraints replace the operator's constraints completely",
    given: { topologySpreadConstraints: [{ topologyKey: "zone", whenUnsatisfiable: "DoNotSchedule" }] },
    expect: { topologySpreadConstraints: [{ topologyKey: "zone", whenUnsatisfiable: "DoNotSchedule" }] },
  },
  { name: "an empty affinity keeps the default spreading", given: { affinity: {} }, expect: { affinity: {} } },
  {
    name: "an empty list of constraints keeps the operator's constraints",
    given: { topologySpreadConstraints: [] },
    expect: {},
  },
  {
    name: "an empty affinity beside constraints drops the default",
    given: { affinity: {}, topologySpreadConstraints: [{ topologyKey: "zone", maxSkew: 2 }] },
    expect: { affinity: {}, topologySpreadConstraints: [{ topologyKey: "zone", maxSkew: 2 }] },
  },
  {
    name: "null removes the topology spread constraints",
    given: { topologySpreadConstraints: null },
    expect: { topologySpreadConstraints: undefined },
  },
  { name: "a map replaces a string", given: { hostname: { x: 1 } }, expect: { hostname: { x: 1 } } },
  { name: "a string replaces a list", given: { containers: "x" }, expect: { containers: "x" } },
  {
    name: "items without a name or of a wrong type are kept for the API server to refuse",
    given: { containers: [null, "x", { image: "y" }, { image: "z", tty: true }, { name: "etcd", tty: true }] },
    expect: { containers: [{ ...ETCD, tty: true }, null, "x", { image: "y" }, { image: "z", tty: true }] },
  },
  {
    name: "new items of the same name are merged with each other",
    given: {
      containers: [
        { name: "sidecar", image: "x" },
        { name: "other", image: "y" },
        { name: "sidecar", tty: true },
        { name: "other", tty: false },
      ],
    },
    expect: {
      containers: [ETCD, { name: "sidecar", image: "x", tty: true }, { name: "other", image: "y", tty: false }],
    },
  },
];

for (const { name, given, expect: changed } of cases) {
  test(`a pod template is merged: ${name}`, () => {
    const before = structuredClone(OURS);
    expect(mergePodTemplate(OURS, { spec: given })).toEqual({ ...OURS, spec: { ...OURS.spec, ...changed } });
    expect(OURS).toEqual(before);
  });
}

const metadata: readonly { name: string; given: PartialPodTemplate; expect: object }[] = [
  { name: "an empty template changes nothing", given: {}, expect: OURS.metadata },
  {
    name: "labels and annotations",
    given: { metadata: { labels: { team: "shop" }, annotations: { revision: "2" } } },
    expect: { labels: { app: "etcd", team: "shop" }, annotations: { revision: "2" } },
  },
  {
    name: "labels with the names of JavaScript's inherited properties",
    given: { metadata: { labels: JSON.parse('{"constructor": "x", "__proto__": "y"}') } },
    expect: { ...OURS.metadata, labels: JSON.parse('{"app": "etcd", "constructor": "x", "__proto__": "y"}') },
  },
];

for (const { name, given, expect: wanted } of metadata) {
  test(`metadata of a pod template is merged: ${name}`, () => {
    const merged = mergePodTemplate(OURS, given);
    expect(JSON.stringify(merged)).toBe(JSON.stringify({ ...OURS, metadata: wanted }));
  });
}
