import { describe, expect, test } from "vitest";
import { ETCD_CLUSTERS, type EtcdCluster } from "#api/v1beta1/cluster.ts";
import { ETCD_PEERS, type EtcdPeer } from "#api/v1beta1/peer.ts";
import { DEFAULT_STORAGE_SPEC } from "#api/v1beta1/storage-schema.ts";
import { serveKinds } from "#kit/servers/shipped.ts";
import { CUSTOM_RESOURCE_DEFINITIONS } from "#kit/tables/kinds.ts";
import type { KubeClient } from "#kube/client.ts";
import { apiVersionOf, type Draft, type KubeObject, type Resource } from "#kube/kinds.ts";
import { crdManifests } from "../../scripts/manifests.ts";

// The API server accepts, completes or refuses specs before the operator sees them.

const { signal } = new AbortController();
const OPTIONS = { signal };
const namespace = "default";
let kube: KubeClient;

serveKinds([ETCD_CLUSTERS, ETCD_PEERS], ({ client }) => {
  kube = client;
});

async function conditionsOf(definition: string): Promise<Record<string, string>> {
  const { status } = await kube.get(CUSTOM_RESOURCE_DEFINITIONS, { name: definition }, OPTIONS);
  return Object.fromEntries(status?.conditions?.map(({ type, status }) => [type, status]) ?? []);
}

/** An object as a person wrote it, however wrong. */
function written<T extends KubeObject>(resource: Resource<T>, name: string, spec: unknown): Draft<T> {
  return {
    apiVersion: apiVersionOf(resource),
    kind: resource.kind,
    metadata: { name, namespace },
    spec,
  } as unknown as Draft<T>;
}

/** Creates a cluster with this spec and a version, unless the spec has one. */
async function clusterOf(name: string, spec: object = { replicas: 3 }): Promise<EtcdCluster> {
  return await kube.create(ETCD_CLUSTERS, written(ETCD_CLUSTERS, name, { version: "3.6.16", ...spec }), OPTIONS);
}

async function edit<T extends KubeObject>(resource: Resource<T>, name: string, spec: unknown): Promise<T> {
  return await kube.patch(resource, { namespace, name }, { spec }, { signal, type: "merge" });
}

test("the API server accepts the CustomResourceDefinitions, and their conditions report no problem", async () => {
  for (const { metadata } of crdManifests()) {
    const conditions = await conditionsOf(metadata.name);
    expect(conditions).toEqual({ Established: "True", NamesAccepted: "True" }); // a fault would add NonStructuralSchema
  }
});

