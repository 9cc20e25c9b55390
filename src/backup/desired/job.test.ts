import { describe, expect, test } from "vitest";
import { AGENT_COMMAND } from "#agent/task.ts";
import type { EtcdBackupSpec } from "#api/v1beta1/backup.ts";
import { backupJob, checkJob, deletionJob } from "#backup/desired/job.ts";
import type { BackupSnapshot } from "#backup/snapshot.ts";
import { backup, goodTarget, IMAGE, overTls, POD_TEMPLATE, stored } from "#kit/snapshots/etcd-backup.ts";

type PodSpec = Readonly<Record<string, never>> & {
  containers: readonly [Record<string, unknown>];
  volumes: readonly unknown[];
};

function made(spec: object = {}, given: Partial<BackupSnapshot> = {}) {
  const snapshot = backup({ stage: "new", spec, with: given });
  return backupJob(snapshot, goodTarget(snapshot), IMAGE);
}

function podOf(job: ReturnType<typeof made>): PodSpec {
  return job.spec?.template.spec as unknown as PodSpec;
}

function taskOf(job: ReturnType<typeof made>): Record<string, unknown> {
  const [{ env }] = podOf(job).containers as [{ env: [{ name: string; value: string }] }];
  expect(env).toHaveLength(1);
  expect(env[0].name).toBe("AGENT_TASK");
  return JSON.parse(env[0].value) as Record<string, unknown>;
}

/** Name, key and file path of all Secrets. */
function filesOf(job: ReturnType<typeof made>): readonly string[] {
  const { volumes, containers } = podOf(job) as unknown as {
    volumes: {
      name: string;
      projected?: {
        sources: {
          secret: { name: string; optional?: boolean; items: { key: string; path: string; mode: number }[] };
        }[];
      };
    }[];
    containers: [{ volumeMounts: { name: string; mountPath: string }[] }];
  };
  return volumes.flatMap(({ name, projected }) => {
    const at = containers[0].volumeMounts.find((mount) => mount.name === name)?.mountPath;
    // Without items the kubelet would mount the whole Secret.
    for (const { secret } of projected?.sources ?? []) expect(secret.items.length).toBeGreaterThan(0);
    return (projected?.sources ?? []).flatMap(({ secret }) =>
      secret.items.map(({ key, path, mode }) => {
        expect(mode).toBe(0o440);
        return `${secret.name}/${key} -> ${at}/${path}${secret.optional === true ? "?" : ""}`;
      }),
    );
  });
}

const KEY = "foo/my-etcd/uid-of-cluster/20260101T115900Z-nightly-01234567.db";
const EXTERNAL = {
  source: {
    external: {
      endpoints: ["https://a:1", "b:2379"],
      tls: { secretName: "tls", serverName: "etcd" },
      auth: { secretName: "root" },
    },
  },
};

test("the Job of an etcd that is no EtcdCluster has no label instance", () => {
  const { metadata } = made(EXTERNAL, { cluster: undefined });
  expect(metadata.labels).not.toHaveProperty("app.kubernetes.io/instance");
  expect(metadata.labels).toHaveProperty("app.kubernetes.io/component", "backup");
});

test("the Job is owned by the EtcdBackup, and has its name", () => {
  const { metadata, spec, ...kind } = made();
  expect(kind).toEqual({ apiVersion: "batch/v1", kind: "Job" });
  const labels = {
    "app.kubernetes.io/name": "etcd-backup",
    "app.kubernetes.io/instance": "my-etcd",
    "app.kubernetes.io/managed-by": "etcd-cluster-operator",
    "app.kubernetes.io/component": "backup",
    "etcd.improbable.io/backup-name": "nightly",
  };
  expect(metadata).toEqual({
    namespace: "foo",
    name: "nightly",
    labels,
    ownerReferences: [
      {
        apiVersion: "etcd.improbable.io/v1beta1",
        kind: "EtcdBackup",
        name: "nightly",
        uid: "0123456789-uid-of-backup",
        controller: true,
        blockOwnerDeletion: true,
      },
    ],
  });
  expect(spec?.template.metadata).toStrictEqual({ labels });
});

