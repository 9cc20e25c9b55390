import { describe, expect, test } from "vitest";
import { DEFAULT_TLS, NO_TLS } from "#api/tls.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import { clusterSpecSchema } from "#api/v1beta1/cluster-schema.ts";
import { OperatorError } from "#base/error.ts";
import { claim, claimIdentity, cluster } from "#kit/snapshots/cluster.ts";
import { admitting } from "#kit/snapshots/cluster-network.ts";
import { recording } from "#kit/snapshots/cluster-rolling.ts";
import { SIDECAR } from "#kit/tables/pod-power.ts";
import { fromRefusal, type Status } from "#kube/error.ts";
import { keptClaimRefusals } from "#webhooks/checks/kept-claims.ts";
import { networkPolicyRefusals } from "#webhooks/checks/network-policy.ts";
import { podTemplateFindings } from "#webhooks/checks/pod-template.ts";
import { replicaWarnings } from "#webhooks/checks/replicas.ts";
import { compactionWarnings, quotaWarnings, resourceWarnings } from "#webhooks/checks/resources.ts";
import { templateRefusals } from "#webhooks/checks/template.ts";
import { trialReplicaSet } from "#webhooks/checks/trial.ts";
import { versionRefusals } from "#webhooks/checks/version.ts";

function spec(given: object) {
  return clusterSpecSchema.parse({ replicas: 3, version: "3.6.16", ...given });
}

const KEEPS_ALL = spec({ etcd: { autoCompaction: { mode: "None" } } });
const compactions: readonly { name: string; given: object; before?: object; written?: string; warns: boolean }[] = [
  { name: "new, and without the field", given: spec({ etcd: {} }), warns: true },
  { name: "new, and without options of etcd", given: spec({}), warns: true },
  { name: "new, and written in v1alpha1, which has no such field", given: spec({}), written: "v1alpha1", warns: false },
  { name: "new, with mode None", given: KEEPS_ALL, warns: false },
  { name: "there already, and without the field", given: spec({}), before: spec({}), warns: false },
  { name: "there already, and the field is removed", given: spec({}), before: KEEPS_ALL, warns: false },
];
for (const { name, given, before, written = "v1beta1", warns } of compactions)
  test(`${warns ? "a" : "no"} warning about compaction for a cluster that is ${name}`, () => {
    const warnings = compactionWarnings(spec(given), before === undefined ? undefined : spec(before), written);
    expect(warnings).toHaveLength(warns ? 1 : 0);
    // The API server shows 256 characters.
    for (const text of warnings)
      expect(text).toMatch(
        /^spec\.etcd\.autoCompaction is missing: .{0,190}Periodic .* Revision .* None if clients compact$/,
      );
    for (const text of warnings) expect(text.length).toBeLessThanOrEqual(256);
  });

function withResources(resources: object) {
  return spec({ podTemplate: { spec: { containers: [{ name: "etcd", resources }] } } });
}

describe("a warning about the number of members", () => {
  const said: readonly (readonly [number, RegExp | undefined])[] = [
    [0, /^spec\.replicas is 0: no member is created until it is 1 or more$/],
    [1, /^spec\.replicas is 1: each restart of the member is an outage/],
    [2, /^spec\.replicas is 2: it tolerates the loss of no more members than 1/],
    [3, undefined],
    [4, /^spec\.replicas is 4: it tolerates the loss of no more members than 3, .*; use an odd number$/],
    [5, undefined],
    [6, /no more members than 5, and/],
    [7, undefined],
  ];
  test.each(said)("for %i members: %s", (replicas, words) => {
    const warnings = replicaWarnings({ ...spec({}), replicas }, undefined);
    expect(warnings).toHaveLength(words === undefined ? 0 : 1);
    if (words !== undefined) expect(warnings[0]).toMatch(words);
  });

  test("is given when the number changes, not at every edit", () => {
    expect(replicaWarnings(spec({ replicas: 4 }), spec({ replicas: 4, version: "3.6.1" }))).toEqual([]);
    expect(replicaWarnings(spec({ replicas: 4 }), spec({ replicas: 3 }))).toHaveLength(1);
    const stopped = { ...spec({}), replicas: 0 };
    expect(replicaWarnings(stopped, stopped)).toEqual([]);
    expect(replicaWarnings(stopped, spec({}))).toEqual([
      "spec.replicas is 0: all members stop, and clients are not served until it is 1 or more; data and identity are kept",
    ]);
  });
});