describe("manifests as users write them", () => {
  test("labels and annotations of the client Secret and of the ConfigMap may be as long as Kubernetes permits", async () => {
    const labels = { [`${"a.".repeat(94)}a/${"b".repeat(63)}`]: "c".repeat(63), "a_b.c-D": "", team: "a.b_c" };
    const metadata = { labels, annotations: { "example.com/copy": "any text, ".repeat(204) } };
    const given = { clientSecret: { metadata }, caConfigMap: { metadata } };
    expect((await clusterOf("with-metadata", { replicas: 3, ...given })).spec).toMatchObject(given);
  });

  test("a cluster with only replicas and version gets every default", async () => {
    const { spec } = await clusterOf("my-etcd", { replicas: 3, version: "3.7.3" });
    expect(spec).toEqual({
      replicas: 3,
      version: "3.7.3",
      storage: DEFAULT_STORAGE_SPEC,
      podTemplate: {},
      clientService: { spec: { type: "ClusterIP" } },
      updateStrategy: { type: "RollingUpdate" },
      disruptionBudget: { policy: "Quorum" },
      paused: false,
    });
  });

  test("a new object has observedGeneration 0 until the operator has seen it, and later edits keep its status", async () => {
    const { metadata, ...fresh } = await clusterOf("unseen");
    expect(fresh.status).toEqual({ observedGeneration: 0 });
    const ref = { namespace, name: "unseen" };
    const listed = await kube.list(ETCD_CLUSTERS, { namespace }, OPTIONS);
    expect(listed.items.find(({ metadata: { name } }) => name === "unseen")?.status).toEqual({ observedGeneration: 0 });
    const told = { observedGeneration: metadata.generation ?? 0, replicas: 3 };
    await kube.patch(ETCD_CLUSTERS, ref, { status: told }, { signal, type: "merge", subresource: "status" });
    const { status } = await edit(ETCD_CLUSTERS, "unseen", { replicas: 5 });
    expect(status).toEqual(told);
    const { status: _, ...whole } = await kube.get(ETCD_CLUSTERS, ref, OPTIONS);
    expect((await kube.replace(ETCD_CLUSTERS, whole, OPTIONS)).status).toEqual(told);
  });

  test("the number of members may be changed to five", async () => {
    await clusterOf("scaled");
    expect((await edit(ETCD_CLUSTERS, "scaled", { replicas: 5 })).spec.replicas).toBe(5);
  });

  test("a cluster may be put to sleep and woken, and may be created asleep", async () => {
    await clusterOf("sleeper");
    const sleep = { spec: { replicas: 0 } };
    expect((await edit(ETCD_CLUSTERS, "sleeper", sleep.spec)).spec.replicas).toBe(0);
    expect((await edit(ETCD_CLUSTERS, "sleeper", { replicas: 3 })).spec.replicas).toBe(3);
    expect((await clusterOf("born-asleep", sleep.spec)).spec.replicas).toBe(0);
  });

  const hosts = [0, 1, 2, 3].map((ordinal) => ({ host: `my-etcd-${ordinal}.my-etcd.foo.svc` }));
  for (const [name, initialClusterState, initialCluster] of [
    ["my-etcd-0", "New", hosts.slice(0, 3)],
    ["my-etcd-3", "Existing", hosts],
  ] as const) {
    test(`a peer of state ${initialClusterState} gets its defaults`, async () => {
      const bootstrap = { initialClusterState, static: { initialCluster } };
      const { spec } = await kube.create(
        ETCD_PEERS,
        written<EtcdPeer>(ETCD_PEERS, name, { clusterName: "my-etcd", version: "3.6.16", bootstrap }),
        OPTIONS,
      );
      expect(spec).toEqual({
        clusterName: "my-etcd",
        version: "3.6.16",
        bootstrap,
        storage: DEFAULT_STORAGE_SPEC,
        podTemplate: {},
      });
    });
  }
});

function storage(part: object) {
  return { replicas: 3, storage: part };
}

function etcd(options: object) {
  return { replicas: 3, etcd: options };
}

function limited(resources: object) {
  return { replicas: 3, podTemplate: { spec: { containers: [{ name: "etcd", resources }] } } };
}

