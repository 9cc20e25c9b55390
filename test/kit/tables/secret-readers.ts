import type { Pod } from "#kube/kinds.ts";

// Keys of Secrets that a pod can read: an oracle for the policies. It is written from the documentation of Kubernetes
// and the README, and shares no code with the policies.

type Json = Readonly<Record<string, unknown>>;
type Spec = NonNullable<Pod["spec"]>;

/** One file or variable with a secret, as a container sees it. */
export interface Reading {
  readonly container: string;
  readonly secret: string;
  /** "*": all keys. */
  readonly key: string;
  /** The name of the file or of the variable. */
  readonly as: string;
}

/** Fields of volumes that name a Secret which the node uses for the pod. */
const DRIVER_SECRETS = ["secretRef", "nodePublishSecretRef", "secretName"];

/** Every Secret and token that containers of the pod can read. */
export function readingsOf(spec: Spec): readonly Reading[] {
  const containers = [...(spec.initContainers ?? []), ...spec.containers] as unknown as readonly Json[];
  const own = containers.map((each) => ({ name: `${each.name}`, readings: ofContainer(each, spec) }));
  if (spec.shareProcessNamespace !== true) return own.flatMap(({ readings }) => readings);
  // With a shared process namespace, each container reads the files of the others below /proc/PID/root, and their
  // variables.
  const all = own.flatMap(({ readings }) => readings);
  return own.flatMap(({ name }) => all.map((reading) => ({ ...reading, container: name })));
}

function ofContainer(container: Json, spec: Spec): Reading[] {
  const name = `${container.name}`;
  const readings: Reading[] = [];
  const add = (secret: unknown, key: unknown, as: unknown) =>
    readings.push({ container: name, secret: `${secret}`, key: `${key}`, as: `${as}` });
  for (const variable of listOf(container.env)) {
    const ref = mapOf(mapOf(variable.valueFrom).secretKeyRef);
    if (ref.name !== undefined) add(ref.name, ref.key, variable.name);
  }
  for (const source of listOf(container.envFrom)) {
    const ref = mapOf(source.secretRef);
    if (ref.name !== undefined) add(ref.name, "*", "*");
  }
  for (const mount of listOf(container.volumeMounts)) {
    const volume = listOf(spec.volumes).find((each) => each.name === mount.name) ?? {};
    for (const { secret, key, path } of filesOf(volume)) {
      // With a subPath, the file has the name of its mount path.
      const isRenamed = mount.subPath !== undefined || mount.subPathExpr !== undefined;
      add(secret, key, isRenamed ? `${mount.mountPath}`.split("/").at(-1) : path);
    }
  }
  if (spec.automountServiceAccountToken !== false) add("token of the service account", "*", "*");
  return readings;
}

interface File {
  readonly secret: unknown;
  readonly key: unknown;
  readonly path: unknown;
}

function filesOf(volume: Json): File[] {
  const files: File[] = [];
  const whole = (secret: unknown) => files.push({ secret, key: "*", path: "*" });
  const itemsOf = (secret: unknown, items: unknown) => {
    if (listOf(items).length === 0) whole(secret);
    for (const { key, path } of listOf(items)) files.push({ secret, key, path });
  };
  for (const [kind, value] of Object.entries(volume)) {
    const source = mapOf(value);
    if (kind === "secret") itemsOf(source.secretName, source.items);
    else if (kind === "projected") {
      for (const each of listOf(source.sources)) {
        const { name, items } = mapOf(each.secret);
        if (name !== undefined) itemsOf(name, items);
        if (each.serviceAccountToken !== undefined) whole("token of the service account");
        if (each.podCertificate !== undefined) whole("certificate of the pod");
      }
    } else if (kind === "hostPath") whole("everything on the node");
    else
      for (const field of DRIVER_SECRETS) {
        const ref = source[field];
        if (ref !== undefined) whole(mapOf(ref).name ?? ref);
      }
  }
  return files;
}

function listOf(value: unknown): readonly Json[] {
  return Array.isArray(value) ? (value as readonly Json[]) : [];
}

function mapOf(value: unknown): Json {
  return typeof value === "object" && value !== null ? (value as Json) : {};
}

/** Keys of Secrets for stores, TLS and etcd's users, as listed in the README. */
const OF_BACKUPS = [
  "AWS_ACCESS_KEY_ID",
  "AWS_SECRET_ACCESS_KEY",
  "AWS_SESSION_TOKEN",
  "AZURE_STORAGE_KEY",
  "AZURE_STORAGE_SAS_TOKEN",
  "ETCD_PASSWORD",
  "ETCD_USERNAME",
  "ca.crt",
  "credentials.json",
  "tls.crt",
  "tls.key",
];

/**
 * Whether the README allows this reading by a pod of one of the operator's Jobs.
 * @param image the operator's own image
 */
export function mayJobRead({ secret, key, as, container }: Reading, spec: Spec, image: string): boolean {
  const reader = [...(spec.initContainers ?? []), ...spec.containers].find(({ name }) => name === container);
  if (reader === undefined || !isAgent(reader as unknown as Json, image) || isOfAuthority(secret)) return false;
  return as === "key" || (as === key && OF_BACKUPS.includes(key));
}

/** Whether the container runs the agent and nothing else. */
function isAgent(container: Json, image: string): boolean {
  const places = listOf(container.volumeMounts).map(({ mountPath }) => `${mountPath}`);
  const [program, ...flags] = Array.isArray(container.command) ? (container.command as string[]) : [];
  return (
    container.image === image &&
    program === "/usr/local/bin/node" &&
    flags.every((flag) => /^--max-(?:semi|old)-space-size=\d+$/.test(flag) || flag.endsWith("/agent.mjs")) &&
    listOf(container.args).length === 0 &&
    container.workingDir === undefined &&
    container.lifecycle === undefined &&
    container.livenessProbe === undefined &&
    listOf(container.env).every(({ name }) => name === "AGENT_TASK") &&
    places.every((place) => ["/run/agent/", "/volume", "/var/lib/etcd"].some((folder) => place.startsWith(folder)))
  );
}

/** Whether the README allows this reading by a member's pod. etcd itself may give the file any name. */
export function mayMemberRead({ secret, key, container }: Reading): boolean {
  return container === "etcd" && !isOfAuthority(secret) && ["tls.crt", "tls.key"].includes(key);
}

function isOfAuthority(secret: string): boolean {
  return /-(?:peer|client)-ca$/.test(secret);
}
