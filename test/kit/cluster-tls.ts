import { X509Certificate } from "node:crypto";
import {
  APPLIED_HASH_ANNOTATION,
  CLIENT_TRUST_ANNOTATION,
  PEER_TRUST_ANNOTATION,
  REVISION_ANNOTATION,
} from "#api/names.ts";
import { revisionOf, templateIn } from "#api/revision.ts";
import type { EtcdClusterSpec } from "#api/v1beta1/cluster.ts";
import { clusterSpecSchema } from "#api/v1beta1/cluster-schema.ts";
import { type Observed, present } from "#base/observed.ts";
import { factsOf } from "#certificates/facts.ts";
import { newAuthority, newLeaf } from "#certificates/issue.ts";
import { idOf, type KeyPair } from "#certificates/pem.ts";
import { madeForOf } from "#cluster/certificates/due.ts";
import { isAuthority, orderOf, purposesOf, secretNameOf } from "#cluster/certificates/purposes.ts";
import { memberTls } from "#cluster/certificates.ts";
import { trustMap } from "#cluster/desired/certificates.ts";
import { ownedBy } from "#cluster/desired/owned.ts";
import type { ClusterSnapshot, LeafPurpose, Purpose, SeenCertificate, SeenCertificates } from "#cluster/snapshot.ts";
import type { ConfigMap } from "#kube/kinds.ts";
import { DAY_MS, dataOf, secretOf } from "./certificates.ts";
import { born, cluster, NOW } from "./cluster.ts";

// Snapshots (cluster.ts) of clusters whose members speak TLS, with real certificates.

const validity = { fromMs: NOW - 100 * DAY_MS, untilMs: NOW + 3_550 * DAY_MS };
/** The authority that signs, the one that is to follow, and one of somebody else. */
export const OWN: KeyPair = await newAuthority("own", validity);
export const NEXT: KeyPair = await newAuthority("next", validity);
export const THEIRS: KeyPair = await newAuthority("theirs", validity);
/** One that ends in less than a year. */
export const AGED: KeyPair = await newAuthority("aged", { ...validity, untilMs: NOW + 300 * DAY_MS });

export function idIn({ certificate }: KeyPair): string {
  return idOf(new X509Certificate(certificate));
}

export function bundle(...pairs: readonly KeyPair[]): string {
  return pairs.map(({ certificate }) => certificate).join("");
}

type Tls = NonNullable<EtcdClusterSpec["tls"]>;

/** `spec.tls`, with what the schema fills in. */
export function tlsSpec(tls: object = {}): Tls {
  return clusterSpecSchema.parse({ replicas: 3, tls }).tls!;
}

export interface Made {
  /** Who has signed it; of an authority: which one it is. */
  readonly by?: KeyPair;
  readonly trust?: string;
  readonly next?: KeyPair;
  /** How long it lasts from now on, in milliseconds. */
  readonly lastsMs?: number;
  readonly names?: readonly string[];
  readonly usages?: readonly ("serverAuth" | "clientAuth")[];
  readonly isOurs?: boolean;
  readonly rotatedFor?: string;
  /** Texts of the Secret that are other than they should be. */
  readonly texts?: Readonly<Record<string, string>>;
  readonly knownForMs?: number;
  readonly madeFor?: string;
}

const issued = new Map<string, Promise<KeyPair>>();

/** What is seen of the Secret of this purpose in this cluster; by default as the operator has made it. */
export async function made(snapshot: ClusterSnapshot, purpose: Purpose, given: Made = {}): Promise<SeenCertificate> {
  const { by = OWN, lastsMs = 80 * DAY_MS, next } = given;
  const trust = given.trust ?? bundle(by, ...(next === undefined ? [] : [next]));
  const pair = isAuthority(purpose) ? by : await leafFor(snapshot, purpose, by, lastsMs, given);
  const after = next === undefined ? {} : { "next.crt": next.certificate, "next.key": next.key };
  const annotations = {
    ...(given.rotatedFor === undefined ? {} : { "etcd.improbable.io/rotated-for": given.rotatedFor }),
    ...(isAuthority(purpose) ? {} : { [APPLIED_HASH_ANNOTATION]: given.madeFor ?? madeForOf(snapshot, purpose) }),
  };
  const owner = given.isOurs === false ? {} : { ownerReferences: [ownedBy(snapshot)] };
  const name = secretNameOf(snapshot.cluster, purpose)!;
  const secret = secretOf(name, { ...dataOf(pair, trust), ...after, ...given.texts }, { annotations, ...owner });
  return { ...factsOf(secret, isAuthority(purpose) ? "authority" : "leaf"), knownForMs: given.knownForMs ?? 3_600_000 };
}

