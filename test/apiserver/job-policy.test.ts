import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import {
  DELETE_OBJECT_ANNOTATION,
  ETCD_REPOSITORY,
  MANAGED_BY_LABEL,
  OBJECT_FINALIZER,
  OPERATOR,
  SCHEDULE_LABEL,
} from "#api/names.ts";
import { ETCD_BACKUPS } from "#api/v1beta1/backup.ts";
import { backupJob, checkJob, deletionJob } from "#backup/desired/job.ts";
import { verificationJob } from "#backup/desired/verification.ts";
import type { ApiServer } from "#kit/servers/apiserver.ts";
import { startShipped } from "#kit/servers/shipped.ts";
import { backup, goodTarget, POD_TEMPLATE, verified } from "#kit/snapshots/etcd-backup.ts";
import { schedule } from "#kit/snapshots/schedule.ts";
import type { KubeClient } from "#kube/client.ts";
import { type Draft, EVENTS, JOBS, type Job, type KubeObject, resource } from "#kube/kinds.ts";
import { backupFor } from "#schedule/desired/backup.ts";
import { jobValidations } from "../../scripts/job-policy.ts";

// An account that may create Jobs may run anything.
// A real API server with the shipped manifests decides which Jobs the operator's account may create.

const OPTIONS = { signal: new AbortController().signal };
const namespace = "foo";
const IMAGE = "operator:test";

let server: ApiServer;
let admin: KubeClient;
let operator: KubeClient;

beforeAll(async () => {
  const flags = ["--enable-admission-plugins=OwnerReferencesPermissionEnforcement"];
  ({ server, admin, operator } = await startShipped({ namespace, kinds: [ETCD_BACKUPS], flags }));
  await vi.waitFor(
    () =>
      expect(made("probe", { spec: { suspend: true }, metadata: { ownerReferences: null } })).rejects.toThrow(OPERATOR),
    { timeout: 30_000 },
  );
});
afterAll(async () => await server?.stop());

const ALL = {
  source: { external: { endpoints: ["https://a:1"], tls: { secretName: "tls" }, auth: { secretName: "root" } } },
  encryption: { keySecretRef: { name: "key", key: "mine" } },
};

function draft(spec: object = {}): Draft<Job> {
  const snapshot = backup({ stage: "new", spec });
  return backupJob(snapshot, goodTarget(snapshot), IMAGE);
}

function check(spec: object = {}): Draft<Job> {
  const snapshot = verified({ spec });
  return checkJob(snapshot, goodTarget(snapshot), IMAGE);
}

function verification(spec: object = {}, etcd = "registry.example/etcd:v3.6.16"): Draft<Job> {
  const snapshot = verified({ spec });
  return verificationJob(snapshot, goodTarget(snapshot), IMAGE, etcd);
}

type Json = { [key: string]: unknown };

/** A merge patch (RFC 7386), as far as these tests need it. `containers` and `volumes` change the existing item. */
function merged(to: unknown, change: unknown): unknown {
  if (typeof change !== "object" || change === null || Array.isArray(change)) return change;
  if (Array.isArray(to)) return to.map((each, n) => (n === 0 ? merged(each, change) : each));
  const result: Json = { ...(to as Json) };
  for (const [key, value] of Object.entries(change)) {
    if (value === null) delete result[key];
    else result[key] = merged(result[key] ?? {}, value);
  }
  return result;
}

async function made(name: string, change: object = {}, of = draft(), by = operator): Promise<Job> {
  const job = merged({ ...of, metadata: { ...of.metadata, name } }, change) as Draft<Job>;
  return await by.create(JOBS, job, OPTIONS);
}

let count = 0;
const next = () => `job-${count++}`;

function pod(spec: object): object {
  return { spec: { template: { spec } } };
}

function agent(container: object): object {
  return pod({ containers: container });
}

function secret(items: readonly object[], more: object = {}): object {
  const sources = [{ secret: { name: "s", items, ...more } }];
  return pod({ volumes: [{ name: "credentials", projected: { sources } }] });
}

