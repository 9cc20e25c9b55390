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

// What may a pod template of the user's not touch?
//   What etcd, or what the operator says and decides of a member, depends on; and what gives a pod more power than the operator may hand
//   out. All else is the user's: what does no harm is not judged here, and whether it makes a pod at all is for the API server to say.

/** The address under which a member finds its own name. */
const OWN_ADDRESS = "127.0.0.1";

const NAMES = { because: "members find each other by the host names that the operator gives them" };
const NODE = { may: [null, false], because: "a member shares nothing with its node" };

const OF_POD: Readonly<Record<string, Reserved>> = {
  hostname: NAMES,
  subdomain: NAMES,
  setHostnameAsFQDN: {
    may: [null, false],
    because: "a pod whose host name with all its domains is longer than 64 characters does not start",
  },
  hostNetwork: { may: [null, false], because: "members on one node would take each other's ports" },
  hostPID: NODE,
  hostIPC: NODE,
  restartPolicy: { may: [null, "Always"], because: "etcd is to be started again whenever it ends" },
  dnsPolicy: {
    may: [null, "ClusterFirst", "ClusterFirstWithHostNet"],
    because: "only the DNS of the Kubernetes cluster knows the members; dnsConfig may add to it",
  },
  nodeName: {
    may: [null],
    because:
      "it would put all members on one node, and their volumes wait for the scheduler; use nodeSelector or affinity",
  },
};

interface Found {
  readonly cluster: string;
  /** What no pod may be made from. */
  readonly grave: readonly string[];
  readonly all: readonly string[];
}

/** What was found of a template: objects from a cache do not change, and each is judged for every pod and at every look. */
const FOUND = new WeakMap<PartialPodTemplate, Found>();

/**
 * What in a pod template is not for its author to say: sentences that name the field, what it is and what it may be.
 * @param template as it was written: its parts may be anything, and do not change
 * @param cluster the name of the EtcdCluster @param hasTls whether members have certificates
 */
export function whyNotTemplate(template: PartialPodTemplate, cluster: string, hasTls = false): readonly string[] {
  return [...found(template, cluster).all, ...(hasTls ? whyNotBesideTls(template) : [])];
}

/**
 * The same without what only makes a member end badly. That is refused when it is asked for; but who has it already, from a release that took
 * it, keeps what the template says beside it: its nodes, its memory.
 */
export function whyNotPod(template: PartialPodTemplate, cluster: string, hasTls = false): readonly string[] {
  return [...found(template, cluster).grave, ...(hasTls ? whyNotBesideTls(template) : [])];
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
  const grave = [
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
  ];
  return { cluster, grave, all: [...grave, ...whyNotEnding(spec)] };
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
        `${field}.ip is "${OWN_ADDRESS}"; it must be another one, such as 127.0.0.2: a member finds its own name there`,
    );
}

function whyNotVolumes(spec: Part): readonly string[] {
  return itemsOf(spec, "volumes")
    .filter(({ value: { name } }) => name === DATA_VOLUME)
    .map(
      ({ field }) =>
        `${field}.name is "${DATA_VOLUME}"; it must be another one: this volume is the member's data, which spec.storage describes`,
    );
}

/** Every member has a claim of its own, so what all of them mount belongs to somebody else than themselves. */
function whyNotClaims(spec: Part, cluster: string): readonly string[] {
  return itemsOf(spec, "volumes")
    .map((volume) => mapIn(volume, "persistentVolumeClaim"))
    .filter(({ value: { claimName } }) => typeof claimName === "string" && ordinalOf(cluster, claimName) !== undefined)
    .map(
      ({ value: { claimName }, field }) =>
        `${field}.claimName is ${valueText(claimName)}; it must be another one: this is the claim of a member of ${cluster}, and whoever else writes there destroys its data`,
    );
}
