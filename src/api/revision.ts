import { certificatesIn } from "#api/bundle.ts";
import { millisecondsOf } from "#api/duration.ts";
import { amount, amounts, sorted, unlessEmpty, unordered, withAmounts, withoutEmpty } from "#api/meaning.ts";
import { ETCD_CONTAINER } from "#api/names.ts";
import { containersIn, etcdContainerOf } from "#api/pod-template/etcd-container.ts";
import type { EtcdClusterSpec } from "#api/v1beta1/cluster.ts";
import type { EtcdPeerSpec } from "#api/v1beta1/peer.ts";
import { fingerprint } from "#base/hash.ts";
import { isMap, record } from "#base/json.ts";

// What makes a member restart?
//   Only what a person has asked for. The pod that the operator makes of it is the operator's business: a new release that makes another
//   one of the same wishes restarts nobody, and the next pod, whenever it comes, looks as that release wants it.
// What if people can ask for more than before?
//   What is not asked for leaves no trace in the name: so it is the name that earlier releases gave to the same wish.

/** What of a member people decide. */
export type MemberTemplate = Pick<EtcdPeerSpec, "version" | "image" | "etcd" | "tls" | "podTemplate">;

/** What a spec says of the member's template, and nothing else. */
export function templateIn({ version, image, etcd, tls, podTemplate }: MemberTemplate): MemberTemplate {
  return {
    version,
    ...(image === undefined ? {} : { image }),
    ...(etcd === undefined ? {} : { etcd }),
    ...(tls === undefined ? {} : { tls }),
    podTemplate,
  };
}

/** What a cluster's spec asks for of its members. @param tls what has been issued of what it asks for */
export function askedIn(
  { version, image, etcd, podTemplate }: Pick<EtcdClusterSpec, "version" | "image" | "etcd" | "podTemplate">,
  tls: MemberTemplate["tls"],
): MemberTemplate {
  return templateIn({ version, image, etcd, tls, podTemplate });
}

/** What a template was called last: objects from a cache do not change, and each look asks for the same names many times. */
const CALLED = new WeakMap<object, MemberTemplate & { readonly revision: string }>();

/**
 * The name of a template: equal for all that mean the same, however they are written. 16 hexadecimal digits.
 * @param template its parts do not change
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
    affinity: unordered(affinity),
    labels: unlessEmpty(metadata?.labels),
    image: imageMeaning(image),
    etcd: optionsMeaning(etcd),
    tls: tlsMeaning(tls),
    container: withoutEmpty(container),
    sidecars: unlessEmpty(sorted(sidecars.map(containerMeaning))),
    // They run one after another.
    initContainers: Array.isArray(initContainers) ? unlessEmpty(initContainers.map(containerMeaning)) : undefined,
    // An empty list takes the default away.
    topologySpreadConstraints: unordered(topologySpreadConstraints),
    pod: withoutEmpty(podMeaning(pod)),
  });
}

/** Amounts are compared however they are written, also in what belongs to no container. */
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

/** Of containers beside etcd's own, too, amounts are compared however they are written. */
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
  const { quotaBackendBytes, autoCompaction, heartbeatInterval, electionTimeout, extraArgs, ...rest } = etcd ?? {};
  return unlessEmpty({
    ...rest,
    quotaBackendBytes: quotaBackendBytes === undefined ? undefined : amount(quotaBackendBytes),
    autoCompaction: autoCompaction && { ...autoCompaction, retention: duration(autoCompaction.retention) },
    heartbeatInterval: heartbeatInterval === undefined ? undefined : duration(heartbeatInterval),
    electionTimeout: electionTimeout === undefined ? undefined : duration(electionTimeout),
    extraArgs: unlessEmpty(extraArgs),
  });
}

/** A pod whose Secrets are renewed stays what it is: only their names count here. */
function tlsMeaning(tls: MemberTemplate["tls"]): object | undefined {
  const { peer, client, minVersion, cipherSuites, ...rest } = tls ?? {};
  return unlessEmpty({
    ...rest,
    peer: peer && { ...sideMeaning(peer), scheme: peer.scheme === "https" ? undefined : peer.scheme },
    client: client && {
      ...sideMeaning(client),
      verifyClients: client.verifyClients ?? true,
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
