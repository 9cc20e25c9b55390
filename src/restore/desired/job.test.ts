import { describe, expect, test } from "vitest";
import { AGENT_COMMAND, REPLAY_ETCD_FLAGS } from "#agent/task.ts";
import { NO_TLS } from "#api/tls.ts";
import { IMAGE, POD_TEMPLATE } from "#kit/snapshots/etcd-backup.ts";
import { BY_URL, goodObject, ON_VOLUME, restore, sourceBackup, UID } from "#kit/snapshots/etcd-restore.ts";
import { restoreJob } from "#restore/desired/job.ts";
import { fetchTask } from "#restore/desired/tasks.ts";
import type { RestoreSnapshot } from "#restore/snapshot.ts";

type Container = Readonly<Record<string, unknown>> & {
  env?: [{ name: string; value: string }];
  volumeMounts: readonly { name: string; mountPath: string; readOnly?: boolean }[];
};
type PodSpec = Readonly<Record<string, never>> & {
  initContainers: readonly [Container, Container];
  containers: readonly [Container];
  volumes: readonly {
    name: string;
    projected?: { sources: { secret: { name: string; items: { key: string }[] } }[] };
  }[];
};

function made(spec: object = {}, given: Partial<RestoreSnapshot> = {}, ordinal = 1) {
  const snapshot = restore({ stage: "claims", spec, with: given });
  return restoreJob(snapshot, snapshot.members[ordinal]!, goodObject(snapshot), IMAGE);
}

function podOf(job: ReturnType<typeof made>): PodSpec {
  return job.spec?.template.spec as unknown as PodSpec;
}

function taskOf(container: Container): Record<string, unknown> {
  return JSON.parse(container.env?.[0].value ?? "") as Record<string, unknown>;
}

const LABELS = {
  "app.kubernetes.io/name": "etcd-restore",
  "app.kubernetes.io/instance": "restored",
  "app.kubernetes.io/managed-by": "etcd-cluster-operator",
  "app.kubernetes.io/component": "restore",
  "etcd.improbable.io/restore-name": "back",
  "etcd.improbable.io/restored-from": UID,
};
const template = (cluster: object) => ({
  clusterTemplate: { clusterName: "restored", spec: { replicas: 3, version: "3.6.16", ...cluster } },
});

