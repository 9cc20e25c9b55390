import { CLIENT_TLS_VOLUME, ETCD_CONTAINER, PEER_TLS_VOLUME, TLS_PATH } from "#api/names.ts";
import type { PartialPodTemplate } from "#api/pod-template/merge.ts";
import { itemsOf, mapIn, type Part, valueText } from "#api/pod-template/reserved-field.ts";
import { leadsTo } from "#api/pod-template/reserved-path.ts";

// What may a pod template not touch once members have certificates? The keys, which are etcd's own; and what the startup probe rests on.

const VOLUMES: readonly unknown[] = [PEER_TLS_VOLUME, CLIENT_TLS_VOLUME];

/** etcdctl takes each of its flags from a variable, too, and ends when it is given both. */
const PREFIX = "ETCDCTL_";

/** Sentences as of whyNotTemplate, about what only a member with certificates cannot have. */
export function whyNotBesideTls(template: PartialPodTemplate): readonly string[] {
  const whole: Part = { value: template as Part["value"], field: "spec.podTemplate" };
  const spec = mapIn(whole, "spec");
  const containers = [...itemsOf(spec, "initContainers"), ...itemsOf(spec, "containers")];
  return [
    ...itemsOf(spec, "volumes").flatMap(whyNotVolume),
    ...containers.flatMap((each) => itemsOf(each, "volumeMounts").flatMap(whyNotKeys)),
    ...itemsOf(spec, "containers")
      .filter(({ value: { name } }) => name === ETCD_CONTAINER)
      .flatMap(whyNotEtcd),
  ];
}

function whyNotVolume({ value: { name }, field }: Part): readonly string[] {
  if (!VOLUMES.includes(name)) return [];
  return [`${field}.name is ${valueText(name)}; it must be another one: this volume holds the member's certificates`];
}

function whyNotKeys({ value: { name }, field }: Part): readonly string[] {
  if (!VOLUMES.includes(name)) return [];
  return [`${field}.name is ${valueText(name)}; it must be another one: only etcd reads the member's keys`];
}

function whyNotEtcd(etcd: Part): readonly string[] {
  return [
    ...itemsOf(etcd, "volumeMounts")
      .filter(({ value: { mountPath } }) => leadsTo(mountPath, TLS_PATH))
      .map(
        ({ value: { mountPath }, field }) =>
          `${field}.mountPath is ${valueText(mountPath)}; it must be neither above nor below ${TLS_PATH}, nor this: the member's certificates are there`,
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
          `${field}.prefix is ${valueText(prefix)}; it must be one such as APP_, so that no variable begins with ${PREFIX}: etcdctl, with which the startup probe asks, takes those for flags`,
      ),
  ];
}

/** Whether a name that begins so may begin with ETCDCTL_. */
function mayMakeFlag(prefix: unknown): boolean {
  const begin = typeof prefix === "string" ? prefix : "";
  return begin.startsWith(PREFIX) || PREFIX.startsWith(begin);
}