describe("spec.version", () => {
  const running = (...versions: readonly (string | undefined)[]) => recording(cluster(), ...versions).cluster;
  const cases: readonly { name: string; before: EtcdCluster | undefined; to: string; says: string | undefined }[] = [
    { name: "is not restricted for a new cluster", before: undefined, to: "3.9.0", says: undefined },
    {
      name: "may be the next minor version",
      before: running("3.6.16", "3.6.16", "3.6.16"),
      to: "3.7.3",
      says: undefined,
    },
    {
      name: "may be the previous minor version",
      before: running("3.6.16", "3.6.16", "3.6.16"),
      to: "3.5.35",
      says: undefined,
    },
    {
      name: "may not be two minor versions lower",
      before: running("3.7.3", "3.7.3", "3.7.3"),
      to: "3.5.35",
      says: "is 3.5.35; from 3.7.3 to 3.5.35 is a downgrade by more than one minor version; go to 3.6 first",
    },
    {
      name: "may not be two minor versions from any member's version",
      before: running("3.6.16", "3.6.16", "3.7.3"),
      to: "3.5.35",
      says: "is 3.5.35; from 3.7.3 to 3.5.35 is a downgrade by more than one minor version; go to 3.6 first",
    },
    {
      name: "may not skip a minor version",
      before: running("3.5.35", "3.6.16", undefined),
      to: "3.7.3",
      says: "is 3.7.3; from 3.5.35 to 3.7.3 skips 3.6",
    },
    {
      name: "is not restricted while no member has run",
      before: cluster({ stage: "new" }).cluster,
      to: "3.9.0",
      says: undefined,
    },
    {
      name: "is not compared with members of a custom build",
      before: running("ours", "ours", "ours"),
      to: "3.9.0",
      says: undefined,
    },
    {
      name: "is checked by the schema when it is not a version",
      before: running("3.6.16"),
      to: "newest",
      says: undefined,
    },
    {
      name: "is not checked when it is unchanged",
      before: running("3.4.1", "3.4.1", "3.4.1"),
      to: cluster().cluster.spec.version,
      says: undefined,
    },
  ];
  test.each(cases)("$name", ({ before, to, says }) => {
    const refusals = says === undefined ? [] : [{ field: "spec.version", message: says }];
    expect(versionRefusals({ version: to }, before)).toEqual(refusals);
  });
});

test("a NetworkPolicy with an unknown field is refused when an edit adds it", () => {
  const misspelt = spec({ networkPolicy: admitting([{ podSelector: { matchlabels: { app: "a" } } }]) });
  expect(networkPolicyRefusals(misspelt, undefined).map(({ field }) => field)).toEqual([
    "spec.networkPolicy.clients.from[0].podSelector.matchlabels",
  ]);
  expect(networkPolicyRefusals(misspelt, spec({}))).toHaveLength(1);
  expect(networkPolicyRefusals(misspelt, misspelt)).toEqual([]);
  expect(networkPolicyRefusals(spec({}), misspelt)).toEqual([]);
});