describe("restore to a point in time:", () => {
  const until = (spec: object) => made({ ...spec, until: { time: "2026-01-01T11:00:00Z" } });

  test("a temporary etcd serves the snapshot while the agent replays changes, before etcdutl restores", () => {
    const pod = podOf(until({}));
    const containers = [...pod.initContainers] as readonly Container[];
    expect(containers.map(({ name }) => name)).toEqual(["fetch", "base", "replica", "replay", "etcdutl"]);
    const work = `/var/lib/etcd/.restore-${UID}`;
    const [, base, replica, replay] = containers;
    expect(base?.command).toEqual([
      ...["etcdutl", "snapshot", "restore", `${work}/snapshot.db`, `--data-dir=${work}/replica`, "--name=replica"],
      ...["--initial-cluster=replica=http://127.0.0.1:2380", `--initial-cluster-token=${UID}`],
      "--initial-advertise-peer-urls=http://127.0.0.1:2380",
    ]);
    expect(replica?.command).toEqual([
      ...["etcd", "--name=replica", `--data-dir=${work}/replica`, "--listen-client-urls=http://127.0.0.1:2379"],
      ...["--advertise-client-urls=http://127.0.0.1:2379", "--listen-peer-urls=http://127.0.0.1:2380"],
      ...["--initial-advertise-peer-urls=http://127.0.0.1:2380", "--initial-cluster=replica=http://127.0.0.1:2380"],
      ...REPLAY_ETCD_FLAGS,
    ]);
    // Only the throw-away etcd is a sidecar; containers with a user's image get no Secret.
    expect(containers.map(({ restartPolicy }) => restartPolicy)).toEqual([
      undefined,
      undefined,
      "Always",
      undefined,
      undefined,
    ]);
    for (const each of [base, replica]) expect(each?.volumeMounts.map(({ name }) => name)).toEqual(["etcd-data"]);
    expect(taskOf(replay!)).toEqual({
      kind: "replay",
      from: { store: "s3", bucket: "backups", pathStyle: false },
      key: "foo/my-etcd/u/nightly.db",
      credentialsDir: "/run/agent/credentials",
      needsCredentials: true,
      prefix: "foo/my-etcd/u/changes",
      until: { time: "2026-01-01T11:00:00Z" },
      endpoint: "http://127.0.0.1:2379",
      workDir: work,
    });
    expect(taskOf(podOf(made({ until: { revision: "7" } })).initContainers[3 as 0]).until).toEqual({ revision: "7" });
  });

  test("auth stays enabled where the operator can log in, and is disabled while changes are replayed", () => {
    const tls = { peer: { provider: "Operator" }, client: { provider: "Operator", clientCertificates: "Required" } };
    const auths = [
      { spec: { tls, auth: { enabled: true } }, kept: "Keep", lifted: "Lift" },
      { spec: { tls, auth: { enabled: false } }, kept: undefined, lifted: undefined },
      { spec: { tls }, kept: undefined, lifted: undefined },
      { spec: { auth: { enabled: true } }, kept: "Keep", lifted: "Lift" },
      { spec: { tls: NO_TLS, auth: { enabled: true } }, kept: undefined, lifted: undefined },
    ];
    for (const { spec, kept, lifted } of auths) {
      const fetching = (more: object) => taskOf(podOf(made({ ...template(spec), ...more })).initContainers[0]);
      expect([fetching({}).auth, fetching({ until: { revision: "7" } }).auth]).toEqual([kept, lifted]);
    }
  });

  test("the replaying agent mounts the archive's volume and the encryption key", () => {
    const pod = podOf(until(ON_VOLUME));
    const replay = pod.initContainers[3 as 0];
    expect(taskOf(replay)).toMatchObject({
      from: { store: "volume", path: "/volume" },
      prefix: "nightly/changes",
      encryption: { keyFile: "/run/agent/encryption/key" },
    });
    expect(taskOf(replay)).not.toHaveProperty("credentialsDir");
    expect(replay.volumeMounts).toEqual([
      { name: "etcd-data", mountPath: "/var/lib/etcd" },
      { name: "destination", mountPath: "/volume", readOnly: true },
      { name: "encryption", mountPath: "/run/agent/encryption", readOnly: true },
    ]);
  });

  test("the Job fails at once on exit codes of containers that would fail again", () => {
    const rules = (until({}).spec as { podFailurePolicy: { rules: { onExitCodes?: { containerName: string } }[] } })
      .podFailurePolicy.rules;
    const names = rules.map(({ onExitCodes }) => onExitCodes?.containerName);
    expect(names).toEqual(["fetch", "replay", "finish", "base", "etcdutl", undefined]);
  });
});

test("the Job is owned by the EtcdRestore and named after its uid and the member's ordinal", () => {
  const { metadata, spec, ...kind } = made();
  expect(kind).toEqual({ apiVersion: "batch/v1", kind: "Job" });
  expect(metadata).toEqual({
    namespace: "foo",
    name: `restore-${UID}-1`,
    labels: LABELS,
    ownerReferences: [
      {
        ...{ apiVersion: "etcd.improbable.io/v1beta1", kind: "EtcdRestore", name: "back", uid: UID },
        ...{ controller: true, blockOwnerDeletion: true },
      },
    ],
  });
  expect(spec?.template.metadata).toEqual({ labels: LABELS });
});

test("the Job fails at once on exit codes that would repeat, and does not count evictions", () => {
  const rule = (containerName: string, values: readonly number[]) => ({
    action: "FailJob",
    onExitCodes: { containerName, operator: "In", values },
  });
  expect(made().spec).toMatchObject({
    backoffLimit: 4,
    podFailurePolicy: {
      rules: [
        rule("fetch", [2]),
        rule("finish", [2]),
        rule("etcdutl", [1, 2, 128]),
        { action: "Ignore", onPodConditions: [{ type: "DisruptionTarget", status: "True" }] },
      ],
    },
    template: { spec: { restartPolicy: "Never" } },
  });
});

