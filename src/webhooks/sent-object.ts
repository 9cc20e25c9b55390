import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import { quoted } from "#base/json.ts";
import { invalid, record, text } from "#webhooks/untrusted.ts";

// Objects of a request for admission, with the fields that the checks read.

/**
 * The object, if it has the fields of every EtcdCluster that passed the schema.
 * @throws OperatorError InvalidSpec
 */
export function clusterIn(object: unknown, where: string): EtcdCluster {
  const whole = record(object, where);
  const metadata = record(whole.metadata, `${where}.metadata`);
  const spec = record(whole.spec, `${where}.spec`);
  for (const field of ["namespace", "name"]) text(metadata[field], `${where}.metadata.${field}`);
  for (const [key, value] of Object.entries(record(metadata.annotations ?? {}, `${where}.metadata.annotations`)))
    if (typeof value !== "string")
      throw invalid(`${where}.metadata.annotations[${quoted(key)}] is ${quoted(value)}; it must be a string`);
  text(spec.version, `${where}.spec.version`);
  replicasIn(spec, where);
  for (const field of ["storage", "podTemplate"]) record(spec[field], `${where}.spec.${field}`);
  const tls = record(spec.tls ?? {}, `${where}.spec.tls`);
  for (const side of ["peer", "client"]) {
    const { secret, extraNames = [] } = record(tls[side] ?? {}, `${where}.spec.tls.${side}`);
    secretIn(secret, side, `${where}.spec.tls.${side}.secret`);
    if (!Array.isArray(extraNames)) throw invalid(`${where}.spec.tls.${side}.extraNames must be a list`);
    for (const name of extraNames) text(name, `${where}.spec.tls.${side}.extraNames`);
  }
  record(spec.auth ?? {}, `${where}.spec.auth`);
  const { extraArgs = {} } = record(spec.etcd ?? {}, `${where}.spec.etcd`);
  for (const [flag, value] of Object.entries(record(extraArgs, `${where}.spec.etcd.extraArgs`)))
    if (typeof value !== "string")
      throw invalid(`${where}.spec.etcd.extraArgs[${quoted(flag)}] is ${quoted(value)}; it must be a string`);
  return object as EtcdCluster;
}

function secretIn(secret: unknown, side: string, where: string): void {
  if (secret === undefined) return;
  const named = record(secret, where);
  if (side === "peer") text(named.name, `${where}.name`);
  else
    for (const field of ["server", "operator"])
      text(record(named[field], `${where}.${field}`).name, `${where}.${field}.name`);
}

/** The object as a Scale, in which Kubernetes omits 0. @throws OperatorError InvalidSpec */
export function scaleIn(object: unknown, where: string): { readonly replicas: number } {
  const spec = record(record(object, where).spec, `${where}.spec`);
  return { replicas: replicasIn({ replicas: 0, ...spec }, where) };
}

function replicasIn({ replicas }: Readonly<Record<string, unknown>>, where: string): number {
  if (typeof replicas === "number" && Number.isInteger(replicas)) return replicas;
  throw invalid(`${where}.spec.replicas is ${quoted(replicas)}; it must be a number`);
}