describe("the operator may create", () => {
  test.each([
    ["the Job of a backup", draft()],
    [
      "the Job of a backup with every option",
      draft({
        ...ALL,
        podTemplate: POD_TEMPLATE,
        activeDeadlineSeconds: 60,
      }),
    ],
    ["the Job of a backup to a volume", draft({ destination: { volume: { claimName: "c" } } })],
    ["the Job of a backup to a URL", draft({ destination: { url: { template: "gs://bb/k" } } })],
    [
      "the Job of a backup with an identity at Google, through a proxy",
      draft({
        destination: { gcs: { bucket: "bb" } },
        podTemplate: { spec: { serviceAccountName: "backup", proxy: { httpsProxy: "http://proxy:3128" } } },
      }),
    ],
    [
      "the Job of a backup to Azure",
      draft({ destination: { azure: { account: "acc", container: "con", credentials: { secretName: "a" } } } }),
    ],
    ["the Job of a verification", verification()],
    [
      "the Job of a verification with every option",
      verification({ ...ALL, podTemplate: POD_TEMPLATE }, `${ETCD_REPOSITORY}:v3.6.16`),
    ],
    ["the Job of a verification on a volume", verification({ destination: { volume: { claimName: "c" } } })],
    ["the Job of a deletion", deletionJob(backup(), goodTarget(backup()), IMAGE)],
    ["the Job of a check", check()],
    ["the Job of a check with every option", check({ ...ALL, podTemplate: POD_TEMPLATE })],
    ["the Job of a check on a volume", check({ destination: { volume: { claimName: "c" } } })],
  ])("%s, and may delete it", async (_, of) => {
    // biome-ignore format: a table
    const { metadata } = await made(next(), {}, of);
    await operator.delete(JOBS, metadata, { ...OPTIONS, preconditions: { uid: metadata.uid } });
  });

  test("no EtcdBackup without a schedule, and may change only finalizers and status of existing ones", async () => {
    const spec = { source: { cluster: { name: "my-etcd" } }, destination: { s3: { bucket: "bb" } } };
    const manifest = {
      apiVersion: "etcd.improbable.io/v1beta1",
      kind: "EtcdBackup",
      metadata: { namespace, name: "b" },
      spec,
    };
    const create = () => operator.create(ETCD_BACKUPS, manifest as never, { ...OPTIONS, dryRun: true });
    // The policy applies a moment after its creation.
    const refused = async () => await expect(create()).rejects.toThrow("nothing without the label");
    await vi.waitFor(refused, { timeout: 30_000 });
    const live = await admin.create(ETCD_BACKUPS, manifest as never, OPTIONS);
    await expect(operator.replace(ETCD_BACKUPS, live, OPTIONS)).rejects.toMatchObject({ code: "KubeForbidden" });
    const finalizers = { metadata: { finalizers: ["etcdbackup.etcd.improbable.io/object-cleanup"] } };
    const held = await operator.patch(ETCD_BACKUPS, live.metadata, finalizers, { ...OPTIONS, type: "merge" });
    await operator.replace(
      ETCD_BACKUPS,
      { ...held, status: { phase: "Failed" } },
      { ...OPTIONS, subresource: "status" },
    );
    const { uid } = live.metadata;
    const gone = operator.delete(ETCD_BACKUPS, live.metadata, { ...OPTIONS, preconditions: { uid } });
    await expect(gone).rejects.toThrow("only what has the label");
  });

  test("an EtcdBackup of a schedule, and may delete it, and may not change its spec or labels", async () => {
    const draft = backupFor(schedule(), Date.UTC(2026, 0, 1), 0);
    const manifest = { ...draft, metadata: { ...draft.metadata, namespace } };
    const live = await operator.create(ETCD_BACKUPS, manifest, OPTIONS);
    const edit = (change: object) => operator.patch(ETCD_BACKUPS, live.metadata, change, { ...OPTIONS, type: "merge" });
    const REST = "changes only its finalizers and annotations";
    await expect(edit({ metadata: { labels: { [SCHEDULE_LABEL]: "other" } } })).rejects.toThrow(REST);
    const ownerReferences = [{ apiVersion: "v1", kind: "ConfigMap", name: "a", uid: "b" }];
    await expect(edit({ metadata: { ownerReferences } })).rejects.toThrow(REST);
    await edit({ metadata: { annotations: { [DELETE_OBJECT_ANNOTATION]: "true" }, finalizers: [OBJECT_FINALIZER] } });
    await edit({ metadata: { annotations: { [DELETE_OBJECT_ANNOTATION]: null }, finalizers: [] } });
    await operator.delete(ETCD_BACKUPS, live.metadata, asRead(live));
  });

  test("EtcdBackups of schedules, and may delete no EtcdBackup that lacks one of the labels", async () => {
    const { spec, metadata: own } = backupFor(schedule(), Date.UTC(2027, 0, 1), 0);
    const metadata = { namespace };
    const manifest = { apiVersion: "etcd.improbable.io/v1beta1", kind: "EtcdBackup", spec };
    const made = async (name: string, labels: Record<string, string>) =>
      await admin.create(ETCD_BACKUPS, { ...manifest, metadata: { ...metadata, name, labels } } as never, OPTIONS);
    const managed = await made("managed", { [MANAGED_BY_LABEL]: OPERATOR });
    await expect(operator.delete(ETCD_BACKUPS, managed.metadata, asRead(managed))).rejects.toThrow(
      "only those of schedules",
    );
    const labelled = await operator.create(ETCD_BACKUPS, { ...manifest, metadata: own } as never, OPTIONS);
    const change = { metadata: { labels: { [MANAGED_BY_LABEL]: null } } };
    const now = await admin.patch(ETCD_BACKUPS, labelled.metadata, change, { ...OPTIONS, type: "merge" });
    await expect(operator.delete(ETCD_BACKUPS, now.metadata, asRead(now))).rejects.toThrow("only what has the label");
  });

  test("queries for events of one object", async () => {
    const query = { namespace, fieldSelector: "regarding.uid=abc,type=Warning" };
    expect((await operator.list(EVENTS, query, OPTIONS)).items).toEqual([]);
  });
});

