import { describe, expect, test } from "vitest";
import { backupJob, deletionJob } from "#backup/desired/job.ts";
import { verificationJob } from "#backup/desired/verification.ts";
import type { BackupSnapshot } from "#backup/snapshot.ts";
import {
  available,
  backup,
  destinationClaim,
  goodTarget,
  IMAGE,
  ON_VOLUME,
  overTls,
  verified,
  withTemplate,
} from "#kit/snapshots/etcd-backup.ts";
import type { Pod } from "#kube/kinds.ts";

const NODES = { nodeSelector: { pool: "etcd" }, tolerations: [{ key: "etcd", operator: "Exists" }] };
const TERMS = { nodeSelectorTerms: [{ matchExpressions: [{ key: "zone", operator: "In", values: ["a"] }] }] };
const nodeAffinity = { requiredDuringSchedulingIgnoredDuringExecution: TERMS };
const MEMBER = {
  ...NODES,
  affinity: { nodeAffinity, podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [] } },
  imagePullSecrets: [{ name: "mirror" }],
};
const USERS = { runAsUser: 65_532, runAsGroup: 65_532, fsGroup: 65_532, fsGroupChangePolicy: "OnRootMismatch" };
const ALWAYS = { runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } };

type PodSpec = NonNullable<Pod["spec"]>;

/** Spec of the pods that take, delete and verify the backup. */
function specs(cluster: object, spec: object = {}, given: Partial<BackupSnapshot> = {}): readonly PodSpec[] {
  const snapshot = verified({ spec, with: { cluster: withTemplate(cluster), ...given } });
  const target = goodTarget(snapshot);
  const jobs = [
    backupJob(snapshot, target, IMAGE),
    deletionJob(snapshot, target, IMAGE),
    verificationJob(snapshot, target, IMAGE, "etcd:v3.6.16"),
  ];
  return jobs.map((job) => job.spec?.template.spec as PodSpec);
}

function each(all: readonly PodSpec[], expected: object): void {
  for (const spec of all) expect(spec).toMatchObject(expected);
}

describe("pods of a backup of an EtcdCluster", () => {
  test("run on the nodes of its members, without terms about other pods", () => {
    for (const spec of specs(MEMBER)) {
      expect(spec).toMatchObject({ ...NODES, imagePullSecrets: [{ name: "mirror" }] });
      expect(spec.affinity).toEqual({ nodeAffinity });
    }
  });

  test("run where podTemplate of the backup permits, when it has any field about nodes", () => {
    const own = { tolerations: [{ operator: "Exists" as const }] };
    for (const spec of specs(MEMBER, { podTemplate: { spec: own } })) {
      expect(spec).toMatchObject(own);
      expect(spec).not.toHaveProperty("nodeSelector");
      expect(spec).not.toHaveProperty("affinity");
    }
    each(specs({}, { podTemplate: { spec: { affinity: { nodeAffinity } } } }), { affinity: { nodeAffinity } });
    // Many clients leave empty values out.
    each(specs(MEMBER, { podTemplate: { spec: { nodeSelector: {}, tolerations: [] } } }), NODES);
  });

  test("pull with the Secrets of the image, of both templates, and each once", () => {
    const cluster = withTemplate(MEMBER);
    const image = { pullSecrets: [{ name: "etcd" }, { name: "mirror" }] };
    const spec = { podTemplate: { spec: { imagePullSecrets: [{ name: "agent" }, { name: "etcd" }] } } };
    const all = specs({}, spec, { cluster: { ...cluster, spec: { ...cluster.spec, image } } });
    for (const { imagePullSecrets } of all)
      expect(imagePullSecrets).toEqual([{ name: "etcd" }, { name: "mirror" }, { name: "agent" }]);
  });

  test.each<[string, object, object]>([
    ["nothing", {}, USERS],
    ["users", { securityContext: { runAsUser: 7, fsGroup: 8 } }, { ...USERS, runAsUser: 7, fsGroup: 8 }],
    [
      "a user and a group of etcd's container",
      {
        containers: [
          { name: "sidecar", securityContext: { runAsUser: 4, runAsGroup: 4 } },
          { name: "etcd", securityContext: { runAsUser: 9, runAsGroup: 10 } },
        ],
      },
      { ...USERS, runAsUser: 9, runAsGroup: 10 },
    ],
    [
      "null",
      { securityContext: { runAsUser: null, runAsGroup: null, fsGroup: null } },
      { fsGroupChangePolicy: "OnRootMismatch" },
    ],
    ["root, which the agent never uses", { securityContext: { runAsUser: 0, runAsNonRoot: false } }, USERS],
    [
      "security fields other than users and groups",
      { securityContext: { sysctls: [], seccompProfile: { type: "Localhost" } } },
      USERS,
    ],
  ])("run as the users of members when the cluster's template has %s", (_, spec, expected) => {
    for (const { securityContext } of specs(spec)) expect(securityContext).toEqual({ ...expected, ...ALWAYS });
  });

  test("run as the users in podTemplate of the backup, where null leaves a user to the platform", () => {
    const securityContext = { runAsUser: null, runAsGroup: 5 };
    const all = specs({ securityContext: { runAsUser: 7 } }, { podTemplate: { spec: { securityContext } } });
    const { runAsUser: _, ...users } = USERS;
    for (const spec of all) expect(spec.securityContext).toEqual({ ...users, runAsGroup: 5, ...ALWAYS });
  });

  test("ignore a template that is forbidden with TLS, and only with TLS", () => {
    const shared = { ...MEMBER, shareProcessNamespace: true };
    for (const spec of specs(shared)) expect(spec).toMatchObject(NODES);
    const cluster = {
      ...overTls(),
      spec: { ...overTls().spec, podTemplate: { spec: shared } },
    } as BackupSnapshot["cluster"];
    for (const spec of specs({}, {}, { cluster })) expect(spec).not.toHaveProperty("nodeSelector");
  });

  test("ignore a forbidden template of the cluster, as members do", () => {
    for (const spec of specs({ ...MEMBER, hostNetwork: true })) {
      expect(spec).not.toHaveProperty("nodeSelector");
      expect(spec.securityContext).toEqual({ ...USERS, ...ALWAYS });
    }
  });
});

