import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { parse } from "yaml";
import { OPERATOR, TLS_ROLE } from "#api/names.ts";
import { REPOSITORY } from "#api/v1beta1/pod-schema.ts";
import { crdManifests, OPERATOR_NAMESPACE, operatorManifests } from "../scripts/manifests.ts";
import { secretsIn } from "../scripts/rights.ts";
import { Failure } from "./failure.ts";
import type { Kubectl } from "./kubectl.ts";
import type { Note, Step } from "./progress.ts";

/** Limit for the operator's pods to be Ready, in seconds, with the pull of the image. */
const ROLLOUT_SECONDS = 180;

/** Title of the step that deploys the operator. */
export const OPERATOR_DEPLOYED = "operator deployed";
export const CLUSTER_HEALTHY = "EtcdCluster: every member is a healthy voter";
export const KEY_READ = "a key written and read through the cluster";

/**
 * Installs the operator, or upgrades an installed one to this image, and waits until it is Ready. An upgrade keeps
 * replicas and flags that people have set.
 * @param secretsOf the only namespaces in which the operator may read and write Secrets of clusters. Default: as
 *   installed,
 *   or everywhere for a new installation
 */
export async function deployOperator(
  kubectl: Kubectl,
  image: string,
  step: Step,
  secretsOf?: readonly string[],
): Promise<void> {
  await step(OPERATOR_DEPLOYED, async (note) => {
    note("custom resources");
    const crds = crdManifests();
    await kubectl.apply(crds);
    const names = crds.map(({ metadata }) => `crd/${metadata.name}`);
    await kubectl.run(["wait", "--for=condition=Established", "--timeout=30s", ...names]);
    note("RBAC, admission policies and Deployment");
    const isBound = secretsOf !== undefined || (await isInstalledBound(kubectl));
    if (secretsOf === undefined && isBound) note("the operator keeps its right to Secrets of some namespaces only");
    const given = await deploymentNow(kubectl);
    const [namespace, ...rest] = operatorManifests(
      image,
      isBound ? "bound" : "everywhere",
      repositoriesNow(given),
      namespacesNow(given),
    );
    await kubectl.apply([namespace as object]);
    const missing = await missingNamespaces(kubectl, secretsOf ?? []);
    for (const name of missing) await kubectl.run(["create", "namespace", name]);
    if (missing.length > 0) note(`created missing namespaces: ${missing.join(", ")}`);
    await kubectl.apply([...rest.map((each) => withGiven(each, given)), ...(secretsOf ?? []).map(secretsIn)]);
    // An earlier installation may have granted Secrets everywhere.
    if (secretsOf !== undefined) await kubectl.run(["delete", "clusterrolebinding", TLS_ROLE, "--ignore-not-found"]);
    note("waiting for the operator's pods: the image is unpacked, the pods start, and one gets the lease");
    const rollout = [
      "rollout",
      "status",
      "deployment/etcd-cluster-operator",
      "-n",
      OPERATOR_NAMESPACE,
      `--timeout=${ROLLOUT_SECONDS}s`,
    ];
    const { code } = await kubectl.run(rollout, { mayFail: true });
    if (code !== 0) throw new Failure(await whyNotRolledOut(kubectl));
  });
}

/**
 * Whether the installed operator may read Secrets of some namespaces only: the role exists without a
 * ClusterRoleBinding.
 */
async function isInstalledBound(kubectl: Kubectl): Promise<boolean> {
  const names = await kubectl.run(["get", "clusterrole,clusterrolebinding", "-o", "name"]);
  const isThere = (kind: string) => names.stdout.split("\n").includes(`${kind}.rbac.authorization.k8s.io/${TLS_ROLE}`);
  return isThere("clusterrole") && !isThere("clusterrolebinding");
}

interface Deployment {
  readonly spec: {
    readonly replicas?: number;
    readonly template: { readonly spec: { readonly containers: readonly { readonly args?: readonly string[] }[] } };
  };
}

/** Current Deployment of the operator; undefined: not installed. */
async function deploymentNow(kubectl: Kubectl): Promise<Deployment | undefined> {
  const where = ["-n", OPERATOR_NAMESPACE, "get", "deployments", "-l", `app.kubernetes.io/name=${OPERATOR}`];
  return (await kubectl.json<{ items: readonly Deployment[] }>(where)).items[0];
}

/**
 * The repository that the installed operator's flag names, which `withGiven` keeps; the admission policy must name the
 * same. Undefined: the default.
 */