const SUPPORTED = "it must be an etcd release without a leading v: 3.5.11 or later, 3.6.x or 3.7.x";
const LONG = `a${"b".repeat(52)}`;
/** Each row: what is wrong, the spec, parts of the refusal, and the cluster's name where it matters. */
const refused: (readonly [name: string, spec: object, says: readonly string[], cluster?: string])[] = [
  ["-1 members", { replicas: -1 }, ["spec.replicas: Invalid value: -1", "greater than or equal to 0"]],
  ["8 members", { replicas: 8 }, ["spec.replicas: Invalid value: 8", "less than or equal to 7"]],
  ["a word as a number", { replicas: "three" }, ["spec.replicas", "three", "of type integer"]],
  ["half a member", { replicas: 2.5 }, ["spec.replicas", "float64", "integer"]],
  ["no number of members", {}, ["spec.replicas: Required value"]],
  ["no version", { replicas: 3, version: undefined }, ["spec.version: Required value"]],
  ...["latest", "4.0.0", "3.2.28", "3.5.10", "3.4.99", "v3.6.16", "3.6", "3.6.16-rc.0", "3.6.01", ""].map(
    (version) =>
      [
        `version "${version}"`,
        { replicas: 3, version },
        ["spec.version", `version is ${version}; ${SUPPORTED}`],
      ] as const,
  ),
  ...[0, "0", "0Gi", -5, "-1Gi", "abc", "8 Gi", "8GB", ""].map(
    (size) =>
      [
        `storage ${JSON.stringify(size)}`,
        storage({ size }),
        ["spec.storage.size", `it is ${size}; it must be a size greater than zero, such as 8Gi`],
      ] as const,
  ),
  [
    "a volume for many nodes",
    storage({ accessModes: ["ReadWriteMany"] }),
    ["accessModes[0]", "Many", "ReadWriteOncePod"],
  ],
  ["a read-only volume", storage({ accessModes: ["ReadOnlyMany"] }), ["accessModes[0]", "Only", "ReadWriteOncePod"]],
  [
    "annotations with the operator's prefix",
    { replicas: 3, podTemplate: { metadata: { annotations: { "etcd.improbable.io/cluster-id": "1" } } } },
    ["spec.podTemplate.metadata.annotations", "etcd.improbable.io/cluster-id", "anything that does not start with"],
  ],
  [
    "a limit that is not a quantity",
    limited({ limits: { cpu: "many" } }),
    [
      "spec.podTemplate.spec.containers[0].resources.limits[cpu]",
      "it is many; it must be a quantity such as 500m or 2Gi",
    ],
  ],
  [
    "a negative request",
    limited({ requests: { memory: "-1Gi" } }),
    ["spec.podTemplate.spec.containers[0].resources.requests[memory]", "it is -1Gi; it must be a quantity"],
  ],
  [
    "labels with the operator's prefix",
    { replicas: 3, podTemplate: { metadata: { labels: { "etcd.improbable.io/peer-name": "1" } } } },
    ["spec.podTemplate.metadata.labels", "etcd.improbable.io/peer-name is one of the labels that the operator sets"],
  ],
  ...["name", "instance", "managed-by", "component"].map(
    (label) =>
      [
        `the operator's label ${label} on the client Service`,
        { replicas: 3, clientService: { metadata: { labels: { [`app.kubernetes.io/${label}`]: "a", team: "b" } } } },
        [
          "spec.clientService.metadata.labels",
          `app.kubernetes.io/${label} is one of the labels that the operator sets`,
        ],
      ] as const,
  ),
  [
    "the operator's labels on the PodMonitor",
    {
      replicas: 3,
      monitoring: { podMonitor: { enabled: true, metadata: { labels: { "app.kubernetes.io/instance": "a" } } } },
    },
    ["spec.monitoring.podMonitor.metadata.labels", "app.kubernetes.io/instance is one of the labels"],
  ],
  ...(["clientSecret", "caConfigMap"] as const).flatMap((field) =>
    [
      ["labels", { "etcd.improbable.io/x": "a" }, "etcd.improbable.io/x is one of the labels that the operator sets"],
      ["labels", { "app.kubernetes.io/instance": "a" }, "app.kubernetes.io/instance is one of the labels"],
      ["labels", { "two words": "a" }, "the key two words is invalid: it must be [domain/]name"],
      ["labels", { ["a".repeat(64)]: "a" }, "is invalid: it must be [domain/]name"],
      ["labels", { [`${"a.".repeat(126)}a/b`]: "a" }, "is invalid: it must be [domain/]name"],
      ["labels", { team: "two words" }, "the value of team is invalid: it must be up to 63 letters"],
      ["labels", { team: "a".repeat(64) }, "Too long"],
      ["labels", Object.fromEntries(Array.from({ length: 33 }, (_, n) => [`a${n}`, ""])), "must have at most 32 items"],
      ["annotations", { "etcd.improbable.io/x": "a" }, "etcd.improbable.io/x is one of the operator's own annotations"],
      ["annotations", { "Example.com/a": "a" }, "the key Example.com/a is invalid"],
      ["annotations", { a: "a".repeat(2_049) }, "Too long"],
    ].map(
      ([kind, map, says]) =>
        [
          `${kind} of ${field}: ${says}`,
          { replicas: 3, [field]: { metadata: { [kind as string]: map } } },
          [`spec.${field}.metadata.${kind}`, says as string],
        ] as const,
    ),
  ),
  [
    "two containers with the same name",
    { replicas: 3, podTemplate: { spec: { containers: [{ name: "etcd" }, { name: "etcd" }] } } },
    ["spec.podTemplate.spec.containers[1]", "Duplicate value"],
  ],
  ...["tiny", "1Mi", -1, "Auto", "1025Gi", "100E"].map(
    (size) =>
      [
        `a quota of ${size}`,
        etcd({ backendQuota: { mode: "Fixed", size } }),
        ["spec.etcd.backendQuota.size", `it is ${size}; it must be a size from 64Mi to 1Ti`],
      ] as const,
  ),
  ...[{ mode: "Fixed" }, { mode: "Auto", size: "4Gi" }].map(
    (backendQuota) =>
      [
        `a quota of ${JSON.stringify(backendQuota)}`,
        etcd({ backendQuota }),
        ["spec.etcd.backendQuota", "backendQuota must have a size with mode Fixed, and none with mode Auto"],
      ] as const,
  ),
  ["a quota without mode", etcd({ backendQuota: { size: "4Gi" } }), ["spec.etcd.backendQuota.mode: Required value"]],
  ...["1", "1d", "-1s", "5ms", "11s", "0.5s", "1.0s", "100000ms", "1s1ms1ms1ms1ms", ""].map(
    (interval) =>
      [
        `a heartbeat of "${interval}"`,
        etcd({ heartbeatInterval: interval, electionTimeout: "50s" }),
        [
          "spec.etcd.heartbeatInterval",
          `it is ${interval}; it must be a duration from 10ms to 10s in whole numbers, such as 1m30s`,
        ],
      ] as const,
  ),
  [
    "an election before five heartbeats",
    etcd({ heartbeatInterval: "300ms" }),
    ["spec.etcd", "electionTimeout must be at least five times heartbeatInterval"],
  ],
  ...["1000", "59s", "87601h", "999999h", "1d", "9999999999999999999m"].map(
    (period) =>
      [
        `a history of ${period}`,
        etcd({ autoCompaction: { mode: "Periodic", period } }),
        [
          "spec.etcd.autoCompaction.period",
          period.length > 15
            ? ""
            : `it is ${period}; it must be a duration from 1m to 87600h in whole numbers, such as 1m30s`,
        ],
      ] as const,
  ),
  [
    "a history of no revision",
    etcd({ autoCompaction: { mode: "Revision", revisions: 0 } }),
    ["spec.etcd.autoCompaction.revisions", "greater than or equal to 1"],
  ],
  [
    "a history of too many revisions",
    etcd({ autoCompaction: { mode: "Revision", revisions: 1_000_000_000_001 } }),
    ["spec.etcd.autoCompaction.revisions", "less than or equal to 1"],
  ],
  ...(
    [
      [{ mode: "Periodic" }, "mode is Periodic, with neither period nor revisions"],
      [{ mode: "Revision", period: "1h" }, "mode is Revision, with period"],
      [{ mode: "Periodic", period: "1h", revisions: 1 }, "mode is Periodic, with period and revisions"],
      [{ mode: "None", revisions: 1 }, "mode is None, with revisions"],
    ] as const
  ).map(
    ([autoCompaction, says]) =>
      [
        `compaction whose ${says}`,
        etcd({ autoCompaction }),
        [
          "spec.etcd.autoCompaction",
          `${says}; it must be Periodic with period, Revision with revisions, or None with neither`,
        ],
      ] as const,
  ),
  [
    "99 entries before a snapshot",
    etcd({ snapshotCount: 99 }),
    ["spec.etcd.snapshotCount", "greater than or equal to 100"],
  ],
  [
    "a repository with a tag",
    { replicas: 3, image: { repository: "registry.example/etcd:v3.6.16" } },
    [
      "spec.image.repository",
      "repository is registry.example/etcd:v3.6.16; it must be an image without scheme, tag and digest, such as registry.example/etcd",
    ],
  ],
  [
    "a tag as a digest",
    { replicas: 3, image: { digest: "v3.6.16" } },
    ["spec.image.digest", "digest is v3.6.16; it must be sha256: and 64 hexadecimal digits"],
  ],
  [
    "an unknown pull policy",
    { replicas: 3, image: { pullPolicy: "Sometimes" } },
    ["spec.image.pullPolicy", '"IfNotPresent"'],
  ],
  [
    "an unknown type of Service",
    { replicas: 3, clientService: { spec: { type: "ExternalName" } } },
    ["spec.clientService.spec.type", '"ClusterIP"'],
  ],
  [
    "a memberTimeout that is too short",
    { replicas: 3, updateStrategy: { memberTimeout: "1s" } },
    ["spec.updateStrategy.memberTimeout", "it is 1s; it must be a duration from 10s to 24h"],
  ],
  [
    "an invalid replacement time",
    { replicas: 3, replacement: { after: "Never" } },
    ["spec.replacement.after", "it is Never; it must be a duration from 0s to 24h"],
  ],
  [
    "an unknown replacement policy",
    { replicas: 3, replacement: { policy: "Off" } },
    ["spec.replacement.policy", '"WhenLost"'],
  ],
  [
    "a replacement time with policy Never",
    { replicas: 3, replacement: { policy: "Never", after: "5m" } },
    ["spec.replacement", "after is 5m, and policy is Never; give after only with policy WhenLost"],
  ],
  [
    "an invalid disruption budget",
    { replicas: 3, disruptionBudget: { policy: "Off" } },
    ["spec.disruptionBudget.policy", '"Quorum"', '"None"'],
  ],
  ["auth without enabled", { replicas: 3, auth: {} }, ["spec.auth.enabled: Required value"]],
  [
    "a PodMonitor without enabled",
    { replicas: 3, monitoring: { podMonitor: { metadata: { labels: { release: "prometheus" } } } } },
    ["spec.monitoring.podMonitor.enabled: Required value"],
  ],
  ["a name of 53 characters", { replicas: 3 }, ["metadata.name is too long", "at most 52"], LONG],
  ["a name of 253 characters", { replicas: 3 }, ["metadata.name is too long", "at most 52"], "b".repeat(253)],
  ["a leading digit in the name", { replicas: 3 }, ["metadata.name", "it must begin with a letter"], "9lives"],
  ["a dot in the name", { replicas: 3 }, ["metadata.name may hold only a-z, 0-9 and -"], "my.etcd"],
  ["capitals in the name", { replicas: 3 }, ["metadata.name", "lower case"], "MyEtcd"],
];

