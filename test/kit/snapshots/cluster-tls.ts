import { givenText } from "#api/given-metadata.ts";
import {
  CLIENT_SCHEME_ANNOTATION,
  CLIENT_SIGNER_ANNOTATION,
  CLIENT_TLS_VOLUME,
  CLIENT_TRUST_ANNOTATION,
  PEER_SCHEME_ANNOTATION,
  PEER_SIGNER_ANNOTATION,
  PEER_TLS_VOLUME,
  PEER_TRUST_ANNOTATION,
  REVISION_ANNOTATION,
  type Scheme,
} from "#api/names.ts";
import { revisionOf, templateIn } from "#api/revision.ts";
import { peerSchemeOf, providerOf, reachedBy } from "#api/tls.ts";
import type { EtcdClusterSpec } from "#api/v1beta1/cluster.ts";
import { clusterSpecSchema } from "#api/v1beta1/cluster-schema.ts";
import { type Observed, present } from "#base/observed.ts";
import { idOf, parsedIn } from "#certificates/pem.ts";
import { headlessService } from "#cluster/exposure/desired/services.ts";
import type { ClusterSnapshot, Purpose, SeenCertificate, SeenCertificates } from "#cluster/snapshot.ts";
import { sourcesInUse, withPreviousTls } from "#cluster-tls/effective/previous.ts";
import { trustMap } from "#cluster-tls/issue/desired/certificates.ts";
import { madeForOf } from "#cluster-tls/issue/due.ts";
import { memberTls } from "#cluster-tls/member-tls.ts";
import {
  clientSecretMetadata,
  isAuthority,
  orderOf,
  purposesOf,
  secretNameOf,
  sideOf,
} from "#cluster-tls/read/purposes.ts";
import { BRIEF_PEM, CORP_PEM, NEXT_PEM, OWN_PEM, RENEWED_PEM, THEIRS_PEM } from "#kit/tables/authorities.ts";
import type { ConfigMap, Pod, Service } from "#kube/kinds.ts";
import { begin } from "./begin.ts";
import { born, cluster, NOW } from "./cluster.ts";
import { issuedBy } from "./tls-status.ts";

// Snapshots (cluster.ts) of clusters with TLS. Facts about Secrets are made up here. src/certificates/facts.test.ts and
// src/cluster-tls/issue/act.test.ts check those of real ones.

const DAY_MS = 86_400_000;

interface Authority {
  readonly pem: string;
  readonly id: string;
}

function authority(pem: string): Authority {
  const [certificate] = parsedIn(pem);
  if (certificate === undefined) throw new Error("the PEM text has no certificate");
  return { pem, id: idOf(certificate) };
}

/** The current CA, the next one, and one of another owner. */
export const OWN = authority(OWN_PEM);
export const NEXT = authority(NEXT_PEM);
export const THEIRS = authority(THEIRS_PEM);
/** Valid for 90 days only. */
export const BRIEF = authority(BRIEF_PEM);
/** A CA with the same validity, and its renewal with the same name and key. */
export const CORP = authority(CORP_PEM);
export const RENEWED = authority(RENEWED_PEM);

export function bundle(...all: readonly Authority[]): string {
  return all.map(({ pem }) => pem).join("");
}

type Tls = NonNullable<EtcdClusterSpec["tls"]>;

/** `spec.tls` with the schema's defaults. */
export function tlsSpec(tls: object = {}): Tls {
  return clusterSpecSchema.parse({ replicas: 3, version: "3.6.16", tls }).tls!;
}

const OIDS = { serverAuth: "1.3.6.1.5.5.7.3.1", clientAuth: "1.3.6.1.5.5.7.3.2" } as const;