describe("warnings about resources:", () => {
  const enough = { cpu: "1", memory: "2Gi" };
  const cases: readonly { name: string; resources: object; says: readonly RegExp[] }[] = [
    {
      name: "for a container without requests",
      resources: {},
      says: [/^spec\.podTemplate\.spec\.containers\[etcd\]\.resources\.requests has no cpu and no memory: /],
    },
    {
      name: "for a request of memory only",
      resources: { requests: { memory: "1Gi" } },
      says: [/requests has no cpu: /],
    },
    { name: "for a request of CPU only", resources: { requests: { cpu: 1 } }, says: [/requests has no memory: /] },
    { name: "none for requests of CPU and memory", resources: { requests: enough }, says: [] },
    { name: "none for limits, which Kubernetes uses as requests", resources: { limits: enough }, says: [] },
    {
      name: "for a memory limit below etcd's quota",
      resources: { requests: enough, limits: { memory: "2047Mi" } },
      says: [
        /^spec\.podTemplate\.spec\.containers\[etcd\]\.resources\.limits\.memory is 2047Mi: .* quota of 2Gi.*; use 2Gi or more$/,
      ],
    },
    {
      name: "for a memory limit in other units below the quota",
      resources: { requests: enough, limits: { memory: "2e9" } },
      says: [/is 2e9: /],
    },
    {
      name: "for a memory limit as a number below the quota",
      resources: { requests: enough, limits: { memory: 2 ** 31 - 1 } },
      says: [/is 2147483647: /],
    },
    {
      name: "none for a memory limit equal to the quota",
      resources: { requests: enough, limits: { memory: 2 ** 31 } },
      says: [],
    },
  ];

  const quotas: readonly { etcd: object; storage?: object; limit: string; says: readonly RegExp[] }[] = [
    {
      etcd: { backendQuota: { mode: "Fixed", size: "4Gi" } },
      limit: "3Gi",
      says: [/ is 3Gi: .* quota of 4Gi, .*; use 4Gi or more$/],
    },
    { etcd: { backendQuota: { mode: "Fixed", size: "4Gi" } }, limit: "4Gi", says: [] },
    { etcd: { backendQuota: { mode: "Fixed", size: "512Mi" } }, limit: "512Mi", says: [] },
    { etcd: { backendQuota: { mode: "Fixed", size: 1e9 } }, limit: "1M", says: [/quota of 1000000000, /] },
    { etcd: { backendQuota: { mode: "Auto" } }, storage: { size: "10Gi" }, limit: "2Gi", says: [/quota of 2560Mi, /] },
    { etcd: { backendQuota: { mode: "Auto" } }, storage: { size: "1Ti" }, limit: "7Gi", says: [/quota of 8Gi, /] },
  ];
  for (const { etcd, storage, limit, says } of quotas) {
    test(`for a memory limit of ${limit} and ${JSON.stringify({ ...etcd, ...storage })}`, () => {
      const wanted = withResources({ requests: enough, limits: { memory: limit } });
      const given = { ...wanted, ...spec({ etcd, ...(storage && { storage }) }), podTemplate: wanted.podTemplate };
      const warnings = resourceWarnings(given, undefined);
      expect(warnings).toEqual(says.map((words) => expect.stringMatching(words)));
      // A changed quota is checked, too.
      expect(resourceWarnings(given, given)).toEqual([]);
      const before = { ...given, etcd: { backendQuota: { mode: "Fixed" as const, size: "64Mi" } } };
      expect(resourceWarnings(given, before)).toEqual(warnings);
    });
  }
  const volumes: readonly { etcd?: object; size: string; says: string | undefined }[] = [
    { size: "1Gi", says: undefined },
    { etcd: { backendQuota: { mode: "Auto" } }, size: "1Gi", says: undefined },
    { etcd: { backendQuota: { mode: "Fixed", size: "256Mi" } }, size: "1Gi", says: undefined },
    {
      etcd: { backendQuota: { mode: "Fixed", size: "257Mi" } },
      size: "1Gi",
      says: "is 257Mi: a volume of 1Gi has room for a database of 256Mi",
    },
    {
      etcd: { backendQuota: { mode: "Fixed", size: "8Gi" } },
      size: "8Gi",
      says: "is 8Gi: a volume of 8Gi has room for a database of 3840Mi",
    },
    { etcd: { backendQuota: { mode: "Fixed", size: 4e9 } }, size: "8Gi", says: undefined },
  ];
  for (const { etcd, size, says } of volumes)
    test(`for a volume of ${size} and ${JSON.stringify(etcd)}`, () => {
      const given = spec({ ...(etcd && { etcd }), storage: { size } });
      const warnings = quotaWarnings(given, undefined);
      expect(warnings).toEqual(
        says === undefined ? [] : [expect.stringContaining(`spec.etcd.backendQuota.size ${says}`)],
      );
      expect(quotaWarnings(given, given)).toEqual([]);
      expect(quotaWarnings(given, spec({ storage: { size } }))).toEqual(warnings);
    });
  const fixed = (size: string) => ({ etcd: { backendQuota: { mode: "Fixed", size } }, storage: { size: "20Gi" } });
  const absent = { storage: { size: "20Gi" } };
  const edits: readonly { title: string; from: object; to: object; says: string | undefined }[] = [
    {
      title: "that is made smaller",
      from: fixed("8Gi"),
      to: fixed("4Gi"),
      says: "differs, and the quota becomes 4Gi instead of 8Gi",
    },
    {
      title: "that is removed",
      from: fixed("8Gi"),
      to: absent,
      says: "differs, and the quota becomes 2Gi instead of 8Gi",
    },
    {
      title: "that becomes Auto",
      from: fixed("8Gi"),
      to: { ...absent, etcd: { backendQuota: { mode: "Auto" } } },
      says: "differs, and the quota becomes 5Gi instead of 8Gi",
    },
    { title: "that is made larger", from: fixed("4Gi"), to: fixed("8Gi"), says: undefined },
    { title: "of 1Gi that is removed", from: fixed("1Gi"), to: absent, says: undefined },
    {
      title: "of 1Gi that is given",
      from: absent,
      to: fixed("1Gi"),
      says: "differs, and the quota becomes 1Gi instead of 2Gi",
    },
  ];
  for (const { title, from, to, says } of edits)
    test(`for a quota ${title}`, () => {
      const warnings = quotaWarnings(spec(to), spec(from));
      expect(warnings).toEqual(
        says === undefined
          ? []
          : [expect.stringContaining(`spec.etcd.backendQuota ${says}: if the database is larger`)],
      );
      expect(quotaWarnings(spec(to), spec(to))).toEqual([]);
    });
  for (const { name, resources, says } of cases) {
    test(name, () => {
      const warnings = resourceWarnings(withResources(resources), undefined);
      expect(warnings).toHaveLength(says.length);
      for (const [index, words] of says.entries()) expect(warnings[index]).toMatch(words);
    });
  }

  test("are given when resources change, not at every edit", () => {
    const wanting = withResources({ requests: {} });
    expect(resourceWarnings({ ...wanting, replicas: 5 }, wanting)).toEqual([]);
    expect(resourceWarnings(wanting, withResources({ requests: enough }))).toHaveLength(1);
  });

  test("are short enough to be shown completely", () => {
    const worst = { ...withResources({ requests: {}, limits: { memory: "1".repeat(32) } }), replicas: 6 };
    const wanting = {
      ...worst,
      podTemplate: {
        spec: { containers: [{ name: "etcd", resources: { limits: { memory: "0.000000000000000000000000000001" } } }] },
      },
    };
    for (const each of [worst, wanting]) {
      for (const text of [...resourceWarnings(each, undefined), ...replicaWarnings(each, undefined)])
        expect(text.length).toBeLessThanOrEqual(256);
    }
  });
});