function repositoriesNow(now: Deployment | undefined): readonly [string] | undefined {
  const repository = flagNow(now, "--etcd-repository");
  return repository === undefined ? undefined : [repository];
}

/** Namespaces that the installed operator watches; undefined: all. An update must not give it rights to others. */
function namespacesNow(now: Deployment | undefined): readonly string[] | undefined {
  return flagNow(now, "--watch-namespaces")?.split(",");
}

/** Value of a flag of the installed operator. */
function flagNow(now: Deployment | undefined, flag: string): string | undefined {
  const flags = flagsIn(now?.spec.template.spec.containers[0]?.args ?? []);
  return flags
    .findLast(({ name }) => name === flag)
    ?.words.join("=")
    .slice(flag.length + 1);
}

/** Adds to the manifest of the Deployment the current replicas, and flags that people have added. */
export function withGiven<T extends { readonly kind: string }>(manifest: T, now: Deployment | undefined): T {
  if (manifest.kind !== "Deployment" || now === undefined) return manifest;
  const { spec } = manifest as unknown as Deployment;
  const [container, ...others] = spec.template.spec.containers;
  const own = container?.args ?? [];
  const said = new Set(flagsIn(own).map(({ name }) => name));
  const added = flagsIn(now.spec.template.spec.containers[0]?.args ?? []).flatMap(({ name, words }) =>
    said.has(name) ? [] : words,
  );
  const containers = [{ ...container, args: [...own, ...added] }, ...others];
  const template = { ...spec.template, spec: { ...spec.template.spec, containers } };
  // 0 replicas are not kept: installing the operator means that it shall run.
  return { ...manifest, spec: { ...spec, replicas: now.spec.replicas || spec.replicas, template } };
}

/** Flags with their words: `--name=value`, `--name value` or `--name`. */
function flagsIn(args: readonly string[]) {
  const flags: { name: string; words: string[] }[] = [];
  for (const word of args) {
    const last = flags.at(-1);
    if (word.startsWith("--") || last === undefined) flags.push({ name: word.replace(/=.*/s, ""), words: [word] });
    else last.words.push(word);
  }
  return flags;
}

/** Those of the namespaces that do not exist. */
async function missingNamespaces(kubectl: Kubectl, names: readonly string[]): Promise<readonly string[]> {
  const { items } = await kubectl.json<{ items: readonly { metadata: { name: string } }[] }>(["get", "namespaces"]);
  const there = new Set(items.map(({ metadata }) => metadata.name));
  return [...new Set(names)].filter((name) => !there.has(name));
}

/**
 * Namespaces in the value of a flag of the command line.
 * @throws Failure when a name is no DNS label, as a namespace's must be:
 *   https://kubernetes.io/docs/concepts/overview/working-with-objects/names/#dns-label-names
 */
export function namespacesIn(text: string, flag = "--secrets-of"): readonly string[] {
  const names = text.split(",").map((name) => name.trim());
  const wrong = names.find((name) => !/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(name));
  if (wrong === undefined) return names;
  throw new Failure(
    `${flag} has "${wrong}"; it must be names of namespaces with commas between them, such as shop,billing`,
  );
}

/**
 * Repositories of etcd's images on a command line, which the admission policy quotes.
 * @throws Failure when one of them has a tag, a digest or characters that no repository has
 */
export function repositoriesIn(text: string): readonly [string, ...string[]] {
  const [first = "", ...others] = text.split(",").map((each) => each.trim());
  const repositories = [first, ...others] as const;
  const wrong = repositories.find((each) => !each.includes("/") || !new RegExp(REPOSITORY).test(each));
  if (wrong === undefined) return repositories;
  throw new Failure(
    `--etcd-repositories has "${wrong}"; it must be images without tag, with commas between them, such as registry.example/etcd`,
  );
}

async function whyNotRolledOut(kubectl: Kubectl): Promise<string> {
  const where = ["-n", OPERATOR_NAMESPACE];
  const pods = await kubectl.run(["get", "pods", ...where, "-o", "wide"], { mayFail: true });
  const all = ["-l", "app.kubernetes.io/name=etcd-cluster-operator", "--prefix", "--tail=15"];
  const logs = await kubectl.run(["logs", ...where, ...all], { mayFail: true });
  return `The operator did not become Ready within ${ROLLOUT_SECONDS} s.\n${pods.stdout}${logs.stdout}${logs.stderr}`;
}