describe("a cluster is refused, with the field, the value and what is allowed, for", () => {
  for (const [name, spec, says, cluster = "refused"] of refused) {
    test(name, async () => {
      const error = await clusterOf(cluster, spec).then(
        () => undefined,
        (thrown: Error & { code: string }) => thrown,
      );
      expect(error?.code).toBe("KubeInvalid");
      for (const words of [...says, cluster]) expect(error?.message).toContain(words);
    });
  }
});

describe("a cluster is accepted with", () => {
  const accepted: { name: string; cluster?: string; spec: object }[] = [
    ...[1, 2, 7].map((replicas) => ({ name: `${replicas} members`, spec: { replicas } })),
    ...["3.5.11", "3.5.35", "3.6.0", "3.6.16", "3.7.3", "3.7.100"].map((version) => ({
      name: `version ${version}`,
      spec: { replicas: 1, version },
    })),
    ...[1_073_741_824, "1e9", "1.5Gi", "500M"].map((size) => ({ name: `storage ${size}`, spec: storage({ size }) })),
    { name: "a volume for a single pod", spec: storage({ accessModes: ["ReadWriteOncePod"] }) },
    { name: "a quota that suits the volume", spec: etcd({ backendQuota: { mode: "Auto" } }) },
    ...["64Mi", 8_589_934_592, "1Ti"].map((size) => ({
      name: `a quota of ${size}`,
      spec: etcd({ backendQuota: { mode: "Fixed", size } }),
    })),
    ...[
      { mode: "Periodic", period: "1m" },
      { mode: "Periodic", period: "87600h" },
      { mode: "Revision", revisions: 1 },
      { mode: "Revision", revisions: 1_000_000_000_000 },
      { mode: "None" },
    ].map((autoCompaction) => ({
      name: `compaction ${Object.values(autoCompaction).join(" ")}`,
      spec: etcd({ autoCompaction }),
    })),
    {
      name: "every option of etcd",
      spec: etcd({
        autoCompaction: { mode: "Periodic", period: "1h30m" },
        snapshotCount: 5_000,
        heartbeatInterval: "200ms",
        electionTimeout: "1s",
        extraArgs: { "max-request-bytes": "4194304" },
      }),
    },
    {
      name: "a pod template with a sidecar, an init container and a priority class",
      spec: {
        replicas: 3,
        podTemplate: {
          metadata: { labels: { team: "db" } },
          spec: {
            priorityClassName: "important",
            initContainers: [{ name: "wait", image: "registry.example/wait" }],
            containers: [{ name: "etcd" }, { name: "shipper", image: "registry.example/shipper:1" }],
          },
        },
      },
    },
    { name: "replacement policy Never", spec: { replicas: 3, replacement: { policy: "Never" } } },
    { name: "the longest name", cluster: LONG.slice(0, 52), spec: { replicas: 1 } },
  ];
  for (const [index, { name, cluster = `accepted-${index}`, spec }] of accepted.entries()) {
    test(name, async () => expect((await clusterOf(cluster, spec)).metadata.name).toBe(cluster));
  }
});

