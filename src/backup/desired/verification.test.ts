import { expect, test } from "vitest";
import { AGENT_COMMAND } from "#agent/task.ts";
import { backupJob } from "#backup/desired/job.ts";
import { verificationJob } from "#backup/desired/verification.ts";
import { goodTarget, IMAGE, ON_VOLUME, POD_TEMPLATE, verified } from "#kit/snapshots/etcd-backup.ts";

const ETCD = "registry.example/etcd:v3.6.16";

function made(spec: object = {}, status: object = {}) {
  const snapshot = verified({ spec, status });
  return verificationJob(snapshot, goodTarget(snapshot), IMAGE, ETCD);
}

interface Container {
  readonly name: string;
  readonly image: string;
  readonly command: readonly string[];
  readonly env?: readonly { readonly value: string }[];
  readonly volumeMounts: readonly { readonly name: string; readonly readOnly?: boolean }[];
}

function podOf(job = made()) {
  const pod = job.spec?.template.spec as unknown as {
    initContainers: readonly Container[];
    containers: readonly Container[];
    volumes: readonly object[];
  };
  return { ...pod, all: [...pod.initContainers, ...pod.containers] };
}

const tasks = (job = made()) =>
  podOf(job).all.flatMap(({ env = [] }) => env.map(({ value }) => JSON.parse(value) as Record<string, unknown>));

test("the verification pod fetches, restores and compares the object, with etcd as a sidecar", () => {
  const { all, initContainers } = podOf();
  expect(all.map(({ name, image }) => `${name} ${image}`)).toEqual([
    `fetch ${IMAGE}`,
    `etcdutl ${ETCD}`,
    `etcd ${ETCD}`,
    `verify ${IMAGE}`,
  ]);
  const work = "/var/lib/etcd/.restore-verify";
  expect(all.map(({ command }) => command)).toEqual([
    AGENT_COMMAND,
    ["etcdutl", "snapshot", "restore", `${work}/snapshot.db`, `--data-dir=${work}/data`],
    [
      ...["etcd", `--data-dir=${work}/data`, "--listen-client-urls=http://127.0.0.1:2379"],
      ...["--advertise-client-urls=http://127.0.0.1:2379", "--listen-peer-urls=http://127.0.0.1:2380"],
      ...["--unsafe-no-fsync", "--log-level=warn"],
    ],
    AGENT_COMMAND,
  ]);
  expect(initContainers.map((each) => (each as { restartPolicy?: string }).restartPolicy)).toEqual([
    undefined,
    undefined,
    "Always",
  ]);
});

test("the verification agents get the expected snapshot and etcd's endpoint", () => {
  const [fetch, verify] = tasks();
  expect(fetch).toEqual({
    kind: "fetch",
    from: { store: "s3", bucket: "backups", pathStyle: false },
    key: "k",
    credentialsDir: "/run/agent/credentials",
    expect: { backupUID: "0123456789-uid-of-backup", sha256: "ab" },
    auth: "Lift",
    workDir: "/var/lib/etcd/.restore-verify",
  });
  expect(verify).toEqual({
    kind: "verify",
    endpoint: "http://127.0.0.1:2379",
    workDir: "/var/lib/etcd/.restore-verify",
  });
  const [bare] = tasks(
    made({ destination: { s3: { bucket: "b" } }, encryption: { keySecretRef: { name: "k" } } }, { object: undefined }),
  );
  expect(bare).not.toHaveProperty("credentialsDir");
  expect(bare).toMatchObject({
    encryption: { keyFile: "/run/agent/encryption/key" },
    expect: { backupUID: "0123456789-uid-of-backup" },
  });
  expect(bare?.expect).not.toHaveProperty("sha256");
});

test("only the fetching container mounts Secrets and the destination, read-only", () => {
  const { all, volumes } = podOf(made({ ...ON_VOLUME, encryption: { keySecretRef: { name: "k" } } }));
  const mounts = all.map(({ volumeMounts }) =>
    volumeMounts.map(({ name, readOnly = false }) => `${name}${readOnly ? " ro" : ""}`),
  );
  expect(mounts).toEqual([
    ["etcd-data", "destination ro", "encryption ro"],
    ["etcd-data"],
    ["etcd-data"],
    ["etcd-data"],
  ]);
  expect(volumes).toMatchObject([{ name: "etcd-data" }, { name: "destination" }, { name: "encryption" }]);
});

test("the emptyDir's size limit is the size of the snapshot, data and log", () => {
  const sizeOf = (job = made()) => podOf(job).volumes[0];
  expect(sizeOf()).toEqual({ name: "etcd-data", emptyDir: { sizeLimit: String(2_000 + 512 * 1024 * 1024) } });
  expect(sizeOf(made({}, { object: undefined }))).toEqual({ name: "etcd-data", emptyDir: {} });
});

test("only the agent's containers in the verification pod have the resources of podTemplate", () => {
  const resources = { limits: { memory: "1Gi" } };
  const { all } = podOf(made({ podTemplate: { spec: { resources } } }));
  expect(all.map((each) => (each as { resources?: object }).resources)).toEqual([
    resources,
    undefined,
    undefined,
    resources,
  ]);
});

test("the verification Job has the owner and pod security of the backup Job, and fails at once on lasting failures", () => {
  const snapshot = verified({ spec: { activeDeadlineSeconds: 60, podTemplate: POD_TEMPLATE } });
  const [verifying, taking] = [
    verificationJob(snapshot, goodTarget(snapshot), IMAGE, ETCD),
    backupJob(snapshot, goodTarget(snapshot), IMAGE),
  ];
  expect(verifying.metadata).toEqual({ ...taking.metadata, name: "verify-0123456789-uid-of-backup" });
  expect(verifying.spec).toMatchObject({
    backoffLimit: 4,
    podFailurePolicy: {
      rules: [
        { action: "FailJob", onExitCodes: { containerName: "fetch", operator: "In", values: [2] } },
        { action: "FailJob", onExitCodes: { containerName: "etcdutl", operator: "In", values: [1, 2, 128] } },
        { action: "FailJob", onExitCodes: { containerName: "verify", operator: "In", values: [2] } },
        { action: "Ignore" },
      ],
    },
  });
  expect(verifying.spec).not.toHaveProperty("activeDeadlineSeconds");
  const shape = ({ containers: _c, initContainers: _i, volumes: _v, ...rest }: Record<string, unknown>) => rest;
  expect(shape(verifying.spec?.template.spec as never)).toEqual(shape(taking.spec?.template.spec as never));
  expect(verifying.spec?.template.metadata).toEqual(taking.spec?.template.metadata);
  for (const each of podOf(verifying).all)
    expect(each).toMatchObject({
      securityContext: {
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ["ALL"] },
      },
    });
});