function asRead({ metadata: { uid } }: KubeObject) {
  return { ...OPTIONS, preconditions: { uid } };
}

const RUN = "run the agent of operator:test, and nothing else";
const ENVIRONMENT = "is AGENT_TASK, HTTPS_PROXY, HTTP_PROXY, NO_PROXY, which hold no secret, and nothing else";
const MOUNTS = "mount claims, empty volumes, a token for no API server, and of Secrets only keys";
const PLACE = "mount whole volumes, each in its own place, and no devices";
const SHARE = "share no processes, and have no working directory";
const NODE =
  "have nothing of their node, are placed by a scheduler, and have no priority of Kubernetes' own components";
const TOOL = "run etcdutl only to restore a snapshot";
const PRIVILEGES = "do not gain privileges";
const CONFINED = "are confined as Pod Security baseline wants them";
const TOKEN = "get no token";
const OWNER = "a Job of the operator belongs to an EtcdBackup";
const CASES: readonly (readonly [what: string, change: object, says: string])[] = [
  ["no label of a backup", { metadata: { labels: { "etcd.improbable.io/backup-name": null } } }, "which have the label etcd.improbable.io/backup-name"],
  ["no label of the operator", { metadata: { labels: { "app.kubernetes.io/managed-by": null } } }, "nothing without the label"],
  ["no owner", { metadata: { ownerReferences: null } }, OWNER],
  ["an owner of another kind", { metadata: { ownerReferences: { kind: "EtcdPeer" } } }, OWNER],
  ["an owner of another group", { metadata: { ownerReferences: { apiVersion: "v1", blockOwnerDeletion: false } } }, OWNER],
  ["an owner that does not manage it", { metadata: { ownerReferences: { controller: false } } }, OWNER],
  ["another image", agent({ image: "busybox" }), RUN],
  ["another command", agent({ command: ["/usr/local/bin/node", "-e", "1"] }), RUN],
  ["no command", agent({ command: null }), RUN],
  ["arguments", agent({ args: ["--eval=1"] }), RUN],
  ["a hook", agent({ lifecycle: { preStop: { exec: { command: ["a"] } } } }), RUN],
  ["a probe", agent({ livenessProbe: { exec: { command: ["a"] } } }), RUN],
  ["a second container", pod({ containers: [{ ...containerOf(draft()) }, { ...containerOf(draft()), name: "b" }] }), RUN],
  ["a container that runs first", pod({ initContainers: [{ ...containerOf(draft()), name: "b" }] }), RUN],
  ["a variable", agent({ env: [{ name: "NODE_OPTIONS", value: "--import=x" }] }), ENVIRONMENT],
  ["a proxy from a Secret", agent({ env: [{ name: "HTTPS_PROXY", valueFrom: { secretKeyRef: { name: "s", key: "k" } } }] }), ENVIRONMENT],
  ["a Secret in the environment", agent({ env: [{ name: "AGENT_TASK", valueFrom: { secretKeyRef: { name: "s", key: "k" } } }] }), ENVIRONMENT],
  ["a whole Secret in the environment", agent({ envFrom: [{ secretRef: { name: "s" } }] }), ENVIRONMENT],
  ["a whole Secret", secret([]), MOUNTS],
  ["a Secret as it is", pod({ volumes: [{ name: "credentials", secret: { secretName: "s" } }] }), MOUNTS],
  ["the key of the client CA", secret([{ key: "tls.key", path: "tls.key" }], { name: "my-etcd-client-ca" }), MOUNTS],
  ["the key of the peer CA", secret([{ key: "tls.key", path: "tls.key" }], { name: "my-etcd-peer-ca" }), MOUNTS],
  ["any key of a Secret", secret([{ key: "tls-key", path: "tls-key" }]), MOUNTS],
  ["a password that is not etcd's", secret([{ key: "password", path: "password" }]), MOUNTS],
  ["a key of a Secret under another name", secret([{ key: "tls.key", path: "password" }]), MOUNTS],
  ["any key of a Secret in the volume that tools mount", pod({ volumes: [{ name: "etcd-data", projected: { sources: [{ secret: { name: "s", items: [{ key: "any", path: "key" }] } }] } }], containers: { volumeMounts: [] } }), MOUNTS],
  ["any key of a Secret beside the encryption's", secret([{ key: "any", path: "key" }]), MOUNTS],
  ["a key of another use", secret([{ key: "ETCD_PASSWORD", path: "ETCD_PASSWORD" }]), MOUNTS],
  ["a volume of another name", pod({ volumes: [{ name: "more", emptyDir: {} }], containers: { volumeMounts: [] } }), MOUNTS],
  ["a volume in the place of its program", agent({ volumeMounts: [{ name: "credentials", mountPath: "/usr/local/bin" }] }), PLACE],
  ["a key of a Secret as a file of another name", agent({ volumeMounts: [{ name: "credentials", mountPath: "/run/agent/credentials", subPath: "AWS_ACCESS_KEY_ID" }] }), PLACE],
  ["a key of a Secret by a variable", agent({ volumeMounts: [{ name: "credentials", mountPath: "/run/agent/credentials", subPathExpr: "$(AGENT_TASK)" }] }), PLACE],
  ["a device", pod({ volumes: [{ name: "destination", persistentVolumeClaim: { claimName: "c" } }], containers: { volumeDevices: [{ name: "destination", devicePath: "/dev/x" }], volumeMounts: [] } }), PLACE],
  ["processes that containers share", pod({ shareProcessNamespace: true }), SHARE],
  ["a working directory", agent({ workingDir: "/volume" }), SHARE],
  ["a token", pod({ volumes: [{ name: "credentials", projected: { sources: [{ serviceAccountToken: { path: "token" } }] } }] }), MOUNTS],
  ["a token for the API server", pod({ volumes: [{ name: "identity", projected: { sources: [{ serviceAccountToken: { path: "token", audience: "https://kubernetes.default.svc" } }] } }], containers: { volumeMounts: [] } }), MOUNTS],
  ["a token without audience", pod({ volumes: [{ name: "identity", projected: { sources: [{ serviceAccountToken: { path: "token" } }] } }], containers: { volumeMounts: [] } }), MOUNTS],
  ["a Secret beside an identity", pod({ volumes: [{ name: "identity", projected: { sources: [{ serviceAccountToken: { path: "token", audience: "etcd.improbable.io" } }, { secret: { name: "s", items: [{ key: "a", path: "a" }] } }] } }], containers: { volumeMounts: [] } }), MOUNTS],
  ["a path of the node", pod({ volumes: [{ name: "credentials", hostPath: { path: "/" } }] }), MOUNTS],
  ["a driver's volume", pod({ volumes: [{ name: "credentials", csi: { driver: "d" } }] }), MOUNTS],
  ["a token by default", pod({ automountServiceAccountToken: null }), TOKEN],
  ["the network of the node", pod({ hostNetwork: true }), NODE],
  ["the processes of the node", pod({ hostPID: true }), NODE],
  ["the memory of the node", pod({ hostIPC: true }), NODE],
  ["a node name", pod({ nodeName: "node-1" }), NODE],
  ["a priority of Kubernetes' own components", pod({ priorityClassName: "system-node-critical" }), NODE],
  ["a port of the node", agent({ ports: [{ containerPort: 1, hostPort: 1 }] }), NODE],
  ["a device", pod({ resourceClaims: [{ name: "d", resourceClaimName: "d" }] }), NODE],
  ["privileges", agent({ securityContext: { allowPrivilegeEscalation: true } }), PRIVILEGES],
  ["privilege escalation by default", agent({ securityContext: { allowPrivilegeEscalation: null } }), PRIVILEGES],
  ["etcdutl instead of the agent", { spec: { podFailurePolicy: null, template: { spec: { containers: { name: "etcdutl" } } } } }, TOOL],
  ["no seccomp profile", pod({ securityContext: { seccompProfile: { type: "Unconfined" } } }), CONFINED],
  ["a container without seccomp profile", agent({ securityContext: { seccompProfile: { type: "Unconfined" } } }), CONFINED],
  ["no AppArmor profile", agent({ securityContext: { appArmorProfile: { type: "Unconfined" } } }), CONFINED],
  ["no AppArmor profile by the old name", { spec: { template: { metadata: { annotations: { "container.apparmor.security.beta.kubernetes.io/agent": "unconfined" } } } } }, CONFINED],
  ["an SELinux type of its own", pod({ securityContext: { seLinuxOptions: { type: "spc_t" } } }), CONFINED],
  ["an SELinux user", agent({ securityContext: { seLinuxOptions: { user: "system_u" } } }), CONFINED],
  ["a kernel parameter of the node", pod({ securityContext: { sysctls: [{ name: "kernel.msgmax", value: "1" }] } }), CONFINED],
  ["a capability", agent({ securityContext: { capabilities: { add: ["NET_ADMIN"] } } }), PRIVILEGES],
]; // biome-ignore format: a table