test("the Job fails at once on the exit code of lasting failures, and does not count evictions", () => {
  const { spec } = made();
  expect(spec).toMatchObject({
    backoffLimit: 4,
    podFailurePolicy: {
      rules: [
        { action: "FailJob", onExitCodes: { containerName: "agent", operator: "In", values: [2] } },
        { action: "Ignore", onPodConditions: [{ type: "DisruptionTarget", status: "True" }] },
      ],
    },
    template: { spec: { restartPolicy: "Never" } },
  });
  expect(spec).not.toHaveProperty("activeDeadlineSeconds");
  expect(spec).not.toHaveProperty("ttlSecondsAfterFinished");
  expect(made({ activeDeadlineSeconds: 60 }).spec).toMatchObject({ activeDeadlineSeconds: 60 });
});

test("the pod meets restricted pod security, and has no service account token", () => {
  const { containers, volumes: _, ...spec } = podOf(made());
  expect(spec).toStrictEqual({
    restartPolicy: "Never",
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    terminationGracePeriodSeconds: 30,
    securityContext: {
      runAsNonRoot: true,
      runAsUser: 65_532,
      runAsGroup: 65_532,
      fsGroup: 65_532,
      fsGroupChangePolicy: "OnRootMismatch",
      seccompProfile: { type: "RuntimeDefault" },
    },
  });
  const [{ env: _env, volumeMounts: _mounts, ...agent }] = containers;
  expect(containers).toHaveLength(1);
  expect(agent).toEqual({
    name: "agent",
    image: IMAGE,
    imagePullPolicy: "IfNotPresent",
    command: AGENT_COMMAND,
    terminationMessagePolicy: "FallbackToLogsOnError",
    ports: [{ name: "progress", containerPort: 8080, protocol: "TCP" }],
    resources: { requests: { cpu: "200m", memory: "160Mi" }, limits: { memory: "256Mi" } },
    securityContext: { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ["ALL"] } },
  });
  const own = podOf(made({ podTemplate: { spec: { serviceAccountName: "backup" } } }));
  expect(own).toMatchObject({ serviceAccountName: "backup", automountServiceAccountToken: false });
});

test("podTemplate adds its metadata to the pod and not to the Job, and its fields to the pod", () => {
  const job = made({ podTemplate: POD_TEMPLATE });
  const { labels = {} } = made().metadata;
  expect(job.metadata).toEqual(made().metadata);
  expect(job.spec?.template.metadata).toEqual({
    labels: { "azure.workload.identity/use": "true", ...labels },
    annotations: { "linkerd.io/inject": "disabled" },
  });
  const { resources, etcdResources: _e, securityContext: _s, ...fields } = POD_TEMPLATE.spec;
  const { containers, securityContext: _users, ...pod } = podOf(job);
  const {
    containers: _,
    securityContext: _own,
    ...plain
  } = podOf(made({ podTemplate: { spec: { serviceAccountName: "backup" } } }));
  expect(pod).toEqual({ ...plain, ...fields });
  expect(containers[0].resources).toEqual(resources);
});

test("a proxy of podTemplate is in the agent's environment, beside its task, and never for metadata servers", () => {
  const proxy = { httpsProxy: "http://proxy:3128", noProxy: ".internal" };
  const [{ env }] = podOf(made({ podTemplate: { spec: { proxy } } })).containers;
  const direct = ["localhost", "127.0.0.1", "169.254.169.254", "169.254.170.2", "169.254.170.23"];
  const never = [...direct, "metadata.google.internal", "metadata.google.internal."].join(",");
  expect(env).toMatchObject([
    { name: "AGENT_TASK" },
    { name: "HTTPS_PROXY", value: "http://proxy:3128" },
    { name: "NO_PROXY", value: `.internal,${never}` },
  ]);
  const plain = { httpProxy: "http://proxy:3128" };
  expect(podOf(made({ podTemplate: { spec: { proxy: plain } } })).containers[0].env).toMatchObject([
    { name: "AGENT_TASK" },
    { name: "HTTP_PROXY", value: "http://proxy:3128" },
    { name: "NO_PROXY", value: never },
  ]);
  const [{ env: without }] = podOf(made({ podTemplate: { spec: { proxy: { noProxy: ".internal" } } } })).containers;
  expect(without).toHaveLength(1);
});