interface Made {
  /** The CA that has signed it; for a CA: which one it is. */
  readonly by?: Authority;
  readonly trust?: string;
  readonly next?: Authority;
  /** How long it is still valid, in milliseconds. */
  readonly lastsMs?: number;
  /** Its whole lifetime, in milliseconds; by default it began 100 days ago. */
  readonly lifeMs?: number;
  /** Default: the operator's. */
  readonly commonName?: string | undefined;
  readonly names?: readonly string[];
  readonly usages?: readonly (keyof typeof OIDS)[];
  readonly isOurs?: boolean;
  readonly rotatedFor?: string;
  readonly trouble?: string;
  /** Default: true for Secrets that people fill, and false for others. */
  readonly mayBeShown?: boolean;
  readonly knownForMs?: number;
  readonly signerForMs?: number;
  /** Default: the Secret does not record its last write. */
  readonly writtenAtMs?: number;
  readonly madeFor?: string;
  /** Default: what the spec gives the Secret. */
  readonly given?: string | undefined;
  /**
   * The Certificate of cert-manager that fills it; by default the one that the cluster requests, if its provider is
   * CertManager.
   */
  readonly certificateName?: string | undefined;
}

function isRequested({ cluster: { spec } }: ClusterSnapshot, purpose: Purpose): boolean {
  return providerOf(spec, sideOf(purpose)) === "CertManager";
}

/** Facts about the Secret of this purpose in this cluster; by default as the operator has made it. */
export function made(snapshot: ClusterSnapshot, purpose: Purpose, given: Made = {}): SeenCertificate {
  const { by = OWN, next, lastsMs = (isAuthority(purpose) ? 3_550 : 80) * DAY_MS } = given;
  const trust = given.trust ?? bundle(by, ...(next === undefined ? [] : [next]));
  const trustIds = parsedIn(trust).map(idOf);
  const order = isAuthority(purpose) ? undefined : orderOf(snapshot.cluster, purpose);
  const secretName = secretNameOf(snapshot.cluster, purpose)!;
  const signerId = trustIds.includes(by.id) ? by.id : undefined;
  const unsigned =
    order !== undefined && signerId === undefined ? "its tls.crt is not signed by any CA in its ca.crt" : undefined;
  const isEmpty = given.trouble === "it has no tls.crt";
  return {
    secretName,
    uid: `uid-of-${secretName}`,
    resourceVersion: "1",
    writtenAtMs: given.writtenAtMs,
    ownerUid: given.isOurs === false ? undefined : snapshot.cluster.metadata.uid,
    notBeforeMs: NOW - 100 * DAY_MS,
    notAfterMs: isEmpty ? 0 : NOW + lastsMs,
    lifeMs: isEmpty ? 0 : (given.lifeMs ?? 100 * DAY_MS + lastsMs),
    fingerprint: isEmpty ? "" : order === undefined ? by.id : `${purpose} by ${by.id}`,
    issuerName: "CN=own 0123456789ab",
    commonName: "commonName" in given ? given.commonName : (order?.commonName ?? "etcd-cluster-operator"),
    names: given.names ?? order?.names ?? [],
    usages: (given.usages ?? order?.usages ?? []).map((usage) => OIDS[usage]),
    trust,
    trustIds,
    signerId,
    nextId: next?.id,
    rotatedFor: given.rotatedFor,
    certificateName:
      "certificateName" in given ? given.certificateName : isRequested(snapshot, purpose) ? secretName : undefined,
    madeFor: given.madeFor ?? (isAuthority(purpose) ? undefined : madeForOf(snapshot, purpose)),
    given:
      "given" in given || purpose !== "application" ? given.given : givenText(clientSecretMetadata(snapshot.cluster)),
    mayBeShown: given.mayBeShown ?? providerOf(snapshot.cluster.spec, sideOf(purpose)) === "Secret",
    trouble: given.trouble ?? unsigned,
    knownForMs: given.knownForMs ?? 3_600_000,
    signerForMs: given.signerForMs ?? 3_600_000,
  };
}

/** The snapshot with changed facts about these Secrets. */
export function withSeen(
  snapshot: ClusterSnapshot,
  seen: { readonly [purpose in Purpose]?: Observed<SeenCertificate> },
): ClusterSnapshot {
  return { ...snapshot, certificates: { ...snapshot.certificates, ...seen } };
}