test("the pod meets restricted pod security with the member's user IDs, and has no service account token", () => {
  const { containers: _, initContainers: __, volumes: ___, topologySpreadConstraints: ____, ...spec } = podOf(made());
  expect(spec).toEqual({
    restartPolicy: "Never",
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    terminationGracePeriodSeconds: 10,
    securityContext: {
      ...{ runAsNonRoot: true, runAsUser: 65_532, runAsGroup: 65_532, fsGroup: 65_532 },
      fsGroupChangePolicy: "OnRootMismatch",
      seccompProfile: { type: "RuntimeDefault" },
    },
    hostAliases: [{ ip: "127.0.0.1", hostnames: ["restored-1.restored.foo.svc"] }],
  });
  expect(podOf(made()).securityContext).not.toHaveProperty("supplementalGroups");
  const users = { securityContext: { runAsUser: 1_000, fsGroup: 2_000 } };
  const etcd = { name: "etcd", securityContext: { runAsGroup: 3_000 } };
  const own = podOf(made(template({ podTemplate: { spec: { ...users, containers: [etcd] } } })));
  expect(own.securityContext).toMatchObject({
    runAsNonRoot: true,
    runAsUser: 1_000,
    runAsGroup: 3_000,
    fsGroup: 2_000,
  });
});

describe("podTemplate", () => {
  const { serviceAccountName, priorityClassName, imagePullSecrets, resources } = POD_TEMPLATE.spec;
  const fields = { serviceAccountName, priorityClassName, imagePullSecrets };
  const podTemplate = { metadata: POD_TEMPLATE.metadata, spec: { ...fields, resources } };

  test("adds its metadata to the pod and not to the Job, and its fields to the pod", () => {
    const job = made({ podTemplate });
    expect(job.metadata).toEqual(made().metadata);
    expect(job.spec?.template.metadata).toEqual({
      labels: { ...POD_TEMPLATE.metadata.labels, ...LABELS },
      annotations: POD_TEMPLATE.metadata.annotations,
    });
    const { initContainers: _, containers: __, ...pod } = podOf(job);
    const {
      initContainers: ___,
      containers: ____,
      ...plain
    } = podOf(made({ podTemplate: { spec: { serviceAccountName } } }));
    expect(pod).toEqual({ ...plain, ...fields });
  });

  test("gives its resources to the agent's containers, also those that replay changes", () => {
    const { initContainers, containers } = podOf(made({ podTemplate, until: { revision: "7" } }));
    const all = [...initContainers, ...containers].filter((each) => each.resources !== undefined);
    expect(all.map(({ name }) => name)).toEqual(["fetch", "replay", "finish"]);
    for (const each of all) expect(each.resources).toEqual(resources);
  });

  test("adds pull secrets to those of the members, each once", () => {
    const image = { pullSecrets: [{ name: "etcd" }, { name: "both" }] };
    const own = { spec: { imagePullSecrets: [{ name: "both" }, { name: "registry" }] } };
    const secrets = (spec: object) => (podOf(made(spec)) as { imagePullSecrets?: object }).imagePullSecrets;
    const all = [{ name: "etcd" }, { name: "both" }, { name: "registry" }];
    expect(secrets({ ...template({ image }), podTemplate: own })).toEqual(all);
    expect(secrets(template({ image }))).toEqual(image.pullSecrets);
    expect(secrets({})).toBeUndefined();
  });
});