test("pods of a backup of another etcd, or of a deleted EtcdCluster, have only the fields of podTemplate", () => {
  const snapshot = backup({ stage: "new", with: { cluster: undefined } });
  const spec = deletionJob(snapshot, goodTarget(snapshot), IMAGE).spec?.template.spec;
  expect(spec).not.toHaveProperty("nodeSelector");
  expect(spec?.securityContext).toEqual({ ...USERS, ...ALWAYS });
});

describe("pods that mount a claim", () => {
  const on = (accessModes: readonly string[], podTemplate: object = {}) => {
    const claim = destinationClaim();
    const given = { cluster: available(), claim: { ...claim, spec: { ...claim.spec, accessModes } } as typeof claim };
    const snapshot = verified({ spec: { ...ON_VOLUME, podTemplate }, with: given });
    const target = goodTarget(snapshot);
    const jobs = [backupJob(snapshot, target, IMAGE), verificationJob(snapshot, target, IMAGE, "etcd:v3.6.16")];
    return jobs.map((job) => job.spec?.template as unknown as Required<Pod>);
  };

  test("of ReadWriteOnce run on the node of the others", () => {
    const values = on(["ReadWriteOnce"]).map(({ metadata, spec }) => {
      const value = metadata.labels?.["etcd.improbable.io/destination-claim"];
      const matchLabels = { "etcd.improbable.io/destination-claim": value };
      const term = { labelSelector: { matchLabels }, topologyKey: "kubernetes.io/hostname" };
      expect(spec.affinity).toEqual({ podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } });
      return value;
    });
    expect(new Set(values).size).toBe(1);
    const podAffinity = { requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: "zone" }] };
    const [both] = on(["ReadWriteOnce"], { spec: { affinity: { nodeAffinity, podAffinity } } });
    expect(both?.spec.affinity).toMatchObject({
      nodeAffinity,
      podAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: [
          { topologyKey: "zone" },
          { topologyKey: "kubernetes.io/hostname" },
        ],
      },
    });
  });

  test("of other access modes run anywhere", () => {
    for (const modes of [["ReadWriteMany"], ["ReadWriteOnce", "ReadWriteMany"], []])
      for (const { metadata, spec } of on(modes)) {
        expect(spec).not.toHaveProperty("affinity");
        expect(Object.keys(metadata.labels ?? {})).not.toContain("etcd.improbable.io/destination-claim");
      }
  });
});
