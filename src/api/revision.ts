import { certificatesIn } from "#api/bundle.ts";
import { millisecondsOf } from "#api/duration.ts";
import { amount, amounts, isEmpty, sorted, unlessEmpty, unordered, withAmounts, withoutEmpty } from "#api/meaning.ts";
import { ETCD_CONTAINER } from "#api/names.ts";
import { containersIn, etcdContainerOf } from "#api/pod-template/etcd-container.ts";
import type { EtcdClusterSpec } from "#api/v1beta1/cluster.ts";
import type { EtcdPeerSpec } from "#api/v1beta1/peer.ts";
import { fingerprint } from "#base/hash.ts";
import { isMap, record } from "#base/json.ts";

// What makes a member restart?
//   Only a change that a user has requested. A new operator release may build pods differently; members keep their
//   pods, and the next pod gets the new form.
// What if a release adds new options?
//   Unset options are left out of the hash, so the revision stays that of earlier releases.

/** Fields of a member that users control. */
export type MemberTemplate = Pick<EtcdPeerSpec, "version" | "image" | "etcd" | "tls" | "podTemplate">;

/** Selects the template's fields from a spec. */
export function templateIn({ version, image, etcd, tls, podTemplate }: MemberTemplate): MemberTemplate {
  return {
    version,
    ...(image === undefined ? {} : { image }),
    ...(etcd === undefined ? {} : { etcd }),
    ...(tls === undefined ? {} : { tls }),
    podTemplate,
  };
}

/**
 * Template that a cluster's spec requests for its members.
 * @param tls the part of the requested TLS configuration that has been issued
 */
export function askedIn(
  { version, image, etcd, podTemplate }: Pick<EtcdClusterSpec, "version" | "image" | "etcd" | "podTemplate">,
  tls: MemberTemplate["tls"],
): MemberTemplate {
  return templateIn({ version, image, etcd, tls, podTemplate });
}

/**
 * Last computed revision of each template. Objects in a cache are immutable, and each observation needs the same
 * revisions many times.
 */
const CALLED = new WeakMap<object, MemberTemplate & { readonly revision: string }>();

/**
 * Hash of a template, 16 hexadecimal digits. Equivalent templates have the same revision, however they are written.
 * @param template its parts must be immutable
 */
export function revisionOf(template: MemberTemplate): string {
  const { version, image, etcd, tls, podTemplate } = template;
  const last = isMap(podTemplate) ? CALLED.get(podTemplate) : undefined;
  const isSame = last?.version === version && last.image === image && last.etcd === etcd && last.tls === tls;
  if (isSame) return last.revision;
  const revision = named(template);
  if (isMap(podTemplate)) CALLED.set(podTemplate, { ...templateIn(template), revision });
  return revision;
}

function named({ version, image, etcd, tls, podTemplate }: MemberTemplate): string {
  const { metadata, spec } = podTemplate;
  const { containers: _, affinity, initContainers, topologySpreadConstraints, ...pod } = spec ?? {};
  const { name: __, resources, ...container } = etcdContainerOf(podTemplate) ?? { name: ETCD_CONTAINER };
  const sidecars = containersIn(podTemplate).filter(({ name }) => name !== ETCD_CONTAINER);
  return fingerprint({
    version,
    annotations: unlessEmpty(metadata?.annotations),
    limits: amounts(resources?.limits),
    requests: amounts(resources?.requests),
    affinity: isEmpty(affinity) ? undefined : unordered(affinity),
    labels: unlessEmpty(metadata?.labels),
    image: imageMeaning(image),
    etcd: optionsMeaning(etcd),
    tls: tlsMeaning(tls),
    container: withoutEmpty(container),
    sidecars: unlessEmpty(sorted(sidecars.map(containerMeaning))),
    // Init containers run in order.
    initContainers: Array.isArray(initContainers) ? unlessEmpty(initContainers.map(containerMeaning)) : undefined,
    topologySpreadConstraints: isEmpty(topologySpreadConstraints) ? undefined : unordered(topologySpreadConstraints),
    pod: withoutEmpty(podMeaning(pod)),
  });
}

