import {
  itemsOf,
  mapIn,
  type Part,
  type Reserved,
  whyNotFields,
  whyNotMerged,
} from "#api/pod-template/reserved-field.ts";

// Why are some fields of a Pod refused in a pod template?
//   The operator creates the pod with its own rights, and the author of an EtcdCluster may not have the right to create
//   pods. So the template may grant no more than a pod under the namespace's default service account has.
// What enforces this on the operator?
//   An admission policy, scripts/admission-policy.ts. It would refuse only the ReplicaSet, long after the EtcdCluster
//   is stored; this check reports the reason at once.

function notHandedOut(what: string): string {
  return `the operator may not hand out ${what}: the author of the EtcdCluster may lack the right to`;
}
const SECRETS = `${notHandedOut("Secrets")} read them`;
const ACCOUNTS = `${notHandedOut("service accounts")} use them`;
const TOKENS = `${notHandedOut("tokens of service accounts")} use them`;
const NODE = `${notHandedOut("what belongs to nodes")} use it`;
const PRIVILEGES = `${notHandedOut("privileges")} have them`;
const PRIORITIES = `${notHandedOut("priorities of Kubernetes' own components")} push other pods off their nodes`;
const OTHERS = `${notHandedOut("any other kind")} use it`;

/** Reason for refusing each kind of source. */
const BECAUSE: Readonly<Record<string, string>> = {
  secret: SECRETS,
  secretRef: SECRETS,
  secretKeyRef: SECRETS,
  serviceAccountToken: TOKENS,
  hostPath: NODE,
};

const VOLUMES = ["configMap", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim", "projected"];
const SOURCES = ["clusterTrustBundle", "configMap", "downwardAPI"];
const VARIABLES = ["configMapKeyRef", "fieldRef", "resourceFieldRef"];
const ENVIRONMENTS = ["configMapRef"];

const ACCOUNT: Reserved = { may: [null, "default"], because: ACCOUNTS };
const OF_POD: Readonly<Record<string, Reserved>> = {
  serviceAccountName: ACCOUNT,
  serviceAccount: ACCOUNT,
  automountServiceAccountToken: { may: [false], because: TOKENS },
  resourceClaims: { may: [null], because: `${notHandedOut("devices")} use them` },
};

const NEW_VOLUME: Reserved = { may: [null], because: `${notHandedOut("volumes that are there")} use them` };
const OF_CLAIM = { volumeName: NEW_VOLUME, selector: NEW_VOLUME, dataSource: NEW_VOLUME, dataSourceRef: NEW_VOLUME };

/** Prefix that Kubernetes reserves for its own priority classes. */
export const SYSTEM_PRIORITY = "system-";

const ESCALATION = { allowPrivilegeEscalation: { may: [false], because: PRIVILEGES } };
const CAPABILITIES = { add: { may: [null], because: PRIVILEGES } };
const PORT = { hostPort: { may: [null, 0], because: NODE } };

/** Probes with a host are refused: the kubelet sends them from the node, which may reach more than the pod. */
const HOST = {
  host: { may: [null], because: "the kubelet connects from the node, and may connect only to the pod itself" },
};
const PROBES = ["startupProbe", "livenessProbe", "readinessProbe"];
const HOOKS = ["postStart", "preStop"];
const HANDLERS = ["httpGet", "tcpSocket"];

/** Settings that give the pod more rights than the operator may grant, as messages. */
export function whyNotPower(spec: Part): readonly string[] {
  const containers = [...itemsOf(spec, "initContainers"), ...itemsOf(spec, "containers")];
  return [
    ...whyNotFields(spec, OF_POD),
    ...whyNotPriority(spec),
    ...itemsOf(spec, "volumes").flatMap(whyNotVolume),
    ...containers.flatMap((each) => [
      ...whyNotVariables(each),
      ...itemsOf(each, "ports").flatMap((port) => whyNotFields(port, PORT)),
      ...whyNotPrivileges(each),
      ...handlersOf(each).flatMap((handler) => whyNotFields(handler, HOST)),
    ]),
  ];
}

function whyNotPriority({ value: { priorityClassName: name }, field }: Part): readonly string[] {
  if (typeof name !== "string" || !name.startsWith(SYSTEM_PRIORITY)) return [];
  return [`${field}.priorityClassName is "${name}"; it must not begin with "${SYSTEM_PRIORITY}": ${PRIORITIES}`];
}

function whyNotVolume(volume: Part): readonly string[] {
  const sources = itemsOf(mapIn(volume, "projected"), "sources");
  const claim = mapIn(mapIn(mapIn(volume, "ephemeral"), "volumeClaimTemplate"), "spec");
  return [
    ...whyNotKinds(volume, VOLUMES, "name"),
    ...sources.flatMap((source) => whyNotKinds(source, SOURCES)),
    ...whyNotFields(claim, OF_CLAIM),
  ];
}

function whyNotVariables(container: Part): readonly string[] {
  return [
    ...itemsOf(container, "env").flatMap((variable) => whyNotKinds(mapIn(variable, "valueFrom"), VARIABLES)),
    ...itemsOf(container, "envFrom").flatMap((source) => whyNotKinds(source, ENVIRONMENTS, "prefix")),
  ];
}

/** Sources of a kind that is not allowed, as messages. @param beside field of a source that is not its kind */
function whyNotKinds({ value, field }: Part, kinds: readonly string[], beside?: string): readonly string[] {
  return Object.entries(value)
    .filter(([kind, each]) => each !== null && kind !== beside && !kinds.includes(kind))
    .map(([kind]) => `${field}.${kind} is set; it must be ${kinds.join(" or ")} instead: ${BECAUSE[kind] ?? OTHERS}`);
}

/** The operator sets allowPrivilegeEscalation to false for every container, which the template may not change. */
function whyNotPrivileges(container: Part): readonly string[] {
  const context = mapIn(container, "securityContext");
  return [
    ...whyNotMerged(container, ["securityContext"], "map"),
    ...whyNotFields(context, ESCALATION),
    ...whyNotFields(mapIn(context, "capabilities"), CAPABILITIES),
  ];
}

function handlersOf(container: Part): readonly Part[] {
  const lifecycle = mapIn(container, "lifecycle");
  const asking = [...PROBES.map((probe) => mapIn(container, probe)), ...HOOKS.map((hook) => mapIn(lifecycle, hook))];
  return asking.flatMap((each) => HANDLERS.map((handler) => mapIn(each, handler)));
}