/** The snapshot with these Secrets made again with other facts. */
export function withMade(snapshot: ClusterSnapshot, all: { readonly [purpose in Purpose]?: Made }): ClusterSnapshot {
  const seen = Object.entries(all) as [Purpose, Made][];
  return withSeen(
    snapshot,
    Object.fromEntries(seen.map(([purpose, each]) => [purpose, present(made(snapshot, purpose, each))])),
  );
}

type Given = Parameters<typeof cluster>[0];

/** `cluster()` with TLS, before any certificate exists. */
export function unissued(given: Given = {}, tls: object = {}): ClusterSnapshot {
  const snapshot = cluster({ ...given, spec: { ...given?.spec, tls: tlsSpec(tls) } });
  const absent: SeenCertificates = Object.fromEntries(
    [...purposesOf(snapshot.cluster), "trustMap"].map((purpose) => [purpose, { is: "absent" }]),
  );
  return { ...begin(snapshot).apply(reached).apply(found).snapshot, certificates: absent };
}

/** The cluster was formed with the peer scheme of its spec. */
function reached(snapshot: ClusterSnapshot): ClusterSnapshot {
  const { cluster: known } = snapshot;
  const identity = known.status?.identity;
  if (identity === undefined || peerSchemeOf(known.spec) === "http") return snapshot;
  const status = { ...known.status, identity: { ...identity, peerScheme: "https" as const } };
  return listedBy({ ...snapshot, cluster: { ...known, status } }, "https");
}

/** The snapshot in which etcd lists these members, or all, with this scheme. */
export function listedBy(
  snapshot: ClusterSnapshot,
  scheme: Scheme,
  names: readonly string[] = snapshot.peers.map(({ metadata }) => metadata.name),
): ClusterSnapshot {
  const { members } = snapshot;
  if (members.is !== "present") return snapshot;
  const all = members.value.members.map((member) =>
    names.some((name) => member.peerUrls[0]?.includes(`//${name}.`))
      ? { ...member, peerUrls: member.peerUrls.map((url) => url.replace(/^https?:/, `${scheme}:`)) }
      : member,
  );
  return { ...snapshot, members: present({ ...members.value, members: all }) };
}

/** `cluster()` with TLS: all certificates exist, and members run with them. */
export function secured(given: Given = {}, tls: object = {}, all: Made = {}): ClusterSnapshot {
  const bare = unissued(given, tls);
  const purposes = purposesOf(bare.cluster);
  const whole = withMade(bare, Object.fromEntries(purposes.map((purpose) => [purpose, all])));
  const server = whole.certificates?.server;
  const map = server?.is === "present" ? present(born<ConfigMap>(trustMap(whole, server.value.trust))) : undefined;
  const told = map === undefined ? whole : { ...whole, certificates: { ...whole.certificates, trustMap: map } };
  // As a cluster with TLS from the beginning, not one that changes to TLS.
  return running(told, undefined, memberTls({ ...told, peers: [] }));
}

/**
 * The snapshot with another `tls` in its spec. The configuration in use is in the status, and no Secret of the new one
 * exists.
 */
export function goingTo(snapshot: ClusterSnapshot, tls: object): ClusterSnapshot {
  const { cluster: live, certificates } = snapshot;
  const status = issuedBy(live.status, sourcesInUse(snapshot));
  const turned = { ...live, status, spec: { ...live.spec, tls: tlsSpec(tls) } };
  const absent = { is: "absent" } as const;
  const nothing = Object.fromEntries(purposesOf(turned).map((purpose) => [purpose, absent]));
  const { trustMap, trustMapForMs, requests: _, ...seen } = certificates ?? {};
  const requests = { peer: absent, server: absent, operator: absent, application: absent };
  const left = withPreviousTls(turned, snapshot);
  const previous = left && Object.fromEntries(purposesOf(left).map((purpose) => [purpose, seen[purpose]]));
  // All Secrets of an unchanged side exist.
  const stays = Object.fromEntries(
    purposesOf(turned)
      .filter((purpose) => secretNameOf(turned, purpose) === secretNameOf(live, purpose))
      .map((purpose) => [purpose, seen[purpose]]),
  );
  return {
    ...snapshot,
    cluster: turned,
    certificates: { ...nothing, ...stays, trustMap, trustMapForMs, requests, previous } as SeenCertificates,
  };
}