test("a backup to Azure without keys has the label of Azure's identities, unless podTemplate has another value", () => {
  const labelOf = (azure: object, podTemplate: object = {}) => {
    const destination = { azure: { account: "acc", container: "con", ...azure } };
    return made({ destination, podTemplate }).spec?.template.metadata?.labels?.["azure.workload.identity/use"];
  };
  const keys = { credentials: { secretName: "keys" } };
  expect(labelOf({})).toBe("true");
  expect(labelOf(keys)).toBeUndefined();
  expect(labelOf(keys, { spec: { serviceAccountName: "backup" } })).toBe("true");
  expect(labelOf({}, { metadata: { labels: { "azure.workload.identity/use": "false" } } })).toBe("false");
  const withIdentity = made({ podTemplate: { spec: { serviceAccountName: "backup" } } });
  for (const job of [made(), withIdentity])
    expect(job.spec?.template.metadata?.labels).not.toHaveProperty("azure.workload.identity/use");
});

test("a backup to Google with a service account has a token for Google's workload identity federation", () => {
  const to = (spec: object) => podOf(made({ destination: { gcs: { bucket: "bb" } }, podTemplate: { spec } }));
  const { volumes, containers } = to({ serviceAccountName: "backup" });
  const serviceAccountToken = { audience: "etcd.improbable.io", expirationSeconds: 3_600, path: "token" };
  expect(volumes).toEqual([
    { name: "identity", projected: { defaultMode: 0o440, sources: [{ serviceAccountToken }] } },
  ]);
  const mount = { name: "identity", mountPath: "/var/run/secrets/etcd.improbable.io", readOnly: true };
  expect(containers[0].volumeMounts).toContainEqual(mount);
  expect(to({}).volumes).toEqual([]);
  const toS3 = podOf(made({ podTemplate: { spec: { serviceAccountName: "backup" } } })).volumes;
  expect(toS3).not.toContainEqual(expect.objectContaining({ name: "identity" }));
});

test("podTemplate changes no label of the operator and no other field of the pod", () => {
  const labels = { "app.kubernetes.io/name": "other", "etcd.improbable.io/backup-name": "other" };
  const spec = { automountServiceAccountToken: true, hostNetwork: true, containers: [] };
  const snapshot = backup({ stage: "new" });
  const podTemplate = { metadata: { labels }, spec } as EtcdBackupSpec["podTemplate"];
  const changed = { ...snapshot, backup: { ...snapshot.backup, spec: { ...snapshot.backup.spec, podTemplate } } };
  expect(backupJob(changed, goodTarget(changed), IMAGE)).toEqual(made());
});

describe("the agent's task", () => {
  test("names the endpoints of the voters, the cluster ID, and the EtcdCluster's uid", () => {
    expect(taskOf(made())).toEqual({
      kind: "backup",
      backupUID: "0123456789-uid-of-backup",
      destination: { store: "s3", bucket: "backups", pathStyle: false },
      key: KEY,
      credentialsDir: "/run/agent/credentials",
      needsCredentials: true,
      source: {
        endpoints: [0, 1, 2].map((n) => `http://my-etcd-${n}.my-etcd.foo.svc:2379`),
        clusterID: backup().cluster?.status?.identity?.clusterID,
      },
      compression: "None",
      about: { namespace: "foo", backupName: "nightly", clusterName: "my-etcd", clusterUID: "uid-of-cluster" },
    });
  });

  test("has no endpoints of learners", () => {
    const { cluster } = backup();
    const members = cluster!.status!.members!.map((each, n) => ({
      ...each,
      role: n === 1 ? ("Learner" as const) : each.role,
    }));
    const task = taskOf(made({}, { cluster: { ...cluster!, status: { ...cluster!.status, members } } }));
    expect(task).toMatchObject({
      source: { endpoints: [0, 2].map((n) => `http://my-etcd-${n}.my-etcd.foo.svc:2379`) },
    });
  });

  test("has the paths of TLS and login files for another etcd", () => {
    const encryption = { keySecretRef: { name: "key", key: "k" } };
    const given = { ...EXTERNAL, compression: "Zstd", encryption, destination: { volume: { claimName: "c" } } };
    const task = taskOf(made(given, { cluster: undefined }));
    expect(task).toMatchObject({
      source: {
        endpoints: ["https://a:1", "http://b:2379"],
        tlsDir: "/run/agent/source-tls",
        serverName: "etcd",
        authDir: "/run/agent/source-auth",
      },
      destination: { store: "volume", path: "/volume" },
      compression: "Zstd",
      encryption: { keyFile: "/run/agent/encryption/key" },
      about: { namespace: "foo", backupName: "nightly" },
    });
    for (const field of ["clusterID", "clusterName", "clusterUID", "credentialsDir"])
      expect(JSON.stringify(task)).not.toContain(`"${field}"`);
  });

  test("has https endpoints and the operator's client certificate for a cluster with TLS", () => {
    const source = taskOf(made({}, { cluster: overTls() })).source;
    expect(source).toEqual({
      endpoints: [0, 1, 2].map((n) => `https://my-etcd-${n}.my-etcd.foo.svc:2379`),
      clusterID: backup().cluster?.status?.identity?.clusterID,
      tlsDir: "/run/agent/source-tls",
    });
    const archive = taskOf(made({ archive: {} }, { cluster: overTls() })).source as { endpoints: readonly string[] };
    expect(archive.endpoints.at(-1)).toBe("https://my-etcd-client.foo.svc:2379");
    const peersOnly = taskOf(made({}, { cluster: overTls({ client: { provider: "None" } }) }));
    expect(JSON.stringify(peersOnly.source)).not.toMatch(/https|tlsDir/);
  });

  test("has no file paths when the spec has no Secrets", () => {
    const task = taskOf(
      made({ source: { external: { endpoints: ["https://a:1"], tls: {} } }, destination: { gcs: { bucket: "bb" } } }),
    );
    expect(task.source).toEqual({ endpoints: ["https://a:1"] });
    expect(task).not.toHaveProperty("credentialsDir");
    expect(task).not.toHaveProperty("encryption");
  });
});

