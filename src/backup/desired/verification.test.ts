import { expect, test } from "vitest";
import { AGENT_COMMAND } from "#agent/task.ts";
import { backupJob } from "#backup/desired/job.ts";
import { verificationJob } from "#backup/desired/verification.ts";
import { goodTarget, IMAGE, ON_VOLUME, POD_TEMPLATE, verified, withTemplate } from "#kit/snapshots/etcd-backup.ts";

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
    needsCredentials: true,
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

test("a verification has an hour and a second for each MiB, and evictions of its pods count as attempts", () => {
  const { spec } = made({}, { object: { ...verified().backup.status!.object!, bytes: 10 * 1024 * 1024 + 1 } });
  expect(spec?.activeDeadlineSeconds).toBe(3_600 + 11);
  expect(made({}, { object: undefined }).spec?.activeDeadlineSeconds).toBe(3_600);
  expect(JSON.stringify(spec?.podFailurePolicy)).not.toContain("DisruptionTarget");
});

const ETCD_MEMBER = { name: "etcd", resources: { requests: { memory: "4Gi" }, limits: { memory: "8Gi", cpu: "2" } } };
const MIB = 1024 * 1024;

test("all containers of the verification pod have requests of CPU and memory, and a limit of memory", () => {
  for (const each of podOf().all)
    expect(each).toMatchObject({
      resources: {
        requests: { cpu: expect.anything(), memory: expect.anything() },
        limits: { memory: expect.anything() },
      },
    });
});

/** Resources of the pod's containers: fetch, etcdutl, etcd and verify. */
const resourcesOf = (job = made()) => podOf(job).all.map((each) => (each as { resources?: object }).resources);

test("etcd in the verification pod may use four times the snapshot's memory, and requests room for its files", () => {
  const [, tool, etcd] = resourcesOf();
  const room = { "ephemeral-storage": String(2_000 + 512 * MIB) };
  const limits = { memory: String(4_000 + 512 * MIB), ...room };
  expect(etcd).toEqual({ requests: { cpu: "200m", memory: "256Mi", ...room }, limits });
  expect(tool).toEqual(etcd);
  const [, , unknown] = resourcesOf(made({}, { object: undefined }));
  expect(unknown).toEqual({ requests: { cpu: "200m", memory: "256Mi" }, limits: { memory: "4Gi" } });
});

test("etcd in the verification pod has the limits of the members, and requests at most these", () => {
  const of = (limits: object) => {
    const sidecar = { name: "sidecar", resources: { limits: { memory: "1Mi" } } };
    const containers = [sidecar, { name: "etcd", resources: { limits } }];
    const snapshot = verified({ with: { cluster: withTemplate({ containers }) } });
    return resourcesOf(verificationJob(snapshot, goodTarget(snapshot), IMAGE, ETCD))[2];
  };
  expect(of(ETCD_MEMBER.resources.limits)).toMatchObject({
    requests: { cpu: "200m", memory: "256Mi" },
    limits: { memory: "8Gi", cpu: "2" },
  });
  expect(of({ memory: "128Mi", cpu: "100m" })).toMatchObject({
    requests: { cpu: "100m", memory: "128Mi" },
    limits: { memory: "128Mi", cpu: "100m" },
  });
  expect(of({ cpu: "0.2", "example.com/gpu": "1" })).toEqual({
    requests: { cpu: "200m", memory: "256Mi", "ephemeral-storage": expect.anything() },
    limits: { cpu: "0.2", memory: expect.anything(), "ephemeral-storage": expect.anything() },
  });
});

test("podTemplate has resources for the agent's and for etcd's containers", () => {
  const [resources, etcdResources] = [{ limits: { memory: "1Gi" } }, { limits: { memory: "2Gi" } }];
  expect(resourcesOf(made({ podTemplate: { spec: { resources, etcdResources } } }))).toEqual([
    resources,
    etcdResources,
    etcdResources,
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
        { action: "FailJob", onExitCodes: { containerName: "etcdutl", operator: "In", values: [1, 2] } },
        { action: "FailJob", onExitCodes: { containerName: "verify", operator: "In", values: [2] } },
      ],
    },
  });
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
