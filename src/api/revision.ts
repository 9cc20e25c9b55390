import { millisecondsOf } from "#api/duration.ts";
import { ETCD_CONTAINER } from "#api/names.ts";
import { containersIn, etcdContainerOf } from "#api/pod-template/etcd-container.ts";
import { isMap } from "#api/pod-template/merge.ts";
import { billionthsOf } from "#api/quantity.ts";
import type { EtcdPeerSpec } from "#api/v1beta1/peer.ts";
import { fingerprint } from "#base/hash.ts";

// What makes a member restart?
//   Only what a person has asked for. The pod that the operator makes of it is the operator's business: a new release that makes another
//   one of the same wishes restarts nobody, and the next pod, whenever it comes, looks as that release wants it.
// What if people can ask for more than before?
//   What is not asked for leaves no trace in the name: so it is the name that earlier releases gave to the same wish.

/** What of a member people decide. */
export type MemberTemplate = Pick<EtcdPeerSpec, "version" | "image" | "etcd" | "podTemplate">;

/** What a spec says of the member's template, and nothing else. */
export function templateIn({ version, image, etcd, podTemplate }: MemberTemplate): MemberTemplate {
  return { version, ...(image === undefined ? {} : { image }), ...(etcd === undefined ? {} : { etcd }), podTemplate };
}

/** The name of a template: equal for all that mean the same, however they are written. 16 hexadecimal digits. */
export function revisionOf({ version, image, etcd, podTemplate }: MemberTemplate): string {
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
    container: withoutEmpty(container),
    sidecars: unlessEmpty(sorted(sidecars.map(containerMeaning))),
    // They run one after another.
    initContainers: Array.isArray(initContainers) ? unlessEmpty(initContainers.map(containerMeaning)) : undefined,
    // An empty list takes the default away.
    topologySpreadConstraints: unordered(topologySpreadConstraints),
    pod: withoutEmpty(pod),
  });
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

/** Of containers beside etcd's own, too, amounts are compared however they are written. */
function containerMeaning(container: unknown): unknown {
  if (!isMap(container)) return container;
  const { resources } = container;
  if (!isMap(resources)) return withoutEmpty(container);
  const { limits, requests, ...rest } = resources;
  return withoutEmpty({
    ...container,
    resources: { ...rest, limits: amounts(limits), requests: amounts(requests) },
  });
}

function duration(text: string): number | string {
  return millisecondsOf(text) ?? text;
}

function amounts(resources: unknown): object | undefined {
  if (!isMap(resources)) return undefined;
  const entries = Object.entries(resources).map(([kind, quantity]) => [kind, amount(quantity)]);
  return unlessEmpty(Object.fromEntries(entries));
}

function amount(quantity: unknown): string {
  const text = String(quantity);
  return String(billionthsOf(text) ?? text);
}

/** What says something: nothing is left of what holds nothing. */
function unlessEmpty<T extends object>(value: T | null | undefined): T | undefined {
  const isEmpty = Object.values(value ?? {}).every((each) => each === undefined);
  return isEmpty || value === null ? undefined : value;
}

/** A list or a map of nothing adds nothing to what the operator says. Null takes something of it away, so it means something. */
function withoutEmpty(map: object): object | undefined {
  const isEmpty = (value: unknown) => typeof value === "object" && value !== null && Object.keys(value).length === 0;
  const entries = Object.entries(map).filter(([, value]) => !isEmpty(value));
  return unlessEmpty(
    Object.fromEntries(
      entries.map(([key, value]) => [key, Array.isArray(value) && !ORDERED.has(key) ? sorted(value) : value]),
    ),
  );
}

/** Lists in which the order means something: a variable may refer to an earlier one, and words of a command are words of a command. */
const ORDERED = new Set(["env", "envFrom", "command", "args"]);

/** In an affinity the order means nothing: its terms are alternatives or all of them hold. What is empty means something. */
function unordered(value: unknown): unknown {
  if (Array.isArray(value)) return sorted(value).map((item) => unordered(item));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, unordered(item)]));
}

/** A list whose order means nothing. */
function sorted(list: readonly unknown[]): unknown[] {
  return list
    .map((item) => [fingerprint(unordered(item)), item] as const)
    .sort(byName)
    .map(([, item]) => item);
}

function byName([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a < b ? -1 : Number(a > b);
}