describe("the agent's pod:", () => {
  test.each([
    [{}, ["s3/AWS_ACCESS_KEY_ID -> /run/agent/credentials/AWS_ACCESS_KEY_ID", "s3/AWS_SECRET_ACCESS_KEY -> /run/agent/credentials/AWS_SECRET_ACCESS_KEY", "s3/AWS_SESSION_TOKEN -> /run/agent/credentials/AWS_SESSION_TOKEN?", "s3/ca.crt -> /run/agent/credentials/ca.crt?"]],
    [{ podTemplate: { spec: { serviceAccountName: "sa" } } }, ["s3/AWS_ACCESS_KEY_ID -> /run/agent/credentials/AWS_ACCESS_KEY_ID?", "s3/AWS_SECRET_ACCESS_KEY -> /run/agent/credentials/AWS_SECRET_ACCESS_KEY?", "s3/AWS_SESSION_TOKEN -> /run/agent/credentials/AWS_SESSION_TOKEN?", "s3/ca.crt -> /run/agent/credentials/ca.crt?"]],
    [{ destination: { s3: { bucket: "bb" } } }, []],
    [{ destination: { gcs: { bucket: "bb", credentials: { secretName: "g" } } } }, ["g/credentials.json -> /run/agent/credentials/credentials.json", "g/ca.crt -> /run/agent/credentials/ca.crt?"]],
    [{ destination: { azure: { account: "acc", container: "con", credentials: { secretName: "a" } } } }, ["a/AZURE_STORAGE_KEY -> /run/agent/credentials/AZURE_STORAGE_KEY?", "a/AZURE_STORAGE_SAS_TOKEN -> /run/agent/credentials/AZURE_STORAGE_SAS_TOKEN?", "a/ca.crt -> /run/agent/credentials/ca.crt?"]],
    [{ destination: { url: { template: "gs://bb/k" } } }, ["etcd-backup-credentials/credentials.json -> /run/agent/credentials/credentials.json?", "etcd-backup-credentials/ca.crt -> /run/agent/credentials/ca.crt?"]],
    [{ ...EXTERNAL, destination: { volume: { claimName: "c" } } }, ["tls/ca.crt -> /run/agent/source-tls/ca.crt?", "tls/tls.crt -> /run/agent/source-tls/tls.crt?", "tls/tls.key -> /run/agent/source-tls/tls.key?", "root/ETCD_USERNAME -> /run/agent/source-auth/ETCD_USERNAME", "root/ETCD_PASSWORD -> /run/agent/source-auth/ETCD_PASSWORD"]],
    [{ destination: { volume: { claimName: "c" } }, encryption: { keySecretRef: { name: "k", key: "mine" } } }, ["k/mine -> /run/agent/encryption/key"]],
  ])("mounts only the needed keys of Secrets for %j", (spec, files) => expect(filesOf(made(spec))).toEqual(files)); // biome-ignore format: a table

  const ON_CLAIM = { destination: { volume: { claimName: "c" } } };
  const tlsFiles = (name: string) =>
    ["ca.crt", "tls.crt", "tls.key"].map((key) => `${name}/${key} -> /run/agent/source-tls/${key}`);

  test("mounts the whole operator's client Secret for a cluster with TLS", () => {
    expect(filesOf(made(ON_CLAIM, { cluster: overTls() }))).toEqual(tlsFiles("my-etcd-operator-tls"));
    const secret = { server: { name: "theirs" }, operator: { name: "mine" } };
    const brought = overTls({ client: { provider: "Secret", secret } });
    expect(filesOf(made(ON_CLAIM, { cluster: brought }))).toEqual(tlsFiles("mine"));
  });

  test("mounts the destination claim for writing", () => {
    const { volumes, containers } = podOf(made({ destination: { volume: { claimName: "c", path: "p" } } }));
    expect(volumes).toEqual([{ name: "destination", persistentVolumeClaim: { claimName: "c" } }]);
    expect(containers[0].volumeMounts).toEqual([{ name: "destination", mountPath: "/volume" }]);
  });

  test("mounts all Secrets read-only", () => {
    const { containers, volumes } = podOf(made(EXTERNAL));
    const mounts = containers[0].volumeMounts as { name: string; readOnly?: boolean }[];
    expect(mounts.map(({ name, readOnly }) => [name, readOnly])).toEqual(
      ["credentials", "source-tls", "source-auth"].map((name) => [name, true]),
    );
    for (const volume of volumes) expect(volume).toMatchObject({ projected: { defaultMode: 0o440 } });
  });
});