describe("existing claims with the cluster's name", () => {
  const { cluster: object } = cluster();
  const { clusterID, initialMembers } = object.status!.identity!;
  const kept = initialMembers.map(({ name, id }) => claim(name, claimIdentity(clusterID, id)));
  const foreign = claim("my-etcd-3", claimIdentity("ffff", "1"));

  test("of the same cluster are accepted", () => {
    expect(keptClaimRefusals(object, kept)).toEqual([]);
    expect(keptClaimRefusals(object, [])).toEqual([]);
  });

  test("of two clusters are refused with the message of the rule that would wait", () => {
    const [refusal, ...more] = keptClaimRefusals(object, [...kept, foreign]);
    expect(more).toEqual([]);
    expect(refusal?.field).toBe("metadata.name");
    expect(refusal?.message).toMatch(
      /^my-etcd cannot be used: claims of an earlier cluster exist \(my-etcd-0, my-etcd-1, my-etcd-2, my-etcd-3\) .*different clusters: .*\. Delete those with data that is not needed, or choose another name$/,
    );
  });

  test("that are being deleted are accepted", () => {
    const going = { ...foreign, metadata: { ...foreign.metadata, deletionTimestamp: "2026-01-01T00:00:00Z" } };
    expect(keptClaimRefusals(object, [...kept, going])).toEqual([]);
  });

  test("that are quarantined are ignored", () => {
    const labels = { ...foreign.metadata.labels, "etcd.improbable.io/quarantined": "true" };
    expect(keptClaimRefusals(object, [...kept, { ...foreign, metadata: { ...foreign.metadata, labels } }])).toEqual([]);
  });

  test("of another cluster are refused when the cluster has a status", () => {
    expect(object.status).toBeDefined();
    expect(keptClaimRefusals(object, [...kept, foreign])).toHaveLength(1);
  });
});