function containerOf(job: Draft<Job>): object {
  return job.spec?.template.spec?.containers[0] ?? {};
}

/** The Job of a verification with a change in the container of this name. */
function other(name: string, change: object, spec: object = {}): Draft<Job> {
  const job = verification(spec);
  const pod = job.spec?.template.spec as unknown as {
    initContainers: { name: string }[];
    containers: { name: string }[];
  };
  const changed = (all: { name: string }[]) => all.map((each) => (each.name === name ? merged(each, change) : each));
  const all = { ...pod, initContainers: changed(pod.initContainers), containers: changed(pod.containers) };
  return { ...job, spec: { ...job.spec, template: { ...job.spec?.template, spec: all } } } as unknown as Draft<Job>;
}

const TOOLS = "run etcdutl only to restore a snapshot, and etcd only for the pod itself, without Secrets";
test.each<[what: string, of: Draft<Job>, says: string]>([
  ["an etcd that other pods can reach", other("etcd", { command: ["etcd", "--listen-client-urls=http://0.0.0.0:2379"] }), TOOLS],
  ["a different program as etcd", other("etcd", { command: ["sh"] }), TOOLS],
  ["an etcd with a Secret", other("etcd", { volumeMounts: [{ name: "credentials", mountPath: "/a" }] }), TOOLS],
  ["an etcd with an environment", other("etcd", { env: [{ name: "AGENT_TASK", value: "{}" }] }), TOOLS],
  ["an etcd with arguments", other("etcd", { args: ["--listen-client-urls=http://0.0.0.0:2379"] }), RUN],
  ["a custom etcd image under a service account", verification({ podTemplate: POD_TEMPLATE }), TOOLS],
  ["an etcdutl that runs a different command", other("etcdutl", { command: ["etcdutl", "snapshot", "status", "a"] }), TOOLS],
  ["an agent that never ends", other("fetch", { restartPolicy: "Always" }), RUN],
  ["a different image of the agent", other("fetch", { image: "busybox" }), RUN],
  ["a different image of the agent beside etcd", other("verify", { image: "busybox" }), RUN],
  ["an etcd without seccomp profile", other("etcd", { securityContext: { seccompProfile: { type: "Unconfined" } } }), CONFINED],
  ["a privileged etcd", other("etcd", { securityContext: { allowPrivilegeEscalation: true } }), PRIVILEGES],
])("the policy lets the operator create no verification with %s", async (_, of, says) => {
  const answer = await made(next(), {}, of).then(() => "it was created", String);
  expect(answer).toContain(`ValidatingAdmissionPolicy '${OPERATOR}'`);
  expect(answer).toContain(says);
}); // biome-ignore format: a table