/** The snapshot in which all members, or these, have the wanted TLS configuration, and run with it. */
export function running(
  snapshot: ClusterSnapshot,
  names?: readonly string[],
  tls = memberTls({ ...snapshot, peers: snapshot.peers.filter(({ spec }) => spec.tls !== undefined) }),
): ClusterSnapshot {
  const isMeant = (name: string) => names?.includes(name) ?? true;
  const peers = snapshot.peers.map((peer) =>
    isMeant(peer.metadata.name) ? { ...peer, spec: { ...peer.spec, ...(tls === undefined ? {} : { tls }) } } : peer,
  );
  return started({ ...snapshot, peers }, names);
}

/** The snapshot with a headless Service that matches how members now serve clients. */
function found(snapshot: ClusterSnapshot): ClusterSnapshot {
  const { headlessService: live } = snapshot;
  return live === undefined ? snapshot : { ...snapshot, headlessService: born<Service>(headlessService(snapshot)) };
}

/** The volumes of a pod for one side. */
function mounting(name: string, side: { readonly secretName: string } | undefined) {
  return side === undefined ? [] : [{ name, projected: { sources: [{ secret: { name: side.secretName } }] } }];
}

/** The snapshot in which the pods of all members, or of these, were made from their EtcdPeers. */
export function started(snapshot: ClusterSnapshot, names?: readonly string[]): ClusterSnapshot {
  const pods = new Map(snapshot.pods);
  for (const { metadata, spec } of snapshot.peers) {
    const pod = pods.get(metadata.name);
    if (pod === undefined || names?.includes(metadata.name) === false) continue;
    const { [PEER_TRUST_ANNOTATION]: _, [CLIENT_TRUST_ANNOTATION]: __, ...others } = pod.metadata.annotations ?? {};
    const { [PEER_SCHEME_ANNOTATION]: ___, [CLIENT_SCHEME_ANNOTATION]: ____, ...more } = others;
    const { [PEER_SIGNER_ANNOTATION]: _____, [CLIENT_SIGNER_ANNOTATION]: ______, ...rest } = more;
    const annotations = {
      ...rest,
      [REVISION_ANNOTATION]: revisionOf(templateIn(spec)),
      ...(spec.tls?.peer && { [PEER_TRUST_ANNOTATION]: spec.tls.peer.trust }),
      ...(spec.tls?.client && {
        [CLIENT_TRUST_ANNOTATION]: spec.tls.client.trust,
        [CLIENT_SCHEME_ANNOTATION]: "https",
      }),
      ...(spec.tls?.peer?.signer && { [PEER_SIGNER_ANNOTATION]: spec.tls.peer.signer }),
      ...(spec.tls?.client?.signer && { [CLIENT_SIGNER_ANNOTATION]: spec.tls.client.signer }),
      ...(reachedBy(spec) === "https" && { [PEER_SCHEME_ANNOTATION]: "https" }),
    };
    const volumes = [mounting(PEER_TLS_VOLUME, spec.tls?.peer), mounting(CLIENT_TLS_VOLUME, spec.tls?.client)].flat();
    const beside = pod.spec?.volumes?.filter(({ name }) => name !== PEER_TLS_VOLUME && name !== CLIENT_TLS_VOLUME);
    const shown = { ...pod.spec, volumes: [...(beside ?? []), ...volumes] } as Pod["spec"];
    pods.set(metadata.name, { ...pod, spec: shown, metadata: { ...pod.metadata, annotations } } as Pod);
  }
  return found({ ...snapshot, pods });
}