test("the deletion Job has the backup's uid in its name, and mounts only the store's Secret", () => {
  const snapshot = backup({
    spec: { ...EXTERNAL, encryption: { keySecretRef: { name: "key" } }, activeDeadlineSeconds: 5 },
  });
  const job = deletionJob(snapshot, goodTarget(snapshot), IMAGE);
  expect(job.metadata).toMatchObject({
    name: "delete-0123456789-uid-of-backup",
    ownerReferences: [{ kind: "EtcdBackup" }],
  });
  expect(job.metadata).not.toHaveProperty("annotations");
  expect(job.spec).not.toHaveProperty("activeDeadlineSeconds");
  expect(taskOf(job)).toEqual({
    kind: "delete",
    backupUID: "0123456789-uid-of-backup",
    destination: { store: "s3", bucket: "backups", pathStyle: false },
    key: goodTarget(snapshot).key,
    credentialsDir: "/run/agent/credentials",
    needsCredentials: true,
  });
  expect(filesOf(job).every((file) => file.startsWith("s3/"))).toBe(true);
});

test("the Job of a check reads the object's place, mounts no key, and expects the snapshot of the status", () => {
  const spec = { encryption: { keySecretRef: { name: "key", key: "mine" } } };
  const given = stored({ spec });
  const job = checkJob(given, goodTarget(given), IMAGE);
  expect(taskOf(job)).toEqual({
    kind: "check",
    from: { store: "s3", bucket: "backups", pathStyle: false },
    key: "k",
    credentialsDir: "/run/agent/credentials",
    needsCredentials: true,
    expect: { backupUID: "0123456789-uid-of-backup", sha256: "ab" },
  });
  expect(filesOf(job).every((file) => file.startsWith("s3/"))).toBe(true);
  const unreported = stored({ status: { object: undefined } as never });
  const { expect: expected } = taskOf(checkJob(unreported, goodTarget(unreported), IMAGE));
  expect(expected).toEqual({ backupUID: "0123456789-uid-of-backup" });
});

test("the Job of a check mounts a destination claim read-only", () => {
  const given = stored({ spec: { destination: { volume: { claimName: "backups" } } } });
  const [{ volumeMounts }] = podOf(checkJob(given, goodTarget(given), IMAGE)).containers;
  expect(volumeMounts).toEqual([{ name: "destination", mountPath: "/volume", readOnly: true }]);
});