/** Normalizes quantities in fields of the pod and its volumes. */
function podMeaning(pod: object): object {
  const { volumes, ...rest } = withAmounts({ ...pod });
  return volumes === undefined
    ? rest
    : { ...rest, volumes: Array.isArray(volumes) ? volumes.map(volumeMeaning) : volumes };
}

function volumeMeaning(volume: unknown): unknown {
  if (!isMap(volume)) return volume;
  const { emptyDir, ephemeral } = volume;
  const { volumeClaimTemplate } = record(ephemeral);
  const { spec } = record(volumeClaimTemplate);
  return {
    ...volume,
    ...((record(emptyDir).sizeLimit ?? null) === null
      ? {}
      : { emptyDir: { ...record(emptyDir), sizeLimit: amount(record(emptyDir).sizeLimit) } }),
    ...(isMap(spec)
      ? {
          ephemeral: {
            ...record(ephemeral),
            volumeClaimTemplate: { ...record(volumeClaimTemplate), spec: withAmounts(spec) },
          },
        }
      : {}),
  };
}

/** Normalizes quantities of sidecars and init containers. */
function containerMeaning(container: unknown): unknown {
  return isMap(container) ? withoutEmpty(withAmounts(container)) : container;
}

function imageMeaning(image: MemberTemplate["image"]): object | undefined {
  const { pullPolicy, pullSecrets, ...rest } = image ?? {};
  return unlessEmpty({
    ...rest,
    pullPolicy: pullPolicy === "IfNotPresent" ? undefined : pullPolicy,
    pullSecrets: Array.isArray(pullSecrets) ? unlessEmpty(sorted(pullSecrets)) : undefined,
  });
}

function optionsMeaning(etcd: MemberTemplate["etcd"]): object | undefined {
  const { backendQuota, autoCompaction, heartbeatInterval, electionTimeout, extraArgs, ...rest } = etcd ?? {};
  return unlessEmpty({
    ...rest,
    backendQuota: backendQuota && { ...backendQuota, size: backendQuota.size && amount(backendQuota.size) },
    autoCompaction: compactionMeaning(autoCompaction),
    heartbeatInterval: heartbeatInterval === undefined ? undefined : duration(heartbeatInterval),
    electionTimeout: electionTimeout === undefined ? undefined : duration(electionTimeout),
    extraArgs: unlessEmpty(extraArgs),
  });
}

/** Mode None is what etcd does without the field: to state it restarts no member. */
function compactionMeaning(compaction: NonNullable<MemberTemplate["etcd"]>["autoCompaction"]): object | undefined {
  if (compaction === undefined || compaction.mode === "None") return undefined;
  const { period, ...rest } = compaction;
  return { ...rest, period: period === undefined ? undefined : duration(period) };
}

/** Includes only the names of Secrets: a renewed certificate restarts no member. */
function tlsMeaning(tls: MemberTemplate["tls"]): object | undefined {
  const { peer, client, minVersion, cipherSuites, ...rest } = tls ?? {};
  return unlessEmpty({
    ...rest,
    peer: peer && { ...sideMeaning(peer), scheme: peer.scheme === "https" ? undefined : peer.scheme },
    client: client && {
      ...sideMeaning(client),
      clientCertificates: client.clientCertificates ?? "Required",
      plaintext: client.plaintext === true ? true : undefined,
    },
    minVersion: minVersion === "TLS1.2" ? undefined : minVersion,
    cipherSuites: cipherSuites && unlessEmpty(sorted(cipherSuites)),
  });
}

function sideMeaning<T extends { readonly trust: string }>({ trust, ...rest }: T) {
  return { ...rest, trust: certificatesIn(trust) };
}

function duration(text: string): number | string {
  return millisecondsOf(text) ?? text;
}
