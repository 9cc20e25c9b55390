import {
  CLIENT_PORT,
  CLIENT_PORT_NAME,
  DATA_VOLUME,
  ETCD_CONTAINER,
  METRICS_PORT,
  METRICS_PORT_NAME,
  PEER_PORT,
  PEER_PORT_NAME,
  VOLUME_PATH,
} from "#api/names.ts";

import {
  itemsOf,
  type Part,
  type Reserved,
  valueText,
  whyNotFields,
  whyNotMerged,
} from "#api/pod-template/reserved-field.ts";
import { leadsTo } from "#api/pod-template/reserved-path.ts";

const PORTS: readonly unknown[] = [CLIENT_PORT, PEER_PORT, METRICS_PORT];
const PORT_NAMES: readonly unknown[] = [CLIENT_PORT_NAME, PEER_PORT_NAME, METRICS_PORT_NAME];

const FLAGS = { because: "the operator starts etcd; flags of etcd go into spec.etcd.extraArgs" };
const PROBE = {
  because: "the operator sets the probes of etcd; other containers may have probes",
};

const OF_ETCD: Readonly<Record<string, Reserved>> = {
  command: FLAGS,
  args: FLAGS,
  image: { because: "spec.version and spec.image set which etcd runs" },
  imagePullPolicy: { because: "spec.image.pullPolicy sets when it is pulled" },
  startupProbe: PROBE,
  livenessProbe: PROBE,
  readinessProbe: PROBE,
  restartPolicy: { may: [null, "Always"], because: "etcd must be started again whenever it ends" },
  restartPolicyRules: { because: "etcd must be started again whenever it ends" },
  terminationMessagePolicy: {
    may: ["FallbackToLogsOnError"],
    because: "the operator learns from the last lines of its log why etcd ended",
  },
};

/** Invalid fields of containers, including their volume mounts, as messages. */
export function whyNotContainers(spec: Part): readonly string[] {
  const containers = itemsOf(spec, "containers");
  const init = itemsOf(spec, "initContainers");
  return [
    ...whyNotTwice(containers),
    ...init.flatMap(whyNotEtcdsName),
    ...[...init, ...containers].flatMap((each) => [...whyNotPorts(each), ...whyNotData(each)]),
    ...containers.filter(isEtcd).flatMap(whyNotEtcd),
  ];
}

function isEtcd({ value }: Part): boolean {
  return value.name === ETCD_CONTAINER;
}

/** Two containers with the same name would be merged into one. */
function whyNotTwice(containers: readonly Part[]): readonly string[] {
  const first = new Map<unknown, string>();
  return containers.flatMap(({ value: { name }, field }) => {
    const same = first.get(name);
    if (same === undefined) first.set(name, field);
    return same === undefined
      ? []
      : [`${field}.name is ${valueText(name)}, which is the name of ${same}; each container must have its own`];
  });
}

function whyNotEtcdsName(container: Part): readonly string[] {
  if (!isEtcd(container)) return [];
  return [
    `${container.field}.name is "${ETCD_CONTAINER}"; it must be a different name: this is the name of etcd's container`,
  ];
}

/** Containers of a pod share its port numbers, and a Service finds a named port in any container. */
function whyNotPorts(container: Part): readonly string[] {
  return itemsOf(container, "ports").flatMap(({ value: { containerPort, name }, field }) => [
    ...(PORTS.includes(containerPort)
      ? [`${field}.containerPort is ${containerPort}; it must be none of ${PORTS.join(", ")}: etcd listens there`]
      : []),
    ...(PORT_NAMES.includes(name)
      ? [`${field}.name is ${valueText(name)}; it must be none of ${PORT_NAMES.join(", ")}: these are ports of etcd`]
      : []),
  ]);
}

/** Only a read-only mount of the data volume is allowed. */
function whyNotData(container: Part): readonly string[] {
  return itemsOf(container, "volumeMounts")
    .filter(({ value: { name, readOnly } }) => name === DATA_VOLUME && readOnly !== true)
    .map(
      ({ value: { readOnly }, field }) =>
        `${field}.readOnly is ${valueText(readOnly)}; it must be true: only etcd writes to the volume ${DATA_VOLUME}`,
    );
}

function whyNotEtcd(etcd: Part): readonly string[] {
  return [
    ...whyNotFields(etcd, OF_ETCD),
    ...whyNotMerged(etcd, ["env", "ports", "volumeMounts"], "list"),
    ...itemsOf(etcd, "env")
      .filter(({ value: { name } }) => isFlag(name))
      .map(
        ({ value: { name }, field }) =>
          `${field}.name is ${valueText(name)}; it must not begin with ETCD_: etcd takes such a variable for a flag, and flags go into spec.etcd.extraArgs`,
      ),
    ...itemsOf(etcd, "envFrom")
      .filter(({ value: { prefix } }) => mayMakeFlag(prefix))
      .map(
        ({ value: { prefix }, field }) =>
          `${field}.prefix is ${valueText(prefix)}; it must be a prefix such as APP_: no variable may begin with ETCD_, which etcd reads as flags (use spec.etcd.extraArgs)`,
      ),
    ...[etcd.value.terminationMessagePath]
      .filter((path) => leadsTo(path, VOLUME_PATH))
      .map(
        (path) =>
          `${etcd.field}.terminationMessagePath is ${valueText(path)}; it must not be ${VOLUME_PATH}, nor above or below it: the kubelet puts an empty file there`,
      ),
    ...itemsOf(etcd, "volumeMounts")
      .filter(({ value: { mountPath } }) => leadsTo(mountPath, VOLUME_PATH))
      .map(
        ({ value: { mountPath }, field }) =>
          `${field}.mountPath is ${valueText(mountPath)}; it must not be ${VOLUME_PATH}, nor above or below it: etcd's data is there`,
      ),
  ];
}

const FLAG_PREFIX = "ETCD_";

function isFlag(variable: unknown): boolean {
  return typeof variable === "string" && variable.startsWith(FLAG_PREFIX);
}

/** Whether a variable with this prefix may begin with ETCD_. */
function mayMakeFlag(prefix: unknown): boolean {
  const begin = typeof prefix === "string" ? prefix : "";
  return isFlag(begin) || FLAG_PREFIX.startsWith(begin);
}