describe("after creation", () => {
  const set = {
    size: "8Gi",
    storageClassName: "slow",
    volumeAttributesClassName: "gold",
    selector: { matchLabels: { a: "b" } },
  };
  const frozen: { name: string; from?: object; to: object; field: string }[] = [
    { name: "the size of volumes", to: { size: "16Gi" }, field: "size" },
    { name: "the access modes", to: { accessModes: ["ReadWriteOncePod"] }, field: "accessModes" },
    ...(["storageClassName", "volumeAttributesClassName", "selector"] as const).flatMap((field) => [
      { name: `an absent ${field}`, to: { [field]: set[field] }, field },
      {
        name: `a ${field}`,
        from: set,
        to: { [field]: field === "selector" ? { matchLabels: { a: "c" } } : "x" },
        field,
      },
      { name: `the presence of ${field}`, from: set, to: { [field]: null }, field },
    ]),
  ];
  for (const [index, { name, from = {}, to, field }] of frozen.entries()) {
    test(`${name} cannot be changed`, async () => {
      await clusterOf(`frozen-${index}`, storage(from));
      const refusal = `is invalid: spec.storage.${field}: Invalid value: ${field} cannot be changed after creation; make a new cluster to use other volumes (`;
      await expect(edit(ETCD_CLUSTERS, `frozen-${index}`, { storage: to })).rejects.toMatchObject({
        code: "KubeInvalid",
        message: expect.stringContaining(refusal),
      });
    });
  }

  const edits: { name: string; from?: object; to: object }[] = [
    { name: "a different version", to: { version: "3.7.0" } },
    { name: "the same size of volumes in other words", to: { storage: { size: "8192Mi" } } },
    { name: "the same size of volumes as a number", to: { storage: { size: 8_589_934_592 } } },
    {
      name: "resources where there were none",
      to: { podTemplate: { spec: { containers: [{ name: "etcd", resources: { limits: { cpu: 1 } } }] } } },
    },
    {
      name: "no annotations",
      from: { metadata: { annotations: { team: "a" } } },
      to: { podTemplate: null },
    },
  ];
  for (const [index, { name, from, to }] of edits.entries()) {
    test(`${name} may be set`, async () => {
      await clusterOf(`edited-${index}`, { replicas: 3, ...(from === undefined ? {} : { podTemplate: from }) });
      await expect(edit(ETCD_CLUSTERS, `edited-${index}`, to)).resolves.toBeDefined();
    });
  }

  test("a manifest without version is refused, whatever release the members run", async () => {
    const { metadata } = await clusterOf("released", { replicas: 3, version: "3.7.3" });
    await expect(edit(ETCD_CLUSTERS, "released", { version: null })).rejects.toThrow("spec.version: Required value");
    const draft = { ...written<EtcdCluster>(ETCD_CLUSTERS, "released", { replicas: 3 }), metadata };
    await expect(kube.replace(ETCD_CLUSTERS, draft as EtcdCluster, OPTIONS)).rejects.toThrow(
      "spec.version: Required value",
    );
  });

  test("a manifest may be applied again, also with its defaults written out", async () => {
    await clusterOf("again");
    const { metadata } = await edit(ETCD_CLUSTERS, "again", {
      storage: DEFAULT_STORAGE_SPEC,
      podTemplate: {},
    });
    expect(metadata.generation).toBe(1);
  });

  test("spec.bootstrap cannot be added again to an EtcdPeer that has joined", async () => {
    const bootstrap = { initialClusterState: "New", static: { initialCluster: [{ host: "a-0.a.foo.svc" }] } };
    await kube.create(
      ETCD_PEERS,
      written<EtcdPeer>(ETCD_PEERS, "a-0", { clusterName: "a", version: "3.6.16", bootstrap }),
      OPTIONS,
    );
    expect((await edit(ETCD_PEERS, "a-0", { bootstrap: null })).spec).not.toHaveProperty("bootstrap");
    await expect(edit(ETCD_PEERS, "a-0", { bootstrap })).rejects.toMatchObject({
      code: "KubeInvalid",
      message: expect.stringContaining("bootstrap cannot be given back to a member that has joined"),
    });
    await expect(edit(ETCD_PEERS, "a-0", { clusterName: "b" })).rejects.toThrow("clusterName is b; it must stay a");
  });
});

