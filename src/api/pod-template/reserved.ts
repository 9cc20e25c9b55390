import { DATA_VOLUME, GROUP, memberLabels, ordinalOf } from "#api/names.ts";
import type { PartialPodTemplate } from "#api/pod-template/merge.ts";
import { whyNotConfined } from "#api/pod-template/reserved-confinement.ts";
import { whyNotContainers } from "#api/pod-template/reserved-container.ts";
import { whyNotEnding } from "#api/pod-template/reserved-ending.ts";
import {
  itemsOf,
  mapIn,
  type Part,
  type Reserved,
  valueText,
  whyNotFields,
  whyNotMergeable,
  whyNotMerged,
} from "#api/pod-template/reserved-field.ts";
import { whyNotPower } from "#api/pod-template/reserved-power.ts";
import { whyNotBesideTls } from "#api/pod-template/reserved-tls.ts";
import { isMap } from "#base/json.ts";

// Which fields may a user's pod template not set?
//   Fields that etcd or the operator depends on, and fields that give a pod more rights than the operator may grant.
//   All other fields are allowed, and the API server validates the pod.

/** Address to which a member's pod resolves its own host name. */
const OWN_ADDRESS = "127.0.0.1";

const NAMES = { because: "members find each other by the host names that the operator gives them" };
const NODE = { may: [null, false], because: "a member shares nothing with its node" };

const OF_POD: Readonly<Record<string, Reserved>> = {
  hostname: NAMES,
  subdomain: NAMES,
  setHostnameAsFQDN: {
    may: [null, false],
    because: "a pod does not start if its fully qualified name exceeds 64 characters",
  },
  hostNetwork: { may: [null, false], because: "members on one node would take each other's ports" },
  hostPID: NODE,
  hostIPC: NODE,
  restartPolicy: { may: [null, "Always"], because: "etcd must be started again whenever it ends" },
  dnsPolicy: {
    may: [null, "ClusterFirst", "ClusterFirstWithHostNet"],
    because: "only the Kubernetes cluster's DNS knows the members; dnsConfig may add to it",
  },
  nodeName: {
    may: [null],
    because: "it puts all members on one node, and volumes wait for the scheduler; use nodeSelector or affinity",
  },
};

interface Found {
  readonly cluster: string;
  readonly all: readonly string[];
}

/**
 * Last result for each template. Objects in a cache are immutable, and each template is checked for every pod at every
 * observation.
 */
const FOUND = new WeakMap<PartialPodTemplate, Found>();

/**
 * Fields that a pod template may not set: sentences with the field, its value and the valid values.
 * @param template as the user wrote it: fields may have any type. It must not change later, because results are cached by object
 * @param cluster name of the EtcdCluster @param hasTls whether members have certificates
 */
export function whyNotTemplate(template: PartialPodTemplate, cluster: string, hasTls = false): readonly string[] {
  return [...found(template, cluster).all, ...(hasTls ? whyNotBesideTls(template) : [])];
}

function found(template: PartialPodTemplate, cluster: string): Found {
  const last = FOUND.get(template);
  if (last?.cluster === cluster) return last;
  const now = judged(template, cluster);
  if (isMap(template)) FOUND.set(template, now);
  return now;
}

function judged(template: PartialPodTemplate, cluster: string): Found {
  const whole: Part = { value: template as Part["value"], field: "spec.podTemplate" };
  const metadata = mapIn(whole, "metadata");
  const spec = mapIn(whole, "spec");
  const all = [
    ...whyNotMergeable(template, whole.field),
    ...whyNotMerged(whole, ["metadata", "spec"], "map"),
    ...whyNotMerged(metadata, ["labels", "annotations"], "map"),
    ...whyNotMerged(spec, ["containers", "volumes", "hostAliases"], "list"),
    ...whyNotOwn(mapIn(metadata, "labels"), isOwnLabel),
    ...whyNotOwn(mapIn(metadata, "annotations"), isOwnKey),
    ...whyNotFields(spec, OF_POD),
    ...whyNotAliases(spec),
    ...whyNotVolumes(spec),
    ...whyNotClaims(spec, cluster),
    ...whyNotContainers(spec),
    ...whyNotPower(spec),
    ...whyNotConfined(metadata, spec),
    ...whyNotEnding(spec),
  ];
  return { cluster, all };
}

function whyNotOwn({ value, field }: Part, isOwn: (key: string) => boolean): readonly string[] {
  return Object.entries(value)
    .filter(([key]) => isOwn(key))
    .map(([key, each]) => `${field}[${key}] is ${valueText(each)}; it must be left out: it is the operator's own`);
}

function isOwnKey(key: string): boolean {
  return key.startsWith(`${GROUP}/`);
}

function isOwnLabel(key: string): boolean {
  return isOwnKey(key) || Object.hasOwn(memberLabels("", ""), key);
}

function whyNotAliases(spec: Part): readonly string[] {
  return itemsOf(spec, "hostAliases")
    .filter(({ value: { ip } }) => ip === OWN_ADDRESS)
    .map(
      ({ field }) =>
        `${field}.ip is "${OWN_ADDRESS}"; it must be a different address, such as 127.0.0.2: a member finds its own name there`,
    );
}

function whyNotVolumes(spec: Part): readonly string[] {
  return itemsOf(spec, "volumes")
    .filter(({ value: { name } }) => name === DATA_VOLUME)
    .map(
      ({ field }) =>
        `${field}.name is "${DATA_VOLUME}"; it must be a different name: this volume is the member's data, which spec.storage describes`,
    );
}

/** A template applies to all members, so it must not mount the claim of one member. */
function whyNotClaims(spec: Part, cluster: string): readonly string[] {
  return itemsOf(spec, "volumes")
    .map((volume) => mapIn(volume, "persistentVolumeClaim"))
    .filter(({ value: { claimName } }) => typeof claimName === "string" && ordinalOf(cluster, claimName) !== undefined)
    .map(
      ({ value: { claimName }, field }) =>
        `${field}.claimName is ${valueText(claimName)}; it must be a different claim: this is the claim of a member of ${cluster}, and any other writer destroys its data`,
    );
}