describe("the dry run's ReplicaSet", () => {
  const { cluster: object } = cluster();
  const affinity = { nodeAffinity: {} };
  const wanted: EtcdCluster = {
    ...object,
    spec: {
      ...object.spec,
      replicas: 1_000_000_000,
      podTemplate: { spec: { affinity }, metadata: { annotations: { a: "b" } } },
    },
  };
  const trial = trialReplicaSet(wanted, "registry.example/etcd", "0a1b");

  test("has an unused name and no owner", () => {
    expect(trial.metadata).toMatchObject({ name: "my-etcd-0-trial-0a1b", namespace: "foo" });
    expect(trial.metadata.ownerReferences).toBeUndefined();
    expect(trial.metadata.labels).toMatchObject({ "app.kubernetes.io/managed-by": "etcd-cluster-operator" });
  });

  test("has the pod of the first member with the user's pod template", () => {
    expect(trial.spec?.template).toMatchObject({
      metadata: { annotations: { a: "b" } },
      spec: {
        hostname: "my-etcd-0",
        affinity,
        containers: [{ name: "etcd", image: `registry.example/etcd:v${object.spec.version}` }],
      },
    });
  });
});

describe("the API server's refusal of the dry run", () => {
  const podTemplate = {
    metadata: { labels: { team: "shop" }, annotations: { a: "b" } },
    spec: {
      affinity: { nodeAffinity: {} },
      containers: [
        { ...SIDECAR, name: "agent", env: [{ name: "LEVEL", value: "1" }] },
        {
          name: "etcd",
          resources: { requests: { cpu: "2" } },
          env: [{ name: "TZ" }],
          volumeMounts: [{ name: "more", mountPath: "/etc/more" }],
        },
      ],
      initContainers: [{ ...SIDECAR, name: "first" }],
      volumes: [{ name: "settings", configMap: {} }],
      tolerations: [{ key: "a" }, { operator: "Maybe" }],
      imagePullSecrets: [{ name: "agents" }],
    },
  };
  const image = {
    pullPolicy: "Always",
    repository: "registry.example/ etcd",
    pullSecrets: [{ name: "etcds" }],
  } as const;

  function trialOf(given: object) {
    const { cluster: object } = cluster();
    const tried = { ...object, spec: { ...object.spec, podTemplate, ...given } } as EtcdCluster;
    return { replicaSet: trialReplicaSet(tried, "registry.example/etcd", "0a1b"), spec: tried.spec };
  }

  function findings(httpCode: number, status: Partial<Status> | undefined, given: object = {}) {
    return podTemplateFindings(
      fromRefusal({
        call: "create replicasets.apps foo/x",
        httpCode,
        status: status === undefined ? undefined : { kind: "Status", ...status },
      }),
      trialOf(given),
    );
  }

  /** A path of the ReplicaSet, and the user's field for it; undefined when the operator wrote it. */
  const places: readonly (readonly [path: string, field: string | undefined, given?: object])[] = [
    ["spec.containers[0].resources.requests[cpu]", "spec.containers[etcd].resources.requests[cpu]"],
    ["spec.containers[0].resources.limits", "spec.containers[etcd].resources.limits"],
    ["spec.containers[0].env[10].value", "spec.containers[etcd].env[TZ].value"],
    ["spec.containers[0].env[0].value", undefined],
    ["spec.containers[0].volumeMounts[1].name", "spec.containers[etcd].volumeMounts[/etc/more].name"],
    ["spec.containers[0].volumeMounts[0].name", undefined],
    ["spec.containers[0].startupProbe.periodSeconds", undefined],
    ["spec.containers[1].image", "spec.containers[agent].image"],
    ["spec.containers[1].env[0].valueFrom", "spec.containers[agent].env[LEVEL].valueFrom"],
    ["spec.containers[1].lifecycle.preStop", "spec.containers[agent].lifecycle.preStop"],
    ["spec.initContainers[0].name", "spec.initContainers[first].name"],
    ["spec.volumes[0].persistentVolumeClaim", undefined],
    ["spec.volumes[1].configMap.name", "spec.volumes[settings].configMap.name"],
    ["spec.tolerations[1].operator", "spec.tolerations[1].operator"],
    ["spec.affinity.nodeAffinity.x[0].y", "spec.affinity.nodeAffinity.x[0].y"],
    ["spec.securityContext.runAsUser", undefined],
    [
      "spec.securityContext.fsGroup",
      "spec.securityContext.fsGroup",
      { podTemplate: { spec: { securityContext: { fsGroup: -1 } } } },
    ],
    ["spec.securityContext.runAsUser", undefined, { podTemplate: { spec: { securityContext: { fsGroup: -1 } } } }],
    ["spec.restartPolicy", undefined],
    ["spec", undefined],
    ["labels", "metadata.labels"],
    ["metadata.labels[team]", "metadata.labels[team]"],
    ["metadata.labels[etcd.improbable.io/peer-name]", undefined],
    ["annotations[a]", "metadata.annotations[a]"],
    ["labels", undefined, { podTemplate: {} }],
    ["spec.imagePullSecrets[0].name", "spec.imagePullSecrets[agents].name"],
    ["spec.containers[0].image", undefined],
  ];
  for (const [path, field, given] of places) {
    test(`at ${path} is ${field === undefined ? "ignored" : `reported for ${field}`}`, () => {
      const causes = [{ field: `spec.template.${path}`, message: "Invalid value" }];
      const refusals = field === undefined ? [] : [{ field: `spec.podTemplate.${field}`, message: "Invalid value" }];
      expect(findings(422, { reason: "Invalid", details: { causes } }, given)).toEqual({ refusals, warnings: [] });
    });
  }

  test.each([
    ["containers[0].image", "spec.image"],
    ["containers[0].imagePullPolicy", "spec.image.pullPolicy"],
    ["imagePullSecrets[0].name", "spec.image.pullSecrets[etcds].name"],
    ["imagePullSecrets[1].name", "spec.podTemplate.spec.imagePullSecrets[agents].name"],
  ])("at %s is reported for %s", (path, field) => {
    const causes = [{ field: `spec.template.spec.${path}`, message: "Invalid value" }];
    const refusals = [{ field, message: "Invalid value" }];
    expect(findings(422, { reason: "Invalid", details: { causes } }, { image })).toEqual({ refusals, warnings: [] });
  });

  test("for unknown fields is reported for the user's fields only", () => {
    const unknown = ["containers[0].startupProbe.often", "containers[1].imagePulPolicy", "tolerations[0].kee"];
    const message = `ReplicaSet in version "v1" cannot be handled as a ReplicaSet: strict decoding error: ${unknown
      .map((field) => `unknown field "spec.template.spec.${field}"`)
      .join(", ")}`;
    const said = { message: "unknown field; a Pod has none of this name" };
    expect(findings(400, { reason: "BadRequest", message })).toEqual({
      warnings: [],
      refusals: [
        { field: "spec.podTemplate.spec.containers[agent].imagePulPolicy", ...said },
        { field: "spec.podTemplate.spec.tolerations[0].kee", ...said },
      ],
    });
  });

  test("for a wrong type is reported for the field without its index", () => {
    const sentence = (path: string) =>
      `json: cannot unmarshal string into Go struct field Container.${path} of type bool`;
    const findingsAt = (path: string) => {
      const message = `ReplicaSet in version "v1" cannot be handled as a ReplicaSet: ${sentence(`spec.template.${path}`)}`;
      return findings(400, { reason: "BadRequest", message });
    };
    const field = "spec.podTemplate.spec.containers.tty";
    expect(findingsAt("spec.containers.tty")).toEqual({
      warnings: [],
      refusals: [{ field, message: sentence(field) }],
    });
    expect(findingsAt("spec.hostname")).toEqual({ warnings: [], refusals: [] });
  });

  const resources = "spec.template.spec.containers[0].resources";

  test("for values in the pod template is reported with Kubernetes' messages", () => {
    const causes = [
      { field: `${resources}.requests`, message: `Invalid value: "2": must be less than or equal to cpu limit of 1` },
      { field: "spec.template.spec.affinity.nodeAffinity.a[0]", message: "Required value" },
      { field: "spec.template.annotations[x]", message: "Invalid value" },
    ];
    expect(findings(422, { reason: "Invalid", details: { causes } })).toEqual({
      warnings: [],
      refusals: [
        {
          field: "spec.podTemplate.spec.containers[etcd].resources.requests",
          message: `Invalid value: "2": must be less than or equal to cpu limit of 1`,
        },
        { field: "spec.podTemplate.spec.affinity.nodeAffinity.a[0]", message: "Required value" },
        { field: "spec.podTemplate.metadata.annotations[x]", message: "Invalid value" },
      ],
    });
  });

  test("for the operator's own fields is ignored", () => {
    const causes = [{ field: "spec.template.spec.hostname", message: "Invalid value" }];
    expect(findings(422, { reason: "Invalid", details: { causes } })).toEqual({ refusals: [], warnings: [] });
    const message = 'strict decoding error: unknown field "spec.template.spec.hostAliases"';
    expect(findings(400, { reason: "BadRequest", message })).toEqual({ refusals: [], warnings: [] });
  });

  test("by a webhook, policy or quota becomes a warning", () => {
    const causes = [{ field: `${resources}.limits`, message: "too much" }];
    const texts = [
      {
        code: 422,
        reason: "Invalid",
        message: 'admission webhook "a.b.c" denied the request: no',
        details: { causes },
      },
      {
        code: 400,
        reason: "BadRequest",
        message: 'admission webhook "a.b.c" denied the request: spec.template.spec.affinity',
      },
      { code: 400, reason: "BadRequest", message: 'admission webhook "a.b.c" does not support dry run' },
      { code: 403, reason: "Forbidden", message: 'replicasets.apps "x" is forbidden: exceeded quota: few' },
      {
        code: 422,
        reason: "Invalid",
        message: "ReplicaSet \"x\" is invalid: : ValidatingAdmissionPolicy 'p' with binding 'p' denied request: no",
        details: { causes },
      },
    ];
    for (const { code, ...status } of texts) {
      expect(findings(code, status)).toEqual({
        refusals: [],
        warnings: [`members could not be started at present: ${status.message}`],
      });
    }
  });

  test("for any other reason is ignored", () => {
    for (const error of [
      new OperatorError("KubeUnavailable", "no answer"),
      new OperatorError("KubeInvalid", "without a Status"),
      new OperatorError("Cancelled", "over"),
    ])
      expect(podTemplateFindings(error, trialOf({}))).toEqual({ refusals: [], warnings: [] });
    expect(findings(500, { reason: "InternalError", message: "etcd is down" })).toEqual({ refusals: [], warnings: [] });
    expect(findings(429, { reason: "TooManyRequests" })).toEqual({ refusals: [], warnings: [] });
    expect(findings(403, { reason: "Forbidden", message: 'User "x" cannot create resource' })).toEqual({
      refusals: [],
      warnings: [],
    });
    expect(findings(404, undefined)).toEqual({ refusals: [], warnings: [] });
  });
});

describe("a pod template that gives the member's TLS keys to other containers", () => {
  const { cluster: running } = cluster();
  const { status: _, ...asked } = running;
  const podTemplate = { spec: { shareProcessNamespace: true } };
  const of = (object: Pick<EtcdCluster, "metadata">, tls: object) => {
    const { tls: __, ...bare } = spec({});
    return { ...object, spec: { ...bare, podTemplate, ...tls } } as unknown as EtcdCluster;
  };
  const none = { tls: NO_TLS };
  test.each([
    ["is refused for a new cluster without spec.tls, which gets TLS", of(asked, {}), undefined, 1],
    ["is refused for a new cluster with TLS", of(asked, { tls: DEFAULT_TLS }), undefined, 1],
    ["is accepted for a new cluster without TLS", of(asked, none), undefined, 0],
    ["is accepted for a cluster that has run without TLS", of(running, {}), { ...running, spec: spec({}) }, 0],
  ] as const)("%s", (_name, object, before, count) => {
    const fields = templateRefusals(object, before as EtcdCluster | undefined).map(({ field }) => field);
    expect(fields).toEqual(Array(count).fill("spec.podTemplate.spec.shareProcessNamespace"));
  });
});