describe("subresources and output:", () => {
  const scalePath = (name: string) =>
    `/apis/${apiVersionOf(ETCD_CLUSTERS)}/namespaces/default/etcdclusters/${name}/scale`;

  test("kubectl scale reads and writes the number of members, within the same bounds", async () => {
    const ref = { namespace, name: "scale" };
    await clusterOf(ref.name);
    const status = { replicas: 3, selector: "etcd.improbable.io/cluster-name=scale" };
    await kube.patch(ETCD_CLUSTERS, ref, { status }, { signal, type: "merge", subresource: "status" });
    const read = JSON.parse(await kube.raw("GET", scalePath(ref.name), OPTIONS)) as object;
    expect(read).toMatchObject({ kind: "Scale", spec: { replicas: 3 }, status });
    const scaleTo = (replicas: number) =>
      kube.patch(ETCD_CLUSTERS, ref, { spec: { replicas } }, { signal, type: "merge", subresource: "scale" });
    await scaleTo(5);
    expect((await kube.get(ETCD_CLUSTERS, ref, OPTIONS)).spec.replicas).toBe(5);
    await expect(scaleTo(8)).rejects.toThrow("less than or equal to 7");
    await scaleTo(0);
    expect((await kube.get(ETCD_CLUSTERS, ref, OPTIONS)).spec.replicas).toBe(0);
    await expect(scaleTo(-1)).rejects.toThrow("greater than or equal to 0");
  });

  test("a status update does not change the spec, and an update of the spec does not change the status", async () => {
    const made = await clusterOf("apart");
    const ref = { namespace, name: "apart" };
    const both = { spec: { replicas: 5 }, status: { readyMembers: "3/3" } };
    const told = await kube.patch(ETCD_CLUSTERS, ref, both, { signal, type: "merge", subresource: "status" });
    expect({ ...told.status, ...told.spec }).toMatchObject({ readyMembers: "3/3", replicas: 3 });
    expect(told.metadata.generation).toBe(made.metadata.generation);
    const edited = await edit(ETCD_CLUSTERS, "apart", { replicas: 5 });
    expect(edited.status).toEqual({ observedGeneration: 0, readyMembers: "3/3" });
  });

  test("an unknown field is dropped, and refused with strict validation", async () => {
    const { spec } = await clusterOf("pruned", { replicas: 3, size: 5 });
    expect(spec).not.toHaveProperty("size");
    const path = scalePath("").replace("//scale", "?fieldValidation=Strict");
    const body = written(ETCD_CLUSTERS, "strict", { replicas: 3, version: "3.6.16", size: 5 });
    await expect(kube.raw("POST", path, { signal, body })).rejects.toThrow('unknown field "spec.size"');
  });

  test("kubectl get has columns and short names", async () => {
    const seen = await Promise.all(
      crdManifests().map(async ({ metadata }) => {
        const { spec } = await kube.get(CUSTOM_RESOURCE_DEFINITIONS, { name: metadata.name }, OPTIONS);
        const columns = spec?.versions[0]?.additionalPrinterColumns?.map(({ name }) => name);
        return { short: spec?.names.shortNames, columns };
      }),
    );
    expect(seen).toEqual([
      { short: ["etcd"], columns: ["Ready", "Version", "Leader", "Status", "Cluster ID", "Age"] },
      { short: ["etcdp"], columns: ["Cluster", "Version", "Member ID", "Status", "Age"] },
      { short: ["etcdb"], columns: ["Phase", "Source", "Bytes", "Revision", "Object", "Age"] },
      { short: ["etcdbs"], columns: ["Schedule", "Suspend", "Last good", "Next", "Status", "Age"] },
      { short: ["etcdr"], columns: ["Phase", "Cluster", "Source", "Reason", "Object", "Age"] },
      { short: ["etcdro"], columns: ["Cluster", "Role", "Status", "Age"] },
      { short: ["etcdu"], columns: ["Cluster", "User", "Binding", "Status", "Rotated", "Age"] },
    ]);
  });
});