/** Part of an EtcdCluster that the demonstration reads. */
interface ShownCluster {
  status?: {
    ready?: string;
    leader?: string;
    conditions?: readonly { type: string; status: string; message: string }[];
  };
}

/** Label of an EtcdCluster that `npm start` has created. It does not change others. */
const CREATED_BY = { "app.kubernetes.io/created-by": "npm-start" };

/** The EtcdCluster of the demonstration. */
export interface Demonstrated {
  readonly name: string;
  /** Whether `npm start` has created it, now or before. */
  readonly isOurs: boolean;
}

/**
 * Creates the EtcdCluster of a manifest, unless one of its name exists, and waits until its condition Ready is True. An
 * existing one is never changed, and waited for only when `npm start` has created it.
 * @param where flags with the namespace
 */
export async function createCluster(
  kubectl: Kubectl,
  file: string,
  step: Step,
  where: readonly string[] = [],
  deadlineMs = 180_000,
): Promise<Demonstrated> {
  const manifest = parse(await readFile(file, "utf8")) as { metadata: { name: string; labels?: object } };
  const { name } = manifest.metadata;
  const found = await kubectl.run([...where, "get", "etcdcluster", name, "--ignore-not-found", "-o", "json"]);
  if (found.stdout.trim() !== "" && !isCreatedByUs(found.stdout)) return { name, isOurs: false };
  if (found.stdout.trim() === "") {
    const labels = { ...manifest.metadata.labels, ...CREATED_BY };
    const input = JSON.stringify({ ...manifest, metadata: { ...manifest.metadata, labels } });
    // Not apply: it would change an EtcdCluster that another client creates at this moment.
    await kubectl.run([...where, "create", "-f", "-"], { input });
  }
  await step(CLUSTER_HEALTHY, (note) => waitReady(kubectl, [...where, "get", "etcdcluster", name], deadlineMs, note));
  return { name, isOurs: true };
}

function isCreatedByUs(object: string): boolean {
  const { metadata } = JSON.parse(object) as { metadata: { labels?: Readonly<Record<string, string>> } };
  return Object.entries(CREATED_BY).every(([label, value]) => metadata.labels?.[label] === value);
}

async function waitReady(kubectl: Kubectl, get: readonly string[], deadlineMs: number, note: Note): Promise<void> {
  const until = performance.now() + deadlineMs;
  for (;;) {
    const { status } = await kubectl.json<ShownCluster>(get);
    const ready = status?.conditions?.find(({ type }) => type === "Ready");
    if (ready?.status === "True") return;
    note(ready?.message ?? "the operator has not written its status yet");
    if (performance.now() > until) {
      throw new Failure(
        `EtcdCluster ${get.at(-1)} is not ready after ${deadlineMs / 1000} s: ${ready?.message ?? "it has no status"}`,
      );
    }
    await sleep(200);
  }
}

/**
 * Writes a key through the cluster's client Service, and reads it back from another member.
 * @param where flags with the namespace
 * @returns the value that was read
 */
export async function writeAndRead(
  kubectl: Kubectl,
  name: string,
  note: Note,
  where: readonly string[] = [],
): Promise<string> {
  const members = ["-l", `etcd.improbable.io/cluster-name=${name}`];
  const { stdout } = await kubectl.run([...where, "get", "pods", ...members, "-o", "name"]);
  const pods = stdout.trim().split("\n");
  const [writer, reader] = [pods[0], pods.at(-1)];
  if (writer === undefined || reader === undefined) throw new Failure(`EtcdCluster ${name} has no pods.`);
  // Without a scheme: etcdctl in the containers is set up for TLS when the members use it.
  const endpoints = `--endpoints=${name}-client:2379`;
  const value = `hello at ${new Date().toISOString()}`;
  // The Service leads only to Ready pods, and the kubelet may notice seconds later that a member is ready.
  const patience = "--command-timeout=60s";
  note(`waiting until Service ${name}-client leads to a Ready member`);
  const etcdctl = (pod: string, ...args: readonly string[]) =>
    kubectl.run([...where, "exec", pod, "-c", "etcd", "--", "etcdctl", ...args]);
  await etcdctl(writer, endpoints, patience, "put", "greeting", value);
  note("reading it back from another member");
  const read = await etcdctl(reader, "get", "greeting", "--print-value-only");
  if (read.stdout.trim() !== value) throw new Failure(`Wrote "${value}", but read "${read.stdout.trim()}".`);
  return value;
}
