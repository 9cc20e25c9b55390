import { CLIENT_TLS_VOLUME, ETCD_CONTAINER, PEER_TLS_VOLUME, TLS_PATH } from "#api/names.ts";
import type { PartialPodTemplate } from "#api/pod-template/merge.ts";
import { itemsOf, mapIn, type Part, type Reserved, valueText, whyNotFields } from "#api/pod-template/reserved-field.ts";
import { leadsTo } from "#api/pod-template/reserved-path.ts";

// Which fields may a pod template not set when members have TLS?
//   Those that expose the private keys, which only etcd may read, and those that affect the startup probe's etcdctl.

const VOLUMES: readonly unknown[] = [PEER_TLS_VOLUME, CLIENT_TLS_VOLUME];

const OF_POD: Readonly<Record<string, Reserved>> = {
  shareProcessNamespace: {
    may: [null, false],
    because: "with shared processes other containers could read the member's keys",
  },
};

/** Prefix of environment variables that set flags of etcdctl. etcdctl fails when a flag is set by both. */
const PREFIX = "ETCDCTL_";

/** Invalid fields in the template of a member with TLS, as messages like those of whyNotTemplate. */
export function whyNotBesideTls(template: PartialPodTemplate): readonly string[] {
  const whole: Part = { value: template as Part["value"], field: "spec.podTemplate" };
  const spec = mapIn(whole, "spec");
  const containers = [...itemsOf(spec, "initContainers"), ...itemsOf(spec, "containers")];
  return [
    ...whyNotFields(spec, OF_POD),
    ...itemsOf(spec, "volumes").flatMap(whyNotVolume),
    ...containers.flatMap((each) => itemsOf(each, "volumeMounts").flatMap(whyNotKeys)),
    ...itemsOf(spec, "containers")
      .filter(({ value: { name } }) => name === ETCD_CONTAINER)
      .flatMap(whyNotEtcd),
  ];
}

function whyNotVolume({ value: { name }, field }: Part): readonly string[] {
  if (!VOLUMES.includes(name)) return [];
  return [
    `${field}.name is ${valueText(name)}; it must be a different name: this volume holds the member's certificates`,
  ];
}

function whyNotKeys({ value: { name }, field }: Part): readonly string[] {
  if (!VOLUMES.includes(name)) return [];
  return [`${field}.name is ${valueText(name)}; it must be a different name: only etcd reads the member's keys`];
}

function whyNotEtcd(etcd: Part): readonly string[] {
  return [
    ...itemsOf(etcd, "volumeMounts")
      .filter(({ value: { mountPath } }) => leadsTo(mountPath, TLS_PATH))
      .map(
        ({ value: { mountPath }, field }) =>
          `${field}.mountPath is ${valueText(mountPath)}; it must not be ${TLS_PATH}, nor above or below it: the member's certificates are there`,
      ),
    ...itemsOf(etcd, "env")
      .filter(({ value: { name } }) => typeof name === "string" && name.startsWith(PREFIX))
      .map(
        ({ value: { name }, field }) =>
          `${field}.name is ${valueText(name)}; it must not begin with ${PREFIX}: the startup probe asks etcd with etcdctl, which takes such a variable for a flag`,
      ),
    ...itemsOf(etcd, "envFrom")
      .filter(({ value: { prefix } }) => mayMakeFlag(prefix))
      .map(
        ({ value: { prefix }, field }) =>
          `${field}.prefix is ${valueText(prefix)}; it must be a prefix such as APP_: no variable may begin with ${PREFIX}, which the startup probe's etcdctl reads as flags`,
      ),
  ];
}

/** Whether a variable with this prefix may begin with ETCDCTL_. */
function mayMakeFlag(prefix: unknown): boolean {
  const begin = typeof prefix === "string" ? prefix : "";
  return begin.startsWith(PREFIX) || PREFIX.startsWith(begin);
}
