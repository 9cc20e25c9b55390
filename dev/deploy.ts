import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { parse } from "yaml";
import { OPERATOR, TLS_ROLE } from "#api/names.ts";
import { crdManifests, OPERATOR_NAMESPACE, operatorManifests } from "../scripts/manifests.ts";
import { secretsIn } from "../scripts/rights.ts";
import { Failure } from "./failure.ts";
import type { Kubectl } from "./kubectl.ts";
import type { Note, Step } from "./progress.ts";

/** Longest for the pods of the operator to be ready, in seconds: pulling its image included. */
const ROLLOUT_SECONDS = 180;

/** Titles of the steps. */
export const OPERATOR_DEPLOYED = "operator deployed";
export const CLUSTER_HEALTHY = "EtcdCluster: every member is a healthy voter";
export const KEY_READ = "a key written and read through the cluster";

/**
 * Installs the operator, or brings an installed one up to this image, and waits until it is ready. What people have added to the arguments of an installed
 * one stays, and so does the number of its replicas.
 * @param secretsOf the only namespaces in which it may read and write the Secrets of clusters. When it is left out, it may where it may by now, and
 *   everywhere when it was not installed
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
    note("rights, their limits and Deployment");
    const isBound = secretsOf !== undefined || (await isBoundByNow(kubectl));
    if (secretsOf === undefined && isBound)
      note("the operator goes on with the Secrets of some namespaces only, as it was installed");
    const [namespace, ...rest] = operatorManifests(image, isBound ? "bound" : "everywhere");
    await kubectl.apply([namespace as object]);
    const missing = await missingNamespaces(kubectl, secretsOf ?? []);
    for (const name of missing) await kubectl.run(["create", "namespace", name]);
    if (missing.length > 0) note(`made what was not there: namespace ${missing.join(", ")}`);
    const given = await deploymentNow(kubectl);
    await kubectl.apply([...rest.map((each) => withGiven(each, given)), ...(secretsOf ?? []).map(secretsIn)]);
    // It may be there from an install that had none of this.
    if (secretsOf !== undefined) await kubectl.run(["delete", "clusterrolebinding", TLS_ROLE, "--ignore-not-found"]);
    note("waiting for its pods: the image is unpacked, then they start, and one gets the lease");
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

/** Whether an operator is installed that may have the Secrets of some namespaces only: the role is there, and nobody has it everywhere. */
async function isBoundByNow(kubectl: Kubectl): Promise<boolean> {
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

/** The operator's own, as it is by now; undefined: it is not installed. */
async function deploymentNow(kubectl: Kubectl): Promise<Deployment | undefined> {
  const where = ["-n", OPERATOR_NAMESPACE, "get", "deployments", "-l", `app.kubernetes.io/name=${OPERATOR}`];
  return (await kubectl.json<{ items: readonly Deployment[] }>(where)).items[0];
}

/** The Deployment with what people have given the one that is there: how many replicas, and flags that the manifest does not say. */
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
  // Who has stopped it, and installs it, wants it to run.
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

/** A new Kubernetes has none of those that people name. */
async function missingNamespaces(kubectl: Kubectl, names: readonly string[]): Promise<readonly string[]> {
  const { items } = await kubectl.json<{ items: readonly { metadata: { name: string } }[] }>(["get", "namespaces"]);
  const there = new Set(items.map(({ metadata }) => metadata.name));
  return [...new Set(names)].filter((name) => !there.has(name));
}

/**
 * The namespaces that `--secrets-of` names.
 * @throws Failure when one cannot be the name of a namespace: https://kubernetes.io/docs/concepts/overview/working-with-objects/names/#dns-label-names
 */
export function namespacesIn(text: string): readonly string[] {
  const names = text.split(",").map((name) => name.trim());
  const wrong = names.find((name) => !/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(name));
  if (wrong === undefined) return names;
  throw new Failure(
    `--secrets-of has "${wrong}"; it must be names of namespaces with commas between them, such as shop,billing`,
  );
}

async function whyNotRolledOut(kubectl: Kubectl): Promise<string> {
  const where = ["-n", OPERATOR_NAMESPACE];
  const pods = await kubectl.run(["get", "pods", ...where, "-o", "wide"], { mayFail: true });
  const all = ["-l", "app.kubernetes.io/name=etcd-cluster-operator", "--prefix", "--tail=15"];
  const logs = await kubectl.run(["logs", ...where, ...all], { mayFail: true });
  return `the operator did not become ready within ${ROLLOUT_SECONDS} s\n${pods.stdout}${logs.stdout}${logs.stderr}`;
}

/** The part of an EtcdCluster that the demonstration shows. */
interface ShownCluster {
  status?: {
    ready?: string;
    leader?: string;
    conditions?: readonly { type: string; status: string; message: string }[];
  };
}

/** Applies a manifest of one EtcdCluster and waits until its condition Ready is True. @param where flags that say in which namespace @returns the cluster's name */
export async function createCluster(
  kubectl: Kubectl,
  file: string,
  step: Step,
  where: readonly string[] = [],
  deadlineMs = 180_000,
): Promise<string> {
  const manifest = parse(await readFile(file, "utf8")) as { metadata: { name: string } };
  const { name } = manifest.metadata;
  await kubectl.run([...where, "apply", "-f", file]);
  await step(CLUSTER_HEALTHY, (note) => waitReady(kubectl, [...where, "get", "etcdcluster", name], deadlineMs, note));
  return name;
}

async function waitReady(kubectl: Kubectl, get: readonly string[], deadlineMs: number, note: Note): Promise<void> {
  const until = performance.now() + deadlineMs;
  for (;;) {
    const { status } = await kubectl.json<ShownCluster>(get);
    const ready = status?.conditions?.find(({ type }) => type === "Ready");
    if (ready?.status === "True") return;
    note(ready?.message ?? "the operator has not seen it yet");
    if (performance.now() > until) {
      throw new Failure(
        `EtcdCluster ${get.at(-1)} is not ready after ${deadlineMs / 1000} s: ${ready?.message ?? "it has no status"}`,
      );
    }
    await sleep(200);
  }
}

/** Writes a key through the cluster's client Service and reads it back from another member. @param where as above @returns what was read */
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
  if (writer === undefined || reader === undefined) throw new Failure(`EtcdCluster ${name} has no pods`);
  // Without a scheme: where members speak TLS, etcdctl in their containers does, too.
  const endpoints = `--endpoints=${name}-client:2379`;
  const value = `hello at ${new Date().toISOString()}`;
  // The Service leads to members whom the kubelet has found ready, which may be seconds after they are.
  const patience = "--command-timeout=60s";
  note(
    `waiting for the Service ${name}-client to lead to a member, which it does when the kubelet has found one ready`,
  );
  const etcdctl = (pod: string, ...args: readonly string[]) =>
    kubectl.run([...where, "exec", pod, "-c", "etcd", "--", "etcdctl", ...args]);
  await etcdctl(writer, endpoints, patience, "put", "greeting", value);
  note("reading it back from another member");
  const read = await etcdctl(reader, "get", "greeting", "--print-value-only");
  if (read.stdout.trim() !== value) throw new Failure(`wrote "${value}", but read "${read.stdout.trim()}"`);
  return value;
}