describe("the pod's containers:", () => {
  const confined = { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ["ALL"] } };
  const work = `/var/lib/etcd/.restore-${UID}`;
  const DATA = { name: "etcd-data", mountPath: "/var/lib/etcd" };

  test("the agent fetches the snapshot with the store's credentials and the expected checksum", () => {
    const [bringing] = podOf(made()).initContainers;
    const { env: _, ...rest } = bringing;
    expect(rest).toEqual({
      name: "fetch",
      image: IMAGE,
      imagePullPolicy: "IfNotPresent",
      command: AGENT_COMMAND,
      terminationMessagePolicy: "FallbackToLogsOnError",
      resources: { requests: { cpu: "200m", memory: "160Mi" }, limits: { memory: "256Mi" } },
      securityContext: confined,
      volumeMounts: [DATA, { name: "credentials", mountPath: "/run/agent/credentials", readOnly: true }],
    });
    expect(taskOf(bringing)).toEqual({
      kind: "fetch",
      from: { store: "s3", bucket: "backups", pathStyle: false },
      key: "foo/my-etcd/u/nightly.db",
      credentialsDir: "/run/agent/credentials",
      needsCredentials: true,
      expect: { backupUID: "0123456789-uid-of-backup", sha256: "ab" },
      workDir: work,
    });
  });

  test("the agent expects only the backup's uid when the EtcdBackup has no checksum", () => {
    const { object: _, ...status } = sourceBackup().status ?? {};
    const [bringing] = podOf(made({}, { backup: { ...sourceBackup(), status } })).initContainers;
    expect(taskOf(bringing)).toMatchObject({ expect: { backupUID: "0123456789-uid-of-backup" } });
    expect(taskOf(bringing).expect).not.toHaveProperty("sha256");
  });

  test("the agent expects neither uid nor checksum for a URL", () => {
    const [bringing] = podOf(made(BY_URL)).initContainers;
    const snapshot = restore({ stage: "claims", spec: BY_URL });
    const task = taskOf(bringing);
    expect(fetchTask(snapshot, goodObject(snapshot))).not.toHaveProperty("expect");
    expect(task).toMatchObject({ from: { store: "s3", bucket: "bucket", region: "eu-1" }, key: "k.db" });
    expect(task).not.toHaveProperty("expect");
    expect(task).not.toHaveProperty("encryption");
  });

  test("the agent mounts a volume's claim read-only, and the encryption key", () => {
    const pod = podOf(made(ON_VOLUME));
    const [bringing, tool] = pod.initContainers;
    expect(taskOf(bringing)).toMatchObject({
      from: { store: "volume", path: "/volume" },
      key: "nightly/k.db",
      encryption: { keyFile: "/run/agent/encryption/key" },
    });
    expect(taskOf(bringing)).not.toHaveProperty("credentialsDir");
    expect(bringing.volumeMounts).toEqual([
      DATA,
      { name: "destination", mountPath: "/volume", readOnly: true },
      { name: "encryption", mountPath: "/run/agent/encryption", readOnly: true },
    ]);
    for (const each of [tool, ...pod.containers]) expect(each.volumeMounts).toEqual([DATA]);
    expect(pod.volumes.map(({ name }) => name)).toEqual(["etcd-data", "destination", "encryption"]);
    expect(pod.volumes[2]?.projected?.sources[0]?.secret).toMatchObject({
      name: "key",
      items: [{ key: "key", path: "key" }],
    });
  });

  test("etcdutl of the cluster's release restores the snapshot into this member's data directory", () => {
    const [, tool] = podOf(made()).initContainers;
    const url = (n: number) => `http://restored-${n}.restored.foo.svc:2380`;
    expect(tool).toEqual({
      name: "etcdutl",
      image: "registry.example/etcd:v3.6.16",
      imagePullPolicy: "IfNotPresent",
      command: [
        ...["etcdutl", "snapshot", "restore", `${work}/snapshot.db`, `--data-dir=${work}/data`, "--name=restored-1"],
        `--initial-cluster=restored-0=${url(0)},restored-1=${url(1)},restored-2=${url(2)}`,
        `--initial-cluster-token=foo/restored/${UID}`,
        `--initial-advertise-peer-urls=${url(1)}`,
        ...["--bump-revision=1000000000", "--mark-compacted"],
      ],
      terminationMessagePolicy: "FallbackToLogsOnError",
      securityContext: confined,
      volumeMounts: [DATA],
    });
  });

  test("etcdutl has the image and resources of the member's etcd container", () => {
    const resources = { limits: { memory: "1Gi" } };
    const image = { repository: "example.test/etcd", pullPolicy: "Always", pullSecrets: [{ name: "pull" }] };
    const pod = podOf(
      made(
        template({ image, version: "3.5.35", podTemplate: { spec: { containers: [{ name: "etcd", resources }] } } }),
      ),
    );
    const [, tool] = pod.initContainers;
    expect(tool).toMatchObject({ image: "example.test/etcd:v3.5.35", imagePullPolicy: "Always", resources });
    expect(pod).toMatchObject({ imagePullSecrets: [{ name: "pull" }] });
  });

  test("the agent moves the data directory to its final path", () => {
    const [finishing] = podOf(
      made({ podTemplate: { spec: { resources: { limits: { memory: "300Mi" } } } } }),
    ).containers;
    expect(finishing).toMatchObject({
      name: "finish",
      image: IMAGE,
      volumeMounts: [DATA],
      resources: { limits: { memory: "300Mi" } },
    });
    expect(taskOf(finishing)).toEqual({
      kind: "finish",
      workDir: work,
      restored: `${work}/data`,
      dataDir: "/var/lib/etcd/data",
      restoreUID: UID,
    });
  });
});