describe("the policy lets the operator create no Job with", () => {
  test.each(CASES)("%s", async (_, change, says) => {
    const answer = await made(next(), change).then(() => "it was created", String);
    expect(answer).toContain(`ValidatingAdmissionPolicy '${OPERATOR}'`);
    expect(answer).toContain(says);
  });

  test("such changes, and other accounts may create such Jobs", async () => {
    for (const [, change] of CASES.filter(([what]) => ["another image", "no owner", "a whole Secret"].includes(what)))
      await made(next(), change, draft(), admin);
  });
});

describe("the policy lets the operator, even with the role cluster-admin,", () => {
  beforeAll(async () => {
    const group = "rbac.authorization.k8s.io";
    const binding = {
      apiVersion: `${group}/v1`,
      kind: "ClusterRoleBinding",
      metadata: { name: "operator-may-everything" },
      roleRef: { apiGroup: group, kind: "ClusterRole", name: "cluster-admin" },
      subjects: [{ kind: "ServiceAccount", name: OPERATOR, namespace: "etcd-operator-system" }],
    };
    const bindings = resource<KubeObject>({
      group,
      version: "v1",
      kind: "ClusterRoleBinding",
      plural: "clusterrolebindings",
      namespaced: false,
    });
    await admin.create(bindings, binding as unknown as Draft<KubeObject>, OPTIONS);
    const own = await made(next());
    const change = () => operator.patch(JOBS, own.metadata, { spec: { suspend: true } }, { ...OPTIONS, type: "merge" });
    await vi.waitFor(() => expect(change()).rejects.toThrow("the operator changes no Job"), { timeout: 30_000 });
  });

  test("not change a Job, even its own", async () => {
    const own = await made(next());
    const change = operator.patch(JOBS, own.metadata, { spec: { suspend: true } }, { ...OPTIONS, type: "merge" });
    await expect(change).rejects.toThrow("the operator changes no Job");
  });

  test("not delete a foreign Job", async () => {
    const labels = { "etcd.improbable.io/backup-name": null };
    const { metadata } = await made(next(), { metadata: { labels, ownerReferences: null } }, draft(), admin);
    const gone = operator.delete(JOBS, metadata, { ...OPTIONS, preconditions: { uid: metadata.uid } });
    await expect(gone).rejects.toThrow("which have the label etcd.improbable.io/backup-name");
  });
});

test("each validation of the policy refuses at least one case of these tests", () => {
  const said = [...CASES.map(([, , says]) => says), "the operator changes no Job"];
  const silent = jobValidations(IMAGE, [ETCD_REPOSITORY]).filter(
    ({ message }) => !said.some((says) => message.includes(says)),
  );
  expect(silent.map(({ message }) => message)).toEqual([]);
});