async function leafFor(
  snapshot: ClusterSnapshot,
  purpose: LeafPurpose,
  by: KeyPair,
  lastsMs: number,
  given: Made,
): Promise<KeyPair> {
  const { durationMs: _, ...order } = orderOf(snapshot.cluster, purpose);
  const wish = { ...order, ...(given.names && { names: given.names }), ...(given.usages && { usages: given.usages }) };
  const key = JSON.stringify([idIn(by), lastsMs, wish]);
  const pair = issued.get(key) ?? newLeaf(by, { ...wish, fromMs: validity.fromMs, untilMs: NOW + lastsMs });
  issued.set(key, pair);
  return await pair;
}

/** The snapshot in which these Secrets are other than they were. */
export function withSeen(
  snapshot: ClusterSnapshot,
  seen: { readonly [purpose in Purpose]?: Observed<SeenCertificate> },
): ClusterSnapshot {
  return { ...snapshot, certificates: { ...snapshot.certificates, ...seen } };
}

/** The same, with what has been made in them. */
export async function withMade(
  snapshot: ClusterSnapshot,
  made_: { readonly [purpose in Purpose]?: Made },
): Promise<ClusterSnapshot> {
  let given = snapshot;
  for (const [purpose, each] of Object.entries(made_) as [Purpose, Made][])
    given = withSeen(given, { [purpose]: present(await made(snapshot, purpose, each)) });
  return given;
}

type Given = Parameters<typeof cluster>[0];

/** As `cluster()`, with TLS: nothing of it is there yet. */
export function unissued(given: Given = {}, tls: object = {}): ClusterSnapshot {
  const snapshot = cluster({ ...given, spec: { ...given?.spec, tls: tlsSpec(tls) } });
  const absent: SeenCertificates = Object.fromEntries(
    [...purposesOf(snapshot.cluster), "trustMap"].map((purpose) => [purpose, { is: "absent" }]),
  );
  return { ...snapshot, certificates: absent };
}

/** As `cluster()`, with TLS: all certificates are there, and members run with them. */
export async function secured(given: Given = {}, tls: object = {}, all: Made = {}): Promise<ClusterSnapshot> {
  const bare = unissued(given, tls);
  const purposes = purposesOf(bare.cluster);
  const whole = await withMade(bare, Object.fromEntries(purposes.map((purpose) => [purpose, all])));
  const server = whole.certificates?.server;
  const map = server?.is === "present" ? present(born<ConfigMap>(trustMap(whole, server.value.trust))) : undefined;
  const told = map === undefined ? whole : { ...whole, certificates: { ...whole.certificates, trustMap: map } };
  return running(told);
}

/** The snapshot in which all members, or these, have what the cluster asks for by now, and run with it. */
export function running(
  snapshot: ClusterSnapshot,
  names?: readonly string[],
  tls = memberTls(snapshot),
): ClusterSnapshot {
  const isMeant = (name: string) => names?.includes(name) ?? true;
  const peers = snapshot.peers.map((peer) =>
    isMeant(peer.metadata.name) ? { ...peer, spec: { ...peer.spec, ...(tls === undefined ? {} : { tls }) } } : peer,
  );
  return started({ ...snapshot, peers }, names);
}

/** The snapshot in which the pods of all members, or of these, were made from what their EtcdPeers say. */
export function started(snapshot: ClusterSnapshot, names?: readonly string[]): ClusterSnapshot {
  const pods = new Map(snapshot.pods);
  for (const { metadata, spec } of snapshot.peers) {
    const pod = pods.get(metadata.name);
    if (pod === undefined || names?.includes(metadata.name) === false) continue;
    const annotations = {
      ...pod.metadata.annotations,
      [REVISION_ANNOTATION]: revisionOf(templateIn(spec)),
      ...(spec.tls?.peer && { [PEER_TRUST_ANNOTATION]: spec.tls.peer.trust }),
      ...(spec.tls?.client && { [CLIENT_TRUST_ANNOTATION]: spec.tls.client.trust }),
    };
    pods.set(metadata.name, { ...pod, metadata: { ...pod.metadata, annotations } });
  }
  return { ...snapshot, pods };
}
